"""Storages with studies of different models: those that share the objective's parameters are its past."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import headstart as hs
from program import headstart, one_line

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

from optuna.trial import TrialState  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def boosting(trial: optuna.Trial, best: float = -1.5) -> float:
    rate = trial.suggest_float("learning_rate", 1e-3, 0.3, log=True)
    leaves = trial.suggest_int("num_leaves", 4, 256, log=True)
    return abs(math.log10(rate) - best) + abs(math.log2(leaves) - 5) / 5 + trial.suggest_float("bagging", 0.3, 1)


def machine(trial: optuna.Trial) -> float:
    kernel = trial.suggest_categorical("kernel", ["rbf", "linear"])
    return -abs(math.log10(trial.suggest_float("C", 1e-2, 1e2, log=True))) - (kernel == "linear")


def network(trial: optuna.Trial) -> float:
    return trial.suggest_float("learning_rate", 1e-5, 0.1, log=True) + trial.suggest_int("layers", 1, 5)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three studies of a boosting model, two of a support vector machine, one of a network."""
    path = tmp_path_factory.mktemp("mixed") / "runs.db"
    for name, objective, direction in (
        ("gbm-0", lambda t: boosting(t, -1.4), "minimize"),
        ("gbm-1", lambda t: boosting(t, -1.6), "minimize"),
        ("gbm-2", lambda t: -boosting(t), "maximize"),  # the same model, another metric
        ("svm-0", machine, "maximize"),
        ("svm-1", machine, "maximize"),
        ("net", network, "minimize"),
    ):
        sampler = optuna.samplers.RandomSampler(seed=0)
        optuna.create_study(
            storage=f"sqlite:///{path}", study_name=name, direction=direction, sampler=sampler
        ).optimize(objective, n_trials=6)
    return path


@pytest.fixture
def mixed(original: Path, tmp_path: Path) -> str:
    """A storage with these studies, to be written to."""
    return f"sqlite:///{shutil.copy(original, tmp_path)}"


def searched(url: str, objective: Any, **more: Any) -> optuna.Study:
    settings = {"n_init": 3, "init": "rbi", "surrogate": "gp", **more}
    direction = settings.pop("direction", "minimize")
    attributes = settings.pop("attributes", {})
    study = optuna.create_study(
        storage=url, study_name="new", direction=direction, sampler=hs.optuna.HeadstartSampler(url, **settings)
    )
    for name, value in attributes.items():
        study.set_user_attr(name, value)
    study.optimize(objective, n_trials=5)
    return study


def learned_from(study: optuna.Study) -> list[str]:
    """The past studies that the study's sampler has learned from."""
    history = study.sampler._search[2]._history  # there is no public way to ask
    return [] if history is None else history.tasks


def starts(study: optuna.Study) -> list[int | None]:
    return [trial.user_attrs.get("headstart:start") for trial in study.trials]


@pytest.mark.parametrize(
    ("objective", "expected"),
    [(boosting, ["gbm-0", "gbm-1", "gbm-2"]), (machine, ["svm-0", "svm-1"]), (network, ["net"])],
)
def test_studies_with_the_objectives_parameters_are_its_past(mixed: str, objective: Any, expected: list[str]) -> None:
    study = searched(mixed, objective)
    assert learned_from(study) == expected
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert starts(study) == [None, 0, 1, 2, None]  # the first trial shows the parameters, and uses up no start
    assert hs.optuna.account(study).ran == 3


def test_a_given_space_decides_before_the_first_trial(mixed: str) -> None:
    space = {"kernel": hs.Categorical(["rbf", "linear"]), "C": hs.Float(1e-2, 1e2, log=True)}
    study = searched(mixed, machine, space=space, direction="maximize")
    assert starts(study) == [0, 1, 2, None, None]
    assert learned_from(study) == ["svm-0", "svm-1"]


def test_named_studies_are_all_used(mixed: str) -> None:
    study = searched(mixed, network, studies=["gbm-*"])
    assert learned_from(study) == ["gbm-0", "gbm-1", "gbm-2"]
    assert starts(study)[:3] == [0, 1, 2]


