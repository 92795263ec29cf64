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
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV

import headstart as hs
from headstart.errors import ArgumentError, FormatError, HistoryError
from other_tools import loss, unpacked

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
    assert history["a"].losses.tolist() == [0.3, 0.2, 0.6, 1.4]
    np.testing.assert_array_equal(history["b"].losses, [8.0, np.nan, 99.0])
    assert any("2 runs stopped before the longest of the task" in note for note in history.notes)
    assert "2 steps without a number: left out of the learning curves" in history.notes
    shuffled = read(frame().sample(frac=1.0, random_state=0))
    assert curves(shuffled) == EXPECTED


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_stopped_run_counts_with_its_last_value_but_as_no_better_than_a_whole_one(direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    reports = {
        ("a", 1.0): {0: 5.0, 1: 3.0},
        ("a", 2.0): {0: 6.0, 1: 4.0},
        ("a", 3.0): {0: 1.0},
        ("a", 4.0): {0: 3.5},
        ("a", 5.0): {0: 9.0},
        ("b", 1.0): {0: 1.0, 1: math.nan},
        ("b", 2.0): {0: 2.0},
    }
    history = read(frame(reports).assign(loss=lambda rows: sign * rows["loss"]), direction=direction)
    assert history["a"].losses.tolist() == [3.0, 4.0, 3.0, 3.5, 9.0]
    np.testing.assert_array_equal(history["b"].losses, [np.nan, 2.0])  # no whole run to compare with


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


@pytest.mark.parametrize(
    ("bad", "got"), [(-1, "got -1"), (0.5, "got 0.5"), (1e18, r"got 1e\+18"), (math.nan, "the cell is")]
)
def test_steps_that_cannot_be(bad: float, got: str) -> None:
    table = frame().astype({"epoch": float})
    table.loc[2, "epoch"] = bad
    with pytest.raises(HistoryError, match=rf"row 2, column 'epoch': a step must be a whole number .*, but {got}"):
        read(table)


def test_dates_are_no_steps() -> None:
    with pytest.raises(HistoryError, match="row 0, column 'epoch': '2026-01-01' is not a number"):
        read(frame().assign(epoch=pd.Timestamp("2026-01-01")))


@pytest.mark.parametrize("bad", [1e300, 0.5, -(2.0**60)])
def test_a_history_file_with_steps_that_cannot_be(bad: float, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    read().save(tmp_path / "h.parquet")
    table = pq.read_table(tmp_path / "h.parquet")
    steps = [bad if step == 2 else step for step in table["step"].to_pylist()]
    place = table.column_names.index("step")
    pq.write_table(table.set_column(place, "step", pa.array(steps, pa.float64())), tmp_path / "h.parquet")
    with pytest.raises(FormatError, match=r"a step of a learning curve is not a whole number of at most 2\^53"):
        hs.History.load(tmp_path / "h.parquet")


@pytest.mark.parametrize("kind", ["memory", "journal"])
def test_a_trial_that_reported_at_a_step_that_cannot_be(kind: str, tmp_path: Path) -> None:
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "runs.log"))
    made = study(optuna.storages.JournalStorage(backend) if kind == "journal" else None)
    trial = made.ask({"x": FloatDistribution(0, 10)})
    trial.report(0.5, 2**70)
    made.tell(trial, 0.5)
    past = made if kind == "memory" else tmp_path / "runs.log"
    with pytest.raises(FormatError, match=r"trial 5 of the study 'one'.*step"):
        hs.History.from_optuna(past)
    assert len(hs.History.from_optuna(past, skip_damaged=True)["one"]) == 4


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


# -- Ray's progress.csv ------------------------------------------------------------------------------------------


def same(one: hs.History, other: hs.History) -> bool:
    """Whether two histories have the same evaluations and curves."""
    assert one.curves is not None
    assert other.curves is not None
    return (
        one.to_frame().equals(other.to_frame())
        and np.array_equal(one.curves.ended, other.curves.ended)
        and np.array_equal(one.curves.steps, other.curves.steps)
        and np.array_equal(one.curves.losses, other.curves.losses)
    )


def test_progress_of_ray_stands_in_for_a_missing_or_damaged_result(tmp_path: Path) -> None:
    folder = unpacked("ray", tmp_path)
    whole = hs.History.from_ray(folder, value="loss")
    for number, path in enumerate(sorted(folder.rglob("result.json"))):
        if number % 2:
            path.unlink()
        else:
            path.write_text(path.read_text()[:-40])  # cut off within the last line
    again = hs.History.from_ray(folder, value="loss")
    assert same(whole, again)
    assert "damaged" not in again.notes[1]


def test_progress_of_ray_that_is_cut_off(tmp_path: Path) -> None:
    folder = unpacked("ray", tmp_path)
    trial = next(path.parent for path in sorted(folder.rglob("progress.csv")) if path.read_text().count("\n") == 4)
    (trial / "result.json").unlink()
    (trial / "progress.csv").write_text((trial / "progress.csv").read_text()[:-60])
    history = hs.History.from_ray(folder, value="loss")
    assert "1 damaged line of result files" in history.notes[1]
    assert history.curves is not None
    assert sorted(len(steps) for steps, _ in history.curves).count(2) == 1
    for state in folder.rglob("experiment_state-*.json"):
        state.write_text("{")
    (trial / "progress.csv").write_text("")
    assert "1 unfinished run" in hs.History.from_ray(folder, value="loss").notes[1]


