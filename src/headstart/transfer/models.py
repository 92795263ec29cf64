"""Models of the past tasks, which predict configurations that were never tried there.

The losses of each task are scaled separately. Every task has its own Gaussian process, and all processes share one set
of hyperparameters, fitted to the whole history by marginal likelihood (Wistuba et al. 2015a, sections IV-D and V-A).

| symbol | name      | shape  | meaning                                            |
| ------ | --------- | ------ | -------------------------------------------------- |
| f_D    | `losses`  | (n_D,) | scaled losses of task D, one array per task        |
| f̂_D(λ) | `predict` | (m, T) | predicted losses of m configurations on all T tasks |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array, Rows
from headstart.datasets.distances import surface_distances
from headstart.gp import Fit, Kernel, TaskGPs, fit_kernel
from headstart.history import History
from headstart.space import Space
from headstart.space.rows import distinct, keys
from headstart.transfer.population import Population
from headstart.transfer.ranks import discordant_share, normal_scores
from headstart.transfer.surfaces import Surfaces

MEAN = 0.0  # prior mean of the surrogates, as in the papers: far from all trials they predict the best loss
HOW = Fit(restarts=1, mean=MEAN, max_total=1500)  # to limit the time of a fit; guesses
MOST_SHARED = 200  # tasks are compared by how they rank at most this many configurations; a guess
MOST_CANDIDATES = 2000  # candidates, half of them from the history, plus each task's best; a guess


@dataclass(frozen=True)
class NewTask:
    """The new task when there is no history."""

    space: Space
    allowed: Array | None = None  # V of the only configurations that may be proposed, if they are limited


class TaskModels:
    """A history, scaled task by task, and its models. Each model is fitted when it is first used."""

    def __init__(self, history: History, *, rng: np.random.Generator, allowed: Array | None = None) -> None:
        """allowed: V of the only configurations that may be proposed, if they are limited."""
        self.history = history
        self.allowed = allowed
        self.losses = [task.scaled() for task in history]
        self._rng = rng.spawn(5)

    @property
    def space(self) -> Space:
        return self.history.space

    def __len__(self) -> int:
        return len(self.history)

    @cached_property
    def kernel(self) -> Kernel:
        """The hyperparameters that all tasks share."""
        groups = list(zip(self._designs, self.losses, strict=True))
        return fit_kernel(groups, HOW, rng=self._rng[0])

    @cached_property
    def surrogates(self) -> TaskGPs:
        return TaskGPs.fit(self._designs, self.losses, self.kernel, mean=MEAN)

    @cached_property
    def _designs(self) -> list[Array]:
        return [self.history.design(name) for name in self.history.tasks]

    @cached_property
    def ranked_rows(self) -> list[Rows]:
        """For each task, its rows of `history.V`, the best first and failed ones last."""
        return [
            task.rows[np.argsort(np.where(np.isnan(task.losses), np.inf, task.losses), kind="stable")]
            for task in self.history
        ]

    @cached_property
    def population(self) -> Population:
        """The tasks as draws from one learned distribution, for `auto`."""
        return Population.of(self._designs, [task.losses for task in self.history], rng=self._rng[4])

    @cached_property
    def surfaces(self) -> Surfaces:
        """Models for `prior`, on a scale that magnifies differences between good losses."""
        return Surfaces.of(self._designs, self.losses, rng=self._rng[3])

    def surfaces_of(self, tasks: Sequence[int] | Rows) -> Surfaces:
        """The surfaces of these tasks alone, with the hyperparameters of all tasks."""
        designs, losses = [self._designs[i] for i in tasks], [self.losses[i] for i in tasks]
        return Surfaces.of(designs, losses, rng=self._rng[3], kernel=self.surfaces.kernel)

    def own_surfaces_of(self, tasks: Sequence[int] | Rows) -> TaskGPs:
        """The surfaces of these tasks in the units of their losses; a failed trial counts as the worst of its task."""
        chosen = [list(self.history)[i] for i in tasks]
        losses = [np.where(np.isnan(task.losses), np.nanmax(task.losses), task.losses) for task in chosen]
        return TaskGPs.fit([self._designs[i] for i in tasks], losses, self.kernel)

    def predict(self, Z: Array) -> Array:
        """f̂_D at the rows of Z for every task, rounded: (m, T)."""
        return settled(self.surrogates.predict(Z), DIGITS)

    def responses(self, V: Array) -> Array:
        """Losses of configurations V (m, p) on all tasks, (m, T): observed where possible, predicted elsewhere.

        If `population` has been fitted already and has all tasks, it makes the predictions, so that no second model is
        fitted for them.
        """
        if self._only_population and len(self.population) == len(self):
            return self.population_responses(V)
        F = self.observed(V)
        return np.where(np.isnan(F), self.predict(self.space.encode_values(V)), F) if np.isnan(F).any() else F

    def sampled_responses(self, V: Array) -> tuple[Array, Array]:
        """`responses`, and the share of all tasks that each of its columns stands for.

        If `population` is the only model fitted so far, only its tasks are returned.
        """
        if self._only_population:
            return self.population_responses(V), self.population.shares
        return self.responses(V), np.full(len(self), 1.0 / len(self))

    def population_responses(self, V: Array) -> Array:
        """Losses of configurations V (m, p) on the tasks of `population`, (m, T): observed or predicted by it.

        No prediction is better than the best loss that the task observed.
        """
        F = self.observed(V)[:, self.population.tasks]
        return np.where(np.isnan(F), self._by_rank(self.space.encode_values(V)), F) if np.isnan(F).any() else F

    @property
    def _only_population(self) -> bool:
        return "population" in vars(self) and "surrogates" not in vars(self)

    def _by_rank(self, Z: Array) -> Array:
        """Losses that the population predicts for its tasks: a score becomes the loss with this rank on the task."""
        scores, tasks = self.population.at(Z), list(self.history)
        columns = [
            np.interp(scores[:, i], np.sort(normal_scores(tasks[t].losses)), np.sort(self.losses[t]))
            for i, t in enumerate(self.population.tasks)
        ]
        return np.column_stack(columns)

    def observed(self, V: Array) -> Array:
        """Scaled losses (m, T), NaN where a task did not try the configuration."""
        F = np.full((len(V), len(self)), np.nan)
        for i, key in enumerate(keys(V)):
            row = self._row_of.get(key)
            if row is None:
                continue
            for t, task in enumerate(self.history):
                at = np.searchsorted(task.rows, row)
                if at < len(task.rows) and task.rows[at] == row:
                    F[i, t] = self.losses[t][at]
        return F

    @cached_property
    def _row_of(self) -> dict[bytes, int]:
        return {key: i for i, key in enumerate(keys(self.history.V))}

    @cached_property
    def is_shared(self) -> bool:
        """Whether all tasks were evaluated on the same configurations."""
        first, *others = list(self.history)
        return all(np.array_equal(task.rows, first.rows) for task in others)

    @cached_property
    def shared(self) -> tuple[Array, Array]:
        """Configurations V (m, p) on which all tasks can be compared, and their losses (m, T).

        If the tasks were not evaluated on the same configurations, the losses are predictions.
        """
        if self.is_shared:
            rows, F = next(iter(self.history)).rows, np.column_stack(self.losses)
        else:
            rows = np.arange(len(self.history.V))
            F = np.empty((len(rows), 0))
        if len(rows) > MOST_SHARED:
            kept = np.sort(self._rng[1].choice(len(rows), MOST_SHARED, replace=False))
            rows, F = rows[kept], F[kept]
        if not self.is_shared:
            F = self.predict(self.history.Z[rows])
        return self.history.V[rows], F

    @cached_property
    def distances(self) -> Array:
        """Share of discordant pairs between any two tasks, (T, T): eq. 4 of Wistuba et al. 2015b."""
        return discordant_share(self.shared[1])

    @property
    def candidates(self) -> Array:
        """V of the candidates: the allowed configurations, or the pool."""
        return self.pool if self.allowed is None else self.allowed

    @cached_property
    def pool(self) -> Array:
        """V of configurations that cover the space: those of the history and a Sobol sample."""
        V = self.history.V
        if len(V) > MOST_CANDIDATES // 2:
            V = V[np.sort(self._rng[2].choice(len(V), MOST_CANDIDATES // 2, replace=False))]
        if len(self.history.V) >= self.space.size:
            return V
        best = np.array([task.rows[task.best] for task in self.history])
        spread = self.space.sample_values(MOST_CANDIDATES // 2, rng=self._rng[2], method="sobol")
        return distinct(np.concatenate([V, self.history.V[best], spread]))[0]

    @cached_property
    def pool_losses(self) -> Array:
        """Predicted losses of the pool, (m, T)."""
        return self.predict(self.space.encode_values(self.pool))


def task_distances(history: History, kind: str = "emd", *, rng: np.random.Generator) -> Array:
    """Distances between the response surfaces of any two tasks, (T, T), in the order of the tasks.

    kind: "emd" (earth mover's distance) or "l1".
    """
    V, F = TaskModels(history, rng=rng).shared
    return surface_distances(F, history.space.encode_values(V), kind)
