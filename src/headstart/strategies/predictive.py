"""Starts from the past tasks predicted to be most similar: PBI, aPBI and aaPBI.

Wistuba, Schilling, Schmidt-Thieme: Learning Data Set Similarities for Hyperparameter Optimization Initializations
(2015). A random forest learns the distance between two data sets from their meta-features (PBI, after Feurer,
Springenberg and Hutter 2015). Results on the new data set become further features, the landmarks (aPBI). The first
configurations can be chosen so that their landmarks predict the distances well (aaPBI). The forest and its symbols are
in `transfer/similarity.py`.

The forest learns from every ordered pair of past tasks; its number of trees is fixed, not tuned by leave-one-out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.strategies.active import active_configurations
from headstart.strategies.base import Run, Told, anywhere, best_of, fresh
from headstart.strategies.best import InOrder
from headstart.transfer.models import TaskModels
from headstart.transfer.similarity import PairForest

CHOICES = ("nearest", "printed")


@dataclass(frozen=True)
class PredictiveBest:
    """PBI: the best configurations of the past tasks that a random forest predicts to be most similar."""

    trees: int = 50

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        order = np.argsort(forest.predict(), kind="stable")
        return InOrder(models, order, int(rng.integers(2**32)))


@dataclass(frozen=True)
class AdaptivePredictiveBest:
    """aPBI: PBI with landmarks from the results on the new task, and a new forest after each result.

    choice: "nearest" takes the best configuration of the nearest task that has not been tried. "printed" takes that of
    the i-th nearest at trial i, as Algorithm 2, line 3, says; if it has been tried, that of the next one.
    """

    trees: int = 50
    choice: str = "nearest"

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)
        _check_choice(self.choice)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        return Adaptive(forest, int(rng.integers(2**32)), printed=self.choice == "printed")


@dataclass(frozen=True)
class ActivePredictiveBest:
    """aaPBI: aPBI whose first K configurations are those with the most informative landmarks (Algorithm 3).

    search: how Algorithm 3 judges configurations. "forests" trains a forest for every left-out task and every pair of
        configurations, as published, which takes hours on 50 tasks. "leaves" is a fast approximation of our own (see
        `strategies/active.py`).
    choice: as for aPBI; "printed" counts the trials after the first K, because Algorithm 3 optimises the precision of
        the I − K nearest tasks.
    """

    k: int = 3  # K, as in the paper's experiments
    trees: int = 50
    search: str = "leaves"
    choice: str = "nearest"

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)
        whole("k", self.k, 2)  # a landmark compares two configurations
        _check_choice(self.choice)
        if self.search not in ("leaves", "forests"):
            raise ArgumentError(f"search must be 'leaves' or 'forests', but got {self.search!r}")

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        k = min(self.k, n - 1)
        useful = k >= 2 and len(models) >= 3
        none = np.empty((0, len(models.space)))
        active = active_configurations(forest, n, k, self.search == "forests") if useful else none
        return Adaptive(forest, int(rng.integers(2**32)), active, printed=self.choice == "printed")


def _check_choice(choice: str) -> None:
    if choice not in CHOICES:
        raise ArgumentError(f"choice must be one of {', '.join(CHOICES)}, but got {choice!r}")


@dataclass(frozen=True)
class Adaptive:
    """A run that first takes given configurations, then the best ones of the tasks now predicted to be nearest."""

    forest: PairForest
    seed: int
    first: Array | None = None
    printed: bool = False

    def ask(self, told: Told) -> Array:
        models = self.forest.models
        return fresh(chain(iter(self.first if self.first is not None else ()), self._nearest(told)), told, models.space)

    def _nearest(self, told: Told) -> Iterator[Array]:
        known = told.known
        order = np.argsort(self.forest.predict(known.V, known.losses), kind="stable")
        if self.printed:
            active = 0 if self.first is None else len(self.first)
            order = np.roll(order, -max(len(told) - active, 0))  # Algorithm 2, line 3
        yield from best_of(self.forest.models, order)
        yield from anywhere(self.forest.models.space, self.seed, self.forest.models.allowed)
