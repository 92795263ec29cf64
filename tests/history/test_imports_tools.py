"""Importers on files that the real tools wrote: every value is the one that the tool was given for its configuration.

The files are in tests/data/imports; `tests/other_tools.py` made them and says how. `test_imports_live.py` runs the
tools themselves where they are installed.
"""

from __future__ import annotations

import json
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.history import read_history
from headstart.history.reading import Reading
from other_tools import DATA, TASKS, assert_right, drawn, fails, unpacked


@pytest.fixture
def files(tmp_path):
    """The folder of a tool's files."""
    return lambda name: unpacked(name, tmp_path)


def failed(history):
    """How many trials of each task failed."""
    return [int(np.isnan(history[task].losses).sum()) for task in history.tasks]


def skipped(history):
    return history.notes[1]


# -- MLflow ----------------------------------------------------------------------------------------------------


def test_mlflow_folder(files):
    history = hs.History.from_mlflow(files("mlflow") / "mlruns", value="val/loss")
    assert_right(history)
    assert min(failed(history)) > 0
    assert history.direction == "minimize"
    assert history.space["gamma"].conditions == {"kernel": ("rbf",)}
    assert history.space["pruning"] == hs.Categorical([0.1, 0.2, None])
    assert {task: len(history[task]) for task in TASKS} == {task: len(drawn(task)) for task in TASKS}
    assert all(np.isfinite(history[task].costs).all() for task in TASKS)
    assert skipped(history) == (
        "skipped 2 deleted runs; 2 runs with nested runs (searches, not evaluations); 2 unfinished runs; "
        "the columns library"
    )
    assert "by its name, this source minimises 'val/loss'" in history.notes
    assert "'pruning' mixes None and numbers, so its values are read as choices" in history.notes


def test_mlflow_database_and_frame_hold_the_same_as_the_folder(files):
    folder = files("mlflow")
    files("mlflow_database")
    first = hs.History.from_mlflow(folder / "mlruns", value="val/loss")
    database = hs.History.from_mlflow(f"sqlite:///{folder / 'mlflow.db'}", value="val/loss")
    assert dict(database.space) == dict(first.space)
    assert_right(database)
    frame = pd.read_csv(folder / "search_runs.csv")
    for past in (frame, folder / "search_runs.csv"):
        table = hs.History.from_mlflow(past, value="val/loss", space=first.space)
        assert_right_by_id(table, first)


def assert_right_by_id(table, first):
    """The frame of search_runs has ids of experiments instead of names."""
    assert table.tasks == ["1", "2"]
    for task, name in zip(table.tasks, TASKS, strict=True):
        np.testing.assert_allclose(table[task].losses, first[name].losses)
        assert table.configs(task) == first.configs(name)


def test_mlflow_reading_leaves_the_database_as_it_was(files):
    path = files("mlflow_database") / "mlflow.db"
    before = path.read_bytes()
    hs.History.from_mlflow(path, value="val/loss")
    assert path.read_bytes() == before
    assert sorted(child.name for child in path.parent.iterdir()) == ["mlflow.db", "search_runs.csv"]


def test_mlflow_task_from_a_tag(files):
    history = hs.History.from_mlflow(files("mlflow") / "mlruns", value="val/loss", task="data")
    assert history.tasks == ["churn-0", "churn-1", "fraud-0", "fraud-1"]
    assert "2 runs without 'data', which names the task" in skipped(history)


def test_mlflow_runs_without_the_metric_are_counted(files):
    history = hs.History.from_mlflow(files("mlflow") / "mlruns", value="auc")
    assert history.direction == "maximize"
    assert "8 runs without the metric 'auc'" in skipped(history)


def test_only_the_tasks_that_are_named(files):
    folder = files("mlflow") / "mlruns"
    history = hs.History.from_mlflow(folder, value="val/loss", tasks="chu*")
    assert_right(history, ["churn"])
    assert "11 runs of other tasks" in skipped(history)
    assert read_history(str(folder), Reading(value="val/loss", studies=["fraud"])).tasks == ["fraud"]
    with pytest.raises(ValueError, match=r"no task of mlruns \(MLflow\) matches 'wine' \(tasks: churn, fraud\)"):
        hs.History.from_mlflow(folder, value="val/loss", tasks=["churn", "wine"])


