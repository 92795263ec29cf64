"""A Gaussian process for the new task whose prior is learned from the past tasks.

The new task is thought of as a draw from where the past ones came from: a process with the mean of their surfaces,
their covariance, and a residual with the kernel of the past (a learned prior, as in Wang et al. 2021, "Pre-trained
Gaussian processes for Bayesian optimization", but from the models of the tasks).

| symbol | name      | shape  | meaning                                                                          |
| ------ | --------- | ------ | -------------------------------------------------------------------------------- |
| F      | `F`       | (m, T) | the past tasks' surfaces at m configurations, stretched (`surfaces.py`)          |
| w      | `weights` | (T,)   | how much each past task counts for the mean                                      |
| φ(λ)   | `phi`     | (m, q) | features of a configuration in which the new task is linear: 1, the mean surface, |
|        |           |        | and the deviation of every past task from it                                     |
| ρ      | `rho`     |        | size of what the past cannot explain, chosen by the run's likelihood             |
| y      | `y`       | (k,)   | the run's own losses, stretched                                                  |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headstart._support.types import Array
from headstart.gp import Kernel, Matern
from headstart.gp.linalg import cholesky, extend_cholesky, solve_lower
from headstart.transfer.surfaces import Surfaces

SLOPE = 0.5  # how much the mean surface may be steeper or flatter on the new task
RESIDUALS = (0.05, 0.1, 0.2, 0.4)  # the ρ to choose from
NOISE = 0.01


@dataclass(frozen=True)
class LearnedPrior:
    """The prior of the new task: mean w · F, covariance φ φᵀ + ρ² κ."""

    surfaces: Surfaces
    weights: Array
    covariance: bool = True  # whether deviations of the past tasks take part in φ

    @classmethod
    def equal(cls, surfaces: Surfaces, covariance: bool = True) -> LearnedPrior:
        """With every past task counting the same."""
        return cls(surfaces, np.full(len(surfaces), 1.0 / len(surfaces)), covariance)

    def mean_and_phi(self, Z: Array) -> tuple[Array, Array]:
        F = self.surfaces.at(Z)
        mean = F @ self.weights
        columns = [np.ones((len(Z), 1)), SLOPE * (mean - self.surfaces.level)[:, None]]
        if self.covariance:
            columns.append((F - mean[:, None]) / math.sqrt(F.shape[1]))
        return mean, np.hstack(columns)

    def kernel(self, rho: float) -> Kernel:
        models = self.surfaces.kernel
        return Matern(rho**2, models.lengthscales, NOISE**2)

    def condition(self, Z: Array, y: Array) -> Conditioned:
        """On results y at the rows of Z, with the ρ that makes them most likely."""
        mean, phi = self.mean_and_phi(Z)
        best: tuple[float, float, Array] | None = None
        for rho in RESIDUALS:
            L, _ = cholesky(phi @ phi.T + self.kernel(rho).gram(Z))
            r = solve_lower(L, (y - mean)[:, None])[:, 0]
            likelihood = -0.5 * float(r @ r) - float(np.log(L.diagonal()).sum())
            if best is None or likelihood > best[0]:
                best = (likelihood, rho, L)
        assert best is not None
        return Conditioned(self, best[1], Z, mean, phi, best[2], y)


@dataclass(frozen=True)
class Conditioned:
    """A learned prior that has seen results."""

    prior: LearnedPrior
    rho: float
    Z: Array
    mean: Array
    phi: Array
    L: Array
    y: Array

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation on the stretched scale."""
        mean, phi = self.prior.mean_and_phi(Z)
        kernel = self.prior.kernel(self.rho)
        B = solve_lower(self.L, self.phi @ phi.T + kernel(self.Z, Z))
        r = solve_lower(self.L, (self.y - self.mean)[:, None])[:, 0]
        variance = (phi**2).sum(axis=1) + self.rho**2 - (B**2).sum(axis=0)
        return mean + r @ B, np.sqrt(np.maximum(variance, 1e-10))

    def extend(self, x: Array, y: Array) -> Conditioned:
        """With one result more at x (d,), and all results y on a new scale; ρ stays."""
        mean, phi = self.prior.mean_and_phi(x[None])
        kernel = self.prior.kernel(self.rho)
        k = (phi @ self.phi.T + kernel(x[None], self.Z))[0]
        L = extend_cholesky(self.L, k, float((phi**2).sum()) + self.rho**2 + NOISE**2)
        Z, means = np.vstack([self.Z, x]), np.append(self.mean, mean)
        return Conditioned(self.prior, self.rho, Z, means, np.vstack([self.phi, phi]), L, y)
