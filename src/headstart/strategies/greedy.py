"""The greedy choice of configurations, and by it the power with which aLI weighs the past tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array
from headstart.transfer.models import TaskModels
from headstart.transfer.population import evenly
from headstart.transfer.ranks import concordance

# Guesses.
POWERS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # exponents of the concordant share to choose from
MOST_REHEARSED = 50  # tasks on which the powers are tried, with five times as many configurations


def mean(best: Array, chosen: list[int]) -> Array:
    """The score of `greedy` in which all tasks count the same."""
    return np.asarray(best.mean(axis=1))


def greedy(F: Array, n: int, score: Callable[[Array, list[int]], Array] = mean) -> list[int]:
    """n rows of F (m, T), one after another: each lowers the score of the chosen rows most.

    score: from the best losses so far with each row added, (m, T), and the rows chosen before, to (m,); by default, the
    mean over tasks.
    """
    chosen: list[int] = []
    lowest = np.full(F.shape[1], np.inf)
    for _ in range(min(n, len(F))):
        scores = score(np.minimum(F, lowest), chosen)
        scores[chosen] = np.inf
        chosen.append(int(np.argmin(scores)))
        lowest = np.minimum(lowest, F[chosen[-1]])
    return chosen


def best_power(models: TaskModels, n: int) -> float:
    """The power with which aLI does best on the past tasks, each left out in turn; surrogates stand in for results."""
    F = models.pool_losses
    F = F[evenly(len(F), MOST_REHEARSED * 5)][:, evenly(F.shape[1], MOST_REHEARSED)]
    if F.shape[1] < 3:
        return 0.0
    return min(POWERS, key=lambda power: sum(_rehearse(F, t, n, power) for t in range(F.shape[1])))


def _rehearse(F: Array, left_out: int, n: int, power: float) -> float:
    """Sum of the best losses after each of n steps of aLI on one past task, learned from the others."""
    others, losses = np.delete(F, left_out, axis=1), F[:, left_out]

    def score(best: Array, tried: list[int]) -> Array:
        known = len(tried) > 1
        weights = concordance(others[tried], losses[tried]) ** power if known else np.ones(best.shape[1])
        return settled(best @ weights, DIGITS)

    tried = greedy(others, n, score)
    return float(np.cumsum(np.minimum.accumulate(losses[tried]))[-1])
