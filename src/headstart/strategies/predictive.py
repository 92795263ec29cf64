"""Starts from the tasks predicted to be most alike: PBI, aPBI and aaPBI.

Wistuba, Schilling, Schmidt-Thieme: Learning Data Set Similarities for Hyperparameter Optimization
Initializations (2015). A random forest learns the distance between two data sets from their meta-features
(PBI, after Feurer et al. 2015); results on the new data set become further features (aPBI); the first
configurations may be chosen for what their results will say about the distances (aaPBI).

| symbol        | name        | shape       | meaning                                                        |
| ------------- | ----------- | ----------- | -------------------------------------------------------------- |
| m_D           | `M`         | (T, F)      | meta-features of the past tasks                                |
| d(D_i, D_j)   | `distances` | (T, T)      | share of discordant pairs, eq. 4: what the forest learns       |
| m_{ij,λ_k,λ_l}| landmarks   | (T, T, k)   | whether two tasks order λ_k, λ_l differently, eq. 3            |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.strategies.base import Run, Told, anywhere, best_of, fresh
from headstart.strategies.best import InOrder
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import precision_at
from headstart.transfer.weights import feature_vectors

Grown: TypeAlias = tuple[Any, Any, Any, Any]  # training pairs, other tasks, leaves of both

MOST_PAIRS = 20_000  # pairs of tasks a forest is trained on
MOST_ACTIVE = 40  # configurations among which the active ones are chosen


@dataclass(frozen=True)
class PredictiveBest:
    """PBI: a random forest predicts how alike the new task is to each past one; the best of the most alike."""

    trees: int = 50

    def __post_init__(self) -> None:
        _check_trees(self.trees)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        order = np.argsort(forest.predict(Told.nothing(models.space)), kind="stable")
        return InOrder(models, order, int(rng.integers(2**32)))


@dataclass(frozen=True)
class AdaptivePredictiveBest:
    """aPBI: PBI, with landmark features from the results on the new task and a new forest after each."""

    trees: int = 50

    def __post_init__(self) -> None:
        _check_trees(self.trees)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return Adaptive(PairForest.of(models, features, self.trees, rng), int(rng.integers(2**32)))


@dataclass(frozen=True)
class ActivePredictiveBest:
    """aaPBI: the first K configurations are those whose results tell most about the distances (Algorithm 3)."""

    k: int = 3
    trees: int = 50

    def __post_init__(self) -> None:
        _check_trees(self.trees)
        if self.k < 2:
            raise ArgumentError(f"k must be at least 2, since a landmark compares two configurations, but got {self.k}")

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        forest = PairForest.of(models, features, self.trees, rng)
        k = min(self.k, n - 1)
        useful = k >= 2 and len(models) >= 3
        active = active_configurations(forest, n, k) if useful else np.empty((0, len(models.space)))
        return Adaptive(forest, int(rng.integers(2**32)), active)


@dataclass(frozen=True)
class Adaptive:
    """A run that first takes given configurations, then the best of the task now predicted to be closest."""

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
    """d̂: pairs of meta-features and landmarks → distance."""

    models: TaskModels
    M: Array
    new: Array
    trees: int
    seed: int
    pairs: npt.NDArray[np.intp] = field(repr=False)  # (q, 2), the pairs of tasks it is trained on

    @classmethod
    def of(cls, models: TaskModels, features: Features | None, trees: int, rng: np.random.Generator) -> PairForest:
        M, new = feature_vectors(models, features)
        pairs = np.array([(i, j) for i in range(len(M)) for j in range(len(M)) if i != j], dtype=np.intp).reshape(-1, 2)
        if len(pairs) > MOST_PAIRS:
            pairs = pairs[np.sort(rng.choice(len(pairs), MOST_PAIRS, replace=False))]
        return cls(models, M, new, trees, int(rng.integers(2**31)), pairs)

    def predict(self, told: Told) -> Array:
        """d̂(D, D_new) for every past task D, trained with the landmarks that the known results allow."""
        if not len(self.pairs):
            return np.zeros(len(self.models))
        known = told.known
        G = self.models.responses(known.V) if len(known) > 1 else np.empty((len(known), len(self.models)))
        X = np.hstack([_sides(self.M[self.pairs[:, 0]], self.M[self.pairs[:, 1]]), landmarks(G, self.pairs)])
        y = self.models.distances[self.pairs[:, 0], self.pairs[:, 1]]
        model = self._forest(self.trees, 1).fit(X, y)
        return np.asarray(
            model.predict(
                np.hstack([_sides(self.M, np.broadcast_to(self.new, self.M.shape)), landmarks_to(G, known.losses)])
            )
        )

    def _forest(self, trees: int, leaf: int):  # type: ignore[no-untyped-def]
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(trees, min_samples_leaf=leaf, max_features=1 / 3, random_state=self.seed, n_jobs=1)

    def leaves(self, left_out: int, trees: int = 25, leaf: int = 10) -> Grown:
        """A forest on meta-features alone without one task: leaves of all other pairs, and of those with it."""
        train = self.pairs[(self.pairs != left_out).all(axis=1)]
        others = np.flatnonzero(np.arange(len(self.M)) != left_out)
        y = self.models.distances[train[:, 0], train[:, 1]]
        model = self._forest(trees, leaf).fit(_sides(self.M[train[:, 0]], self.M[train[:, 1]]), y)
        test = _sides(self.M[others], np.broadcast_to(self.M[left_out], (len(others), self.M.shape[1])))
        return train, others, model.apply(_sides(self.M[train[:, 0]], self.M[train[:, 1]])), model.apply(test)


def _sides(a: Array, b: Array) -> Array:
    return np.hstack([a, b])


def landmarks(G: Array, pairs: npt.NDArray[np.intp]) -> Array:
    """Eq. 3 for the configurations with losses G (k, T): which pairs of them two tasks order differently."""
    up = _orders(G)
    return (up[:, pairs[:, 0]] ^ up[:, pairs[:, 1]]).T.astype(float)


def landmarks_to(G: Array, losses: Array) -> Array:
    """The same between every past task and the new one, whose losses are given: (T, pairs)."""
    return (_orders(G) ^ _orders(losses[:, None])).T.astype(float)


def _orders(G: Array) -> npt.NDArray[np.bool_]:
    upper = np.triu_indices(len(G), k=1)
    return np.asarray(G[upper[0]] > G[upper[1]])


# -- Algorithm 3 ---------------------------------------------------------------------------------------------


def active_configurations(forest: PairForest, n: int, k: int) -> Array:
    """Algorithm 3: the k configurations whose landmarks best predict the order of the distances.

    Trained literally, it needs a forest for every left-out task and every pair of configurations. Its structure
    saves that: what the meta-features say is the same for all of them, and a landmark only splits what the trees
    have already told apart. So one forest is grown per left-out task on meta-features alone, and each candidate's
    landmarks refine the means of its leaves; for all candidates at once, that is a product of matrices.
    """
    models = forest.models
    V = _candidates(models)
    k = min(k, len(V))
    if k < 2:
        return V[:k]
    up = models.responses(V)
    grown = [forest.leaves(i) for i in range(len(models))]
    at = max(1, min(n - k, len(models) - 2))
    pairs = list(combinations(range(len(V)), 2))
    gain = _precision(forest, grown, up, [list(pair) for pair in pairs], at)
    chosen = list(pairs[int(np.argmax(gain))])  # lines 1–7
    while len(chosen) < k:  # lines 8–15
        rest = [j for j in range(len(V)) if j not in chosen]
        gain = _precision(forest, grown, up, [[*chosen, j] for j in rest], at)
        chosen.append(rest[int(np.argmax(gain))])
    return V[chosen]


def _candidates(models: TaskModels) -> Array:
    """Configurations that are best on at least one task; the most often best if there are many."""
    best = np.array([task.rows[task.best] for task in models.history])
    rows, counts = np.unique(best, return_counts=True)
    return np.asarray(models.history.V[np.sort(rows[np.argsort(-counts, kind="stable")[:MOST_ACTIVE]])])


def _precision(forest: PairForest, grown: list[Grown], G: Array, sets: list[list[int]], at: int) -> Array:
    """Mean precision at n over left-out tasks, for each set of configurations."""
    total = np.zeros(len(sets))
    above = G[:, None, :] > G[None, :, :]  # (c, c, T)
    orders = np.stack([np.stack([above[a, b] for a, b in combinations(s, 2)]) for s in sets])  # (sets, pairs, T)
    for left_out, (train, others, leaves, leaves_new) in enumerate(grown):
        y = forest.models.distances[train[:, 0], train[:, 1]]
        share = (orders[:, :, train[:, 0]] ^ orders[:, :, train[:, 1]]).sum(axis=1)  # (sets, q): 0 … pairs
        share_new = (orders[:, :, others] ^ orders[:, :, [left_out]]).sum(axis=1)
        guess = _refined(y, leaves, leaves_new, share, share_new, orders.shape[1] + 1)
        true = forest.models.distances[others, left_out]
        total += [precision_at(at, true, g) for g in guess]
    return np.asarray(total / len(grown))


def _refined(
    y: Array,
    leaves: Array,
    leaves_new: Array,
    share: npt.NDArray[np.intp],
    share_new: npt.NDArray[np.intp],
    levels: int,
) -> Array:
    """Predictions of a forest whose leaves are split by the number of discordant landmarks: (sets, pairs)."""
    guess = np.zeros(share_new.shape)
    for tree in range(leaves.shape[1]):
        names, leaf = np.unique(leaves[:, tree], return_inverse=True)
        leaf_new = np.searchsorted(names, leaves_new[:, tree])
        mean = np.bincount(leaf, y) / np.bincount(leaf)
        for s in range(len(share)):
            cell = leaf * levels + share[s]
            count = np.bincount(cell, minlength=len(names) * levels)
            total = np.bincount(cell, y, minlength=len(names) * levels)
            at = leaf_new * levels + share_new[s]
            guess[s] += (total[at] + mean[leaf_new]) / (count[at] + 1)  # an empty cell falls back on its leaf
    return np.asarray(guess / leaves.shape[1])


def _check_trees(trees: int) -> None:
    if trees < 1:
        raise ArgumentError(f"a forest needs at least one tree, but got trees={trees}")
