"""SVMRank in the primal: the w that minimises ½|w|² + C · mean of max(0, 1 − wᵀδ)² over pairs δ = x_j − x_i, f_i < f_j.

Newton's method (Chapelle and Keerthi 2010) is exact after a few steps. The papers' SVMRank has a plain hinge.
"""

from __future__ import annotations

import numpy as np

from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array
from headstart.surrogates.base import standardise
from headstart.surrogates.joint import Labels

MOST_STEPS = 50  # of Newton's method, which needs only a few


def pair_differences(X: Array, losses: Array) -> Array:
    """x_j − x_i for all pairs of rows with f_i < f_j: (q, d)."""
    i, j = np.triu_indices(len(losses), 1)
    sign = np.sign(losses[j] - losses[i])
    return np.asarray(((X[j] - X[i]) * sign[:, None])[sign != 0])


def rank_by_pairs(D: Array, C: float, start: Array | None = None) -> Array:
    """w (d,) from the differences D (q, d); start: where to begin."""
    w = np.zeros(D.shape[1]) if start is None else start
    if not len(D):
        return w
    c = 2.0 * C / len(D)

    def objective(w: Array) -> float:
        return float(0.5 * w @ w + 0.5 * c * np.sum(np.maximum(1.0 - D @ w, 0.0) ** 2))

    for _ in range(MOST_STEPS):
        slack = 1.0 - D @ w
        A = D[slack > 0]
        gradient = w - c * (slack[slack > 0] @ A)
        step = np.linalg.solve(np.eye(len(w)) + c * (A.T @ A), gradient)
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(w).max()):
            break
        value = objective(w)
        while objective(w - step) > value and np.abs(step).max() > 1e-12:  # rare
            step /= 2
        w = w - step
    return settled(w, DIGITS)


def scored(scores: Array, losses: Array) -> Labels:
    """Scores as labels; the way back matches the mean and standard deviation of the losses."""
    _, mean, scale = standardise(losses)
    _, score_mean, score_scale = standardise(scores)
    return Labels(scores, mean - scale / score_scale * score_mean, scale / score_scale)
