"""MKLGP: one Gaussian process over all data sets; one part of its kernel is shared by all, one by similar ones.

Yogatama, Mann: Efficient transfer learning method for automatic hyperparameter tuning (2014); Wistuba et al. (2015a),
section V-A. Losses are standardised per data set, and the kernel is a linear combination of an SE-ARD kernel over
configurations and a kernel of the distance between data sets:

    κ((λ, D), (λ', D')) = (w_λ + w_D exp(−½ ‖m_D − m_D'‖² / ℓ²))
                          · exp(−½ Σ_j ((λ_j − λ'_j) / ℓ_j)²)

All data sets share the first part, a response surface; those with similar meta-features share the second. How this
differs from the original: its second kernel is not positive definite, 1 − |x − x'| / B for rows x = (λ, m) of data sets
that are among each other's nearest neighbours, and 0 for all others. This one is, since it is a product of two kernels.
Without meta-features, no two data sets count as similar.

Wistuba et al. (2015b, section 6) suggest a better distance for the second part: `distance="forest"` takes the share of
discordant pairs (their eq. 4), true between past data sets and predicted for the new one, `distance="metric"` that of a
Siamese network. The former is made Euclidean by classical scaling (Torgerson 1952), so that the kernel stays positive
definite.

| symbol | name           | shape      | meaning                                                               |
| ------ | -------------- | ---------- | --------------------------------------------------------------------- |
| m_D    | `M`            | (T + 1, n) | meta-features of the past data sets and the new one                   |
| ℓ_j    | `lengthscales` | (d,)       | of configurations: from `TaskModels.kernel`, by marginal likelihood   |
| θ      | `theta`        | (4,)       | log of (w_λ, w_D, ℓ, σ_y²), by marginal likelihood of all data sets   |
| S      | `S`            | (N, N)     | the SE-ARD factor of the kernel between N evaluations                 |
| Δ      | `squares`      | (N, N)     | ‖m_D − m_D'‖² between N evaluations, averaged over the meta-features  |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headstart._support.log import log
from headstart._support.rounding import LOGARITHM, descend
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp import SquaredExponential
from headstart.gp.linalg import cholesky, inverse, solve_cholesky
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import need_history, standardise
from headstart.surrogates.joint import JointModel, Labels, PastEvaluations, check_rows, task_vectors
from headstart.transfer.models import TaskModels
from headstart.transfer.similarity import DISTANCES, distance_to_new
from headstart.transfer.weights import metric_vectors

APART = 1e6  # |m − m'|² without meta-features, where the kernel of data sets is 0
START = np.log([0.5, 0.5, 1.0, 0.1])  # θ where its fit begins, with equal weights; a guess, as are its bounds
BOUNDS = np.log([(1e-4, 10.0), (1e-4, 10.0), (0.05, 20.0), (1e-4, 1.0)])
STEPS = 60  # of L-BFGS-B; a guess


@dataclass(frozen=True)
class MKLGP:
    """mklgp: losses standardised per data set, then one Gaussian process with a kernel of two parts (see above).

    max_rows: how many past evaluations to train on; a random sample if there are more. fit_rows: the same for fitting
    the weights of the kernel. distance: between data sets: "features", "forest" or "metric" (see above).
    """

    max_rows: int = 2500
    fit_rows: int = 400
    distance: str = "features"

    needs_history = True

    def __post_init__(self) -> None:
        check_rows(self.max_rows, self.fit_rows)
        if self.distance not in DISTANCES:
            raise ArgumentError(f"distance must be one of {', '.join(DISTANCES)}, but got {self.distance!r}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> JointModel:
        models = need_history(models, "mklgp")
        evaluations = PastEvaluations.of(models, deviations)
        squares = self._squares(models, features, rng)
        lengthscales = models.kernel.lengthscales
        few = evaluations.sample(self.fit_rows, rng=rng)
        S = SquaredExponential(1.0, lengthscales, 1.0)(few.X, few.X)
        theta = fit_weights(S, squares[np.ix_(few.tasks, few.tasks)], few.labels)
        covariance, noise = task_covariance(theta, squares)
        kernel = SquaredExponential(float(covariance[-1, -1]), lengthscales, noise)
        model = JointModel.train(kernel, covariance, evaluations, deviations, max_rows=self.max_rows, rng=rng)
        log.info("mklgp: trained on %s; weights %.2g shared, %.2g by data set", model.notes, *np.exp(theta[:2]))
        return model

    def _squares(self, models: TaskModels, features: Features | None, rng: np.random.Generator) -> Array:
        """|m_D − m_D'|² between the past data sets and the new one: (T + 1, T + 1)."""
        if self.distance == "forest":
            D = np.zeros((len(models) + 1, len(models) + 1))
            D[:-1, :-1] = models.distances
            D[-1, :-1] = D[:-1, -1] = distance_to_new(models, features, "forest", rng=rng)
            return usual_size(euclidean(D))
        if self.distance == "metric":
            M = np.vstack(metric_vectors(models, features))
            D = np.sqrt(((M[:, None] - M[None]) ** 2).sum(axis=2))
            return usual_size(np.where(np.isnan(D), np.nan, D**2))
        return task_squares(task_vectors(models, features), len(models))


def euclidean(D: Array) -> Array:
    """The squared Euclidean distances nearest to the distances D (n, n), by classical scaling (Torgerson 1952)."""
    n = len(D)
    centring = np.eye(n) - 1.0 / n
    B = -0.5 * centring @ D**2 @ centring
    values, vectors = np.linalg.eigh((B + B.T) / 2)
    X = vectors * np.sqrt(np.maximum(values, 0.0))  # what is negative cannot be embedded
    return np.asarray(((X[:, None] - X[None]) ** 2).sum(axis=2))


def usual_size(squares: Array) -> Array:
    """Scaled to a mean of 2, that of standardised meta-features; data sets at an unknown distance are not similar."""
    mean = float(np.nanmean(squares[~np.eye(len(squares), dtype=bool)]))
    scaled = np.where(np.isnan(squares), APART, squares * (2.0 / mean if mean > 0 else 1.0))
    np.fill_diagonal(scaled, 0.0)
    return scaled


def deviations(Z: Array, losses: Array) -> Labels:
    """A data set's losses, standardised."""
    return Labels(*standardise(losses))


def task_squares(M: Array | None, T: int) -> Array:
    """|m_D − m_D'|² between T past data sets and the new one, averaged over the meta-features: (T + 1, T + 1)."""
    from scipy.spatial.distance import cdist

    if M is None:
        log.info("mklgp: the new task shares no meta-features with the history, so no two data sets count as similar")
        return np.asarray(APART * (1.0 - np.eye(T + 1)))
    return np.asarray(cdist(M, M, "sqeuclidean") / M.shape[1])


def task_covariance(theta: Array, squares: Array) -> tuple[Array, float]:
    """C = w_λ + w_D exp(−½ Δ / ℓ²) and the noise variance σ_y²."""
    shared, by_task, lengthscale, noise = np.exp(theta)
    return np.asarray(shared + by_task * np.exp(-0.5 * squares / lengthscale**2)), float(noise)


def fit_weights(S: Array, squares: Array, labels: Array) -> Array:
    """The θ that maximises the marginal likelihood, by L-BFGS-B from START."""

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient = log_likelihood(theta, S, squares, labels)
        return -value / len(labels), -gradient / len(labels)

    if not labels.any():
        return START
    return descend(objective, START, BOUNDS, LOGARITHM, maxiter=STEPS)[1]


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
