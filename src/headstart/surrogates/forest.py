"""The independent random forest: mean and spread over trees (Hutter et al. 2011; Wistuba et al. 2015a, V-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Posterior
from headstart.transfer.models import TaskModels


@dataclass(frozen=True)
class Forest:
    """rf: a random forest on the run's own trials."""

    trees: int = 100

    needs_history = False

    def __post_init__(self) -> None:
        if self.trees < 2:
            raise ArgumentError(f"the spread over trees needs at least two, but got trees={self.trees}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> ForestModel:
        return ForestModel(self.trees, int(rng.integers(2**31)))


@dataclass(frozen=True)
class ForestModel:
    trees: int
    seed: int

    def fit(self, Z: Array, losses: Array) -> Posterior:
        """Trees one by one, each on its own draw of the trials: scikit-learn's forest does the same, but spends most
        of its time on checks, clones and seeds, of which trees from so few rows need none (`benchmarks/forest.py`).

        Losses are brought to [0, 1] and rounded, so that equally good splits tie whatever the unit of the losses.
        """
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        rng = np.random.default_rng(self.seed)
        n = len(losses)
        low, width = float(losses.min()), float(np.ptp(losses)) or 1.0
        X, y = np.asarray(Z, dtype=np.float32), np.round((losses - low) / width, 12)[:, None]
        tree = DecisionTreeRegressor(max_features=5 / 6, random_state=np.random.RandomState(self.seed))
        with config_context(skip_parameter_validation=True, assume_finite=True):
            draws = rng.integers(n, size=(self.trees, n))
            grown = [tree.fit(X[drawn], y[drawn], check_input=False).tree_ for drawn in draws]
        return ForestPosterior(self, Z, losses, low, width, grown)


@dataclass(frozen=True)
class ForestPosterior:
    model: ForestModel
    Z: Array
    losses: Array
    low: float
    width: float
    grown: list[Any]

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Each leaf's mean, averaged over trees; the spread is that between trees, and a trace of the distance.

        Trees are constant between trials, so that many configurations tie. A thousandth of the range of losses
        times the distance to the nearest trial sends such ties where nobody has looked, instead of to the
        first of the list (on ten of the papers' SVM tasks, ADTM after 10 trials .05 instead of .35).
        """
        from scipy.spatial.distance import cdist

        Z32 = np.asarray(Z, dtype=np.float32)
        by_tree = np.array([tree.predict(Z32)[:, 0] for tree in self.grown])
        distance = cdist(Z, self.Z).min(axis=1) / np.sqrt(Z.shape[1])
        spread = np.hypot(by_tree.std(axis=0), 1e-6 + 1e-3 * distance)
        return self.low + self.width * by_tree.mean(axis=0), self.width * spread

    def extend(self, z: Array, loss: float) -> Posterior:
        return self.model.fit(np.vstack([self.Z, z]), np.append(self.losses, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.predict(Z), float(self.losses.min()))

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None
