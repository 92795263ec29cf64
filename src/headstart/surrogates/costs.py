"""The cost of a configuration, learned from past tasks and the run's own trials, and the gain per unit of cost.

Costs span decades and every data set has its own level, so the model is one of logarithms. A random forest learns the
shape that all past tasks share; the level of the new task is a normal draw like those of the past tasks, and the run's
own costs shift it. Without past costs, a Gaussian process learns from the run's own.

    log c_D(λ) = level_D + shape(λ) + residual

| symbol | name      | shape | meaning                                                                     |
| ------ | --------- | ----- | --------------------------------------------------------------------------- |
| c      | `costs`   | (n,)  | costs of evaluations; NaN where unknown                                     |
| α      | `cooling` |       | 1: gain per unit of cost; 0: cost does not matter (`Spending.cooling`)      |

The score of a configuration is log EI − α log c: expected improvement per unit of cost with the cooling of Lee et al.
2020, "Cost-aware Bayesian optimization" (EI-cool), where α falls from 1 to 0 as the budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import History
from headstart.surrogates.base import Acquisition, Posterior
from headstart.surrogates.gaussian import GaussianModel

# Guesses, except as noted.
TREES = 50
LEAF = 3  # evaluations in a leaf at least
ROUNDS = 4  # of fitting the shape, then the levels
MOST_ROWS = 10_000  # evaluations to which the forest is fitted; this bounds its time
LEAST_SPREAD = 0.1  # standard deviations of levels and residuals are at least this
STEEP = 8.0  # power of the penalty for costs beyond what is left of the budget


def log_costs(costs: Array) -> Array:
    """Logarithms of costs; NaN where unknown. A cost of 0 was too small to measure: it counts as the smallest other."""
    positive = costs > 0
    least = float(costs[positive].min()) if positive.any() else math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.where(costs == 0, least, costs)))


@dataclass(frozen=True, eq=False)
class Shape:
    """What past tasks teach about costs. level, spread: mean and deviation of their levels. noise: of residuals."""

    forest: Any
    level: float
    spread: float
    noise: float

    @classmethod
    def of(cls, history: History, *, rng: np.random.Generator) -> Shape | None:
        """The shape of a history's costs; None if it has none."""
        logs = [log_costs(np.full(len(task), np.nan) if task.costs is None else task.costs) for task in history]
        known = [(task.rows[np.isfinite(y)], y[np.isfinite(y)]) for task, y in zip(history, logs, strict=True)]
        known = [(rows, y) for rows, y in known if len(y)]
        if not known:
            return None
        seed, most = int(rng.integers(2**31)), max(1, MOST_ROWS // len(known))
        drawn = [_drawn(rows, y, most, rng) for rows, y in known]
        X = history.Z[np.concatenate([rows for rows, _ in drawn])]
        task_of = np.repeat(np.arange(len(drawn)), [len(y) for _, y in drawn])
        y = np.concatenate([y for _, y in drawn])
        residual, levels, forest = y, _means(y, task_of), None
        for _ in range(ROUNDS):
            forest = _grown(X, y - levels[task_of], seed)
            residual = y - _predicted(forest, X)
            levels = _means(residual, task_of)
        noise = float(np.std(residual - levels[task_of]))
        spread = float(np.std(levels, ddof=1)) if len(levels) > 1 else 1.0
        return cls(forest, float(levels.mean()), max(spread, LEAST_SPREAD), max(noise, LEAST_SPREAD))

    def at(self, Z: Array) -> Array:
        """The shape at the rows of Z, (m,)."""
        return _predicted(self.forest, Z)


def _drawn(rows: Any, y: Array, most: int, rng: np.random.Generator) -> tuple[Any, Array]:
    if len(y) <= most:
        return rows, y
    kept = np.sort(rng.choice(len(y), most, replace=False))
    return rows[kept], y[kept]


def _means(y: Array, group: Any) -> Array:
    return np.asarray(np.bincount(group, weights=y) / np.bincount(group))


def _grown(X: Array, y: Array, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(TREES, min_samples_leaf=LEAF, max_features=5 / 6, random_state=seed)
    return forest.fit(X, np.round(y, 9))  # rounded, so that equally good splits tie


def _predicted(forest: Any, Z: Array) -> Array:
    Z32 = np.asarray(Z, dtype=np.float32)
    return np.asarray(np.mean([tree.tree_.predict(Z32)[:, 0] for tree in forest.estimators_], axis=0))


@dataclass(frozen=True, eq=False)
class CostModel:
    """shape: from past costs; None: there are none. own: learns from the run's own costs then."""

    shape: Shape | None
    own: GaussianModel

    @classmethod
    def of(cls, history: History | None, *, rng: np.random.Generator) -> CostModel:
        shape = None if history is None else Shape.of(history, rng=rng)
        return cls(shape, GaussianModel(None, int(rng.integers(2**32))))

    def fit(self, X: Array, costs: Array) -> CostPosterior:
        """The model with the costs of the run's trials at X (n, d); NaN where unknown."""
        y = log_costs(costs)
        known = np.isfinite(y)
        X, y = X[known], y[known]
        if self.shape is not None:
            return CostPosterior(_level(y - self.shape.at(X), self.shape), shape=self.shape)
        if len(y) < 2 or np.ptp(y) == 0:
            return CostPosterior(float(y.mean()) if len(y) else 0.0)
        return CostPosterior(0.0, own=self.own.fit(X, y))


def _level(residuals: Array, shape: Shape) -> float:
    """The level of the new task: the posterior mean, given the residuals of its own costs."""
    prior, each = 1 / shape.spread**2, 1 / shape.noise**2
    return float((prior * shape.level + each * residuals.sum()) / (prior + each * len(residuals)))


@dataclass(frozen=True, eq=False)
class CostPosterior:
    """A model of cost, fitted to a run."""

    level: float
    shape: Shape | None = None
    own: Posterior | None = None

    def log_cost(self, Z: Array) -> Array:
        """The expected logarithm of the cost at the rows of Z, (m,)."""
        if self.shape is not None:
            return self.level + self.shape.at(Z)
        return np.full(len(Z), self.level) if self.own is None else self.own.predict(Z)[0]


@dataclass(frozen=True)
class Spending:
    """How much of a budget is left. left: in units of cost; None: there is no budget. share: the part of it, 1 to 0."""

    left: float | None = None
    share: float = 1.0

    @classmethod
    def of(cls, costs: Array, budget: float | None) -> Spending:
        """After trials of these costs. Where a cost is unknown, the mean of the others counts."""
        if budget is None:
            return cls()
        known = costs[np.isfinite(costs)]
        with np.errstate(over="ignore"):  # of absurd costs: nothing is left then
            spent = float(known.mean() * len(costs)) if len(known) else 0.0
        left = max(budget - spent, 0.0)
        return cls(left, left / budget)

    @property
    def cooling(self) -> float:
        """α. Without a budget, gain per unit of cost throughout."""
        return self.share

    def penalty(self, log_cost: Array) -> Array:
        """What to subtract from log EI: α log c, and more where a trial would not fit into what is left."""
        penalty = self.cooling * log_cost
        if not self.left:
            return penalty
        return np.asarray(penalty + STEEP * np.maximum(log_cost - math.log(self.left), 0.0))


@dataclass(frozen=True)
class PerCost:
    """A posterior whose score is log EI per unit of cost.

    Only the choice between configurations knows the cost: `climb` follows the gradient of log EI alone, since a forest
    has none.
    """

    posterior: Posterior
    costs: CostPosterior
    spending: Spending

    def predict(self, Z: Array) -> tuple[Array, Array]:
        return self.posterior.predict(Z)

    def extend(self, z: Array, loss: float) -> PerCost:
        return PerCost(self.posterior.extend(z, loss), self.costs, self.spending)

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return self.posterior.score(Z, acquisition) - self.spending.penalty(self.costs.log_cost(Z))

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array] | None:
        return self.posterior.climb(Z, acquisition)


def check_acquisition(name: str, allowed: Sequence[str] = ("ei", "log_ei")) -> None:
    """An error unless the acquisition function can be divided by a cost."""
    if name not in allowed:
        raise ArgumentError(f"with a cost, acquisition must be {' or '.join(map(repr, allowed))}, but got {name!r}")
