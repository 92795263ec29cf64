"""The independent random forest: mean and spread over trees (Hutter et al. 2011; Wistuba et al. 2015a, V-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.history import Features
from headstart.parameters import Array
from headstart.past import Past
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Posterior


@dataclass(frozen=True)
class Forest:
    """rf: a random forest on the run's own trials."""

    trees: int = 100

    def __post_init__(self) -> None:
        if self.trees < 2:
            raise ValueError(f"the spread over trees needs at least two, but got trees={self.trees}")

    def begin(
        self, space: Space, past: Past | None, *, features: Features | None, rng: np.random.Generator
    ) -> ForestModel:
        return ForestModel(self.trees, int(rng.integers(2**31)))


@dataclass(frozen=True)
class ForestModel:
    trees: int
    seed: int

    def fit(self, Z: Array, losses: Array) -> Posterior:
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            self.trees, min_samples_leaf=1, max_features=5 / 6, random_state=self.seed, n_jobs=1
        )
        return ForestPosterior(self, Z, losses, forest.fit(Z, losses))


@dataclass(frozen=True)
class ForestPosterior:
    model: ForestModel
    Z: Array
    losses: Array
    forest: Any

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Each leaf's mean, averaged over trees; the spread is that between trees, and a trace of the distance.

        Trees are constant between trials, so that many configurations tie. A thousandth of the range of losses
        times the distance to the nearest trial sends such ties where nobody has looked, instead of to the
        first of the list (on ten of the papers' SVM tasks, ADTM after 10 trials .05 instead of .35).
        """
        from scipy.spatial.distance import cdist

        Z32 = np.asarray(Z, dtype=np.float32)
        by_tree = np.array([tree.tree_.predict(Z32)[:, 0] for tree in self.forest.estimators_])
        distance = cdist(Z, self.Z).min(axis=1) / np.sqrt(Z.shape[1])
        trace = (np.ptp(self.losses) or 1.0) * (1e-6 + 1e-3 * distance)
        return by_tree.mean(axis=0), np.hypot(by_tree.std(axis=0), trace)

    def extend(self, z: Array, loss: float) -> Posterior:
        return self.model.fit(np.vstack([self.Z, z]), np.append(self.losses, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.predict(Z), float(self.losses.min()))
