"""Algorithm 3 of Wistuba et al. (2015b): which first configurations have the most informative landmarks (aaPBI).

The algorithm leaves out each past task in turn. For every pair of configurations it trains a forest on the other tasks,
with the pair's landmark as a further feature, and predicts the distances of the left-out task. The pair with the best
mean precision (eq. 5) wins; further configurations are added greedily.

`by_forests` is this algorithm. It trains |D| · |Λ|² / 2 forests, so it is feasible for small histories only.
`by_leaves` is an approximation of our own: it leaves out the tasks in at most ten groups and trains one forest for
each, on meta-features alone, whose leaves are split by the number of discordant landmarks of a set. It trains ten
forests, but it is another algorithm: the two agree only in part on which pairs are good, and may choose different ones
(`benchmarks/active_pairs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse

from headstart._support.types import Array, Mask, Rows
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import precision_at, precisions_at
from headstart.transfer.similarity import PairForest, differ, landmarks

# Guesses that bound the cost.
MOST_ACTIVE = 40  # configurations among which the active ones are chosen
MOST_GROUPS = 10  # in which `by_leaves` leaves out the tasks
LEAVES_TREES = 25  # of each forest of `by_leaves`
LEAVES_SIZE = 10  # fewest pairs in a leaf of such a tree, so that landmarks can split it


def active_configurations(forest: PairForest, n: int, k: int, literal: bool = False) -> Array:
    """The k configurations (rows of V) whose landmarks best predict the order of the distances.

    n: I, the number of configurations in the start.
    """
    models = forest.models
    V = best_somewhere(models)
    k = min(k, len(V))
    if k < 2:
        return V[:k]
    F = models.responses(V)
    at = max(1, min(n - k, len(models) - 2))
    judge = by_forests(forest, F, at) if literal else by_leaves(forest, F, at)
    pairs = [list(pair) for pair in combinations(range(len(V)), 2)]
    chosen = pairs[int(np.argmax(judge(pairs)))]  # lines 1–7
    while len(chosen) < k:  # lines 8–15
        rest = [j for j in range(len(V)) if j not in chosen]
        chosen = [*chosen, rest[int(np.argmax(judge([[*chosen, j] for j in rest])))]]
    return np.asarray(V[chosen])


def best_somewhere(models: TaskModels) -> Array:
    """V of the configurations that are best on at least one task; if there are many, those best on most tasks."""
    best = np.array([task.rows[task.best] for task in models.history])
    rows, counts = np.unique(best, return_counts=True)
    return np.asarray(models.history.V[np.sort(rows[np.argsort(-counts, kind="stable")[:MOST_ACTIVE]])])


Judge = Callable[[list[list[int]]], Array]
"""From sets of configurations (rows of F) to the mean precision (eq. 5) of each over the left-out tasks."""


def split(forest: PairForest, left_out: int) -> tuple[Rows, Rows]:
    """The pairs of tasks to train on, and those of every other task with the one left out."""
    train = forest.pairs[(forest.pairs != left_out).all(axis=1)]
    others = np.flatnonzero(np.arange(len(forest.M)) != left_out)
    return train, np.column_stack([others, np.full(len(others), left_out)])


# -- as published ------------------------------------------------------------------------------------------


def by_forests(forest: PairForest, F: Array, at: int) -> Judge:
    """Algorithm 3 to the letter. F (c, T): losses of the configurations on the tasks."""

    def precision(chosen: list[int], left_out: int) -> float:
        train, test = split(forest, left_out)  # lines 2 and 3
        X = np.hstack([forest.features(train), landmarks(F[chosen], train)])
        model = forest.forest(forest.trees, 1).fit(X, forest.distances(train))  # line 5
        predicted = model.predict(np.hstack([forest.features(test), landmarks(F[chosen], test)]))
        return precision_at(at, forest.distances(test), predicted)  # line 6

    def judge(sets: list[list[int]]) -> Array:
        return np.array([np.mean([precision(s, i) for i in range(len(forest.M))]) for s in sets])

    return judge


# -- the approximation -------------------------------------------------------------------------------------


class Leaves(NamedTuple):
    """A forest trained without a group of g tasks, as the leaves of its trees."""

    train: Rows  # (q, 2), the pairs it was trained on
    test: Rows  # (g (T − g), 2), every other task with those left out, one of these after another
    y: Array  # (q,), the distances it was trained on
    y_test: Array  # (g, T − g), the true distances of the test pairs
    of_train: Rows  # (q, trees), the leaf of each training pair in each tree
    of_test: Rows  # (g (T − g), trees)


def by_leaves(forest: PairForest, F: Array, at: int) -> Judge:
    """Forests that know no landmarks, refined by the number of discordant ones."""
    T = len(forest.M)
    groups = min(T, MOST_GROUPS)
    grown = [_leaves(forest, np.arange(i, T, groups)) for i in range(groups)]
    above = F[:, None, :] > F[None, :, :]  # (c, c, T)

    def judge(sets: list[list[int]]) -> Array:
        orders = np.stack([np.stack([above[a, b] for a, b in combinations(s, 2)]) for s in sets])  # (sets, ·, T)
        total = np.zeros(len(sets))
        for leaves in grown:
            g, others = leaves.y_test.shape
            predicted = _refined(leaves, orders).reshape(len(sets), g, others)
            for i, true in enumerate(leaves.y_test):
                total += precisions_at(min(at, others), true, predicted[:, i])
        return np.asarray(total / T)

    return judge


def _leaves(forest: PairForest, left_out: Rows) -> Leaves:
    others = np.setdiff1d(np.arange(len(forest.M)), left_out)
    train = forest.pairs[np.isin(forest.pairs, others).all(axis=1)]
    test = np.column_stack([np.tile(others, len(left_out)), np.repeat(left_out, len(others))])
    X, y = forest.features(train), forest.distances(train)
    model = forest.forest(LEAVES_TREES, LEAVES_SIZE).fit(X, y)
    y_test = forest.distances(test).reshape(len(left_out), len(others))
    return Leaves(train, test, y, y_test, model.apply(X), model.apply(forest.features(test)))


def _refined(leaves: Leaves, orders: Mask) -> Array:
    """Predicted distances of the test pairs if the number of discordant landmarks splits each leaf: (sets, tests).

    A cell is a leaf and a number of discordant landmarks. Counts and sums of its pairs are products of a sparse matrix
    with one over all sets, level by level.
    """
    discordant = differ(orders, leaves.train).sum(axis=1).T  # (q, sets): 0 … levels − 1
    discordant_test = differ(orders, leaves.test).sum(axis=1).T
    predicted = np.zeros(discordant_test.shape)
    parts = [(discordant == level).astype(float) for level in range(orders.shape[1])]
    sums = [part * leaves.y[:, None] for part in parts]
    for of_train, of_test in zip(leaves.of_train.T, leaves.of_test.T, strict=True):  # tree by tree
        reached, place = np.unique(of_test, return_inverse=True)
        inside = np.flatnonzero(np.isin(of_train, reached))
        leaf = np.searchsorted(reached, of_train[inside])
        member = sparse.csr_array((np.ones(len(leaf)), (leaf, inside)), shape=(len(reached), len(of_train)))
        count, total = member.sum(axis=1)[:, None], (member @ leaves.y)[:, None]
        mean = total / count
        for level in range(orders.shape[1] + 1):
            last = level == orders.shape[1]  # what the other levels have left
            n, sum_ = (count, total) if last else (member @ parts[level], member @ sums[level])
            cell = (sum_ + mean) / (n + 1)  # an empty cell has its leaf's mean
            predicted += np.where(discordant_test == level, cell[place], 0.0)
            count, total = count - n, total - sum_
    return np.asarray(predicted.T / leaves.of_train.shape[1])
