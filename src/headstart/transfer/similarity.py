"""How far the new task is from each past one: by meta-features, by a forest that learned the distance, or by a network.

Wistuba, Schilling, Schmidt-Thieme: Learning Data Set Similarities for Hyperparameter Optimization Initializations
(2015b), section 4.1. A random forest learns the distance between two data sets from their meta-features (after Feurer,
Springenberg and Hutter 2015). Results on the new data set become further features, the landmarks.

| symbol              | name        | shape  | meaning                                                            |
| ------------------- | ----------- | ------ | ------------------------------------------------------------------ |
| m_D                 | `M`         | (T, n) | meta-features of the past tasks                                    |
| d(D_i, D_j)         | `distances` | (T, T) | share of discordant pairs, eq. 4; the forest's target              |
| —                   | `pairs`     | (q, 2) | pairs of tasks that a forest learns from                           |
| f_D(λ_k)            | `F`         | (k, T) | losses of k configurations on the past tasks                       |
| m_{D_i,D_j,λ_k,λ_l} | `landmarks` | (q, ·) | whether two tasks order λ_k, λ_l differently, eq. 3, for all k < l |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from headstart._support.types import Array, Mask, Rows
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_distance, feature_vectors, metric_distance

CONSIDERED = 1 / 3  # share of the features considered at a split, the usual choice for regression forests
MOST_PAIRS = 20_000  # pairs of tasks that a forest is trained on; a guess that bounds the cost
DISTANCES = ("features", "forest", "metric")


def distance_to_new(
    models: TaskModels,
    features: Features | None,
    by: str,
    *,
    rng: np.random.Generator,
    p: float = 2.0,
    trees: int = 50,
) -> Array:
    """δ(D, D_new) for every past task: (T,).

    by: "features", the p-norm between standardised meta-features (NBI); "forest", the predicted share of discordant
    pairs (PBI); "metric", the Euclidean distance between embeddings of a Siamese network.
    """
    if by == "forest":
        return PairForest.of(models, features, trees, rng).predict()
    if by == "metric":
        return metric_distance(models, features)
    return feature_distance(*feature_vectors(models, features), p)


def check_distance(by: str) -> None:
    """An error unless a distance has this name."""
    if by not in DISTANCES:
        raise ArgumentError(f"by must be one of {', '.join(DISTANCES)}, but got {by!r}")


@dataclass(frozen=True)
class PairForest:
    """d̂: the forest that predicts the distance of two tasks from their meta-features and landmarks."""

    models: TaskModels
    M: Array
    new: Array  # (n,), meta-features of the new task
    trees: int
    seed: int
    pairs: Rows = field(repr=False)

    @classmethod
    def of(cls, models: TaskModels, features: Features | None, trees: int, rng: np.random.Generator) -> PairForest:
        M, new = feature_vectors(models, features)
        pairs = np.array([(i, j) for i in range(len(M)) for j in range(len(M)) if i != j], dtype=np.intp).reshape(-1, 2)
        if len(pairs) > MOST_PAIRS:
            pairs = pairs[np.sort(rng.choice(len(pairs), MOST_PAIRS, replace=False))]
        return cls(models, M, new, trees, int(rng.integers(2**31)), pairs)

    def predict(self, V: Array | None = None, losses: Array | None = None) -> Array:
        """d̂(D, D_new) for every past task D: (T,).

        V, losses: the results on the new task so far, which give the landmarks.
        """
        if not len(self.pairs):
            return np.zeros(len(self.models))
        if V is None or losses is None or len(losses) < 2:  # no landmarks yet
            return self.by_features
        return self._predict(self.models.responses(V), losses)

    @cached_property
    def by_features(self) -> Array:
        """The same by meta-features alone."""
        return self._predict(np.empty((0, len(self.models))), np.empty(0))

    def _predict(self, F: Array, losses: Array) -> Array:
        X = np.hstack([self.features(self.pairs), landmarks(F, self.pairs)])
        new = np.broadcast_to(self.new, self.M.shape)
        model = self.forest(self.trees, 1).fit(X, self.distances(self.pairs))
        return np.asarray(model.predict(np.hstack([self.M, new, landmarks_to(F, losses)])))

    def forest(self, trees: int, leaf: int) -> Any:
        """A forest that is not trained yet. leaf: fewest pairs in a leaf."""
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(
            trees, min_samples_leaf=leaf, max_features=CONSIDERED, random_state=self.seed, n_jobs=1
        )

    def features(self, pairs: Rows) -> Array:
        """Meta-features of both tasks of each pair: (q, 2n)."""
        return np.hstack([self.M[pairs[:, 0]], self.M[pairs[:, 1]]])

    def distances(self, pairs: Rows) -> Array:
        """d of each pair: (q,)."""
        return self.models.distances[pairs[:, 0], pairs[:, 1]]


def landmarks(F: Array, pairs: Rows) -> Array:
    """Eq. 3: for each pair of tasks, which pairs of the k configurations they order differently."""
    return differ(_orders(F), pairs).T.astype(float)


def landmarks_to(F: Array, losses: Array) -> Array:
    """The same for every past task and the new one, whose losses (k,) are given: (T, ·)."""
    return (_orders(F) ^ _orders(losses[:, None])).T.astype(float)


def _orders(F: Array) -> Mask:
    """f_D(λ_k) > f_D(λ_l) for k < l: (·, T)."""
    upper = np.triu_indices(len(F), k=1)
    return np.asarray(F[upper[0]] > F[upper[1]])


def differ(orders: Mask, pairs: Rows) -> Mask:
    """Whether the two tasks of each pair differ; tasks are the last axis of `orders`."""
    return np.asarray(orders[..., pairs[:, 0]] ^ orders[..., pairs[:, 1]])
