"""What evaluations cost, from every source that knows it, through everything that can be done with a history."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import HistoryError
from headstart.history import build

SPACE = hs.Space({"x": hs.Float(0.0, 10.0)})
ROWS = pd.DataFrame(
    {
        "task": ["a", "a", "b", "b"],
        "x": [1.0, 2.0, 1.0, 3.0],
        "value": [0.1, 0.2, 0.3, 0.4],
        "seconds": [5.0, None, 0.0, 7.5],
    }
)


def costs(history: hs.History) -> dict[tuple[str, float], float]:
    table = history.to_frame()
    return {(task, x): cost for task, x, cost in zip(table["task"], table["x"], table["cost"], strict=True)}


def same(found: dict[Any, float], expected: dict[Any, float]) -> bool:
    return found.keys() == expected.keys() and all(
        found[key] == cost or (math.isnan(found[key]) and math.isnan(cost)) for key, cost in expected.items()
    )


KNOWN = {("a", 1.0): 5.0, ("a", 2.0): math.nan, ("b", 1.0): 0.0, ("b", 3.0): 7.5}


def test_costs_survive_everything(tmp_path: Path) -> None:
    history = hs.History.from_frame(ROWS, SPACE, cost="seconds")
    assert same(costs(history), KNOWN)
    for name in ("h.parquet", "h.csv"):
        history.save(tmp_path / name)
    assert same(costs(hs.History.load(tmp_path / "h.parquet")), KNOWN)
    assert same(costs(hs.History.from_csv(tmp_path / "h.csv", SPACE)), KNOWN)
    assert same(costs(history.only("a").merge(history.drop("a"))), KNOWN)
    wider = hs.Space({"x": hs.Float(0.0, 20.0), "y": hs.Int(0, 4)})
    assert same(costs(history.moved_to(wider, fill={"y": 1})[0]), KNOWN)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            -1.0,
            "row 1, column 'seconds': a cost must not be negative, but got -1; leave the cell empty if it is unknown",
        ),
        (math.inf, "row 1, column 'seconds': the value is infinite; leave the cell empty if there is none"),
        ("long", "row 1, column 'seconds': 'long' is not a number; leave the cell empty if there is none"),
    ],
)
def test_costs_that_cannot_be(bad: Any, message: str) -> None:
    table = ROWS.astype({"seconds": object})
    table.loc[1, "seconds"] = bad
    with pytest.raises(HistoryError) as caught:
        hs.History.from_frame(table, SPACE, cost="seconds")
    assert str(caught.value) == message


def test_durations_are_turned_into_seconds() -> None:
    for known in (pd.to_timedelta(ROWS["seconds"], unit="s"), pd.to_timedelta(ROWS["seconds"] * 1e3, unit="ms")):
        assert same(costs(hs.History.from_frame(ROWS.assign(seconds=known), SPACE, cost="seconds")), KNOWN)


@pytest.mark.parametrize("dates", [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01", tz="UTC"), date(2026, 1, 1)])
def test_dates_are_no_costs(dates: Any) -> None:
    with pytest.raises(HistoryError, match=r"row 0, column 'seconds': .* is not a number \(and"):
        hs.History.from_frame(ROWS.assign(seconds=dates), SPACE, cost="seconds")


def test_the_notes_count_costs_that_are_missing_or_zero() -> None:
    def notes(seconds: list[float]) -> str:
        rows = pd.DataFrame({"dataset": "a", "x": [1.0, 2.0, 3.0], "value": [0.1, 0.2, 0.3], "seconds": seconds})
        return " | ".join(hs.History.from_frame(rows, SPACE, task="dataset", cost="seconds").notes)

    assert "cost" not in notes([1.0, 2.0, 3.0])
    assert notes([1.0, math.nan, 3.0]).endswith("1 evaluation without a cost")
    assert notes([0.0, math.nan, 3.0]).endswith(
        "1 evaluation without a cost | 1 cost of 0: counted as the smallest other one of the task"
    )
    assert notes([0.0, 0.0, 3.0]).endswith("2 costs of 0: counted as the smallest other one of the task")
    assert notes([0.0, 0.0, 0.0]).endswith("no cost above 0, so nothing is known of them")


@pytest.mark.parametrize("bad", [-0.5, math.inf])
def test_a_history_has_no_impossible_costs(bad: float) -> None:
    with pytest.raises(HistoryError, match=r"task 'a' has the cost .*, which is negative or infinite; use NaN"):
        build(SPACE, tasks=["a"], V=np.array([[1.0]]), losses=np.array([1.0]), costs=np.array([bad]))


def study_with(seconds: list[float]) -> optuna.Study:
    study = optuna.create_study(study_name="one")
    for x, duration in enumerate(seconds):
        trial = optuna.trial.create_trial(
            params={"x": float(x)}, distributions={"x": optuna.distributions.FloatDistribution(0, 10)}, value=float(x)
        )
        trial.datetime_complete = datetime(2026, 1, 2)
        trial.datetime_start = datetime(2026, 1, 2) - timedelta(seconds=duration)
        study.add_trial(trial)
    return study


def test_the_durations_of_optunas_trials_are_their_costs() -> None:
    history = hs.History.from_optuna(study_with([4.0, 2.5, 0.0]))
    assert history["one"].costs is not None
    assert history["one"].costs.tolist() == [4.0, 2.5, 0.0]


def test_a_trial_that_ended_before_it_began_has_no_cost() -> None:
    history = hs.History.from_optuna(study_with([4.0, -3600.0]))
    assert history["one"].costs is not None
    np.testing.assert_array_equal(history["one"].costs, [4.0, np.nan])


def test_a_negative_cost_of_another_tool_is_unknown_and_counted() -> None:
    runs = pd.DataFrame(
        {
            "params.x": ["1", "2"],
            "metrics.loss": [0.5, 0.4],
            "run_id": ["r", "s"],
            "status": "FINISHED",
            "experiment_id": "7",
        }
    ).assign(
        start_time=pd.to_datetime(["2026-01-01 00:00:10", "2026-01-01 00:00:10"]),
        end_time=pd.to_datetime(["2026-01-01 00:00:00", "2026-01-01 00:00:30"]),
    )
    history = hs.History.from_mlflow(runs)
    (task,) = history
    assert task.costs is not None
    np.testing.assert_array_equal(task.costs, [np.nan, 20.0])
    assert any("1 negative cost" in note for note in history.notes)


def test_a_store_knows_the_seconds_of_every_trial(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    hs.minimize(lambda config: config["x"], SPACE, n_trials=3, store=store, task="one", seed=0, n_init=3)
    history = hs.Store(store).history(SPACE)
    assert history is not None
    assert history["one"].costs is not None
    assert np.isfinite(history["one"].costs).all()


def test_the_shipped_histories_know_their_seconds() -> None:
    for name in ("svm", "adaboost", "resnet"):
        assert all(task.costs is not None and np.isfinite(task.costs).all() for task in hs.library.load(name)), name
