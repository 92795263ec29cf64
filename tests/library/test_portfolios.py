"""Portfolios of the shipped histories, and the configuration that a data set gets without a search."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import headstart as hs
from headstart.library import portfolios
from headstart.library.landmarks import landmarks
from headstart.library.models import CLASSIFICATION
from headstart.library.portfolios import Portfolio, best_for, feature_gains, helps, learned, shipped, suggested
from headstart.space import Float
from program import ROOT, environment


@pytest.mark.parametrize("name", hs.library.names())
def test_every_shipped_history_has_a_portfolio_for_each_of_its_metrics(name):
    space = hs.library.load(name).space
    for metric in hs.library.metrics(name) or [None]:
        configs = hs.portfolio(name, n=8, metric=metric)
        assert len(configs) == 8
        assert all(map(space.contains, configs))
        assert len({json.dumps(config, sort_keys=True) for config in configs}) == 8


def test_no_portfolio_is_of_another_version_of_its_history():
    script = ROOT / "tools" / "portfolios.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment())
    assert done.stdout == "", f"run tools/portfolios.py --write: {done.stdout}"


def test_the_portfolio_is_the_start_that_auto_learns():
    """Up to the digits that are left out."""
    start = hs.learn("svm", n=4, estimate=False)
    found = hs.portfolio("svm", n=4)
    assert np.allclose(start.space.encode(found), start.space.encode(start.configs), atol=1e-3)
    assert found == learned(hs.library.load("svm"), 4).configs


def test_a_longer_portfolio_is_learned_and_begins_with_the_stored_one():
    longer = hs.portfolio("resnet", n=portfolios.LISTED + 1)
    assert longer[:-1] == hs.portfolio("resnet", n=portfolios.LISTED)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hs.portfolio("svn"), r"no history 'svn' ships with headstart; did you mean 'svm'\?"),
        (lambda: hs.portfolio("svm", n=0), "n must be a whole number of at least 1, but got 0"),
        (lambda: hs.portfolio("svm", metric="auc"), "svm.parquet has no metric 'auc'"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_changing_the_answer_does_not_change_the_next():
    hs.portfolio("svm")[0]["C"] = -1.0
    assert hs.portfolio("svm")[0]["C"] > 0


# -- meta-features -----------------------------------------------------------------------------------------------


def two_kinds(n=20, noise=0.0):
    """Tasks of two kinds with opposite optima; one meta-feature tells them apart, up to noise."""
    rng = np.random.default_rng(0)
    rows, features = [], {}
    for i in range(n):
        kind = i % 2
        rows += [{"task": f"t{i:02}", "x": x, "value": (x - kind) ** 2} for x in np.linspace(0, 1, 9)]
        features[f"t{i:02}"] = {"kind": kind + noise * rng.normal(), "other": rng.normal()}
    frame = pd.DataFrame(rows)
    return hs.History.from_frame(frame, {"x": Float(0, 1)}, features=pd.DataFrame(features).T)


def test_meta_features_are_used_where_they_help_on_tasks_left_out():
    assert helps(two_kinds())
    gains = feature_gains(two_kinds())
    assert (gains >= 0).all()
    assert gains.mean() > 1  # the worst half of the tasks goes from the worst to the best configuration
    assert not helps(two_kinds(noise=100.0))


def test_meta_features_are_not_used_where_they_are_unknown():
    assert not len(feature_gains(hs.History.from_frame(two_kinds().to_frame(), {"x": Float(0, 1)})))


def test_the_configuration_is_that_of_the_tasks_with_similar_meta_features(monkeypatch):
    history = two_kinds()
    found = learned(history, 4)
    monkeypatch.setattr(portfolios, "shipped", lambda name, metric: found)
    tasks = {task.name: dict(task.features) for task in history}
    monkeypatch.setattr(portfolios, "task_features", lambda name: tasks)
    low, high = (best_for("it", None, {"kind": kind, "other": 0.0})["x"] for kind in (0.0, 1.0))
    assert low < 0.3
    assert high > 0.7
    assert best_for("it", None, None) == found.configs[0]
    without = Portfolio(found.configs, found.scores, helps=False)
    monkeypatch.setattr(portfolios, "shipped", lambda name, metric: without)
    assert best_for("it", None, {"kind": 1.0, "other": 0.0}) == found.configs[0]


# -- defaults ----------------------------------------------------------------------------------------------------


def described(X, y):
    return {**hs.metafeatures(X, y), **landmarks(CLASSIFICATION, X, y)}


def test_defaults_sets_a_copy_and_keeps_everything_else():
    X, y = load_iris(return_X_y=True)
    estimator = DecisionTreeClassifier(random_state=123)
    found = hs.defaults(estimator, X, y, scoring="neg_log_loss")
    assert estimator.get_params() == DecisionTreeClassifier(random_state=123).get_params()
    config = best_for("decision-tree-classification", "log_loss", described(X, y))
    assert config
    assert {name: found.get_params()[name] for name in config} == config
    assert found.random_state == 123
    assert not hasattr(found, "classes_")  # nothing was fitted
    assert found.fit(X, y).score(X, y) > 0.9


def test_defaults_of_a_step():
    X, y = load_wine(return_X_y=True)
    found = hs.defaults(make_pipeline(StandardScaler(), KNeighborsClassifier()), X, y)
    config = best_for("k-nearest-neighbours-classification", None, described(X, y))
    assert config
    assert {name: found.get_params()[f"kneighborsclassifier__{name}"] for name in config} == config


def test_defaults_stay_where_nothing_beats_them(monkeypatch):
    X, y = load_wine(return_X_y=True)
    name = "decision-tree-classification"
    found = shipped(name)
    none = replace(found.unsearched, worth=np.minimum(found.unsearched.worth, 0.5))
    monkeypatch.setattr("headstart.library.portfolios.shipped", lambda *_: replace(found, unsearched=none))
    assert best_for(name, None, hs.metafeatures(X, y)) == {}
    assert hs.defaults(DecisionTreeClassifier(), X, y).get_params() == DecisionTreeClassifier().get_params()
    assert suggested(name, 3, None, None).configs == found.configs[:3]


def test_defaults_of_support_vector_machines_come_from_runs_that_measured_them():
    X, y = load_wine(return_X_y=True)
    found = hs.defaults(make_pipeline(StandardScaler(), SVC()), X, y).get_params()
    config = {**SVC().get_params(), **best_for("svm-classification", None, described(X, y))}
    assert {name: found[f"svc__{name}"] for name in config} == config


def test_defaults_of_an_unknown_model():
    with pytest.raises(ValueError, match=r"GaussianNB has no default search space: .*; tune it with HeadstartSearchCV"):
        hs.defaults(GaussianNB(), *load_iris(return_X_y=True))


def test_suggestions_begin_with_the_configuration_of_defaults():
    X, y = load_wine(return_X_y=True)
    features = hs.metafeatures(X, y)
    start = suggested("svm", 5, None, features)
    assert start.configs[0] == best_for("svm", None, features)
    assert len(start) == 5
    assert sum(start.serves) == len(hs.library.load("svm"))
    rest = [config for config in hs.portfolio("svm", n=16) if config != start.configs[0]]
    assert start.configs[1:] == rest[:4]
