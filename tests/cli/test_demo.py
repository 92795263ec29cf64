"""The demo replays searches on tasks that are left out of the history, which only one of the searches knows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import headstart as hs
from headstart.cli import demo
from headstart.search.replay import LeftOut, Table, distances
from program import headstart

optuna = pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def history() -> hs.History:
    """Five tasks of the shipped history."""
    every = hs.library.load("svm")
    return every.only(every.tasks[:5])


@pytest.fixture(scope="module")
def outcome(history: hs.History) -> demo.Outcome:
    return demo.run(tasks=2, trials=6, seed=1, jobs=1, history=history)


def test_curves_are_distances_that_only_fall(history: hs.History, outcome: demo.Outcome) -> None:
    assert outcome.tasks == [history.tasks[0], history.tasks[-1]]
    assert outcome.past_tasks == 4
    assert list(outcome.curves) == [demo.RANDOM, demo.TPE, demo.COLD, demo.LEARNED]
    for curve in outcome.curves.values():
        assert curve.shape == (2, 6)
        assert (np.diff(curve, axis=1) <= 0).all()
        assert (curve >= 0).all()
        assert (curve <= 1).all()


def test_the_learned_search_is_that_of_an_optimizer_without_the_task(
    history: hs.History, outcome: demo.Outcome
) -> None:
    task = history.tasks[0]
    table, seed = Table.of(history, task), LeftOut(history, task, demo.key(task, 1)).seed
    features = history[task].features
    opt = hs.Optimizer(
        history.space, history=history.drop(task), n_init=5, features=features, candidates=table.configs, seed=seed
    )
    expected = distances(history[task], table.search(opt, 6), 6)
    np.testing.assert_array_equal(outcome.curves[demo.LEARNED][0], expected)


def test_the_other_searches_do_not_know_the_history(history: hs.History, outcome: demo.Outcome) -> None:
    fewer = demo.run(tasks=2, trials=6, seed=1, jobs=1, history=history.drop(history.tasks[2]))
    for name in (demo.RANDOM, demo.TPE, demo.COLD):
        np.testing.assert_array_equal(fewer.curves[name], outcome.curves[name])


def test_the_same_seed_gives_the_same_curves(history: hs.History, outcome: demo.Outcome) -> None:
    again, other = (demo.run(tasks=2, trials=6, seed=seed, jobs=1, history=history) for seed in (1, 2))
    for name, curve in outcome.curves.items():
        np.testing.assert_array_equal(again.curves[name], curve)
    assert not np.array_equal(other.curves[demo.TPE], outcome.curves[demo.TPE])


def test_random_search_and_tpe_try_each_row_once_and_all_in_the_end() -> None:
    from headstart.adapters.optuna.tables import tpe

    space = hs.Space({"kind": hs.Categorical(["a", "b"]), "x": hs.Float(0.1, 10, log=True, when={"kind": "a"})})
    configs = [{"kind": "b"}, *({"kind": "a", "x": x} for x in (0.1, 0.5, 1.0, 5.0, 10.0))]
    table = Table(space, configs, np.array([0.5, 0.9, 0.7, 0.1, 0.3, 0.4]))
    for tried in (tpe(table, 50, seed=0), table.random(50, np.random.default_rng(0))):
        assert sorted(tried) == list(range(6))
    assert tpe(table, 3, seed=0) == tpe(table, 50, seed=0)[:3]


def test_the_nearest_row_left_is_tried() -> None:
    space = hs.Space({"x": hs.Float(0, 1)})
    table = Table(space, [{"x": x} for x in (0.0, 0.4, 1.0)], np.zeros(3))
    assert [table.nearest({"x": 0.5}, tried) for tried in ([], [1], [1, 2])] == [1, 0, 0]
    assert table.nearest({"x": 0.75}, [1]) == 2


def outcome_of(**curves: list[float]) -> demo.Outcome:
    names = {"random": demo.RANDOM, "tpe": demo.TPE, "cold": demo.COLD, "ours": demo.LEARNED}
    return demo.Outcome("svm", 54, ["a"], {names[k]: np.array([curve]) for k, curve in curves.items()}, 0)


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ([0.2, 0.1, 0.1], "needs 1 trial to come as close to the best as random search does in 3"),
        ([0.5, 0.2, 0.1], "needs 2 trials"),
        ([0.5, 0.2, 0.1], "(a cold Gaussian process needs 3, Optuna's TPE more than 3): it saves 1 of 3 trials."),
        ([0.5, 0.4, 0.3], "After 3 trials random search is ahead of headstart."),
    ],
)
def test_the_verdict_counts_the_trials_saved(ours: list[float], words: str) -> None:
    found = outcome_of(random=[0.4, 0.3, 0.2], tpe=[0.4, 0.3, 0.3], cold=[0.5, 0.4, 0.2], ours=ours)
    assert words in demo.verdict(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tasks": 0}, "tasks must be a whole number of at least 1, but got 0"),
        ({"trials": 0}, "trials must be a whole number of at least 1, but got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
    ],
)
def test_bad_arguments_are_rejected(history: hs.History, arguments: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        demo.run(**{"history": history, **arguments})  # type: ignore[arg-type]


def test_two_tasks_are_too_few(history: hs.History) -> None:
    with pytest.raises(ValueError, match="needs at least 3 tasks, but the history has 2"):
        demo.run(history=history.only(history.tasks[:2]))


# -- the real program on the shipped history -------------------------------------------------------------------


def test_demo_prints_the_curves_and_draws_them(tmp_path: Path) -> None:
    done = headstart("demo", "--tasks", "2", "--trials", "4", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (header,) = [i for i, line in enumerate(lines) if line.startswith("trials")]
    table = np.array([line.replace("%", "").split() for line in lines[header + 1 : header + 5]], dtype=float)
    assert table[:, 0].tolist() == [1, 2, 3, 4]
    assert (np.diff(table[:, 1:], axis=0) <= 0).all()
    assert lines[-1] == "The picture is in demo.png."
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "leaving out data sets 2/2" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]


def test_demo_as_json_writes_no_picture(tmp_path: Path) -> None:
    done = headstart("demo", "--tasks", "2", "--trials", "3", "--jobs", "1", "--seed", "5", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["history"], found["trials"], found["seed"]) == (demo.HISTORY, 3, 5)
    assert found["past_tasks"] == len(hs.library.load(demo.HISTORY)) - 1
    assert {len(curve) for curve in found["curves"].values()} == {3}
    assert found["summary"].endswith(".")
    assert not list(tmp_path.iterdir())  # no picture unless --out asks for one
