"""A Gaussian process for the new task, with a prior learned from the past tasks.

The new task counts as one more draw from the distribution of the past tasks: a process with the mean and the covariance
of their surfaces, and a residual with their kernel. This is a learned prior as in Wang et al. 2021, "Pre-trained
Gaussian processes for Bayesian optimization", but computed from the models of the tasks.

| symbol | name      | shape  | meaning                                                                           |
| ------ | --------- | ------ | --------------------------------------------------------------------------------- |
| F      | `F`       | (m, T) | stretched losses of m configurations on the T past tasks, predicted (`surfaces.py`) |
| w      | `weights` | (T,)   | weights of the past tasks in the mean                                             |
| φ(λ)   | `phi`     | (m, q) | features in which the new task is linear: 1, the mean surface, and the deviation  |
|        |           |        | of each past task from it                                                         |
| ρ      | `rho`     |        | size of the residual, chosen by the likelihood of the run's losses                |
| X      | `X`       | (k, d) | configurations tried in the run                                                   |
| y      | `y`       | (k,)   | their losses, stretched                                                           |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headstart._support.types import Array
from headstart.gp import Kernel, Matern
from headstart.gp.linalg import cholesky, extend_cholesky, solve_lower
from headstart.transfer.surfaces import Surfaces

SLOPE = 0.5  # prior standard deviation of the slope on the mean surface around 1; a guess
RESIDUALS = (0.05, 0.1, 0.2, 0.4)  # the values of ρ to choose from; a guess, on losses of about [0, 1]
NOISE = 0.01  # standard deviation of the noise of a stretched loss; a guess
LEAST_VARIANCE = 1e-10  # smaller posterior variances are rounding error; a guess


@dataclass(frozen=True)
class LearnedPrior:
    """The prior of the new task: mean w · F, covariance φ φᵀ + ρ² κ."""

    surfaces: Surfaces
    weights: Array
    covariance: bool = True  # whether φ contains the deviations of the past tasks

    @classmethod
    def equal(cls, surfaces: Surfaces, covariance: bool = True) -> LearnedPrior:
        """The prior with equal weights for all past tasks."""
        return cls(surfaces, np.full(len(surfaces), 1.0 / len(surfaces)), covariance)

    def mean_and_phi(self, Z: Array) -> tuple[Array, Array]:
        """Prior mean (m,) and φ (m, q) at the rows of Z."""
        F = self.surfaces.at(Z)
        mean = F @ self.weights
        columns = [np.ones((len(Z), 1)), SLOPE * (mean - self.surfaces.level)[:, None]]
        if self.covariance:
            columns.append((F - mean[:, None]) / math.sqrt(F.shape[1]))
        return mean, np.hstack(columns)

    def kernel(self, rho: float) -> Kernel:
        """ρ² κ, the kernel of the residual."""
        return Matern(rho**2, self.surfaces.kernel.lengthscales, NOISE**2)

    def condition(self, X: Array, y: Array) -> Conditioned:
        """The posterior given losses y at the design X, with the most likely ρ."""
        mean, phi = self.mean_and_phi(X)
        best: tuple[float, float, Array] | None = None
        for rho in RESIDUALS:
            L, _ = cholesky(phi @ phi.T + self.kernel(rho).gram(X))
            r = solve_lower(L, (y - mean)[:, None])[:, 0]
            likelihood = -0.5 * float(r @ r) - float(np.log(L.diagonal()).sum())
            if best is None or likelihood > best[0]:
                best = (likelihood, rho, L)
        assert best is not None
        return Conditioned(self, best[1], X, mean, phi, best[2], y)


@dataclass(frozen=True)
class Conditioned:
    """A learned prior conditioned on the results of a run."""

    prior: LearnedPrior
    rho: float
    X: Array  # (k, d)
    mean: Array  # (k,) prior mean at X
    phi: Array  # (k, q) at X
    L: Array  # (k, k)
    y: Array  # (k,)

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Posterior mean and standard deviation at the rows of Z, on the stretched scale."""
        mean, phi = self.prior.mean_and_phi(Z)
        kernel = self.prior.kernel(self.rho)
        B = solve_lower(self.L, self.phi @ phi.T + kernel(self.X, Z))
        r = solve_lower(self.L, (self.y - self.mean)[:, None])[:, 0]
        variance = (phi**2).sum(axis=1) + self.rho**2 - (B**2).sum(axis=0)
        return mean + r @ B, np.sqrt(np.maximum(variance, LEAST_VARIANCE))

    def extend(self, x: Array, y: Array) -> Conditioned:
        """The posterior with one more result at x (d,); y holds all losses, rescaled, and ρ is kept."""
        mean, phi = self.prior.mean_and_phi(x[None])
        kernel = self.prior.kernel(self.rho)
        k = (phi @ self.phi.T + kernel(x[None], self.X))[0]
        L = extend_cholesky(self.L, k, float((phi**2).sum()) + self.rho**2 + NOISE**2)
        X, means = np.vstack([self.X, x]), np.append(self.mean, mean)
        return Conditioned(self.prior, self.rho, X, means, np.vstack([self.phi, phi]), L, y)