def test_mlflow_one_experiment(files):
    folder = files("mlflow") / "mlruns"
    (churn,) = [meta.parent for meta in folder.glob("*/meta.yaml") if "name: churn" in meta.read_text()]
    assert hs.History.from_mlflow(churn, value="val/loss").tasks == ["churn"]


# -- other names, missing parameters ---------------------------------------------------------------------------


def assert_same_but_for_names(history, first, names):
    assert dict(history.space) == dict(first.renamed(names).space)
    for task in first.tasks:
        renamed = [{names.get(name, name): cell for name, cell in config.items()} for config in first.configs(task)]
        assert history.configs(task) == renamed
        np.testing.assert_array_equal(history[task].losses, first[task].losses)


def test_rename_also_renames_in_conditions(files):
    folder, names = files("mlflow") / "mlruns", {"lr": "rate", "kernel": "shape"}
    first = hs.History.from_mlflow(folder, value="val/loss")
    history = hs.History.from_mlflow(folder, value="val/loss", rename=names)
    assert history.space["gamma"].conditions == {"shape": ("rbf",)}
    assert_same_but_for_names(history, first, names)
    assert_same_but_for_names(read_history(str(folder), Reading(value="val/loss", rename=names)), first, names)


def test_rename_with_a_recorded_space(files):
    folder, names = files("smac"), {"lr": "rate", "kernel": "shape"}
    assert_same_but_for_names(hs.History.from_smac(folder, rename=names), hs.History.from_smac(folder), names)
    start = hs.learn(str(folder), n=2, rename=names, seed=0)
    assert {"rate", "shape"} <= set(start.space)


def test_fill_gives_runs_a_parameter_that_they_lack(files):
    folder = files("mlflow") / "mlruns"
    first = hs.History.from_mlflow(folder, value="val/loss").renamed({"lr": "rate"})
    space = hs.Space({**first.space, "trees": hs.Int(10, 1000, log=True)})
    options = {"value": "val/loss", "space": space, "rename": {"lr": "rate"}, "fill": {"trees": 100, "gamma": 1.0}}
    for history in (hs.History.from_mlflow(folder, **options), read_history(str(folder), Reading(**options))):
        for task in TASKS:  # gamma stays inactive where the kernel is not rbf
            assert history.configs(task) == [{**config, "trees": 100} for config in first.configs(task)]
        assert "gamma" not in skipped(history)


def test_fill_completes_a_parameter_that_some_runs_lack():
    frame = pd.DataFrame({"C": [0.5, 2.0, 9.0, 4.0], "depth": [3, None, 5, None], "loss": [0.3, 0.2, 0.4, 0.1]})
    frame["status"] = "ok"
    with pytest.raises(ValueError, match="'depth' is empty in 2 of 4 rows"):
        hs.History.from_hyperopt(frame)
    history = hs.History.from_hyperopt(frame, fill={"depth": 4})
    depths = {config["C"]: config["depth"] for config in history.configs(history.tasks[0])}
    assert depths == {0.5: 3, 2.0: 4, 9.0: 5, 4.0: 4}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rename": {"lrr": "rate"}}, r"cannot rename 'lrr': no run of mlruns \(MLflow\) has this parameter.*'lr'"),
        ({"rename": {"lr": "depth"}}, "has two parameters of one name"),
        ({"rename": ["lr"]}, "rename must be a dict, but got \\['lr'\\]"),
        ({"fill": {"trees": 100}}, "cannot fill 'trees': the search space has"),
    ],
)
def test_names_that_cannot_be_meant(files, options, match):
    with pytest.raises(ValueError, match=match):
        hs.History.from_mlflow(files("mlflow") / "mlruns", value="val/loss", **options)


# -- Ray Tune, SMAC, Syne Tune, Keras Tuner --------------------------------------------------------------------


def test_ray_tune(files):
    history = hs.History.from_ray(files("ray"), value="loss")
    assert_right(history)
    assert min(failed(history)) > 0
    assert list(history.space) == ["lr", "net/depth", "kernel"]  # epochs never varied
    assert all(np.isfinite(history[task].costs).all() for task in TASKS)
    one = hs.History.from_ray({"renamed": files("ray") / "fraud"}, value="loss")
    assert one.tasks == ["renamed"]
    np.testing.assert_array_equal(one["renamed"].losses, history["fraud"].losses)


