"""The configurations to try first of every shipped history, stored beside it so that they are there in milliseconds.

`python tools/portfolios.py --write` learns them: the first configurations of `auto` for every metric, and the scores F
that its model of the history expects for them on each past task. A new data set without a search gets the configuration
of `unsearched.py`. A history whose tasks do not share the estimator's defaults has none; there it is the first
configuration, or, where leave-one-out shows that meta-features help, the one with the lowest expected score on the past
tasks that resemble it.

| symbol | name       | shape  | meaning                                                                          |
| ------ | ---------- | ------ | -------------------------------------------------------------------------------- |
| F      | `scores`   | (n, T) | expected scores of the configurations on the past tasks (normal scores; low is good) |
| M      | `M`        | (T, d) | meta-features of the past tasks                                                  |
| w      | `weights`  | (T,)   | weights of the past tasks for the new one                                        |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart.history import Features, History
from headstart.history.shipped import LIBRARY, fingerprint, load, metrics, task_features
from headstart.library.landmarks import with_landmarks
from headstart.library.models import MODELS
from headstart.library.unsearched import Unsearched, completed, shared_rows, unsearched
from headstart.space import Config, Float, Space
from headstart.starts.learning import number_of
from headstart.starts.start import Start
from headstart.strategies.auto import Auto
from headstart.strategies.base import Told
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import normal_scores
from headstart.transfer.weights import feature_weights

LISTED = 16  # configurations that are stored
DIGITS = 4  # significant digits of their real numbers, so that they read well
CLEARLY = 2.0  # standard errors by which meta-features must help


@dataclass(frozen=True)
class Portfolio:
    """Configurations, the best one on average first. helps: whether meta-features help to choose among them."""

    configs: list[Config]
    scores: Array
    helps: bool
    unsearched: Unsearched | None = None

    def to_json(self) -> dict[str, Any]:
        single = {} if self.unsearched is None else {"unsearched": self.unsearched.to_json()}
        return {"configs": self.configs, "helps": self.helps, "scores": np.round(self.scores, 2).tolist(), **single}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Portfolio:
        single = Unsearched.from_json(data["unsearched"]) if "unsearched" in data else None
        return cls(list(data["configs"]), np.array(data["scores"], dtype=float), bool(data["helps"]), single)


# -- for users -------------------------------------------------------------------------------------------------


def portfolio(name: str, n: int = 8, *, metric: str | None = None) -> list[Config]:
    """The n configurations of a shipped history to try first, as dictionaries: each adds most to those before it.

    name: such as "lightgbm-classification"; `hs.library.names()` lists all. metric: which of the history's metrics
    they are to be good at, by default its first one.

    >>> portfolio("lightgbm-classification", n=8)  # doctest: +SKIP
    [{'n_estimators': 300, 'learning_rate': 0.05, ...}, ...]
    """
    n = whole("n", n, 1)
    found = shipped(name, metric)
    if n <= len(found.configs):
        return [dict(config) for config in found.configs[:n]]
    history = load(name, metric)
    return learned(history, number_of(n, history.space)).configs


def best_for(name: str, metric: str | None, features: Features | None) -> Config:
    """The configuration of a shipped history for a data set with these meta-features, if they help.

    Empty if none is better than the estimator's own defaults.
    """
    found = shipped(name, metric)
    if found.unsearched is not None and found.unsearched.best(with_landmarks(task_features(name)), features) is None:
        return {}
    return dict(_led(name, found, features).configs[0])


def suggested(name: str, n: int, metric: str | None, features: Features | None) -> Start:
    """The portfolio as a start, after the configuration for a data set with these meta-features.

    The start says how many past data sets each configuration serves, but nothing about the results to expect.
    """
    space, found = load(name, metric).space, shipped(name, metric)
    if n > len(found.configs):
        found = learned(load(name, metric), number_of(n, space))
    led = _led(name, found, features)
    scores = led.scores[:n]
    served = np.bincount(scores.argmin(axis=0), minlength=len(scores))
    return Start(space, led.configs[:n], serves=served.tolist(), method="auto", tasks=scores.shape[1])


def _led(name: str, found: Portfolio, features: Features | None) -> Portfolio:
    """The portfolio after the configuration for a data set with these meta-features, if that beats the defaults."""
    single = found.unsearched
    if single is not None:
        first = single.best(with_landmarks(task_features(name)), features)
        if first is None:
            return found
        config, scores = completed(MODELS[name], single.configs[first], _columns(name, features)), single.scores[first]
    else:
        first = _chosen(name, found, features)
        config, scores = found.configs[first], found.scores[first]
    rest = [i for i, other in enumerate(found.configs) if other != config]
    return replace(
        found, configs=[config, *(found.configs[i] for i in rest)], scores=np.vstack([scores, found.scores[rest]])
    )


def _columns(name: str, features: Features | None) -> float:
    """The number of (encoded) columns of a data set with these features; of an unknown one, the median of the past."""
    for key in ("encoded_columns", "number_of_features"):
        if key in (features or {}):
            return dict(features or {})[key]
    return float(np.median([task["number_of_features"] for task in task_features(name).values()]))


def _chosen(name: str, found: Portfolio, features: Features | None) -> int:
    """The position of the configuration with the lowest expected score, if meta-features help; else the first."""
    if not (found.helps and features):
        return 0
    M, new = _standardised(task_features(name), features)
    return int(np.argmin(found.scores @ feature_weights(found.scores, M, new)))


def shipped(name: str, metric: str | None = None) -> Portfolio:
    """The portfolio that is stored with a history; learned on the spot if there is none."""
    metric = metric or next(iter(metrics(name)), None)  # fails if there is no such history
    stored = _stored(name)
    return stored[metric or ""] if (metric or "") in stored else _learned(name, metric)


@cache
def _stored(name: str) -> Mapping[str, Portfolio]:
    path = files(LIBRARY) / f"{name}.json"
    if not path.is_file():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {metric: Portfolio.from_json(entry) for metric, entry in data["metrics"].items()}


@cache
def _learned(name: str, metric: str | None) -> Portfolio:
    return learned(load(name, metric))


def _standardised(tasks: Mapping[str, Features], features: Features) -> tuple[Array, Array]:
    """M and the new task's meta-features, standardised; those that a task lacks are left out."""
    names = [name for name in features if all(name in known for known in tasks.values())]
    M = np.array([[tasks[task][name] for name in names] for task in sorted(tasks)])
    mean, std = M.mean(axis=0), M.std(axis=0)
    std = np.where(std > 0, std, 1.0)
    return (M - mean) / std, (np.array([features[name] for name in names]) - mean) / std


