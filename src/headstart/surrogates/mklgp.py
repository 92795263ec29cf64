"""MKLGP: one Gaussian process over all data sets, with a kernel learned for configurations and for data sets.

Yogatama, Mann: Efficient transfer learning method for automatic hyperparameter tuning (2014); Wistuba et al.
(2015a), section V-A. Losses become deviations from their data set's mean, in its standard deviations, and the
kernel is a linear combination of an SE-ARD kernel of configurations and a kernel of the distance of data sets:

    κ((λ, D), (λ', D')) = (w_λ + w_D exp(−½ |m_D − m_D'|² / ℓ²)) · exp(−½ Σ_j ((λ_j − λ'_j) / ℓ_j)²)

The first part is a response surface that all data sets share, the second what those with like meta-features
share. The original's second kernel, 1 − |x − x'| / B for rows x = (λ, m) of data sets that are among each
other's nearest neighbours and 0 for all others, is not positive definite; this one also falls with the distance
of both configurations and data sets, and is. Without meta-features, every data set is like itself alone.

| symbol | name           | meaning                                                                           |
| ------ | -------------- | --------------------------------------------------------------------------------- |
| ℓ_j    | `lengthscales` | of configurations: those of `Past.kernel`, by marginal likelihood on the history  |
| θ      | `theta`        | log of (w_λ, w_D, ℓ, σ_y²): by marginal likelihood of the history's pooled rows     |
| S      | `S`            | (n, n), the SE-ARD factor of the kernel                                           |
| Δ      | `squares`      | (n, n), |m_D − m_D'|² between rows, the mean over the meta-features                |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from headstart._support.log import log
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp import SquaredExponential
from headstart.gp.linalg import cholesky, inverse, solve_cholesky
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import standardise
from headstart.surrogates.joint import (
    Evaluations,
    JointModel,
    JointPrior,
    Labels,
    need_history,
    task_vectors,
    thin,
)
from headstart.transfer.models import TaskModels

APART = 1e6  # |m − m'|² of data sets about which nothing is known: the kernel is 0
START = np.log([0.5, 0.5, 1.0, 0.1])
BOUNDS = np.log([(1e-4, 10.0), (1e-4, 10.0), (0.05, 20.0), (1e-4, 1.0)])


@dataclass(frozen=True)
class MKLGP:
    """mklgp: each data set's losses standardised, then one Gaussian process whose kernel weighs what all share
    and what similar data sets share.

    max_rows: past evaluations the process is trained on, all if there are no more, else a random sample.
    fit_rows: those the weights of the kernel are fitted to.
    """

    max_rows: int = 2500
    fit_rows: int = 400

    needs_history = True

    def __post_init__(self) -> None:
        for name in ("max_rows", "fit_rows"):
            if getattr(self, name) < 2:
                raise ArgumentError(f"{name} must be at least 2, but got {getattr(self, name)}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> JointModel:
        models = need_history(models, "mklgp")
        X, tasks = Evaluations.of(models)
        labels = np.concatenate([standardise(losses)[0] for losses in models.losses])
        squares = task_squares(task_vectors(models, features), len(models))
        lengthscales = models.kernel.lengthscales
        few = thin(tasks, self.fit_rows, rng=rng)
        S = SquaredExponential(1.0, lengthscales, 1.0)(X[few], X[few])
        theta = fit_weights(S, squares[np.ix_(tasks[few], tasks[few])], labels[few])
        covariance, noise = task_covariance(theta, squares)
        kept = thin(tasks, self.max_rows, rng=rng)
        kernel = SquaredExponential(float(covariance[-1, -1]), lengthscales, noise)
        prior = JointPrior.fit(kernel, covariance, Evaluations(X[kept], tasks[kept]), labels[kept])
        model = JointModel(prior, deviations, len(kept), len(labels))
        log.info("mklgp: trained on %s; weights %.2g shared, %.2g by data set", model.notes, *np.exp(theta[:2]))
        return model


def deviations(Z: Array, losses: Array) -> Labels:
    """A data set's losses as deviations from their mean, in their standard deviations."""
    return Labels(*standardise(losses))


def task_squares(M: Array | None, n: int) -> Array:
    """|m_D − m_D'|² between n past data sets and the new one: (n + 1, n + 1), the mean over the meta-features."""
    from scipy.spatial.distance import cdist

    if M is None:
        log.info("mklgp: no meta-features in common, so every data set is like itself alone")
        return np.asarray(APART * (1.0 - np.eye(n + 1)))
    return np.asarray(cdist(M, M, "sqeuclidean") / M.shape[1])


def task_covariance(theta: Array, squares: Array) -> tuple[Array, float]:
    """C = w_λ + w_D exp(−½ Δ / ℓ²), and the noise variance."""
    shared, by_task, lengthscale, noise = np.exp(theta)
    return np.asarray(shared + by_task * np.exp(-0.5 * squares / lengthscale**2)), float(noise)


def fit_weights(S: Array, squares: Array, labels: Array) -> Array:
    """θ of greatest marginal likelihood, by L-BFGS-B from one start: equal weights."""

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient = log_likelihood(theta, S, squares, labels)
        return -value / len(labels), -gradient / len(labels)

    if not labels.any():
        return START
    found = minimize(objective, START, jac=True, method="L-BFGS-B", bounds=BOUNDS, options={"maxiter": 60})
    return np.asarray(found.x)


def log_likelihood(theta: Array, S: Array, squares: Array, labels: Array) -> tuple[float, Array]:
    """log p(labels | θ) and its gradient: ½ Σ (ααᵀ − K_y⁻¹) ∘ ∂K_y (Rasmussen and Williams, eq. 5.9)."""
    shared, by_task, lengthscale, noise = np.exp(theta)
    E = by_task * np.exp(-0.5 * squares / lengthscale**2) * S
    K = shared * S + E
    K[np.diag_indices(len(K))] += noise
    L, _ = cholesky(K)
    alpha = solve_cholesky(L, labels)
    constant = float(np.log(L.diagonal()).sum()) + 0.5 * len(labels) * math.log(2 * math.pi)
    G = np.outer(alpha, alpha) - inverse(L)
    by_length = np.sum(G * E * squares) / lengthscale**2
    gradient = 0.5 * np.array([shared * np.sum(G * S), np.sum(G * E), by_length, noise * np.trace(G)])
    return float(-0.5 * labels @ alpha) - constant, gradient