def test_ray_tune_takes_the_last_result_of_a_trial(files):
    folder = files("ray") / "churn"
    reported = [path.read_text().splitlines() for path in folder.glob("*/result.json")]
    last = sorted(json.loads(lines[-1])["loss"] for lines in reported if len(lines) == 3)
    history = hs.History.from_ray(folder, value="loss")
    losses = history["churn"].losses
    np.testing.assert_allclose(np.sort(losses[~np.isnan(losses)]), last)


def test_smac(files):
    history = hs.History.from_smac(files("smac"))
    assert_right(history)
    assert min(failed(history)) > 0
    assert history.space == hs.Space(
        {
            "batch": hs.Categorical([16, 32, 64]),
            "depth": hs.Int(4, 6),
            "epochs": hs.Categorical([3]),
            "kernel": hs.Categorical(["rbf", "lin"]),
            "lr": hs.Float(1e-4, 1.0, log=True),
            "gamma": hs.Float(1e-3, 10.0, log=True, when={"kernel": "rbf"}),
        }
    )
    assert all(len(history[task]) == 12 for task in TASKS)


def test_smac_before_version_2_3(files):
    """The layout of 2.0 to 2.2, in which a trial is a list of these ten (see RunHistory.save there)."""
    folder = files("smac")
    new = hs.History.from_smac(folder)
    fields = [
        "config_id",
        "instance",
        "seed",
        "budget",
        "cost",
        "time",
        "status",
        "starttime",
        "endtime",
        "additional_info",
    ]
    for path in folder.rglob("runhistory.json"):
        data = json.loads(path.read_text())
        data["data"] = [[entry[field] for field in fields] for entry in data["data"]]
        path.write_text(json.dumps(data))
    old = hs.History.from_smac(folder)
    assert old.space == new.space
    for task in TASKS:
        np.testing.assert_array_equal(old[task].losses, new[task].losses)
        np.testing.assert_array_equal(old[task].costs, new[task].costs)


def test_smac_instances_are_tasks_and_only_the_largest_budget_counts(files):
    folder = files("smac")
    path = next((folder / "churn").rglob("runhistory.json"))
    data = json.loads(path.read_text())
    whole = [{**entry, "instance": "wine", "budget": 9.0} for entry in data["data"]]
    data["data"] = whole + [{**entry, "budget": 3.0, "cost": -1.0} for entry in whole[:4]]
    path.write_text(json.dumps(data))
    history = hs.History.from_smac(folder)
    assert history.tasks == ["fraud", "wine"]
    assert history["wine"].losses[np.isfinite(history["wine"].losses)].min() > 0
    assert "4 trials below the largest budget" in skipped(history)


def test_smac_with_two_objectives_needs_a_choice(files):
    folder = files("smac")
    for path in folder.rglob("scenario.json"):
        path.write_text(path.read_text().replace('"objectives": "cost"', '"objectives": ["cost", "size"]'))
    for path in folder.rglob("runhistory.json"):
        data = json.loads(path.read_text())
        data["data"] = [{**entry, "cost": [entry["cost"], 1.0]} for entry in data["data"]]
        path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"several metrics: 'cost' \(\d+ runs\), 'size' \(\d+ runs\)"):
        hs.History.from_smac(folder)
    assert_right(hs.History.from_smac(folder, value="cost"))


def test_smac_without_its_space(files):
    folder = files("smac")
    for path in folder.rglob("configspace.json"):
        path.unlink()
    history = hs.History.from_smac(folder)
    assert_right(history)
    assert history.space["gamma"].conditions == {"kernel": ("rbf",)}
    assert any("there is no configspace.json, so the space is inferred" in note for note in history.notes)


def test_syne_tune(files):
    folder = files("syne_tune")
    history = hs.History.from_syne_tune(folder)
    assert_right(history)
    assert min(failed(history)) > 0
    assert history.space == hs.Space(
        {"lr": hs.Float(1e-4, 1.0, log=True), "depth": hs.Int(4, 7), "kernel": hs.Categorical(["lin", "poly"])}
    )
    assert "2 unfinished runs" in skipped(history)
    tagged = hs.History.from_syne_tune(folder / "fraud" / "results.csv.zip", task="dataset")
    np.testing.assert_array_equal(tagged["fraud"].losses, history["fraud"].losses)


