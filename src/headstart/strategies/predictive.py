"""Starts from the past tasks predicted to be most similar: PBI, aPBI and aaPBI.

Wistuba, Schilling, Schmidt-Thieme: Learning Data Set Similarities for Hyperparameter Optimization Initializations
(2015). A random forest learns the distance between two data sets from their meta-features (PBI, after Feurer et al.
2015). Results on the new data set become further features, the landmarks (aPBI). The first configurations can be chosen
so that their landmarks predict the distances well (aaPBI).

| symbol              | name        | shape  | meaning                                                            |
| ------------------- | ----------- | ------ | ------------------------------------------------------------------ |
| m_D                 | `M`         | (T, n) | meta-features of the past tasks                                    |
| d(D_i, D_j)         | `distances` | (T, T) | share of discordant pairs, eq. 4; the forest's target              |
| —                   | `pairs`     | (q, 2) | pairs of tasks that a forest learns from                           |
| f_D(λ_k)            | `F`         | (k, T) | losses of k configurations on the past tasks                       |
| m_{D_i,D_j,λ_k,λ_l} | `landmarks` | (q, ·) | whether two tasks order λ_k, λ_l differently, eq. 3, for all k < l |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array, Mask, Rows
from headstart.history import Features
from headstart.strategies.base import Run, Told, anywhere, best_of, fresh
from headstart.strategies.best import InOrder
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import precision_at
from headstart.transfer.weights import feature_vectors

CONSIDERED = 1 / 3  # share of the features considered at a split, the usual choice for regression forests
MOST_PAIRS = 20_000  # pairs of tasks that a forest is trained on; a guess that bounds the cost, like the next three
MOST_ACTIVE = 40  # configurations among which the active ones are chosen
ACTIVE_TREES = 25  # of each forest that judges them
ACTIVE_LEAF = 10  # fewest pairs in a leaf of such a tree, so that landmarks can split it


@dataclass(frozen=True)
class PredictiveBest:
    """PBI: the best configurations of the past tasks that a random forest predicts to be most similar."""

    trees: int = 50

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        order = np.argsort(forest.predict(Told.nothing(models.space)), kind="stable")
        return InOrder(models, order, int(rng.integers(2**32)))


@dataclass(frozen=True)
class AdaptivePredictiveBest:
    """aPBI: PBI with landmarks from the results on the new task, and a new forest after each result."""

    trees: int = 50

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return Adaptive(PairForest.of(models, features, self.trees, rng), int(rng.integers(2**32)))


@dataclass(frozen=True)
class ActivePredictiveBest:
    """aaPBI: aPBI whose first K configurations are those with the most informative landmarks (Algorithm 3)."""

    k: int = 3  # K, as in the paper's experiments
    trees: int = 50

    def __post_init__(self) -> None:
        whole("trees", self.trees, 1)
        whole("k", self.k, 2)  # a landmark compares two configurations

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        k = min(self.k, n - 1)
        useful = k >= 2 and len(models) >= 3
        active = active_configurations(forest, n, k) if useful else np.empty((0, len(models.space)))
        return Adaptive(forest, int(rng.integers(2**32)), active)


@dataclass(frozen=True)
class Adaptive:
    """A run that first takes given configurations, then the best ones of the task now predicted to be nearest."""

    forest: PairForest
    seed: int
    first: Array | None = None

    def ask(self, told: Told) -> Array:
        models = self.forest.models
        return fresh(chain(iter(self.first if self.first is not None else ()), self._nearest(told)), told, models.space)

    def _nearest(self, told: Told) -> Iterator[Array]:
        order = np.argsort(self.forest.predict(told), kind="stable")
        yield from best_of(self.forest.models, order)
        yield from anywhere(self.forest.models.space, self.seed, self.forest.models.allowed)


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

    def predict(self, told: Told) -> Array:
        """d̂(D, D_new) for every past task D, from meta-features and the landmarks of the results so far: (T,)."""
        if not len(self.pairs):
            return np.zeros(len(self.models))
        known = told.known
        F = self.models.responses(known.V) if len(known) > 1 else np.empty((len(known), len(self.models)))
        X = np.hstack([self._features(self.pairs), landmarks(F, self.pairs)])
        new = np.broadcast_to(self.new, self.M.shape)
        model = self._forest(self.trees, 1).fit(X, self._distances(self.pairs))
        return np.asarray(model.predict(np.hstack([self.M, new, landmarks_to(F, known.losses)])))

    def leaves(self, left_out: int) -> Leaves:
        """The leaves of a forest that is trained without one task and without landmarks."""
        train = self.pairs[(self.pairs != left_out).all(axis=1)]
        others = np.flatnonzero(np.arange(len(self.M)) != left_out)
        X, y = self._features(train), self._distances(train)
        model = self._forest(ACTIVE_TREES, ACTIVE_LEAF).fit(X, y)
        test = np.column_stack([others, np.full(len(others), left_out)])
        return Leaves(train, test, y, self._distances(test), model.apply(X), model.apply(self._features(test)))

    def _forest(self, trees: int, leaf: int) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(
            trees, min_samples_leaf=leaf, max_features=CONSIDERED, random_state=self.seed, n_jobs=1
        )

    def _features(self, pairs: Rows) -> Array:
        """Meta-features of both tasks of each pair: (q, 2n)."""
        return np.hstack([self.M[pairs[:, 0]], self.M[pairs[:, 1]]])

    def _distances(self, pairs: Rows) -> Array:
        return self.models.distances[pairs[:, 0], pairs[:, 1]]


class Leaves(NamedTuple):
    """A forest trained without one task, as the leaves of its trees."""

    train: Rows  # (q, 2), the pairs it was trained on
    test: Rows  # (T − 1, 2), every other task with the one left out
    y: Array  # (q,), the distances it was trained on
    y_test: Array  # (T − 1,), the true distances of the test pairs
    of_train: Rows  # (q, trees), the leaf of each training pair in each tree
    of_test: Rows  # (T − 1, trees)


def landmarks(F: Array, pairs: Rows) -> Array:
    """Eq. 3: for each pair of tasks, which pairs of the k configurations they order differently."""
    return _differ(_orders(F), pairs).T.astype(float)


def landmarks_to(F: Array, losses: Array) -> Array:
    """The same for every past task and the new one, whose losses (k,) are given: (T, ·)."""
    return (_orders(F) ^ _orders(losses[:, None])).T.astype(float)


def _orders(F: Array) -> Mask:
    """f_D(λ_k) > f_D(λ_l) for k < l: (·, T)."""
    upper = np.triu_indices(len(F), k=1)
    return np.asarray(F[upper[0]] > F[upper[1]])


def _differ(orders: Mask, pairs: Rows) -> Mask:
    """Whether the two tasks of each pair differ; tasks are the last axis of `orders`."""
    return np.asarray(orders[..., pairs[:, 0]] ^ orders[..., pairs[:, 1]])


# -- Algorithm 3 ---------------------------------------------------------------------------------------------


def active_configurations(forest: PairForest, n: int, k: int) -> Array:
    """Algorithm 3: the k configurations whose landmarks best predict the order of the distances.

    Followed literally, it trains a forest for every left-out task and every pair of configurations. But all of these
    forests see the same meta-features, and a landmark only splits their leaves further. So this trains one forest per
    left-out task, on meta-features alone, and refines the means of its leaves by each candidate's landmarks.
    """
    models = forest.models
    V = _candidates(models)
    k = min(k, len(V))
    if k < 2:
        return V[:k]
    F = models.responses(V)
    grown = [forest.leaves(i) for i in range(len(models))]
    at = max(1, min(n - k, len(models) - 2))
    pairs = list(combinations(range(len(V)), 2))
    precision = _precision(grown, F, [list(pair) for pair in pairs], at)
    chosen = list(pairs[int(np.argmax(precision))])  # lines 1–7
    while len(chosen) < k:  # lines 8–15
        rest = [j for j in range(len(V)) if j not in chosen]
        precision = _precision(grown, F, [[*chosen, j] for j in rest], at)
        chosen.append(rest[int(np.argmax(precision))])
    return V[chosen]


def _candidates(models: TaskModels) -> Array:
    """V of the configurations that are best on at least one task; if there are many, those best on most tasks."""
    best = np.array([task.rows[task.best] for task in models.history])
    rows, counts = np.unique(best, return_counts=True)
    return np.asarray(models.history.V[np.sort(rows[np.argsort(-counts, kind="stable")[:MOST_ACTIVE]])])


def _precision(grown: list[Leaves], F: Array, sets: list[list[int]], at: int) -> Array:
    """Mean precision at `at` (eq. 5) over the left-out tasks, for each set of configurations (rows of F)."""
    total = np.zeros(len(sets))
    above = F[:, None, :] > F[None, :, :]  # (c, c, T)
    orders = np.stack([np.stack([above[a, b] for a, b in combinations(s, 2)]) for s in sets])  # (sets, ·, T)
    for leaves in grown:
        total += [precision_at(at, leaves.y_test, predicted) for predicted in _refined(leaves, orders)]
    return np.asarray(total / len(grown))


def _refined(leaves: Leaves, orders: Mask) -> Array:
    """Predicted distances of the test pairs if the number of discordant landmarks splits each leaf: (sets, T − 1)."""
    levels = orders.shape[1] + 1
    discordant = _differ(orders, leaves.train).sum(axis=1)  # (sets, q): 0 … levels − 1
    discordant_test = _differ(orders, leaves.test).sum(axis=1)
    predicted = np.zeros(discordant_test.shape)
    for of_train, of_test in zip(leaves.of_train.T, leaves.of_test.T, strict=True):  # tree by tree
        names, leaf = np.unique(of_train, return_inverse=True)
        leaf_test = np.searchsorted(names, of_test)
        mean = np.bincount(leaf, leaves.y) / np.bincount(leaf)
        for s in range(len(orders)):
            cell = leaf * levels + discordant[s]
            count = np.bincount(cell, minlength=len(names) * levels)
            total = np.bincount(cell, leaves.y, minlength=len(names) * levels)
            at = leaf_test * levels + discordant_test[s]
            predicted[s] += (total[at] + mean[leaf_test]) / (count[at] + 1)  # an empty cell falls back on its leaf
    return np.asarray(predicted / leaves.of_train.shape[1])
