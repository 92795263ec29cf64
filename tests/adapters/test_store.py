"""A store that fills itself: real SQLite files, several processes, names used twice, storages that disappear."""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

from sklearn.datasets import load_iris  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE = hs.Space(
    {"x": hs.Float(0.01, 1, log=True), "k": hs.Categorical(["a", "b"]), "n": hs.Int(1, 9, when={"k": "b"})}
)


def objective(config: Any) -> float:
    return abs(math.log10(config["x"]) + 1) + config.get("n", 5) / 10


def search(where: Any, task: str, n_trials: int = 4, **more: Any) -> hs.Result:
    settings = {"n_init": 2, "seed": 0, "init": "rbi", "surrogate": "gp", **more}
    return hs.minimize(objective, SPACE, n_trials=n_trials, store=where, task=task, **settings)


def studies(path: Path) -> dict[str, Any]:
    return {study.study_name: study for study in optuna.get_all_study_summaries(f"sqlite:///{path}")}


def test_the_same_script_serves_the_first_run_and_the_ninth(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    assert hs.Store(path).history() is None
    assert not path.exists()
    first = search(path, "one")
    assert [trial.origin for trial in first.trials][:2] == ["random", "random"]
    for task in ("two", "three"):
        result = search(path, task)
        assert [trial.origin for trial in result.trials][:2] == ["strategy", "strategy"]
    history = hs.Store(path).history(SPACE)
    assert history is not None
    assert history.tasks == ["one", "three", "two"]
    configs = [trial.config for trial in first.trials]
    assert sorted(history.configs("one"), key=str) == sorted(configs, key=str)
    recorded = optuna.load_study(study_name="two", storage=f"sqlite:///{path}").trials
    assert recorded[0].user_attrs["headstart:why"] == "Configuration 1 of 2 of the start 'rbi'."
    assert recorded[3].user_attrs["headstart:why"].startswith("Chosen for its expected improvement.")
    assert sorted(history["one"].losses) == sorted(trial.value or 0.0 for trial in first.trials)
    assert history["one"].costs is not None
    # a plain Optuna storage, so that everything else reads it, too
    trials = optuna.load_study(study_name="one", storage=f"sqlite:///{path}").trials
    assert [trial.params for trial in trials] == configs
    assert [trial.user_attrs["headstart:origin"] for trial in trials] == [trial.origin for trial in first.trials]


def test_a_task_used_twice_has_two_studies_and_is_one_task(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    search(path, "churn", seed=0)
    search(path, "churn", seed=1)
    hs.minimize(lambda c: -objective(c), SPACE, n_trials=2, n_init=2, store=path, task="churn", direction="maximize")
    assert list(studies(path)) == ["churn", "churn (2)", "churn (3)"]
    history = hs.Store(path).history()
    assert history is not None
    assert {name: history.direction_of(name) for name in history.tasks} == {
        "churn": "minimize",
        "churn (2)": "maximize",
    }
    assert history["churn"].counts.sum() == 8


def test_failed_trials_are_kept(tmp_path: Path) -> None:
    def failing(config: Any) -> float:
        if config["k"] == "b":
            raise RuntimeError("no b here")
        return float(config["x"])

    result = hs.minimize(failing, SPACE, n_trials=8, n_init=8, store=tmp_path / "runs.db", task="one", seed=0)
    states = [t.state.name for t in optuna.load_study(study_name="one", storage=f"sqlite:///{tmp_path}/runs.db").trials]
    assert states == ["FAIL" if trial.failed else "COMPLETE" for trial in result.trials]
    assert {"FAIL", "COMPLETE"} == set(states)


def test_an_interrupted_run_is_kept(tmp_path: Path) -> None:
    calls: list[Any] = []

    def interrupted(config: Any) -> float:
        calls.append(config)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return objective(config)

    hs.minimize(interrupted, SPACE, n_trials=6, n_init=6, store=tmp_path / "runs.db", task="one", seed=0)
    assert studies(tmp_path / "runs.db")["one"].n_trials == 2


def test_a_journal_is_a_store_too(tmp_path: Path) -> None:
    search(tmp_path / "runs.log", "one")
    history = hs.Store(tmp_path / "runs.log").history()
    assert history is not None
    assert history.tasks == ["one"]


def test_runs_of_other_models_in_one_store_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    other = {"alpha": hs.Float(0, 1), "x": hs.Float(0.01, 1, log=True)}
    hs.minimize(lambda c: c["alpha"], other, n_trials=2, n_init=2, store=path, task="one", seed=0)
    assert [trial.origin for trial in search(path, "two").trials][:2] == ["random", "random"]
    search(path, "one")
    history = hs.Store(path).history(SPACE)
    assert history is not None
    assert history.tasks == ["one", "two"]
    assert "1 study with other parameters (one)" in history.notes[1]
    assert history.space == SPACE  # as it is, not as far as the trials show it
    assert list(studies(path)) == ["one", "two", "one (2)"]


WORKER = """
import sys, headstart as hs
space = {{"x": hs.Float(0, 1), "y": hs.Float(0, 1)}}
for i in range(3):
    hs.minimize(lambda c: c["x"], space, n_trials=3, n_init=3, store={path!r}, task="task", seed=i)
    hs.minimize(lambda c: c["x"], space, n_trials=3, n_init=3, store={path!r}, task=sys.argv[1], seed=i)
"""


def test_processes_fill_one_store_and_nothing_is_lost(tmp_path: Path) -> None:
    import subprocess
    import sys

    from program import environment

    path = tmp_path / "runs.db"
    (tmp_path / "worker.py").write_text(WORKER.format(path=str(path)))
    command = [sys.executable, str(tmp_path / "worker.py")]
    workers = [
        subprocess.Popen([*command, name], env=environment(), stderr=subprocess.PIPE, text=True) for name in "ab"
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=240)
        assert worker.returncode == 0, errors
    there = studies(path)
    assert sum(study.n_trials for study in there.values()) == 2 * 3 * 2 * 3
    assert set(there) >= {"a", "a (2)", "a (3)", "b", "b (2)", "b (3)", "task", "task (6)"}
    history = hs.Store(path).history()
    assert history is not None
    assert history.tasks == ["a", "b", "task"]


def test_a_storage_that_disappears_does_not_end_the_search(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "runs.db"
    calls: list[Any] = []

    def vanishing(config: Any) -> float:
        calls.append(config)
        if len(calls) == 3:
            path.unlink()
        return objective(config)

    result = hs.minimize(vanishing, SPACE, n_trials=5, n_init=5, store=path, task="one", seed=0)
    assert len(result.trials) == 5
    assert any("not yet added to" in record.getMessage() for record in caplog.records)
    trials = optuna.load_study(study_name="one", storage=f"sqlite:///{path}").trials
    assert [trial.params for trial in trials] == [trial.config for trial in result.trials]


def test_trials_that_cannot_be_stored_at_all_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    path, calls = folder / "runs.db", []

    def vanishing(config: Any) -> float:
        calls.append(config)
        if len(calls) == 2:
            path.unlink()
            folder.rmdir()
        return objective(config)

    result = hs.minimize(vanishing, SPACE, n_trials=3, n_init=3, store=path, task="one", seed=0)
    assert len(result.trials) == 3
    last = [record for record in caplog.records if record.levelno >= logging.WARNING][-1]
    assert "could not be added to" in last.getMessage()


@pytest.mark.parametrize(
    ("where", "task", "words"),
    [
        ("runs.db", None, "a store needs the name of the task; name the data set or the problem with task="),
        ("runs.db", "", "a store needs the name of the task, but got ''"),
        (None, "churn", "task='churn' names a run in a store, but there is none; pass store=, too"),
        (3, "churn", "a store is the path of a file or a storage URL, but got 3"),
        ("runs.csv", "churn", "runs.csv is a table, not a store"),
        (".", "churn", "is a folder, not a store; name a file in it"),
        ("nowhere/runs.db", "churn", "the folder nowhere does not exist"),
        ("mine.db", "churn", "mine.db is not an Optuna storage: it has no table of studies"),
        ("text.db", "churn", "text.db is not an Optuna storage: it is neither an SQLite database nor a journal"),
        ("sqllite:///runs.db", "churn", "scheme 'sqllite'; did you mean 'sqlite'"),
    ],
)
def test_bad_stores(where: Any, task: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("mine.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    (tmp_path / "text.db").write_text("not a database at all")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ran: list[Any] = []
    with pytest.raises((ValueError, OSError), match=words):
        hs.minimize(lambda c: ran.append(c) or 1.0, SPACE, n_trials=2, n_init=2, store=where, task=task)
    assert not ran
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "runs.db"} == before


# -- scikit-learn ----------------------------------------------------------------------------------------------


def test_a_search_of_scikit_learn_fills_and_uses_a_store(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    path, space = tmp_path / "runs.db", {"max_depth": hs.Int(1, 9), "min_samples_leaf": hs.Int(1, 20)}
    settings: dict[str, Any] = {"n_trials": 3, "n_init": 3, "init": "rbi", "cv": 2, "random_state": 0, "store": path}
    tree = DecisionTreeClassifier(random_state=0)
    first = hs.sklearn.HeadstartSearchCV(tree, space, task="iris", **settings).fit(X, y)
    assert set(first.cv_results_["origin"]) == {"random"}
    # the next one in a pipeline, where the names have a prefix, and with another metric
    piped = {f"decisiontreeclassifier__{name}": parameter for name, parameter in space.items()}
    again = hs.sklearn.HeadstartSearchCV(
        make_pipeline(PCA(2), tree), piped, task="iris", scoring="neg_log_loss", **settings
    ).fit(X[::2], y[::2])
    assert set(again.cv_results_["origin"]) == {"strategy"}
    history = hs.Store(path).history()
    assert history is not None
    assert list(history.space) == ["max_depth", "min_samples_leaf"]
    assert history.tasks == ["iris", "iris (2)"]  # results of different metrics are never averaged
    assert history.direction == "maximize"
    assert np.max(-history["iris"].losses) == first.best_score_
    assert history["iris"].features
    study = optuna.load_study(study_name="iris", storage=f"sqlite:///{path}")
    assert study.user_attrs["model"] == "DecisionTreeClassifier"
    assert study.user_attrs["headstart:metric"] == "accuracy"
    # another model
    other = hs.sklearn.HeadstartSearchCV(
        LogisticRegression(max_iter=500), {"C": hs.Float(0.1, 10, log=True)}, task="iris", **settings
    ).fit(X, y)
    assert set(other.cv_results_["origin"]) == {"random"}
    with pytest.raises(ValueError, match="a store needs the name of the task"):
        hs.sklearn.HeadstartSearchCV(tree, space, store=path).fit(X, y)


# -- Optuna ----------------------------------------------------------------------------------------------------


def test_a_sampler_may_be_the_first_to_use_its_storage(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    def script() -> list[int | None]:
        sampler = hs.optuna.HeadstartSampler(url, n_init=2, init="rbi", surrogate="gp")
        study = optuna.create_study(storage=url, sampler=sampler)
        study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=3)
        return [trial.user_attrs.get("headstart:start") for trial in study.trials]

    assert [script() for _ in range(2)] == [[None, None, None], [0, 1, None]]


def test_a_database_that_is_being_created_is_waited_for(tmp_path: Path) -> None:
    """Another process creates the tables one by one; the last step fills the table of the version."""
    path = tmp_path / "runs.db"
    hs.minimize(objective, SPACE, n_trials=2, n_init=2, store=path, task="one", seed=0)
    with closing(sqlite3.connect(path)) as database, database:
        (version,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
        database.execute("DELETE FROM alembic_version")

    def finish() -> None:
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            database.execute("INSERT INTO alembic_version VALUES (?)", (version,))

    timer = threading.Timer(0.5, finish)
    timer.start()
    try:
        assert hs.History.from_optuna(path).tasks == ["one"]
    finally:
        timer.join()