def test_keras_tuner(files):
    history = hs.History.from_keras_tuner(files("keras_tuner"))
    assert_right(history)
    assert min(failed(history)) > 0
    assert history.direction == "minimize"
    assert history.space == hs.Space(
        {
            "lr": hs.Float(1e-4, 1.0, log=True),
            "depth": hs.Int(3, 7, step=2),
            "kernel": hs.Categorical(["rbf", "lin"]),
            "gamma": hs.Float(1e-3, 10.0, log=True, when={"kernel": "rbf"}),
            "shuffle": hs.Categorical([True, False]),
        }
    )
    size = hs.History.from_keras_tuner(files("keras_tuner"), value="size")  # another metric of the same trials
    for config, value in zip(size.configs("churn"), size["churn"].losses, strict=True):
        assert math.isnan(value) if fails(config) else value == config["depth"]


# -- Ax, FLAML, hyperopt ---------------------------------------------------------------------------------------


def test_ax_snapshot_and_summary(files):
    folder = files("ax")
    history = hs.History.from_ax(folder / "snapshot.json")
    assert_right(history, ["churn"])
    assert history.direction == "minimize"
    assert history.space["lr"] == hs.Float(1e-4, 1.0, log=True)
    assert "1 unfinished run" in skipped(history)
    table = hs.History.from_ax({"churn": folder / "summary.csv"}, value="loss", space=history.space)
    np.testing.assert_allclose(table["churn"].losses, history["churn"].losses)
    assert "taken for metrics, not parameters: 'loss', 'size'" in table.notes
    assert hs.History.from_ax(pd.read_csv(folder / "summary.csv"), value="loss").tasks == ["ax"]


def test_flaml(files):
    path = files("flaml") / "iris.log"
    history = hs.History.from_flaml(path)
    records = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
    assert history.tasks == ["iris"]
    assert sorted(history["iris"].losses) == sorted({record["validation_loss"] for record in records})
    assert history.space["learner"] == hs.Categorical(["extra_tree", "rf"])
    for config in history.configs("iris"):
        assert any({"learner": record["learner"], **record["config"]} == config for record in records)


def test_hyperopt(files):
    path = files("hyperopt") / "trials.csv"
    history = hs.History.from_hyperopt({"churn": path})
    assert_right(history, ["churn"])
    assert history.space["svm.gamma"].conditions == {"svm.kernel": ("rbf",)}
    frame = hs.History.from_hyperopt(pd.read_csv(path))
    np.testing.assert_array_equal(frame["hyperopt"].losses, history["churn"].losses)


# -- recognised by path ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("mlflow", "mlruns", "val/loss"),
        ("mlflow_database", "mlflow.db", "val/loss"),
        ("mlflow_database", "search_runs.csv", "val/loss"),
        ("ray", ".", "loss"),
        ("ray", "churn", "loss"),
        ("smac", ".", None),
        ("syne_tune", ".", None),
        ("syne_tune", "churn/results.csv.zip", None),
        ("keras_tuner", ".", None),
        ("ax", "snapshot.json", None),
        ("ax", "summary.csv", "loss"),
        ("flaml", "iris.log", None),
        ("hyperopt", "trials.csv", None),
    ],
)
def test_a_path_is_recognised(files, name, path, value):
    given = {} if value is None else {"value": value}
    history = read_history(str(files(name) / path), Reading(**given))
    assert history.direction == "minimize"
    assert sum(map(len, history)) >= 4


def test_an_optuna_storage_is_still_one(tmp_path):
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(storage=f"sqlite:///{tmp_path / 'runs.db'}", study_name="churn")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert read_history(str(tmp_path / "runs.db")).tasks == ["churn"]


def test_a_folder_of_two_tools_names_both(files):
    files("smac")
    folder = files("keras_tuner")
    with pytest.raises(ValueError, match="holds runs of SMAC and of Keras Tuner"):
        read_history(str(folder))


def test_every_archive_has_a_test():
    names = {path.name.partition(".")[0] for path in DATA.iterdir()}
    assert names == {
        *("mlflow", "mlflow_database", "ray", "smac", "syne_tune", "ax", "flaml", "hyperopt"),
        *("keras_tuner", "keras_tuner_curves"),
    }


def test_the_database_is_opened_for_reading_only(files, monkeypatch):
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: opened.append(args[0]) or connect(*args, **kwargs))
    hs.History.from_mlflow(files("mlflow_database") / "mlflow.db", value="val/loss")
    assert opened
    assert all(uri.endswith("?mode=ro") for uri in opened)
