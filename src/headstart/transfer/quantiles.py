"""Quantile functions of the past tasks: from normal scores back to losses, each task on its own scale.

Scores make tasks comparable, but they hide how much a step is worth. On one task the best tenth of the configurations
differs by next to nothing, on another a few configurations are far ahead of the rest. The quantile function of a task
says which loss belongs to a score, so gains in scores can be weighed by the losses they stand for.

A loss is scaled by its task: 0 is the best one, 1 the quantile REFERENCE, and worse ones count as 1, so that no
diverged trial flattens the rest.

| symbol | name        | shape  | meaning                                                                       |
| ------ | ----------- | ------ | ----------------------------------------------------------------------------- |
| s      | `scores`    | (m, T) | normal scores of m configurations on T tasks                                  |
| q_D(s) | `at`        | (m, T) | scaled loss that belongs to a score, piecewise linear between KNOTS           |
| —      | `per_score` | (T,)   | (q_D(s) − q_D(s − REACH)) / REACH: the loss that a gain of one score saves    |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart._support.types import Array, Rows
from headstart.transfer.ranks import normal_scores

KNOTS = np.linspace(-3.0, 2.5, 12)  # scores between which the functions are linear; they hold all but the extremes
EVEN = 0.25  # slope of a task about which nothing is known: a loss from 0 to 1 over about four scores

# Chosen on the tables of `benchmarks/suite.py`; its option --sweep prints what each is worth.
REFERENCE = 0.9  # quantile of a task's losses that is scaled to 1
BLEND = 0.8  # share of a task's own slopes; the rest is EVEN, so that no gain is worth nothing
REACH = 3.0  # scores below the best so far over which `per_score` averages

# Guesses.
BEYOND = 0.5  # slope below a task's best score, relative to that among its best losses: better ones exist, untried
BEST = 0.2  # share of the losses that count as its best
CLOSEST = 0.2  # scores that the best losses span at least, if they tie
HUGE = 1e300  # losses are clipped here, so that differences stay finite


@dataclass(frozen=True, eq=False)
class Quantiles:
    """The quantile functions of T tasks, by their slopes between KNOTS (T, J − 1)."""

    slopes: Array

    @classmethod
    def of(cls, losses: Sequence[Array]) -> Quantiles:
        """From the losses (n,) of each task; NaN marks a failed trial, which is worse than all others."""
        return cls(np.array([(1 - BLEND) * EVEN + BLEND * _slopes(np.asarray(y, dtype=float)) for y in losses]))

    @property
    def _values(self) -> Array:
        """Scaled losses at KNOTS, up to a constant of each task: (T, J)."""
        steps = self.slopes * np.diff(KNOTS)
        return np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)

    def at(self, scores: Array) -> Array:
        """q_D at scores (m, T), up to a constant of each task. Outside KNOTS, the slope stays the same."""
        place = (scores - KNOTS[0]) / (KNOTS[1] - KNOTS[0])
        i = np.clip(np.floor(place), 0, len(KNOTS) - 2).astype(np.intp)
        tasks = np.arange(len(self.slopes))
        return np.asarray(self._values[tasks, i] + self.slopes[tasks, i] * (scores - KNOTS[i]))

    def per_score(self, best: Array) -> Array:
        """What a gain of one score is worth to each task whose best score so far is `best` (T,)."""
        return np.asarray((self.at(best[None]) - self.at(best[None] - REACH))[0] / REACH)

    def only(self, tasks: Rows) -> Quantiles:
        """Those of some tasks, by position."""
        return Quantiles(self.slopes[tasks])


def _slopes(losses: Array) -> Array:
    """Slopes of one task's quantile function between KNOTS, (J − 1,)."""
    known = np.clip(losses[np.isfinite(losses)], -HUGE, HUGE)
    if not len(known):
        return np.full(len(KNOTS) - 1, EVEN)
    order = np.sort(np.where(np.isfinite(losses), np.clip(losses, -HUGE, HUGE), np.inf))
    low, high = order[0], order[int(REFERENCE * (len(order) - 1))]
    if not low < high < np.inf:
        high = known.max()
    if not low < high:  # all losses are equal
        return np.full(len(KNOTS) - 1, EVEN)
    scaled = (np.minimum(order, high) - low) / (high - low)  # losses are clipped first, since the ratio may overflow
    scores = np.sort(normal_scores(losses))
    slopes = np.diff(np.interp(KNOTS, scores, scaled)) / np.diff(KNOTS)
    good = float(np.quantile(scores, BEST))
    among_best = float(np.interp(good, scores, scaled)) / max(good - scores[0], CLOSEST)
    return np.asarray(np.where(KNOTS[:-1] < scores[0], BEYOND * among_best, slopes))