# -- Keras Tuner -------------------------------------------------------------------------------------------------


def test_steps_of_keras_tuner_and_trials_that_hyperband_continued(tmp_path: Path) -> None:
    history = hs.History.from_keras_tuner(unpacked("keras_tuner_curves", tmp_path))
    found = history.curves
    assert found is not None
    assert list(history.space) == ["lr", "depth"]  # without tuner/epochs and the like
    lengths: dict[str, set[tuple[int, ...]]] = {"churn": set(), "fraud": set()}
    for task, v, ended, (steps, losses) in zip(found.tasks, found.V, found.ended, found, strict=True):
        config = {**history.space.from_values(v[None])[0], "kernel": "lin"}
        last = 2 if task == "churn" else 9
        # Two executions of a step are averaged; those of Hyperband get better by 1 with each epoch.
        np.testing.assert_allclose(losses, [loss(config, task) + last - step for step in steps])
        assert ended == (steps[-1] == last)
        lengths[task].add(tuple(steps.tolist()))
    assert lengths == {"churn": {(0, 1, 2)}, "fraud": {(1,), (1, 3), (1, 3, 9), (3,), (3, 9), (9,)}}
    assert len(history["fraud"]) == 17  # 23 trials, of which 6 continue another one
    by_metric = hs.History.from_keras_tuner(tmp_path, value="val_loss").curves
    assert by_metric is not None
    np.testing.assert_array_equal(by_metric.losses, found.losses)


# -- halving -----------------------------------------------------------------------------------------------------


def halving(**more: Any) -> Any:
    """A search by halving over a random forest."""
    return HalvingGridSearchCV(
        RandomForestClassifier(random_state=0),
        {"max_depth": [1, 2, 3, 5], "max_features": [1, 2]},
        cv=3,
        random_state=0,
        **more,
    ).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    "options",
    [
        {"min_resources": 12, "resource": "n_samples"},
        {"min_resources": 1, "max_resources": 8, "resource": "n_estimators", "factor": 2},
    ],
    ids=["samples", "trees"],
)
def test_halving_is_a_run_per_candidate(options: dict[str, Any], tmp_path: Path) -> None:
    search = halving(**options)
    results = pd.DataFrame(search.cv_results_)
    results.to_csv(tmp_path / "search.csv", index=False)
    expected: dict[Any, dict[int, float]] = {}
    for row in results.itertuples():
        key = (row.params["max_depth"], row.params["max_features"])
        expected.setdefault(key, {})[row.n_resources] = -row.mean_test_score
    most = results["n_resources"].max()
    for past in (search, search.cv_results_, results, tmp_path / "search.csv"):
        history = hs.History.from_search_cv(past)
        found = history.curves
        assert found is not None
        assert sorted(history.space) == ["max_depth", "max_features"]  # not the resource
        runs = {}
        for v, ended, (steps, losses) in zip(found.V, found.ended, found, strict=True):
            config = history.space.from_values(v[None])[0]
            key = (config["max_depth"], config["max_features"])
            runs[key] = dict(zip(steps.tolist(), losses.tolist(), strict=True))
            assert ended == (steps[-1] == most)
        assert runs == {key: pytest.approx(curve) for key, curve in expected.items()}
        assert 0 < found.ended.sum() < len(found)
        resource = options["resource"]
        noted = f"{resource!r} is the resource of the search, not a parameter" in history.notes
        assert noted == (resource == "n_estimators")


def test_a_candidate_that_halving_dropped_is_no_better_than_those_that_went_on() -> None:
    results = {
        "iter": [0, 0, 0, 0, 1, 1, 2],
        "n_resources": [10, 10, 10, 10, 20, 20, 40],
        "params": [{"C": c} for c in (1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0)],
        "param_C": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0],
        "mean_test_score": [0.9, 0.95, 0.85, 0.5, 0.8, 0.7, 0.75],
        "mean_fit_time": [1.0] * 4 + [2.0] * 2 + [4.0],
        "mean_score_time": [0.0] * 7,
    }
    history = hs.History.from_search_cv(results)
    values = {c["C"]: -y for c, y in zip(history.configs("search"), history["search"].losses, strict=True)}
    # 3 scored 0.85 with ten samples, but 2, which went on, ended at 0.7; 4 was worse than that anyway.
    assert values == {1.0: 0.75, 2.0: 0.7, 3.0: 0.7, 4.0: 0.5}
    assert history["search"].costs is not None
    assert history["search"].costs.max() == 4.0
    assert any("3 candidates dropped before the full resources" in note for note in history.notes)
    results["mean_test_score"][-1] = math.nan  # could not be fitted with all samples
    history = hs.History.from_search_cv(results)
    assert np.isnan(history["search"].losses).sum() == 1
    assert history.curves is not None
    assert history.curves.ended.sum() == 0
