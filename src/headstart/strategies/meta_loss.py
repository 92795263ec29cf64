"""The meta-loss of a start and its gradient (Wistuba et al. 2015a, section IV), as functions of predicted losses.

The symbols are those of `learned.py`; F may have a further axis in front, for several starts at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart._support.types import Array


class Rest(NamedTuple):
    """Configurations of a start that do not move, in sums over them for each task."""

    lowest: Array  # their lowest loss
    total: Array  # Σ_i exp(β (f_i − lowest))
    weighted: Array  # Σ_i exp(β (f_i − lowest)) f_i

    @classmethod
    def of(cls, F: Array, beta: float) -> Rest:
        lowest = F.min(axis=-2, keepdims=True)
        E = np.exp(beta * (F - lowest))
        return cls(lowest, E.sum(axis=-2, keepdims=True), (E * F).sum(axis=-2, keepdims=True))


def softmin(F: Array, beta: float) -> Array:
    """σ_{D,i}: weights of I configurations (rows) that single out the smallest of each column, eq. 13."""
    E = np.exp(beta * (F - F.min(axis=-2, keepdims=True)))
    return np.asarray(E / E.sum(axis=-2, keepdims=True))


def meta_loss(F: Array, beta: float, weights: Array) -> float:
    """1/|D| Σ_D c(D) Σ_i σ_{D,i} f̂_D(λ_i): eq. 12 if all weights are 1, eq. 16 otherwise."""
    return float(weights @ (softmin(F, beta) * F).sum(axis=0) / F.shape[1])


def meta_gradient(F: Array, beta: float, weights: Array, form: str = "right", rest: Rest | None = None) -> Array:
    """∂L / ∂f̂_D(λ_l), (I, T): the gradient of eq. 12 and 16, or eq. 14 as printed.

    F (B, I, T), weights (B, 1, T): the gradients of B starts at once. rest: further configurations of the start, for
    which no gradient is wanted.
    """
    lowest = F.min(axis=-2, keepdims=True)
    if rest is not None:
        lowest = np.minimum(lowest, rest.lowest)
    E = np.exp(beta * (F - lowest))
    total, mean = E.sum(axis=-2, keepdims=True), (E * F).sum(axis=-2, keepdims=True)
    if rest is not None:
        scale = np.exp(beta * (rest.lowest - lowest))
        total, mean = total + scale * rest.total, mean + scale * rest.weighted
    sigma = E / total  # eq. 13
    inner = beta * (1 - sigma) * F if form == "printed" else beta * (F - mean / total)  # eq. 14, and what it should be
    slope = sigma * (1 + inner)
    return np.asarray(slope * weights / F.shape[-1])