def test_the_name_of_a_model_or_metric_separates_further(mixed: str) -> None:
    for name, model in (("gbm-0", "LightGBM"), ("gbm-1", "XGBoost")):
        optuna.load_study(study_name=name, storage=mixed).set_user_attr("model", model)
    optuna.load_study(study_name="gbm-2", storage=mixed).set_user_attr("metric", "auc")
    study = searched(mixed, boosting, attributes={"model": "lightgbm", "metric": "logloss"})
    assert learned_from(study) == ["gbm-0"]
    optuna.delete_study(study_name="new", storage=mixed)
    assert learned_from(searched(mixed, boosting, attributes={"model": "lightgbm"})) == ["gbm-0", "gbm-2"]
    with pytest.raises(ValueError, match=r"studies of different models: .*gbm-0.*; .*gbm-1.*; choose with studies="):
        hs.History.from_optuna(mixed, space=None)


def test_an_objective_that_no_study_shares_is_searched_without_past_runs(
    mixed: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = searched(mixed, lambda trial: trial.suggest_float("alpha", 0, 1))
    assert learned_from(study) == []
    assert len(study.trials) == 5
    said = [record.getMessage() for record in caplog.records]
    assert said.count("none of the 6 past studies has the objective's parameters (alpha)") == 1


def test_workers_that_begin_together_agree(mixed: str) -> None:
    sampler = hs.optuna.HeadstartSampler(mixed, n_init=3, init="rbi", surrogate="gp")
    study = optuna.create_study(storage=mixed, study_name="new", sampler=sampler)
    first, second = study.ask(), study.ask()  # before any parameter is known
    for trial in (first, second):
        study.tell(trial, boosting(trial))
    study.optimize(boosting, n_trials=3)
    assert starts(study) == [None, None, 0, 1, 2]
    assert len({str(sorted(trial.params.items())) for trial in study.trials}) == 5


def test_python_and_commands_ask_which_studies_are_meant(mixed: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=r"different models: gbm-0, gbm-1, gbm-2 with .*; svm-0, svm-1 with C, kernel; net with .*from_optuna",
    ):
        hs.learn(mixed)
    done = headstart("learn", mixed, cwd=tmp_path)
    one_line(done, "choose with --studies")
    space = {"learning_rate": hs.Float(1e-3, 0.3, log=True), "num_leaves": hs.Int(4, 256, log=True)}
    start = hs.learn(mixed, n=2, method="rbi", space=space)
    assert (start.tasks, list(start.space)) == (3, ["learning_rate", "num_leaves"])
    optimizer = hs.Optimizer(space, mixed, init="rbi", n_init=2, seed=0)
    assert optimizer.history is not None
    assert optimizer.history.tasks == ["gbm-0", "gbm-1", "gbm-2"]
    assert "3 studies with other parameters (net, svm-0, svm-1)" in optimizer.history.notes[1]
    with pytest.raises(
        ValueError, match=r"none of the 6 studies of .* has the parameters of the search \(it has alpha;"
    ):
        hs.Optimizer({"alpha": hs.Float(0, 1)}, mixed)


def test_queued_trials_use_up_no_start(mixed: str) -> None:
    url = mixed
    sampler = hs.optuna.HeadstartSampler(url, studies="gbm-*", n_init=3, init="rbi", surrogate="gp")
    study = optuna.create_study(storage=url, study_name="new", sampler=sampler)
    for rate in (0.01, 0.1):
        study.enqueue_trial({"learning_rate": rate, "num_leaves": 31, "bagging": 0.8})
    study.optimize(boosting, n_trials=6)
    assert starts(study) == [None, None, 0, 1, 2, None]


def test_the_number_of_starts_can_be_learned(mixed: str) -> None:
    sampler = hs.optuna.HeadstartSampler(mixed, studies="gbm-*", n_init="auto", init="rbi", surrogate="gp")
    study = optuna.create_study(storage=mixed, study_name="new", sampler=sampler)
    study.optimize(boosting, n_trials=6)
    learned = [index for index in starts(study) if index is not None]
    assert 1 <= len(learned) <= 3  # three past studies: a fourth configuration serves nobody
    found = hs.optuna.account(study)
    assert found.planned == found.ran == len(learned)
    assert [trial.user_attrs["headstart:origin"] for trial in study.trials] == ["strategy"] * len(learned) + [
        "surrogate"
    ] * (6 - len(learned))
