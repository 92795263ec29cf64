"""Importers on runs of the installed tools, in the environment of `make test-exports`; see `tests/other_tools.py`."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
import other_tools
from other_tools import TASKS, assert_right

pytestmark = pytest.mark.filterwarnings("ignore")


def package(name):
    return pytest.importorskip(
        name, reason=f"{name} is not installed; make test-exports installs it", exc_type=ImportError
    )


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Some tools write to the current folder, too."""
    monkeypatch.chdir(tmp_path)


def test_mlflow(tmp_path):
    pytest.importorskip(
        "mlflow.store.db",
        reason="mlflow is not installed; it needs an older protobuf than the tools of make test-exports",
        exc_type=ImportError,
    )
    frame = other_tools.mlflow(tmp_path)
    history = hs.History.from_mlflow(tmp_path / "mlruns", value="val/loss")
    assert_right(history)
    table = hs.History.from_mlflow(frame, value="val/loss", space=history.space)
    for task, name in zip(table.tasks, sorted(TASKS), strict=True):
        assert len(table[task]) == len(history[name])
    other_tools.mlflow(tmp_path, f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert_right(hs.History.from_mlflow(f"sqlite:///{tmp_path / 'mlflow.db'}", value="val/loss"))


def test_ray_tune(tmp_path):
    package("ray.tune")
    other_tools.ray(tmp_path)
    history = hs.History.from_ray(tmp_path, value="loss")
    assert_right(history)
    assert [len(history[task]) for task in TASKS] == [6, 6]


def test_smac(tmp_path):
    package("smac")
    from ConfigSpace import ConfigurationSpace

    from headstart.space import as_space

    other_tools.smac(tmp_path)
    history = hs.History.from_smac(tmp_path)
    assert_right(history)
    theirs = ConfigurationSpace.from_json(next(tmp_path.rglob("configspace.json")))
    assert dict(history.space) == dict(as_space(theirs))  # our reader of the file agrees with ConfigSpace's


def test_syne_tune(tmp_path):
    package("syne_tune")
    other_tools.syne_tune(tmp_path)
    assert_right(hs.History.from_syne_tune(tmp_path))


def test_keras_tuner(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    package("keras_tuner")
    other_tools.keras_tuner(tmp_path)
    assert_right(hs.History.from_keras_tuner(tmp_path))


def test_keras_tuner_curves(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    package("keras_tuner")
    other_tools.keras_tuner_curves(tmp_path)
    curves = hs.History.from_keras_tuner(tmp_path).curves
    assert [steps.tolist() for steps, _ in curves.of_tasks(["churn"])] == [[0, 1, 2]] * 5
    assert sorted({tuple(steps.tolist()) for steps, _ in curves.of_tasks(["fraud"])}) == [
        *((1,), (1, 3), (1, 3, 9), (3,), (3, 9), (9,)),
    ]


def test_ax(tmp_path):
    package("ax")
    other_tools.ax(tmp_path)
    assert_right(hs.History.from_ax(tmp_path / "snapshot.json"), ["churn"])


def test_flaml_agrees_with_its_own_reader(tmp_path):
    package("flaml.automl")
    from flaml.automl.data import get_output_from_log

    other_tools.flaml(tmp_path)
    log = tmp_path / "iris.log"
    history = hs.History.from_flaml(log)
    _, _, losses, configs, _ = get_output_from_log(str(log), time_budget=1e9)
    ours = dict(zip(history["iris"].losses, history.configs("iris"), strict=True))
    for loss, record in zip(losses, configs, strict=True):
        assert ours[loss].pop("learner").startswith(record["Current Learner"])  # which it cuts at an underscore
        assert ours[loss] == record["Current Hyper-parameters"]


def test_hyperopt(tmp_path):
    package("hyperopt")
    frame, trials = other_tools.hyperopt(tmp_path)
    history = hs.History.from_hyperopt({"churn": frame})
    assert_right(history, ["churn"])
    ok = [result["loss"] for result in trials.results if result["status"] == "ok"]
    losses = history["churn"].losses
    np.testing.assert_allclose(np.sort(losses[~np.isnan(losses)]), np.sort(ok))
    with pytest.raises(ValueError, match="hold choices as indices"):
        hs.History.from_hyperopt(trials)
