"""How good a start or a search was: distance to the minimum and ranks, as free functions of arrays.

Equation numbers are those of Wistuba et al. (2015a), Learning Hyperparameter Optimization Initializations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.errors import ArgumentError


def dtm(losses: npt.ArrayLike, best: float) -> Array:
    """Distance to the minimum after 1, 2, … trials (eq. 8); a failed trial (NaN) improves nothing."""
    tried = np.asarray(losses, dtype=float)
    return np.fmin.accumulate(np.where(np.isnan(tried), np.inf, tried)) - best


def scaled_dtm(losses: npt.ArrayLike, best: float, worst: float) -> Array:
    """The same with the task's losses scaled to [0, 1] (the summand of eq. 9); before a success it is 1."""
    if not best <= worst:
        raise ArgumentError(f"the best loss must not exceed the worst, but got best={best}, worst={worst}")
    distance = dtm(losses, best)
    if best == worst:
        return np.where(np.isinf(distance), 1.0, 0.0)
    return np.minimum(distance / (worst - best), 1.0)


def adtm(curves: npt.ArrayLike) -> Array:
    """Average distance to the minimum over tasks (eq. 9, 19): the mean of their scaled curves (tasks, T)."""
    return np.asarray(np.mean(np.asarray(curves, dtype=float), axis=0))


def average_rank(curves: npt.ArrayLike) -> Array:
    """Mean rank of each method over tasks, after each trial: (methods, tasks, T) → (methods, T).

    Rank 1 is the best; equal results share the mean of their ranks.
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.asarray(curves, dtype=float), axis=0).mean(axis=1))


def expected_random(scaled: Array, most: int) -> Array:
    """E[min of t draws without replacement] for t = 1 … most: Σ_k s_(k) C(m − k, t − 1) / C(m, t), exactly."""
    from scipy.special import gammaln

    s = np.sort(scaled)
    m = len(s)
    k = np.arange(1, m + 1)

    def log_choose(a: Array, b: float) -> Array:
        return np.asarray(gammaln(a + 1) - gammaln(b + 1) - gammaln(np.maximum(a - b, 0) + 1))

    curve = np.full(most, s[0])
    for t in range(1, min(most, m) + 1):
        possible = m - k >= t - 1
        shares = np.exp(log_choose((m - k)[possible].astype(float), t - 1) - log_choose(np.array([float(m)]), t))
        curve[t - 1] = float(s[possible] @ shares)
    return curve
