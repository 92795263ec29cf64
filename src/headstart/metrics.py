"""How good a start or a search was, and how alike two tasks are: formulas, as free functions of arrays.

Equation numbers: LI = Learning Hyperparameter Optimization Initializations (Wistuba et al. 2015a),
SIM = Learning Data Set Similarities for Hyperparameter Optimization Initializations (2015b).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headstart.parameters import Array


def dtm(losses: npt.ArrayLike, best: float) -> Array:
    """Distance to the minimum after 1, 2, … trials (LI eq. 8); a failed trial (NaN) improves nothing."""
    tried = np.asarray(losses, dtype=float)
    return np.fmin.accumulate(np.where(np.isnan(tried), np.inf, tried)) - best


def scaled_dtm(losses: npt.ArrayLike, best: float, worst: float) -> Array:
    """The same with the task's losses scaled to [0, 1] (the summand of LI eq. 9); before a success it is 1."""
    if not best <= worst:
        raise ValueError(f"the best loss must not exceed the worst, but got best={best}, worst={worst}")
    distance = dtm(losses, best)
    if best == worst:
        return np.where(np.isinf(distance), 1.0, 0.0)
    return np.minimum(distance / (worst - best), 1.0)


def adtm(curves: npt.ArrayLike) -> Array:
    """Average distance to the minimum over tasks (LI eq. 9, 19): the mean of their scaled curves (tasks, T)."""
    return np.asarray(np.mean(np.asarray(curves, dtype=float), axis=0))


def average_rank(curves: npt.ArrayLike) -> Array:
    """Mean rank of each method over tasks, after each trial: (methods, tasks, T) → (methods, T).

    Rank 1 is the best; equal results share the mean of their ranks.
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.asarray(curves, dtype=float), axis=0).mean(axis=1))


def precision_at(n: int, true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Share of the n truly closest data sets among the n predicted to be closest (SIM eq. 5)."""
    true, predicted = np.asarray(true), np.asarray(predicted)
    if not 1 <= n <= len(true):
        raise ValueError(f"n must be between 1 and the number of data sets, {len(true)}, but got {n}")
    nearest = [set(np.argsort(d, kind="stable")[:n].tolist()) for d in (true, predicted)]
    return len(nearest[0] & nearest[1]) / n


def discordant_share(F: Array, G: Array | None = None) -> Array:
    """Share of ordered pairs of configurations that two tasks rank differently (SIM eq. 4; LI eq. 17).

    F (m, s), G (m, t): losses of m configurations on s and t tasks → (s, t), and (s, s) without G.
    The sum of the exclusive or over pairs is |a| + |b| − 2 a·b, where a and b say which pairs are ordered.
    """
    m = len(F)
    A = ordered_pairs(F)
    B = A if G is None else ordered_pairs(G)
    if m < 2:
        return np.zeros((A.shape[1], B.shape[1]))
    both = A.T @ B
    differ = A.sum(0)[:, None] + B.sum(0)[None, :] - 2.0 * both
    return np.asarray(differ / (m * (m - 1)), dtype=float)


def ordered_pairs(F: Array) -> npt.NDArray[np.float32]:
    """χ(f(λ_k) > f(λ_l)) for every ordered pair k ≠ l: (m (m − 1), tasks), as 0 and 1."""
    m, t = F.shape
    above = F[:, None, :] > F[None, :, :]
    return above[~np.eye(m, dtype=bool)].reshape(m * (m - 1), t).astype(np.float32)
