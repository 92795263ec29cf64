"""The demo trains real models, and the left-out data set is not in its history."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.cli import demo
from headstart.library import datasets, svm
from program import headstart


@pytest.fixture(scope="module")
def history() -> hs.History:
    """Four past tasks; two of them share their best configuration, and "wine" has the best of all."""
    grid = [
        {"kernel": "linear", "C": 1.0},
        {"kernel": "rbf", "C": 8.0, "gamma": 0.01},
        {"kernel": "linear", "C": 2.0},
    ]
    errors = {"a": [0.1, 0.2, 0.3], "b": [0.1, 0.3, 0.2], "c": [0.3, 0.1, 0.2], "wine": [0.2, 0.1, 0.0]}
    rows = [{"task": t, "value": e, **c} for t, column in errors.items() for c, e in zip(grid, column, strict=True)]
    frame = pd.DataFrame(rows).reindex(columns=["task", "value", *svm.space()])
    return hs.History.from_frame(frame, svm.space())


def test_only_the_learned_search_has_a_history(history: hs.History) -> None:
    past = history.drop("wine")
    searches = {name: make(past, np.random.default_rng(0)) for name, make in demo.SEARCHES.items()}
    assert searches[demo.LEARNED].history is past
    assert searches[demo.COLD].history is None
    for search in searches.values():
        assert past.space.contains(search.ask())


def test_curves_hold_the_best_error_of_the_trained_models(history: hs.History) -> None:
    outcome = demo.run("wine", trials=3, repeats=2, history=history)
    assert outcome.others.tasks == ["a", "b", "c"]
    part = svm.split(datasets.load("wine"))
    assert svm.evaluate(part, outcome.best_config)[0] == outcome.best_error
    for curve in outcome.curves.values():
        assert curve.shape == (2, 3)
        assert (np.diff(curve, axis=1) <= 0).all()
        assert curve.min() >= outcome.best_error


def test_the_same_seed_gives_the_same_curves(history: hs.History) -> None:
    one, two, other = (demo.run("wine", trials=2, repeats=2, seed=seed, history=history) for seed in (3, 3, 4))
    for name in demo.SEARCHES:
        np.testing.assert_array_equal(one.curves[name], two.curves[name])
    assert not np.array_equal(one.curves[demo.COLD], other.curves[demo.COLD])


def test_a_search_receives_the_results_of_its_proposals() -> None:
    told = []

    class Downhill:
        def ask(self) -> dict[str, float]:
            return {"x": len(told)}

        def tell(self, config: dict[str, float], value: float) -> None:
            told.append((config["x"], value))

    with demo.Progress(3) as progress:
        curve = demo.best_so_far(Downhill(), lambda config: [2.0, 3.0, 1.0][config["x"]], 3, progress)
    assert told == [(0, 2.0), (1, 3.0), (2, 1.0)]
    assert curve.tolist() == [2.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("cold", "learned", "words"),
    [
        ([0.5, 0.4], [0.4, 0.3], "needs 1 trial to match the cold start after 2: 0.4000"),
        ([0.5, 0.4], [0.5, 0.4], "needs 2 trials"),
        ([0.5, 0.2], [0.4, 0.3], "the cold start is ahead: 0.2000 against 0.3000"),
    ],
)
def test_the_verdict_says_who_won(cold: list[float], learned: list[float], words: str) -> None:
    assert words in demo.verdict(np.array(cold), np.array(learned))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "vine"}, r"no task 'vine'; did you mean 'wine'\?"),
        ({"trials": 0}, "trials must be a whole number of at least 1, but got 0"),
        ({"repeats": -1}, "repeats must be a whole number of at least 1, but got -1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
    ],
)
def test_bad_arguments_are_rejected(history: hs.History, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        demo.run(**{"task": "wine", "history": history, **arguments})  # type: ignore[arg-type]


# -- the real program on the shipped history -------------------------------------------------------------------


def test_demo_prints_the_curves_and_draws_them(tmp_path: Path) -> None:
    done = headstart("demo", "--task", "wine", "--trials", "4", "--repeats", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[3].split() == ["trials", "random", "search", "cold", "start", "learned", "start"]
    table = np.array([line.split() for line in lines[4:8]], dtype=float)
    assert table[:, 0].tolist() == [1, 2, 3, 4]
    assert (np.diff(table[:, 1:], axis=0) <= 0).all()
    assert lines[-1] == "The picture is in demo.png."
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "training 36/36" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]


def test_demo_as_json_is_the_same_every_time(tmp_path: Path) -> None:
    arguments = ("demo", "--task", "iris", "--trials", "3", "--repeats", "2", "--seed", "5", "--json")
    one, two = (headstart(*arguments, cwd=tmp_path) for _ in range(2))
    assert one.returncode == two.returncode == 0, one.stderr
    assert one.stdout == two.stdout
    report = json.loads(one.stdout)
    assert (report["task"], report["trials"], report["repeats"], report["seed"]) == ("iris", 3, 2, 5)
    assert report["past_tasks"] == len(hs.library.load("svm")) - 1
    assert {len(curve) for curve in report["curves"].values()} == {3}
    assert hs.library.load("svm").space.contains(report["best_config"])
    assert not list(tmp_path.iterdir())  # no picture unless --out asks for one
