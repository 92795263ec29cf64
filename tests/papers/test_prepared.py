"""Runs on a prepared task are those of the public interface, whatever is shared between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.papers import runs
from headstart.papers.prepared import Prepared
from headstart.papers.runs import Arm, Method, left_out
from headstart.strategies import AdaptiveLearnedInit, AdaptivePredictiveBest, LearnedInit


@pytest.fixture(scope="module")
def history() -> hs.History:
    """Valleys at different places of a 7 × 7 grid, of which the coarse grid keeps few."""
    rng = np.random.default_rng(4)
    space = hs.Space({"x": hs.Float(1, 2), "y": hs.Float(1, 2)})
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(1, 2, 7), np.linspace(1, 2, 7)))
    frames, features = [], {}
    for i in range(6):
        a, b = 1 + rng.random(2)
        features[f"t{i}"] = {"a": a, "b": b}
        losses = (x - a) ** 2 + (y - b) ** 2 + 0.01 * rng.random(len(x))
        frames.append(pd.DataFrame({"task": f"t{i}", "x": x, "y": y, "value": losses}))
    return hs.History.from_frame(pd.concat(frames), space, features=pd.DataFrame(features).T)


STARTS: list[Any] = [
    *("random", "rbi", "nbi", "pbi", "li", "ali"),
    LearnedInit(recipe="paper", epochs=100, eta=0.05),
    LearnedInit(recipe="paper", epochs=100, eta=0.05, gradient="printed"),
    AdaptiveLearnedInit(recipe="paper", epochs=100, eta=0.05),
    AdaptiveLearnedInit(recipe="paper", epochs=100, eta=0.05, weights="printed"),
    AdaptivePredictiveBest(choice="printed"),
]


@pytest.mark.parametrize("init", STARTS, ids=str)
def test_a_start_is_what_the_public_interface_gives(history: hs.History, init: Any) -> None:
    """Also where starts of other sizes and repetitions are learned with it."""
    for seed in (3, 8):
        new = left_out(history, "t2", seed)
        prepared = Prepared(new)
        for n in (2, 5):
            expected = new.search(init, n, "rf", n)
            assert prepared.start(init, n, seed, others=[11, 12]) == expected


@pytest.mark.parametrize("surrogate", ["gp", "rf", "scot", "mklgp"])
def test_a_search_is_what_the_public_interface_gives(history: hs.History, surrogate: str) -> None:
    new = left_out(history, "t1", 7)
    prepared = Prepared(new)
    assert prepared.go_on([4, 30], surrogate, 9, 7) == new.go_on([4, 30], surrogate, 9)
    start = [] if surrogate in ("scot", "mklgp") else prepared.start("random", 3, 7)
    assert prepared.go_on(start, surrogate, 8, 7) == new.search("random", len(start), surrogate, 8)


def test_failed_evaluations_count_as_the_worst_seen(history: hs.History) -> None:
    frame = pd.DataFrame(history.configs("t0")).assign(task="t0", value=history["t0"].losses)
    frame.loc[[3, 20, 24], "value"] = np.nan
    others = [pd.DataFrame(history.configs(t)).assign(task=t, value=history[t].losses) for t in history.tasks[1:]]
    with_failures = hs.History.from_frame(pd.concat([frame, *others]), history.space)
    new = left_out(with_failures, "t0", 2)
    assert Prepared(new).go_on([3, 24, 5], "gp", 12, 2) == new.go_on([3, 24, 5], "gp", 12)


def test_repetitions_may_share_what_is_learned_from_the_other_tasks(history: hs.History) -> None:
    arms = {arm.name: arm for arm in (Arm(Method("No Init"), 3, ("SCoT", "RF"), 8, 2), Arm(Method("RBI", "rbi"), 3))}
    shared = runs.Setting(history, arms, 0, learned_once=True)
    first, second = (shared(f"{next(iter(arms))} | t3 | {r}") for r in range(2))
    assert first["SCoT"] == second["SCoT"]  # it draws nothing in a run
    assert first["RF"] != second["RF"]
    assert shared("RBI, 3 | t3 | 0") == runs.Setting(history, arms, 0)("RBI, 3 | t3 | 0")  # draws as before
