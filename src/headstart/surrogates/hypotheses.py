"""The past tasks as hypotheses about the new one, conditioned on its results.

Each past task is a hypothesis: the new task is that one, up to a deviation that follows the tasks' covariance, and on
a scale of its own. Given the run's results, every hypothesis has an evidence, which becomes its weight, and a
posterior, which corrects the past task towards the results. So the prior of the new task is a kernel density estimate
in the space of functions, with the past tasks as its sample (`transfer/population.py`):

    p(f) = Σ_D share_D N(f | f_D, h² φᵀΣφ + ρ κ),    a_D + c_D v_i = f(λ_i) + noise.

| symbol   | name       | shape  | meaning                                                                  |
| -------- | ---------- | ------ | ------------------------------------------------------------------------ |
| v        | `v`        | (k,)   | losses of the k trials, warped to look normal (`warp.py`)                |
| F        | `F`        | (m, T) | expected scores of m configurations on the past tasks                    |
| a_D, c_D | `shift`,   | (T,)   | shift and scale of v under each hypothesis; c has a log-normal prior     |
|          | `scale`    |        |                                                                          |
| K, L     | `L`        | (k, k) | covariance of the trials' scores, noise included, and its factor         |
| R        | `R`        | (k, T) | L⁻¹ (a + c v − F): residuals of each hypothesis, whitened                |
| log p(v) | `evidence` | (T,)   | of each hypothesis: the shift integrated out, the most likely scale      |
| w        | `weights`  | (T,)   | weights of the hypotheses                                                |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from headstart._support.types import Array, Rows
from headstart.gp.linalg import cholesky, extend_cholesky, solve_lower, solve_lower_transposed
from headstart.surrogates.acquisition import ei
from headstart.transfer.population import Population

# Chosen on the tables of `benchmarks/suite.py`; its option --sweep prints what each is worth.
BANDWIDTH = 0.3  # h²
RESIDUAL = 0.2  # ρ
SCALES = np.geomspace(0.1, 2.0, 9)  # values of c to choose from
TYPICAL = 0.7  # mode of the prior of c
SPREAD = 0.5  # standard deviation of log c
CAUTION = 3.0  # with k results, evidence counts to the power k / (k + CAUTION): the model of the tasks is not exact

# Limits; guesses.
NEGLIGIBLE = 1e-4  # hypotheses with a smaller weight are dropped
LEAST_VARIANCE = 1e-6  # smaller posterior variances of a score are rounding error


class Explained(NamedTuple):
    """How hypotheses explain results."""

    evidence: Array  # (T,)
    shift: Array  # (T,)
    scale: Array  # (T,)
    R: Array  # (k, T)


def explained(L: Array, v: Array, F: Array, scales: Array = SCALES) -> Explained:
    """The results v (k,) as a + c v ~ N(F_D, K) for every column of F (k, T), with the most likely c of `scales`.

    With a flat prior of the shift a, up to a constant,

        log p(v | c) = (k − 1) log c − ½ log|K| − ½ log(1ᵀK⁻¹1) − ½ |L⁻¹ (a + c v − F)|²

    at the generalised least squares estimate of a. The scale has a log-normal prior, unless there is only one.
    """
    k, T = F.shape
    white = solve_lower(L, np.column_stack([np.ones(k), v, F]))
    one, v, F = white[:, :1], white[:, 1:2], white[:, 2:]
    precision = float((one**2).sum())  # 1ᵀK⁻¹1
    level, levels = float((one * v).sum()) / precision, (one * F).sum(axis=0) / precision
    v, F = v - level * one, F - levels * one  # without the part that the shift explains
    c = scales[:, None]
    errors = c**2 * (v**2).sum() - 2 * c * (v * F).sum(axis=0) + (F**2).sum(axis=0)
    logs = (k - 1) * np.log(c) - 0.5 * errors
    if len(scales) > 1:
        logs = logs - 0.5 * (np.log(c / TYPICAL) / SPREAD) ** 2
    at = logs.argmax(axis=0)
    scale = scales[at]
    constant = np.log(L.diagonal()).sum() + 0.5 * math.log(precision)
    return Explained(logs[at, np.arange(T)] - constant, levels - scale * level, scale, scale * v - F)


def trusted(k: int) -> float:
    """The power to which the evidence of k results counts."""
    return k / (k + CAUTION)


class Scored(NamedTuple):
    """Predictions of the hypotheses at m configurations, as scores."""

    mean: Array  # (m, T)
    std: Array  # (m,)
    root: Array  # (m, M) A with A Aᵀ = φᵀΣφ
    half: Array  # (k, m) L⁻¹ times the covariance with the trials


@dataclass(frozen=True)
class Hypotheses:
    """The hypotheses, conditioned on the results.

    X (k, d) may have more rows than there are results: the rest are trials that are still running. Every hypothesis
    takes its own expectation for their result, so their rows of R are 0.
    """

    population: Population
    X: Array
    v: Array
    root: Array  # (k, M) A with A Aᵀ = φ(X)ᵀΣφ(X)
    L: Array
    F: Array  # (k, T) at X
    noise: float  # variance of the noise in the scores of this run

    @classmethod
    def of(cls, population: Population, X: Array, v: Array, quiet: float = 1.0) -> Hypotheses:
        """quiet: noise of this run, relative to that of the past tasks."""
        kappa = population.kernel(X, population.points)
        root = kappa @ population.to_root
        K = BANDWIDTH * root @ root.T + RESIDUAL * population.kernel(X, X)
        noise = quiet * population.kernel.noise
        K[np.diag_indices(len(K))] += noise
        return cls(population, X, v, root, cholesky(K)[0], kappa @ population.to_scores, noise)

    def extend(self, x: Array, v: float | None = None) -> Hypotheses:
        """With one more trial at x (d,); v: its result, or None if it is still running."""
        population, kernel = self.population, self.population.kernel
        kappa = kernel(x[None], population.points)
        root = (kappa @ population.to_root)[0]
        k = BANDWIDTH * self.root @ root + RESIDUAL * kernel(x[None], self.X)[0]
        corner = BANDWIDTH * float(root @ root) + RESIDUAL * kernel.amplitude + self.noise
        return replace(
            self,
            X=np.vstack([self.X, x]),
            v=self.v if v is None else np.append(self.v, v),
            root=np.vstack([self.root, root]),
            L=extend_cholesky(self.L, k, corner),
            F=np.vstack([self.F, kappa @ population.to_scores]),
        )

    @cached_property
    def explained(self) -> Explained:
        """How each hypothesis explains the results; without any, nothing is known and scales are typical."""
        known, T = len(self.v), self.F.shape[1]
        R = np.zeros(self.F.shape)
        if not known:
            return Explained(np.zeros(T), np.zeros(T), np.full(T, TYPICAL), R)
        found = explained(self.L[:known, :known], self.v, self.F[:known])
        R[:known] = found.R
        return found._replace(R=R)

    @cached_property
    def _logs(self) -> Array:
        """Logarithms of share times evidence, not normalised: (T,)."""
        return np.log(np.maximum(self.population.shares, 1e-300)) + trusted(len(self.v)) * self.explained.evidence

    @cached_property
    def evidence(self) -> float:
        """Logarithm of the evidence for all hypotheses together, to the power to which it is trusted."""
        return float(logsumexp(self._logs))

    @cached_property
    def weights(self) -> Array:
        if not len(self.v):
            return self.population.shares
        weights = np.exp(self._logs - self._logs.max())
        weights = np.where(weights < NEGLIGIBLE * weights.max(), 0.0, weights)
        return np.asarray(weights / weights.sum())

    @cached_property
    def alive(self) -> Rows:
        """Positions of the hypotheses that have a weight."""
        return np.flatnonzero(self.weights)

    @property
    def typical_scale(self) -> float:
        """The weighted geometric mean of c, which turns scores into the units of v."""
        return float(np.exp(self.weights @ np.log(self.explained.scale)))

    def predict(self, Z: Array) -> Scored:
        """Scores at the rows of Z under the hypotheses that are alive."""
        population = self.population
        kappa = population.kernel(Z, population.points)
        root = kappa @ population.to_root
        half = solve_lower(self.L, BANDWIDTH * self.root @ root.T + RESIDUAL * population.kernel(self.X, Z))
        prior = BANDWIDTH * np.einsum("ij,ij->i", root, root) + RESIDUAL * population.kernel.amplitude
        variance = prior - np.einsum("ij,ij->j", half, half)
        mean = kappa @ self._to_scores + half.T @ self.explained.R[:, self.alive]
        return Scored(mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE)), root, half)

    @cached_property
    def best(self) -> Array:
        """The lowest expected score of the trials under each hypothesis that is alive."""
        return np.asarray(self.predict(self.X).mean.min(axis=0))

    @cached_property
    def _gamma(self) -> Array:
        """L⁻ᵀ R (k, T), of the hypotheses that are alive."""
        return solve_lower_transposed(self.L, self.explained.R[:, self.alive])

    @cached_property
    def _to_scores(self) -> Array:
        """B (M, T), of the hypotheses that are alive."""
        return self.population.to_scores[:, self.alive]

    def expected_gain(self, Z: Array) -> Array:
        """Expected improvement in scores, averaged over the hypotheses: (m,)."""
        scored = self.predict(Z)
        return np.asarray(ei(scored.mean, scored.std[:, None], self.best) @ self.weights[self.alive])

    def pull(self, Z: Array, scored: Scored, by_mean: Array, by_std: Array) -> Array:
        """The gradient (m, d) of a function of the predictions, given its derivatives by mean (m, T) and std (m,).

        mean_D(z) = B_Dᵀ κ(u, z) + γ_Dᵀ k(z) and var(z) = h² |A(z)|² + ρ κ(z, z) − |half|², where A(z) = Qᵀ κ(u, z),
        k(z) = h² A(X) A(z) + ρ κ(X, z), half = L⁻¹ k(z) and γ_D = L⁻ᵀ R_D.
        """
        population, kernel = self.population, self.population.kernel
        slope = by_std / scored.std  # ∂std = ∂var / (2 std)
        to_trials = self._gamma @ by_mean.T - solve_lower_transposed(self.L, scored.half) * slope  # by k(z)
        to_root = BANDWIDTH * (self.root.T @ to_trials + scored.root.T * slope)  # by A(z)
        to_points = self._to_scores @ by_mean.T + population.to_root @ to_root  # by κ(u, z)
        total = np.zeros(Z.shape)
        pairs = [(population.points, to_points), (self.X, RESIDUAL * to_trials)]
        for points, coefficients in pairs:
            left = kernel.left(points)
            _, E = kernel.value_and_slope(left, kernel.right(Z))
            total += kernel.contract(E * coefficients, Z, left)
        return total