# -- learning them ---------------------------------------------------------------------------------------------


def to_store(name: str) -> dict[str, Any]:
    """The content of the file beside a shipped history."""
    each = {}
    for metric in metrics(name) or [""]:
        history = load(name, metric or None)
        each[metric] = replace(learned(history), unsearched=unsearched(name, metric, history)).to_json()
    return {"headstart": "portfolios", "history": fingerprint(name), "metrics": each}


@one_thread
def learned(history: History, n: int = LISTED) -> Portfolio:
    """The first n configurations of `auto`, as `learn` returns them, with their expected scores."""
    models_rng, rng = (np.random.default_rng([0, i]) for i in range(2))
    models = TaskModels(history, rng=models_rng)
    run, told = Auto().begin(models, n=n, features=None, rng=rng), Told.nothing(history.space)
    for _ in range(int(min(n, history.space.size))):
        told = told.and_(run.ask(told))
    population = models.population
    complete = len(population) == len(history)  # meta-features are those of all tasks
    scores = population.at(history.space.encode_values(told.V))
    return Portfolio(_readable(history.space.from_values(told.V), history.space), scores, complete and helps(history))


def _readable(configs: list[Config], space: Space) -> list[Config]:
    """The configurations with fewer digits."""
    return [{name: _rounded(value, space[name]) for name, value in config.items()} for config in configs]


def _rounded(value: Any, parameter: Any) -> Any:
    if not isinstance(parameter, Float) or parameter.step is not None:
        return value
    return min(max(float(f"{value:.{DIGITS}g}"), parameter.low), parameter.high)


def helps(history: History) -> bool:
    """Whether meta-features choose a clearly better configuration, each task left out in turn."""
    gains = feature_gains(history)
    return len(gains) > 1 and bool(gains.mean() > CLEARLY * gains.std(ddof=1) / np.sqrt(len(gains)))


def feature_gains(history: History) -> Array:
    """For each task, by how much its score is lower with the configuration that meta-features choose for it.

    Without them, it is the best one on average over the other tasks. Only configurations that all tasks tried are
    compared, so that every score is known. Empty if they are too few, or if tasks lack meta-features.
    """
    rows = shared_rows(history)
    M = history.feature_matrix()
    if len(rows) < 2 or len(history) < 3 or not M.size or not np.isfinite(M).all():
        return np.empty(0)
    F = np.column_stack([normal_scores(task.losses[np.searchsorted(task.rows, rows)]) for task in history])
    gains = np.empty(len(history))
    for t in range(len(history)):
        others = np.delete(np.arange(len(history)), t)
        mean, std = M[others].mean(axis=0), M[others].std(axis=0)
        scaled = (M - mean) / np.where(std > 0, std, 1.0)
        weights = feature_weights(F[:, others], scaled[others], scaled[t])
        gains[t] = F[F[:, others].mean(axis=1).argmin(), t] - F[(F[:, others] @ weights).argmin(), t]
    return gains
