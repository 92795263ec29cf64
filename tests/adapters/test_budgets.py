"""Costs and budgets in the searches of scikit-learn and Optuna."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import optuna
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import headstart as hs
from headstart.errors import ArgumentError
from headstart.search import budget as module

SPACE = hs.Space({"x": hs.Float(0.0, 1.0), "size": hs.Int(1, 8)})
X, Y = np.arange(12.0)[:, None], np.arange(12) % 2


class Toy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose score is 1 − |x − 0.4|."""

    def __init__(self, x: float = 0.0, size: int = 1) -> None:
        self.x = x
        self.size = size

    def fit(self, X: Any, y: Any) -> Toy:
        self.classes_ = np.unique(y)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return 1.0 - abs(self.x - 0.4)


class Ticking:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_a_cross_validated_search_ends_with_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticking()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr("headstart.adapters.sklearn.time", clock)
    search = hs.sklearn.HeadstartSearchCV(Toy(), SPACE, budget="10 s", n_init=2, cv=2, random_state=0).fit(X, Y)
    assert [trial.cost for trial in search.trials_] == [1.0] * 4  # three looks for each trial: 3, 6, 9, then 12
    one = hs.sklearn.HeadstartSearchCV(Toy(), SPACE, budget=0.1, cv=2, random_state=0).fit(X, Y)
    assert len(one.trials_) == 1


def test_without_a_budget_there_are_twenty_candidates() -> None:
    search = hs.sklearn.HeadstartSearchCV(Toy(), SPACE, n_init=18, surrogate="rf", cv=2, random_state=0).fit(X, Y)
    assert len(search.trials_) == 20
    assert search.trials_[0].cost is None


def test_a_bad_budget_of_a_cross_validated_search() -> None:
    with pytest.raises(ArgumentError, match="budget must be a positive number of seconds"):
        hs.sklearn.HeadstartSearchCV(Toy(), SPACE, budget="long").fit(X, Y)


def past_study(name: str, centre: float) -> optuna.Study:
    """A finished study in which a trial takes 2^size seconds."""
    study = optuna.create_study(study_name=name)
    for v in SPACE.from_values(SPACE.sample_values(40, rng=np.random.default_rng(3))):
        trial = optuna.trial.create_trial(
            params=v,
            distributions=hs.optuna.to_distributions(SPACE),
            value=(v["x"] - centre) ** 2 - 0.005 * v["size"],
        )
        trial.datetime_complete = datetime(2026, 1, 2)
        trial.datetime_start = datetime(2026, 1, 2) - timedelta(seconds=2.0 ** v["size"])
        study.add_trial(trial)
    return study


def objective(trial: optuna.Trial) -> float:
    x, size = trial.suggest_float("x", 0.0, 1.0), trial.suggest_int("size", 1, 8)
    return (x - 0.4) ** 2 - 0.005 * size


def sizes(**more: Any) -> list[int]:
    past = [past_study("one", 0.3), past_study("two", 0.5)]
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(past, seed=0, n_init=4, **more))
    study.optimize(objective, n_trials=4)
    return [trial.params["size"] for trial in study.trials]


def test_a_sampler_prefers_what_past_studies_did_fast() -> None:
    assert np.mean(sizes(cost="seconds")) < np.mean(sizes()) - 2


def test_a_study_ends_when_its_trials_have_taken_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    sampler = hs.optuna.HeadstartSampler(None, seed=0, budget=0.05)
    study = optuna.create_study(sampler=sampler)

    def slow(trial: optuna.Trial) -> float:
        time.sleep(0.06)
        return objective(trial)

    with caplog.at_level(logging.INFO, "headstart"):
        study.optimize(slow, n_trials=5)
    assert len(study.trials) == 1
    assert "the budget of 0.05 seconds is spent (it was smaller than one trial)" in caplog.text
    study.tell(study.ask(), 1.0)  # ask and tell go on
    assert len(study.trials) == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"cost": "dollars"}, "cost must be 'seconds'"),
        ({"budget": -3}, "budget must be a positive number"),
        ({"cost": "seconds", "acquisition": "pi"}, "with a cost, acquisition must be 'ei'"),
    ],
)
def test_bad_costs_of_a_sampler(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        hs.optuna.HeadstartSampler(None, **more)
