"""Learning curves in a history: read, kept through everything, and what is refused."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

import headstart as hs
from headstart.errors import ArgumentError, HistoryError
from other_tools import unpacked

SPACE = hs.Space({"x": hs.Float(0.0, 10.0)})
# A whole run, one with a gap and steps out of order, one with NaN in the middle; two stopped; one that diverged.
REPORTS = {
    ("a", 1.0): {0: 0.9, 1: 0.5, 2: 0.3},
    ("a", 2.0): {2: 0.2, 0: 0.8},
    ("a", 3.0): {0: 0.7, 1: math.nan, 2: 0.6},
    ("a", 4.0): {0: 1.5, 1: 1.4},
    ("b", 1.0): {0: 9.0, 1: 8.0},
    ("b", 5.0): {0: 7.0, 1: math.nan},
    ("b", 6.0): {0: 99.0},
}


def frame(reports: Any = REPORTS) -> pd.DataFrame:
    rows = [(task, x, step, y) for (task, x), curve in reports.items() for step, y in curve.items()]
    return pd.DataFrame(rows, columns=["task", "x", "epoch", "loss"])


def read(table: pd.DataFrame | None = None, **more: Any) -> hs.History:
    how = {"value": "loss", "step": "epoch", **more}
    return hs.History.from_frame(frame() if table is None else table, SPACE, **how)


def curves(history: hs.History) -> dict[tuple[str, float], tuple[dict[int, float], bool]]:
    found = history.curves
    assert found is not None
    return {
        (task, float(v[0])): (dict(zip(steps.tolist(), losses.tolist(), strict=True)), bool(ended))
        for task, v, ended, (steps, losses) in zip(found.tasks, found.V, found.ended, found, strict=True)
    }


EXPECTED = {
    ("a", 1.0): ({0: 0.9, 1: 0.5, 2: 0.3}, True),
    ("a", 2.0): ({0: 0.8, 2: 0.2}, True),
    ("a", 3.0): ({0: 0.7, 2: 0.6}, True),
    ("a", 4.0): ({0: 1.5, 1: 1.4}, False),
    ("b", 1.0): ({0: 9.0, 1: 8.0}, True),
    ("b", 5.0): ({0: 7.0}, False),
    ("b", 6.0): ({0: 99.0}, False),
}


def test_a_table_with_one_row_per_step() -> None:
    history = read()
    assert curves(history) == EXPECTED
    assert history["a"].losses.tolist() == [0.3, 0.2, 0.6]
    np.testing.assert_array_equal(history["b"].losses, [8.0, np.nan])
    assert any("2 runs stopped before the longest of the task" in note for note in history.notes)
    shuffled = read(frame().sample(frac=1.0, random_state=0))
    assert curves(shuffled) == EXPECTED


def test_the_space_of_runs_with_steps_is_inferred() -> None:
    history = hs.History.from_frame(frame(), value="loss", step="epoch")
    assert list(history.space) == ["x"]
    assert len(curves(history)) == len(EXPECTED)


def test_curves_survive_everything(tmp_path: Path) -> None:
    history = read()
    history.save(tmp_path / "h.parquet")
    loaded = hs.History.load(tmp_path / "h.parquet")
    assert curves(loaded) == EXPECTED
    assert loaded["a"].losses.tolist() == history["a"].losses.tolist()
    assert curves(pickle.loads(pickle.dumps(history))) == EXPECTED
    assert curves(history.only("a").merge(history.drop("a"))) == EXPECTED
    assert {task for task, _ in curves(history.drop("a"))} == {"b"}
    assert {task for task, _ in curves(history.with_task_names({"a": "c"}))} == {"b", "c"}
    wider = hs.Space({"y": hs.Int(0, 4), "x": hs.Float(0.0, 20.0)})
    moved = history.moved_to(wider, fill={"y": 1})[0]
    assert moved.curves is not None
    assert moved.curves.V.tolist() == [[1.0, x] for _, x in EXPECTED]
    plain = read().only("a")
    plain.save(tmp_path / "h.csv")
    assert hs.History.from_csv(tmp_path / "h.csv", SPACE).curves is None


def test_curves_of_a_maximised_metric_are_losses_and_come_back(tmp_path: Path) -> None:
    table = frame().assign(loss=lambda rows: -rows["loss"])
    history = read(table, direction="maximize")
    assert curves(history) == EXPECTED
    history.save(tmp_path / "h.parquet")
    assert curves(hs.History.load(tmp_path / "h.parquet")) == EXPECTED


def test_a_csv_file_with_steps(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "log.csv", index=False)
    assert curves(hs.History.from_csv(tmp_path / "log.csv", SPACE, value="loss", step="epoch")) == EXPECTED


def test_a_history_without_curves_is_written_as_before(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    hs.History.from_frame(frame().drop_duplicates(["task", "x"]).drop(columns="epoch"), SPACE, value="loss").save(
        tmp_path / "h.parquet"
    )
    assert "step" not in pq.read_schema(tmp_path / "h.parquet").names


@pytest.mark.parametrize("bad", [-1, 0.5, math.nan])
def test_steps_that_cannot_be(bad: float) -> None:
    table = frame().astype({"epoch": float})
    table.loc[2, "epoch"] = bad
    with pytest.raises(HistoryError, match=r"row 2, column 'epoch': a step must be a whole number of at least 0"):
        read(table)


def test_steps_do_not_go_with_skipped_rows() -> None:
    with pytest.raises(ArgumentError, match="skip_bad_rows does not go with step"):
        read(skip_bad_rows=True)
    with pytest.raises(HistoryError, match=r"has no column 'epochs'; did you mean 'epoch'"):
        read(step="epochs")


def study(storage: Any = None) -> optuna.Study:
    """Two complete trials, two pruned ones (the last report of one is out of their range), one without reports."""
    made = optuna.create_study(storage=storage, study_name="one", direction="maximize")
    kinds = {"x": FloatDistribution(0, 10)}
    for x, state, value, reports in (
        (1.0, TrialState.COMPLETE, 0.9, {0: 0.1, 5: 0.9}),
        (2.0, TrialState.COMPLETE, 0.3, {0: 0.2, 5: 0.3}),
        (3.0, TrialState.PRUNED, None, {0: 0.1, 1: 0.4}),
        (4.0, TrialState.PRUNED, None, {0: 0.05, 1: math.nan}),
        (5.0, TrialState.PRUNED, None, {}),
    ):
        made.add_trial(
            create_trial(params={"x": x}, distributions=kinds, state=state, value=value, intermediate_values=reports)
        )
    return made


@pytest.mark.parametrize("kind", ["memory", "database", "journal"])
def test_what_optunas_trials_reported(kind: str, tmp_path: Path) -> None:
    storage: Any = None
    if kind == "database":
        storage = f"sqlite:///{tmp_path / 'runs.db'}"
    elif kind == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "runs.log"))
        storage = optuna.storages.JournalStorage(backend)
    made = study(storage)
    history = hs.History.from_optuna(storage if kind != "memory" else made)
    assert curves(history) == {
        ("one", 1.0): ({0: -0.1, 5: -0.9}, True),
        ("one", 2.0): ({0: -0.2, 5: -0.3}, True),
        ("one", 3.0): ({0: -0.1, 1: -0.4}, False),
        ("one", 4.0): ({0: -0.05}, False),
    }
    # Pruned trials count with their last value, within the range of the complete ones.
    assert history["one"].losses.tolist() == [-0.9, -0.3, -0.4, -0.3]
    assert "2 pruned trials counted with the last value reported" in history.notes[0]
    assert "1 trial pruned without a report" in history.notes[1]


@pytest.mark.parametrize(("archive", "file", "steps"), [("ray", "", [1, 2, 3]), ("mlflow", "mlruns", [0, 1, 2])])
def test_what_runs_of_other_tools_reported(archive: str, file: str, steps: list[int], tmp_path: Path) -> None:
    past = unpacked(archive, tmp_path) / file
    history = (
        hs.History.from_ray(past, value="loss") if archive == "ray" else hs.History.from_mlflow(past, value="val/loss")
    )
    found = history.curves
    assert found is not None
    assert found.ended.any()
    results = {
        (name, v.tobytes()): loss
        for name in history.tasks
        for v, loss in zip(history.V[history[name].rows], history[name].losses, strict=True)
    }
    for task, v, ended, (own, losses) in zip(found.tasks, found.V, found.ended, found, strict=True):
        if ended:
            assert own.tolist() == steps
            assert losses[-1] == results[task, v.tobytes()]
            assert (np.diff(losses) < 0).all()


def test_a_database_of_mlflow_has_the_same_curves_as_its_folder(tmp_path: Path) -> None:
    folder = hs.History.from_mlflow(unpacked("mlflow", tmp_path / "a") / "mlruns", value="val/loss").curves
    database = hs.History.from_mlflow(
        unpacked("mlflow_database", tmp_path / "b") / "mlflow.db", value="val/loss"
    ).curves
    assert folder is not None
    assert database is not None
    assert sorted(len(steps) for steps, _ in folder) == sorted(len(steps) for steps, _ in database)
