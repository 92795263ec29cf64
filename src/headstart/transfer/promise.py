"""How well a configuration ended on past tasks: what is known of a run before it has reported anything of use.

A forest of random trees predicts the normal score of a run's place in its task. A past run is predicted without its
task and by those trees that have not seen its configuration, as new runs will be. The lower a promise, the better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.transfer.standings import Task

# These are guesses.
TREES = 100
LEAF = 2  # configurations in a leaf at least
GROUPS = 5  # of tasks that are left out together
LEAST = 10  # configurations to learn from


@dataclass(frozen=True, eq=False)
class Promise:
    """known: promises of past runs, ascending."""

    forest: Any
    known: Array

    def of(self, Z: Array) -> Array:
        """Promises of configurations (n, d), (n,)."""
        return _predicted(self.forest, Z)

    def place(self, promise: float) -> float:
        """The share of past runs with a better promise."""
        return float(np.searchsorted(self.known, promise)) / len(self.known)

    def places(self, promises: Array) -> Array:
        """The same for several; half of the ties count."""
        ends = [np.searchsorted(self.known, promises, side=side) for side in ("left", "right")]
        return np.asarray(ends[0] + ends[1]) / (2 * len(self.known))


def learn_promise(tasks: Sequence[Task], rng: np.random.Generator) -> tuple[Promise, list[Array]] | None:
    """What configurations promise, and the promises of the runs of each task; None if there is too little to learn."""
    from scipy.special import ndtri

    Z = np.concatenate([task.Z for task in tasks])
    if not Z.shape[1]:
        return None
    y = np.concatenate([ndtri(task.end) for task in tasks])
    task_of = np.repeat(np.arange(len(tasks)), [len(task) for task in tasks])
    config_of = np.unique(np.round(Z, 9), axis=0, return_inverse=True)[1].reshape(-1)
    seed = int(rng.integers(2**31))
    group = rng.permutation(len(tasks))[task_of] % GROUPS
    found = np.full(len(y), np.nan)
    for g in np.unique(group):
        seen, asked = group != g, group == g
        if len(np.unique(config_of[seen])) < LEAST:
            return None
        forest, configs = _grown(Z[seen], y[seen], config_of[seen], seed)
        new = np.where(asked & ~np.isin(config_of, configs))[0]
        old = np.where(asked & np.isin(config_of, configs))[0]
        found[new] = _predicted(forest, Z[new])
        found[old] = forest.oob_prediction_[np.searchsorted(configs, config_of[old])]
    forest, _ = _grown(Z, y, config_of, seed)
    return Promise(forest, np.sort(found)), [found[task_of == i] for i in range(len(tasks))]


def _grown(Z: Array, y: Array, config_of: npt.NDArray[np.intp], seed: int) -> tuple[Any, npt.NDArray[np.intp]]:
    """A forest on the mean over tasks of each configuration, and the configurations, ascending."""
    from sklearn.ensemble import ExtraTreesRegressor

    configs, first, index = np.unique(config_of, return_index=True, return_inverse=True)
    mean = np.bincount(index, weights=y) / np.bincount(index)
    forest = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, bootstrap=True, oob_score=True, random_state=seed)
    return forest.fit(Z[first], np.round(mean, 9)), configs  # rounded, so that equally good splits tie


def _predicted(forest: Any, Z: Array) -> Array:
    Z32 = np.asarray(Z, dtype=np.float32)
    return np.asarray(np.mean([tree.tree_.predict(Z32)[:, 0] for tree in forest.estimators_], axis=0))
