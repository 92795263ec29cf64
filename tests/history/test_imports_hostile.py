"""Importers on bad input: another folder, a half-written run, a pickle, a metric that is not there, mixed values.

Each ends in an error of headstart that names the problem, or in a repair that the notes state.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import EmptyHistoryError, FormatError, HeadstartError
from headstart.history import read_history
from headstart.history.imports import ray_tune
from headstart.history.imports.columns import columns_of, inferred_space
from headstart.history.imports.literals import printed_dict
from headstart.history.imports.metrics import direction_of
from other_tools import TASKS, assert_right, unpacked
from program import headstart, one_line

READERS = {
    name: getattr(hs.History, f"from_{name}")
    for name in ("mlflow", "wandb", "ray", "smac", "syne_tune", "keras_tuner", "search_cv", "hyperopt", "ax", "flaml")
}


# -- what is not of the tool -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READERS)
def test_an_empty_folder(tmp_path, name):
    with pytest.raises(HeadstartError):
        READERS[name](tmp_path)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("file", ["runs.csv", "runs.json", "runs.db", "runhistory.json", "results.csv.zip", "runs.log"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"a,b\n1,2\n", b"\xff\xfe\x00", b'{"data": [[1', b"null"])
def test_other_files(tmp_path, name, file, content):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(HeadstartError):
        READERS[name](tmp_path / file)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("past", [None, 3, pd.DataFrame(), pd.DataFrame({"a": [1]}), [], {}, object()], ids=range(7))
def test_other_objects(name, past):
    with pytest.raises(HeadstartError):
        READERS[name](past)


@pytest.mark.parametrize("name", READERS)
def test_a_path_that_does_not_exist(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        READERS[name](tmp_path / "nowhere")


@pytest.mark.parametrize("name", READERS)
def test_a_pickle_is_refused_unopened(tmp_path, name):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "opened"), "w")

    path = tmp_path / "trials.pkl"
    pd.to_pickle(Trap(), path)
    path.chmod(0)
    with pytest.raises(HeadstartError, match="is a pickle"):
        READERS[name](path)
    assert not (tmp_path / "opened").exists()


def test_the_refusal_of_hyperopt_has_the_two_lines(tmp_path):
    with pytest.raises(HeadstartError, match=r"rows = \[\{\*\*space_eval\(space.*; frame = pd.json_normalize\(rows\)$"):
        hs.History.from_hyperopt(tmp_path / "trials.pkl")

    class Trials:
        trials = ()

    with pytest.raises(HeadstartError, match="hold choices as indices"):
        hs.History.from_hyperopt(Trials())


def test_the_command_line_refuses_a_pickle(tmp_path):
    (tmp_path / "trials.pkl").write_bytes(b"")
    one_line(headstart("import", "trials.pkl", cwd=tmp_path), "trials.pkl is a pickle")


def test_a_folder_of_nothing_known(tmp_path):
    (tmp_path / "notes").mkdir()
    one_line(headstart("learn", "notes", cwd=tmp_path), "notes")


def test_a_tracking_server_is_not_read():
    with pytest.raises(HeadstartError, match=r"is a tracking server; pass what it returns: mlflow.search_runs"):
        hs.History.from_mlflow("http://localhost:5000")


def test_an_optuna_database_is_not_of_mlflow(tmp_path):
    optuna = pytest.importorskip("optuna")
    optuna.create_study(storage=f"sqlite:///{tmp_path / 'runs.db'}")
    with pytest.raises(HeadstartError, match="not a tracking database of MLflow"):
        hs.History.from_mlflow(tmp_path / "runs.db")


# -- half-written runs -----------------------------------------------------------------------------------------


def some_runs(folder, n):
    """Some runs of an mlruns folder that are read: finished ones without nested runs."""
    metas = sorted(path for path in folder.glob("*/*/meta.yaml") if "status: 3" in path.read_text())
    return [meta for meta in metas if (meta.parent / "params" / "lr").exists()][:n]


def test_mlflow_runs_without_meta(tmp_path):
    folder = unpacked("mlflow", tmp_path) / "mlruns"
    whole = hs.History.from_mlflow(folder, value="val/loss")
    missing, cut = some_runs(folder, 2)
    missing.unlink()
    cut.write_text(cut.read_text()[:60])
    history = hs.History.from_mlflow(folder, value="val/loss")
    assert sum(map(len, history)) == sum(map(len, whole)) - 2
    assert "2 runs of which no id, experiment or status is recorded" in history.notes[1]


def test_mlflow_metric_with_a_half_written_line(tmp_path):
    folder = unpacked("mlflow", tmp_path) / "mlruns"
    whole = hs.History.from_mlflow(folder, value="val/loss")
    (run,) = some_runs(folder, 1)
    with (run.parent / "metrics" / "val" / "loss").open("a") as file:
        file.write("1794964626")
    history = hs.History.from_mlflow(folder, value="val/loss")
    for task in TASKS:
        np.testing.assert_array_equal(history[task].losses, whole[task].losses)


def test_mlflow_run_that_failed_before_its_parameters(tmp_path):
    folder = unpacked("mlflow", tmp_path) / "mlruns"
    failed = next(path for path in folder.glob("*/*/meta.yaml") if "status: 4" in path.read_text())
    shutil.rmtree(failed.parent / "params")
    history = hs.History.from_mlflow(folder, value="val/loss")
    assert "1 run that failed before the parameters were recorded" in history.notes[1]


def test_ray_result_with_a_half_written_line(tmp_path):
    folder = unpacked("ray", tmp_path)
    whole = hs.History.from_ray(folder, value="loss")
    path = next(path for path in sorted(folder.glob("churn/*/result.json")) if path.read_text().count("\n") == 3)
    with path.open("a") as file:
        file.write('{"loss": 4.09')
    history = hs.History.from_ray(folder, value="loss")
    np.testing.assert_array_equal(history["churn"].losses, whole["churn"].losses)
    assert "1 damaged line of result files" in history.notes[1]


@pytest.mark.parametrize("step", [2**70, -(2**70), 10**400])
def test_ray_report_at_a_step_that_no_run_reaches(tmp_path, step):
    folder = unpacked("ray", tmp_path)
    whole = hs.History.from_ray(folder, value="loss")
    path = next(path for path in sorted(folder.glob("churn/*/result.json")) if path.read_text().count("\n") == 3)
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), "training_iteration": step}), *rest]))
    history = hs.History.from_ray(folder, value="loss")
    np.testing.assert_array_equal(history["churn"].losses, whole["churn"].losses)
    assert "1 report at an impossible step" in history.notes[1]
    assert len(history.curves.steps) == len(whole.curves.steps) - 1


@pytest.mark.parametrize("error", [KeyError("trials"), RecursionError(), OverflowError("too large"), LookupError()])
def test_damage_that_no_reader_thought_of_is_an_error_that_names_the_folder(tmp_path, monkeypatch, error):
    def damaged(*_):
        raise error

    folder = unpacked("ray", tmp_path)
    monkeypatch.setattr(ray_tune, "_trial", damaged)
    monkeypatch.setattr(ray_tune, "_facts", damaged)
    for read in (lambda: hs.History.from_ray(folder, value="loss"), lambda: read_history(str(folder))):
        with pytest.raises(FormatError, match=f"{folder} is damaged, or was written by another version of the tool"):
            read()


def test_ray_unfinished_trials(tmp_path):
    folder = unpacked("ray", tmp_path) / "churn"
    (path,) = folder.glob("experiment_state-*.json")
    path.write_text(path.read_text().replace('\\"status\\": \\"TERMINATED\\"', '\\"status\\": \\"RUNNING\\"', 2))
    history = hs.History.from_ray(folder, value="loss")
    assert "2 unfinished runs" in history.notes[1]


@pytest.mark.parametrize("state", ["", "{", "{}", '{"checkpoints": []}', '{"trial_data": [["{}", "{}"]]}', "[]"])
def test_ray_state_that_cannot_be_read(tmp_path, state):
    folder = unpacked("ray", tmp_path)
    for path in folder.glob("*/experiment_state-*.json"):
        path.write_text(state)
    history = hs.History.from_ray(folder, value="loss")
    assert_right(history)
    assert [len(history[task]) for task in TASKS] == [6, 6]
    assert any("cannot be read, so a trial counts as finished if it has a result" in note for note in history.notes)


def test_keras_tuner_trial_that_was_cut_off(tmp_path):
    folder = unpacked("keras_tuner", tmp_path)
    path = folder / "churn" / "trial_0" / "trial.json"
    path.write_text(path.read_text()[:100])
    history = hs.History.from_keras_tuner(folder)
    assert len(history["churn"]) == len(history["fraud"]) - 1
    assert "1 trial with a damaged trial.json" in history.notes[1]


def test_flaml_log_that_was_cut_off(tmp_path):
    path = unpacked("flaml", tmp_path) / "iris.log"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:5], lines[5][:40]]))
    history = hs.History.from_flaml(path)
    assert len(history["iris"]) == 5
    assert "1 damaged line" in history.notes[1]


@pytest.mark.parametrize("size", [0, 100, 400])
def test_syne_tune_archive_that_was_cut_off(tmp_path, size):
    folder = unpacked("syne_tune", tmp_path) / "churn"
    path = folder / "results.csv.zip"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(HeadstartError, match="is damaged or was cut off"):
        hs.History.from_syne_tune(folder)


@pytest.mark.parametrize(("name", "file"), [("smac", "churn/3/runhistory.json"), ("ax", "snapshot.json")])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_json_that_was_cut_off(tmp_path, name, file, share):
    path = unpacked(name, tmp_path) / file
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    with pytest.raises(HeadstartError, match="not JSON or was cut off"):
        READERS[name](path)


def test_smac_run_history_with_other_content(tmp_path):
    path = unpacked("smac", tmp_path) / "churn" / "3" / "runhistory.json"
    data = json.loads(path.read_text())
    del data["data"][0]["cost"]
    path.write_text(json.dumps(data))
    with pytest.raises(HeadstartError, match=r"not a run history of SMAC 2 that can be read: KeyError\('cost'\)"):
        hs.History.from_smac(path)


# -- metrics and directions ------------------------------------------------------------------------------------


def test_a_metric_that_does_not_exist_names_those_that_do(tmp_path):
    folder = unpacked("mlflow", tmp_path) / "mlruns"
    with pytest.raises(
        HeadstartError, match=r"'val/los'; did you mean 'val/loss'\? \(metrics: 'auc' \(8 runs\), 'val/loss'"
    ):
        hs.History.from_mlflow(folder, value="val/los")
    one_line(
        headstart("import", str(folder), cwd=tmp_path),
        "several metrics: 'auc' (8 runs), 'val/loss' (16 runs); name the one to learn from with --value",
    )


def test_a_task_that_does_not_exist_names_what_there_is(tmp_path):
    folder = unpacked("mlflow", tmp_path) / "mlruns"
    with pytest.raises(HeadstartError, match=r"no run .* has 'dat'; did you mean 'data'\?"):
        hs.History.from_mlflow(folder, value="auc", task="dat")


def test_a_direction_that_nobody_knows_is_asked_for(tmp_path):
    folder = unpacked("ray", tmp_path)
    for path in folder.rglob("result.json"):
        path.write_text(path.read_text().replace('"loss"', '"quality"'))
    with pytest.raises(
        HeadstartError, match="does not record whether 'quality' was minimised or maximised; choose with d"
    ):
        hs.History.from_ray(folder, value="quality")
    assert hs.History.from_ray(folder, value="quality", direction="maximize").direction == "maximize"


def test_runs_that_all_failed(tmp_path):
    frame = pd.DataFrame({"loss": [1.0, 2.0], "status": ["fail", "fail"], "x": [1.0, 2.0]})
    with pytest.raises(EmptyHistoryError, match="no finished run"):
        hs.History.from_hyperopt(frame)
    frame["task"] = ["a", "b"]
    more = pd.concat([frame, pd.DataFrame({"loss": [3.0], "status": ["ok"], "x": [3.0], "task": ["b"]})])
    history = hs.History.from_hyperopt(more, task="task")
    assert history.tasks == ["b"]
    assert "1 task without a successful run (a)" in history.notes[1]


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("val/rmse", "minimize"),
        ("valLoss", "minimize"),
        ("test_neg_log_loss", "maximize"),
        ("neg_log_likelihood", "minimize"),
        ("roc_auc", "maximize"),
        ("mean_test_score", "maximize"),
        ("eval.R2", "maximize"),
        ("accuracy_loss", None),
        ("quality", None),
        ("", None),
    ],
)
def test_the_direction_that_a_name_tells(metric, direction):
    assert direction_of(metric) == direction


# -- parameters ------------------------------------------------------------------------------------------------


def space_of(cells, *, text=False):
    rows = [{} if cell is ... else {"x": cell} for cell in cells]
    columns = columns_of([{**row, "k": str(i % 2)} for i, row in enumerate(rows)], (), None, text=text, fill={})
    return inferred_space(columns)["x"], columns["x"].note


@pytest.mark.parametrize(
    ("cells", "parameter", "note"),
    [
        ([1, 2, 3], hs.Int(1, 3), ""),
        ([1, 2.5, 3], hs.Float(1, 3), ""),
        ([True, False, True], hs.Categorical([False, True]), ""),
        (["a", "b", "a"], hs.Categorical(["a", "b"]), ""),
        (["1", "2", "1"], hs.Categorical(["1", "2"]), ""),  # text that the source tells from numbers
        ([None, 3, 5], hs.Categorical([3, 5, None]), "'x' mixes None and numbers"),
        ([0.5, "sqrt", None], hs.Categorical([0.5, None, "sqrt"]), "'x' mixes None and numbers and text"),
        ([True, 1, 0], hs.Categorical([0, 1, True]), "'x' mixes numbers and truth values"),
        ([[1, 2], [3]], hs.Categorical(["[1, 2]", "[3]"]), ""),
    ],
)
def test_values_that_a_source_knows_the_kind_of(cells, parameter, note):
    found, said = space_of(cells)
    assert found == parameter
    assert said.startswith(note)
    assert bool(said) == bool(note)


@pytest.mark.parametrize(
    ("cells", "parameter", "note"),
    [
        (["1", "2", "3"], hs.Int(1, 3), ""),
        (["1e-3", "1", "30"], hs.Float(1e-3, 30, log=True), ""),
        (["True", "False"], hs.Categorical([False, True]), ""),
        (["None", "3", "5"], hs.Categorical([3, 5, None]), "'x' mixes None and numbers"),
        (["sqrt", "0.5"], hs.Categorical(["0.5", "sqrt"]), "'x' mixes numbers and text"),
        (["a", "None"], hs.Categorical(["None", "a"]), ""),
        (["64_32", "64_16"], hs.Categorical(["64_16", "64_32"]), ""),
    ],
)
def test_values_that_a_source_records_as_text(cells, parameter, note):
    found, said = space_of(cells, text=True)
    assert found == parameter
    assert said.startswith(note)
    assert bool(said) == bool(note)


def test_mixed_values_come_back_as_they_were():
    frame = pd.DataFrame({"loss": [3.0, 1.0, 2.0, 4.0], "status": "ok", "kind": ["a", "a", "b", "a"]})
    frame["x"] = pd.Series(["auto", 2, None, True], dtype=object)  # None: inactive with kind b
    history = hs.History.from_hyperopt({"t": frame})
    assert {
        repr(config.get("x")): loss for config, loss in zip(history.configs("t"), history["t"].losses, strict=True)
    } == {
        "'auto'": 3.0,
        "2": 1.0,
        "None": 2.0,
        "True": 4.0,
    }
    assert history.space["x"].conditions == {"kind": ("a",)}


def test_too_many_mixed_values_are_an_error_with_a_remedy():
    frame = pd.DataFrame({"loss": np.arange(60.0), "status": "ok", "x": [*range(59), "auto"]})
    with pytest.raises(
        HeadstartError, match="60 different texts, too many for a list of choices; skip the column with ignore="
    ):
        hs.History.from_hyperopt(frame)


def test_a_given_space_decides_how_text_is_read(tmp_path):
    space = {"lr": hs.Float(1e-5, 10, log=True), "depth": hs.Categorical(["2", "3", "4", "5", "6", "7"])}
    history = hs.History.from_mlflow(unpacked("mlflow", tmp_path) / "mlruns", space, value="val/loss")
    assert {type(config["depth"]) for config in history.configs("churn")} == {str}
    assert list(history.space) == ["lr", "depth"]


def test_ignore_drops_a_parameter_even_of_a_recorded_space(tmp_path):
    history = hs.History.from_smac(unpacked("smac", tmp_path), ignore="gamma")
    assert set(history.space) == {"batch", "depth", "kernel", "lr"}


def test_a_parameter_may_be_called_like_a_result():
    frame = pd.DataFrame({"loss": [1.0, 2.0], "status": "ok", "value": [0.1, 0.2], "task": ["a", "b"], "cost": [1, 2]})
    history = hs.History.from_hyperopt(frame, task="task")
    assert list(history.space) == ["value", "cost"]
    assert history.tasks == ["a", "b"]


def test_a_cost_by_name(tmp_path):
    history = hs.History.from_keras_tuner(unpacked("keras_tuner", tmp_path), cost="size")
    good = np.isfinite(history["churn"].losses)
    depths = np.array([config["depth"] for config in history.configs("churn")])
    np.testing.assert_array_equal(history["churn"].costs[good], depths[good])
    with pytest.raises(HeadstartError, match=r"no run .* has a number under 'price'; name the cost with cost="):
        hs.History.from_keras_tuner(tmp_path, cost="price")


# -- dictionaries as Python prints them ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": 1, "b": -2.5, "c": None, "d": True, "e": "it's"},
        {"a": {"b": [1, 2, {"c": 3}]}},
        {"a": np.float64(0.1), "b": np.int64(3)},
    ],
)
def test_printed_dictionaries(value):
    assert printed_dict(repr(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "{'a': 1",
        "{1, 2}",
        "{'a': __import__('os').system('true')}",
        "{'a': open('x')}",
        "{'a': (lambda: 1)()}",
        "{'a': [x for x in (1,)]}",
        "{**{}}",
        "{'a': 1 + 1}",
        "{" * 5000,
        "{'a': b'bytes'}",
    ],
)
def test_anything_else_is_not_a_dictionary(text):
    assert printed_dict(text) is None


def test_nothing_is_written_while_reading(tmp_path):
    folder = unpacked("syne_tune", tmp_path)
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    read_history(str(folder))
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before


# -- files that are larger than they look ----------------------------------------------------------------------


def test_an_archive_that_expands_is_refused_before_it_does(tmp_path):
    with zipfile.ZipFile(tmp_path / "results.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results.csv", bytes(65 * 2**20))
    with pytest.raises(FormatError, match=r"holds more than 67,108,864 bytes of text"):
        hs.History.from_syne_tune(tmp_path)


def test_a_view_in_a_tracking_database_is_not_read(tmp_path):
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        for table in ("experiments", "runs", "params", "latest_metrics", "tags"):
            database.execute(f"CREATE TABLE {table} (run_uuid, key, value, experiment_id)")
        database.execute("CREATE VIEW metrics AS SELECT 1")
    with pytest.raises(FormatError, match="its table metrics computes what it shows"):
        hs.History.from_mlflow(path)
