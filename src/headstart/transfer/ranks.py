"""How similarly two tasks rank configurations: formulas as functions of arrays.

Equation numbers: LI = Learning Hyperparameter Optimization Initializations (Wistuba et al. 2015a),
SIM = Learning Data Set Similarities for Hyperparameter Optimization Initializations (2015b).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.errors import ArgumentError


def discordant_share(F: Array, others: Array | None = None) -> Array:
    """Share of ordered pairs of configurations that two tasks rank differently (SIM eq. 4; LI eq. 17).

    F (m, s), others (m, t): losses of m configurations on s and t tasks → (s, t); without others, (s, s).
    Summed over pairs, the exclusive or is |a| + |b| − 2 a·b, where a and b are 1 for the pairs with f(λ_k) > f(λ_l).
    """
    m = len(F)
    A = ordered_pairs(F)
    B = A if others is None else ordered_pairs(others)
    if m < 2:
        return np.zeros((A.shape[1], B.shape[1]))
    both = A.T @ B
    differ = A.sum(0)[:, None] + B.sum(0)[None, :] - 2.0 * both
    return np.asarray(differ / (m * (m - 1)), dtype=float)


def concordance(F: Array, losses: Array) -> Array:
    """c(D, D_new): share of pairs of tried configurations that D orders like the new task (1 − LI eq. 17).

    F (m, T): losses of the m tried configurations on the past tasks; losses (m,): on the new task → (T,).
    """
    return 1.0 - discordant_share(F, losses[:, None])[:, 0]


def ordered_pairs(F: Array) -> npt.NDArray[np.float32]:
    """χ(f(λ_k) > f(λ_l)) for every ordered pair k ≠ l, as 0 and 1: (m (m − 1), T)."""
    m, t = F.shape
    above = F[:, None, :] > F[None, :, :]
    return above[~np.eye(m, dtype=bool)].reshape(m * (m - 1), t).astype(np.float32)


def precision_at(n: int, true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Share of the n closest data sets that are among the n predicted to be closest (SIM eq. 5)."""
    true, predicted = np.asarray(true), np.asarray(predicted)
    if not 1 <= n <= len(true):
        raise ArgumentError(f"n must be between 1 and the number of data sets, {len(true)}, but got {n}")
    nearest = [set(np.argsort(d, kind="stable")[:n].tolist()) for d in (true, predicted)]
    return len(nearest[0] & nearest[1]) / n


def precisions_at(n: int, true: Array, predicted: Array) -> Array:
    """The same for each row of `predicted` (m, T): (m,)."""
    near = np.zeros(len(true), dtype=bool)
    near[np.argsort(true, kind="stable")[:n]] = True
    return np.asarray(near[np.argsort(predicted, axis=1, kind="stable")[:, :n]].mean(axis=1))


def normal_scores(losses: npt.ArrayLike) -> Array:
    """Ranks of the losses as quantiles of the normal distribution, (n,); failed trials (NaN) count as the worst.

    Equal losses share a score. The scores do not change under any increasing transformation of the losses.
    """
    from scipy.special import ndtri

    values = np.asarray(losses, dtype=float)
    _, place, counts = np.unique(np.where(np.isnan(values), np.inf, values), return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - 0.5 * counts  # how many are smaller, counting half of the equal ones
    return np.asarray(ndtri(below[place] / len(values)))
