"""The independent random forest: mean and spread over trees (Hutter et al. 2011; Wistuba et al. 2015a, V-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Posterior
from headstart.transfer.models import TaskModels

CONSIDERED = 5 / 6  # share of the columns considered at a split, the default of Hutter et al.'s program SMAC
REMOTE = 1e-3  # spread per distance to the nearest trial, as a share of the range of losses; see `predict`
LEAST_SPREAD = 1e-6  # share of the range of losses, so that no spread is 0; a guess


@dataclass(frozen=True)
class Forest:
    """rf: a random forest on the run's own trials."""

    trees: int = 100

    needs_history = False

    def __post_init__(self) -> None:
        whole("trees", self.trees, 2)  # one tree has no spread

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> ForestModel:
        return ForestModel(self.trees, int(rng.integers(2**31)))


@dataclass(frozen=True)
class ForestModel:
    trees: int
    seed: int

    def fit(self, Z: Array, losses: Array) -> Posterior:
        """Grows the trees one by one, each on its own draw of the trials.

        scikit-learn's forest does the same, but spends most of its time on checks, clones and seeds that trees of so
        few rows do not need (`benchmarks/forest.py`). Losses are scaled to [0, 1] and rounded, so that equally good
        splits tie in any unit.
        """
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        rng = np.random.default_rng(self.seed)
        n = len(losses)
        low, width = float(losses.min()), float(np.ptp(losses)) or 1.0
        X, y = np.asarray(Z, dtype=np.float32), np.round((losses - low) / width, 12)[:, None]
        tree = DecisionTreeRegressor(max_features=CONSIDERED, random_state=np.random.RandomState(self.seed))
        with config_context(skip_parameter_validation=True, assume_finite=True):
            draws = rng.integers(n, size=(self.trees, n))
            grown = [tree.fit(X[drawn], y[drawn], check_input=False).tree_ for drawn in draws]
        return ForestPosterior(self, Z, losses, low, width, grown)


@dataclass(frozen=True)
class ForestPosterior:
    model: ForestModel
    X: Array
    losses: Array
    low: float
    width: float
    grown: list[Any]

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and spread over the trees; the spread grows slightly with the distance to the nearest trial.

        Trees are constant between trials, so many configurations tie. The distance breaks ties in favour of unexplored
        regions, not of the first in the list (on ten of the papers' SVM tasks, ADTM after 10 trials .05 instead of
        .35).
        """
        mean, spread = self._scaled(Z)
        return self.low + self.width * mean, self.width * spread

    def _scaled(self, Z: Array) -> tuple[Array, Array]:
        """The same, with the losses scaled to [0, 1]."""
        from scipy.spatial.distance import cdist

        Z32 = np.asarray(Z, dtype=np.float32)
        by_tree = np.array([tree.predict(Z32)[:, 0] for tree in self.grown])
        distance = cdist(Z, self.X).min(axis=1) / np.sqrt(Z.shape[1])
        spread = np.hypot(by_tree.std(axis=0), LEAST_SPREAD + REMOTE * distance)
        return by_tree.mean(axis=0), spread

    def extend(self, z: Array, loss: float) -> Posterior:
        return self.model.fit(np.vstack([self.X, z]), np.append(self.losses, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self._scaled(Z), 0.0)  # in any unit, the best so far is 0

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None
