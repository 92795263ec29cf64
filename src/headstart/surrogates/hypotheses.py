"""The hypotheses of `auto`: each past task as a guess at the new one, corrected and weighted by the results so far.

Hypothesis D: the new task is task D, up to a deviation that follows the tasks' covariance, and on a scale of its own.
So the prior of the new task is a kernel density estimate in the space of functions, with the past tasks as its sample
(`transfer/population.py`):

    p(f) = Σ_D share_D N(f | f_D, h² φᵀΣφ + ρ κ),    a_D + c_D v_i = f(λ_i) + noise.

Given the results, every hypothesis has a likelihood, which becomes its weight, and a posterior, which corrects the past
task towards the results. Gains in scores are weighed by the losses that they save on the past task, given its best
score so far (`transfer/quantiles.py`): where all good configurations are equally good, there is little to gain.

| symbol   | name             | shape  | meaning                                                              |
| -------- | ---------------- | ------ | -------------------------------------------------------------------- |
| v        | `v`              | (k,)   | losses of the k trials, warped to look normal (`warp.py`)            |
| F        | `F`              | (m, T) | expected scores of m configurations on the past tasks                |
| a_D, c_D | `shift`, `scale` | (T,)   | shift and scale of v under each hypothesis; c has a log-normal prior |
| L        | `L`              | (k, k) | factor of the covariance of the trials' scores, noise included       |
| R        | `R`              | (k, T) | L⁻¹ (a + c v − F): residuals of each hypothesis, whitened            |
| w        | `weights`        | (T,)   | weights of the hypotheses                                            |
| g        | `stakes`         | (T,)   | what a gain of one score is worth under each hypothesis              |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from headstart._support.types import Array, Rows
from headstart.gp.linalg import cholesky, extend_cholesky, inverse, solve_lower, solve_lower_transposed
from headstart.surrogates.acquisition import ei
from headstart.transfer.population import Population

# Chosen on the tables of `benchmarks/suite.py`; its option --sweep prints what each is worth.
BANDWIDTH = 0.3  # h²
RESIDUAL = 0.2  # ρ
SCALES = np.geomspace(0.1, 2.0, 9)  # values of c to choose from
TYPICAL = 0.7  # mode of the prior of c
SPREAD = 0.5  # standard deviation of log c
CAUTION = 3.0  # with k results, likelihoods count to the power k / (k + CAUTION): the model of the tasks is not exact

# Limits; guesses.
TOLERANCE = 0.2  # errors of v below this do not count: with results that tie, a density could have any size
FEW = 20  # results up to which that holds; with more, the tolerance falls with the square of their number
NEGLIGIBLE = 1e-4  # hypotheses with a smaller weight are dropped
LEAST_VARIANCE = 1e-6  # smaller posterior variances of a score are rounding error


def tolerance(results: int) -> float:
    """The size of errors of v that do not count, given so many results."""
    return TOLERANCE * min(1.0, FEW / max(results, 1)) ** 2


def log_density(error: Array, variance: Array) -> Array:
    """Logarithm of the normal density of k errors of v (k, …), with the tolerance added to their variance."""
    variance = variance + tolerance(len(error)) ** 2
    return np.asarray(-0.5 * (np.log(2 * math.pi * variance) + error**2 / variance))


class Fit(NamedTuple):
    """What the results say about each hypothesis."""

    weights: Array  # (T,)
    shift: Array  # (T,)
    scale: Array  # (T,)
    R: Array  # (k, T)


class Scored(NamedTuple):
    """Predictions of the hypotheses at m configurations, as scores."""

    mean: Array  # (m, T)
    std: Array  # (m,)
    root: Array  # (m, M) A with A Aᵀ = φᵀΣφ
    half: Array  # (k, m) L⁻¹ times the covariance with the trials
    slope: Array  # (M + k, m) η of the points and the trials; empty unless asked for


@dataclass(frozen=True)
class Hypotheses:
    """The past tasks as hypotheses about the new one, conditioned on its results.

    X (k, d) may have more rows than there are results: the rest are trials that are still running. Every hypothesis
    takes its own expectation for their result, so their rows of R are 0.
    """

    population: Population
    X: Array
    v: Array
    root: Array  # (k, M) A with A Aᵀ = φ(X)ᵀΣφ(X)
    L: Array
    F: Array  # (k, T) at X

    @classmethod
    def of(cls, population: Population, X: Array, v: Array) -> Hypotheses:
        kappa = population.kernel(X, population.points)
        root = kappa @ population.to_root
        K = BANDWIDTH * root @ root.T + RESIDUAL * population.kernel(X, X)
        K[np.diag_indices(len(K))] += population.kernel.noise
        return cls(population, X, v, root, cholesky(K)[0], kappa @ population.to_scores)

    def extend(self, x: Array, v: float | None = None) -> Hypotheses:
        """With one more trial at x (d,); v: its result, or None if it is still running."""
        population, kernel = self.population, self.population.kernel
        kappa = kernel(x[None], population.points)
        root = (kappa @ population.to_root)[0]
        k = BANDWIDTH * self.root @ root + RESIDUAL * kernel(x[None], self.X)[0]
        corner = BANDWIDTH * float(root @ root) + RESIDUAL * kernel.amplitude + kernel.noise
        return replace(
            self,
            X=np.vstack([self.X, x]),
            v=self.v if v is None else np.append(self.v, v),
            root=np.vstack([self.root, root]),
            L=extend_cholesky(self.L, k, corner),
            F=np.vstack([self.F, kappa @ population.to_scores]),
        )

    @cached_property
    def fit(self) -> Fit:
        """Given a scale, the most likely shift is known in closed form (generalised least squares). The scale with the
        highest posterior is kept.
        """
        known, T = len(self.v), self.F.shape[1]
        R = np.zeros(self.F.shape)
        if not known:
            return Fit(self.population.shares, np.zeros(T), np.full(T, TYPICAL), R)
        L = self.L[:known, :known]
        white = solve_lower(L, np.column_stack([np.ones(known), self.v, self.F[:known]]))
        one, v, F = white[:, :1], white[:, 1:2], white[:, 2:]
        squares = float((one**2).sum())
        level, levels = float((one * v).sum()) / squares, (one * F).sum(axis=0) / squares
        v, F = v - level * one, F - levels * one  # without the part that the shift explains
        c = SCALES[:, None]
        errors = c**2 * (v**2).sum() - 2 * c * (v * F).sum(axis=0) + (F**2).sum(axis=0)
        prior = -0.5 * (np.log(c / TYPICAL) / SPREAD) ** 2
        posterior = (known - 1) * np.log(c) + prior - 0.5 * errors
        at = posterior.argmax(axis=0)
        best, scale = posterior[at, np.arange(T)], SCALES[at]
        shift = levels - scale * level
        R[:known] = scale * v - F
        logs = np.log(np.maximum(self.population.shares, 1e-300)) + known / (known + CAUTION) * best
        weights = np.exp(logs - logs.max())
        weights = np.where(weights < NEGLIGIBLE * weights.max(), 0.0, weights)
        return Fit(weights / weights.sum(), shift, scale, R)

    @property
    def weights(self) -> Array:
        return self.fit.weights

    @cached_property
    def alive(self) -> Rows:
        """Positions of the hypotheses that have a weight."""
        return np.flatnonzero(self.weights)

    @property
    def typical_scale(self) -> float:
        """The weighted geometric mean of c, which turns scores into the units of v."""
        return float(np.exp(self.weights @ np.log(self.fit.scale)))

    def predictive(self) -> float:
        """Log density of each v_i given the others, summed: that of all hypotheses with their weights."""
        weights, _, scale, R = self.fit
        known = len(self.v)
        L = self.L[:known, :known]
        variance = 1 / inverse(L).diagonal()[:, None]
        error = solve_lower_transposed(L, R[:known]) * variance
        logs = log_density(error / scale, variance / scale**2)
        return float(logsumexp(logs, b=weights, axis=1).sum())

    def predict(self, Z: Array, *, slope: bool = False) -> Scored:
        """Scores at the rows of Z under the hypotheses that are alive. slope: with what `pull` needs."""
        population, kernel, right = self.population, self.population.kernel, self.population.kernel.right(Z)
        K, E = kernel.value_and_slope(self._left, right) if slope else (kernel.product(self._left, right), Z[:0])
        kappa, own = K[: len(population.points)].T, K[len(population.points) :]
        root = kappa @ population.to_root
        half = solve_lower(self.L, BANDWIDTH * self.root @ root.T + RESIDUAL * own)
        prior = BANDWIDTH * np.einsum("ij,ij->i", root, root) + RESIDUAL * kernel.amplitude
        variance = prior - np.einsum("ij,ij->j", half, half)
        mean = kappa @ self._to_scores + half.T @ self.fit.R[:, self.alive]
        return Scored(mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE)), root, half, E)

    @cached_property
    def _left(self) -> Array:
        """The factor of the population's points and of the trials in any κ."""
        return np.vstack([self.population.left, self.population.kernel.left(self.X)])

    @cached_property
    def best(self) -> Array:
        """The lowest expected score of the trials under each hypothesis that is alive."""
        return np.asarray(self.predict(self.X).mean.min(axis=0))

    @cached_property
    def stakes(self) -> Array:
        """What a gain of one score is worth under each hypothesis that is alive; their weighted mean is 1."""
        each = self.population.quantiles.only(self.alive).per_score(self.best)
        return np.asarray(each / (self.weights[self.alive] @ each))

    @cached_property
    def _gamma(self) -> Array:
        """L⁻ᵀ R (k, T), of the hypotheses that are alive."""
        return solve_lower_transposed(self.L, self.fit.R[:, self.alive])

    @cached_property
    def _to_scores(self) -> Array:
        """B (M, T), of the hypotheses that are alive."""
        return self.population.to_scores[:, self.alive]

    def expected_gain(self, Z: Array) -> Array:
        """Expected improvement, averaged over the hypotheses with what is at stake under each: (m,)."""
        scored = self.predict(Z)
        return np.asarray(ei(scored.mean, scored.std[:, None], self.best) @ (self.weights[self.alive] * self.stakes))

    def pull(self, Z: Array, scored: Scored, by_mean: Array, by_std: Array) -> Array:
        """The gradient (m, d) of a function of the predictions, given its derivatives by mean (m, T) and std (m,).

        scored: from `predict(Z, slope=True)`.
        mean_D(z) = B_Dᵀ κ(u, z) + γ_Dᵀ k(z) and var(z) = h² |A(z)|² + ρ κ(z, z) − |half|², where A(z) = Qᵀ κ(u, z),
        k(z) = h² A(X) A(z) + ρ κ(X, z), half = L⁻¹ k(z) and γ_D = L⁻ᵀ R_D.
        """
        population = self.population
        slope = by_std / scored.std  # ∂std = ∂var / (2 std)
        to_trials = self._gamma @ by_mean.T - solve_lower_transposed(self.L, scored.half) * slope  # by k(z)
        to_root = BANDWIDTH * (self.root.T @ to_trials + scored.root.T * slope)  # by A(z)
        to_points = self._to_scores @ by_mean.T + population.to_root @ to_root  # by κ(u, z)
        each = np.vstack([to_points, RESIDUAL * to_trials])
        return population.kernel.contract(scored.slope * each, Z, self._left)
