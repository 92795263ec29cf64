"""Starts from the best configurations of past tasks: of random ones (RBI), or of the nearest ones (NBI).

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section V-B;
NBI after Reif et al. (2012) and Feurer et al. (2014).

| symbol | name       | shape  | meaning                                 |
| ------ | ---------- | ------ | --------------------------------------- |
| m_D    | `M`        | (T, n) | meta-features of the past tasks         |
| δ      | `distance` | (T,)   | distance of each of them to the new one |
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.strategies.base import Run, Told, anywhere, best_of, fresh
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_distance, feature_vectors


@dataclass(frozen=True)
class InOrder:
    """A run that takes the best configurations of the past tasks, in a fixed order of tasks."""

    models: TaskModels
    order: Rows
    seed: int

    def ask(self, told: Told) -> Array:
        space = self.models.space
        rest = anywhere(space, self.seed, self.models.allowed)
        return fresh(chain(best_of(self.models, self.order), rest), told, space)


@dataclass(frozen=True)
class RandomBest:
    """RBI: the best configurations of random past tasks."""

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return InOrder(models, rng.permutation(len(models)), int(rng.integers(2**32)))


@dataclass(frozen=True)
class NearestBest:
    """NBI: the best configurations of the past tasks whose meta-features are nearest to the new task's.

    p: norm of the distance. Meta-features are standardised over the past tasks.
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.p > 0:
            raise ArgumentError(f"p must be above 0, but got {self.p}")

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        M, new = feature_vectors(models, features)
        distance = feature_distance(M, new, self.p)
        return InOrder(models, np.argsort(distance, kind="stable"), int(rng.integers(2**32)))
