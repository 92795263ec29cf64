"""`auto`: the new task as a mixture of the past tasks, until the run's own Gaussian process knows better.

Each past task is a hypothesis: the new task is that one, up to a deviation that follows the tasks' covariance, and on
a scale of its own. Given the run's results, every hypothesis has a likelihood, which becomes its weight, and a
posterior, which corrects the past task towards the results. So the prior of the new task is a kernel density estimate
in the space of functions, with the past tasks as its sample (`transfer/population.py`):

    p(f) = Σ_D share_D N(f | f_D, h² φᵀΣφ + ρ κ),    a_D + c_D v_i = f(λ_i) + noise.

Beside the hypotheses stands a Gaussian process that ignores the past tasks (`gaussian.py`). Its share is decided by
how well each side predicts every result from the others (leave-one-out predictive densities: pseudo-BMA weights of
Geisser and Eddy 1979; Yao et al. 2018). Once it is nearly certain, the process goes on alone.

| symbol   | name         | shape  | meaning                                                                |
| -------- | ------------ | ------ | ---------------------------------------------------------------------- |
| v        | `v`          | (k,)   | losses of the k trials, warped to look normal (`warp.py`)              |
| F        | `F`          | (m, T) | expected scores of m configurations on the past tasks                  |
| a_D, c_D | `shift`,     | (T,)   | shift and scale of v under each hypothesis; c has a log-normal prior   |
|          | `scale`      |        |                                                                        |
| L        | `L`          | (k, k) | factor of the covariance of the trials' scores, noise included         |
| R        | `R`          | (k, T) | L⁻¹ (a + c v − F): residuals of each hypothesis, whitened              |
| w        | `weights`    | (T,)   | weights of the hypotheses                                              |
| —        | `share`      |        | weight of the run's own process, beside that of all hypotheses together |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit, logsumexp

from headstart._support.types import Array, Rows
from headstart.gp.linalg import cholesky, extend_cholesky, inverse, solve_lower, solve_lower_transposed
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.acquisition import ei
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.gaussian import Gaussian, GaussianModel, GaussianPosterior, refit_at
from headstart.transfer.models import TaskModels
from headstart.transfer.population import Population

# Chosen on the tables of `benchmarks/suite.py`; its option --sweep prints what each is worth.
BANDWIDTH = 0.3  # h²
RESIDUAL = 0.2  # ρ
SCALES = np.geomspace(0.1, 2.0, 9)  # values of c to choose from
TYPICAL = 0.7  # mode of the prior of c
SPREAD = 0.5  # standard deviation of log c
CAUTION = 3.0  # with k results, likelihoods count to the power k / (k + CAUTION): the model of the tasks is not exact
ODDS = 5.0  # logarithm of the odds against the run's own process before any result

# Limits; guesses.
TOLERANCE = 0.2  # errors of v below this do not count: with results that tie, a density could have any size
FARTHEST = 5.0  # |v| is clipped here
NEGLIGIBLE = 1e-4  # hypotheses with a smaller weight are dropped
EARLIEST = 4  # results from which on the run's own process has a share
CERTAIN = 0.99  # share at which it goes on alone; below 1 − CERTAIN it has none
NAMED = 3  # tasks that `explain` names
LEAST_VARIANCE = 1e-6  # smaller posterior variances of a score are rounding error


@dataclass(frozen=True)
class Mixture:
    """auto: a mixture of the past tasks and the run's own Gaussian process; without a history, that process alone."""

    needs_history = False

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> Model:
        own = Gaussian(own=True).begin(space, None, features=features, rng=rng)
        return own if models is None else MixtureModel(models.population, own)


Found = TypeVar("Found")


class _Last(Generic[Found]):
    """The last answer for certain trials, since the same ones are asked about more than once."""

    def __init__(self) -> None:
        self._known: tuple[Array, Array, Found] | None = None

    def get(self, Z: Array, losses: Array, make: Callable[[Array, Array], Found]) -> Found:
        last = self._known
        if last is None or not (np.array_equal(last[1], losses) and np.array_equal(last[0], Z)):
            self._known = last = Z.copy(), losses.copy(), make(Z, losses)
        return last[2]


@dataclass(frozen=True, eq=False)
class MixtureModel:
    population: Population
    own: GaussianModel
    _last_fit: _Last[Posterior] = field(default_factory=_Last, repr=False)
    _last_share: _Last[float] = field(default_factory=_Last, repr=False)

    def fit(self, Z: Array, losses: Array) -> Posterior:
        return self._last_fit.get(Z, losses, self._fitted)

    def _fitted(self, Z: Array, losses: Array) -> Posterior:
        known = refit_at(len(losses))
        share = self._last_share.get(Z[:known], losses[:known], self._share)
        own = self.own.fit(Z, losses)
        if share > CERTAIN:
            return own
        hypotheses = Hypotheses.of(self.population, Z, _values(own, losses))
        return MixturePosterior(hypotheses, own, share if share > 1 - CERTAIN else 0.0)

    def believing(self, Z: Array, losses: Array, running: Array) -> Posterior:
        """The posterior with further trials that are still running; each part expects for them what it predicts."""
        posterior = self.fit(Z, losses)
        for z in running:
            if isinstance(posterior, MixturePosterior):
                posterior = posterior.running(z)
            else:
                posterior = posterior.extend(z, float(posterior.predict(z[None])[0][0]))
        return posterior

    def explain(self, Z: Array, losses: Array, names: Sequence[str]) -> str:
        """What decides the next proposal, in a sentence. names: of the tasks of the history."""
        if not len(losses):
            kept = len(self.population)
            chosen = "" if kept == len(names) else f" ({kept} that stand for all)"
            return f"No result yet: all {len(names):,} past tasks{chosen} count, each with its share."
        results = f"After {len(losses)} result{'s' * (len(losses) > 1)}"
        posterior = self.fit(Z, losses)
        if not isinstance(posterior, MixturePosterior):
            return (
                f"{results}, the Gaussian process of this run decides alone: it predicts the results better than the "
                "past tasks do."
            )
        weights = posterior.hypotheses.weights
        top = [i for i in np.argsort(-weights, kind="stable")[:NAMED] if weights[i] > 0]
        closest = ", ".join(f"{names[self.population.tasks[i]]} ({weights[i]:.0%})" for i in top)
        if np.count_nonzero(weights) > len(top):
            closest += " and others"
        if not posterior.share:
            return f"{results}, the past tasks decide, weighted by how well they predict the results: {closest}."
        return (
            f"{results}, the past tasks have a weight of {1 - posterior.share:.0%} ({closest}), the Gaussian process "
            f"of this run {posterior.share:.0%}."
        )

    def weights(self, Z: Array, losses: Array, names: Sequence[str]) -> dict[str, float]:
        """The weight of each past task that has one, most first; the run's own process has the rest.

        names: of the tasks of the history.
        """
        share, weights = 0.0, self.population.shares
        if len(losses):
            posterior = self.fit(Z, losses)
            if not isinstance(posterior, MixturePosterior):
                return {}
            share, weights = posterior.share, posterior.hypotheses.weights
        order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
        return {names[self.population.tasks[i]]: float((1 - share) * weights[i]) for i in order}

    def _share(self, Z: Array, losses: Array) -> float:
        """The weight of the run's own process, given the trials up to the last refit of its hyperparameters."""
        if len(losses) < EARLIEST:
            return 0.0
        own = self.own.fit(Z, losses)
        hypotheses = Hypotheses.of(self.population, Z, _values(own, losses))
        return float(expit(_predictive(own) - hypotheses.predictive() - ODDS))


def _values(own: GaussianPosterior, losses: Array) -> Array:
    """v: the losses through the warp of the run's own process."""
    return np.clip(own.warp(losses), -FARTHEST, FARTHEST)


def _predictive(own: GaussianPosterior) -> float:
    """Log density of each result given all others, summed (Rasmussen and Williams 2006, eq. 5.10–5.12)."""
    variance = 1 / inverse(own.gp.L).diagonal()
    return float(_log_normal(own.gp.alpha[:, 0] * variance, variance + TOLERANCE**2).sum())


def _log_normal(error: Array, variance: Array) -> Array:
    return np.asarray(-0.5 * (np.log(2 * math.pi * variance) + error**2 / variance))


class Scored(NamedTuple):
    """Predictions of the hypotheses at m configurations, as scores."""

    mean: Array  # (m, T)
    std: Array  # (m,)
    root: Array  # (m, M) A with A Aᵀ = φᵀΣφ
    half: Array  # (k, m) L⁻¹ times the covariance with the trials


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
    def _fit(self) -> tuple[Array, Array, Array, Array]:
        """Weights (T,), shift (T,), scale (T,) and R (k, T).

        For each scale the most likely shift is known in closed form (generalised least squares); the scale with the
        highest posterior is kept.
        """
        known, T = len(self.v), self.F.shape[1]
        R = np.zeros(self.F.shape)
        if not known:
            return self.population.shares, np.zeros(T), np.full(T, TYPICAL), R
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
        return weights / weights.sum(), shift, scale, R

    @property
    def weights(self) -> Array:
        return self._fit[0]

    @cached_property
    def alive(self) -> Rows:
        """Positions of the hypotheses that have a weight."""
        return np.flatnonzero(self.weights)

    @property
    def typical_scale(self) -> float:
        """The weighted geometric mean of c, which turns scores into the units of v."""
        weights, _, scale, _ = self._fit
        return float(np.exp(weights @ np.log(scale)))

    def predictive(self) -> float:
        """Log density of each v_i given the others, summed: that of all hypotheses with their weights."""
        weights, _, scale, R = self._fit
        known = len(self.v)
        L = self.L[:known, :known]
        variance = 1 / inverse(L).diagonal()[:, None]
        error = solve_lower_transposed(L, R[:known]) * variance
        logs = _log_normal(error / scale, variance / scale**2 + TOLERANCE**2)
        return float(logsumexp(logs, b=weights, axis=1).sum())

    def predict(self, Z: Array) -> Scored:
        """Scores at the rows of Z under the hypotheses that are alive."""
        population = self.population
        kappa = population.kernel(Z, population.points)
        root = kappa @ population.to_root
        half = solve_lower(self.L, BANDWIDTH * self.root @ root.T + RESIDUAL * population.kernel(self.X, Z))
        prior = BANDWIDTH * np.einsum("ij,ij->i", root, root) + RESIDUAL * population.kernel.amplitude
        variance = prior - np.einsum("ij,ij->j", half, half)
        mean = kappa @ self._to_scores + half.T @ self._fit[3][:, self.alive]
        return Scored(mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE)), root, half)

    @cached_property
    def best(self) -> Array:
        """The lowest expected score of the trials under each hypothesis that is alive."""
        return np.asarray(self.predict(self.X).mean.min(axis=0))

    @cached_property
    def _gamma(self) -> Array:
        """L⁻ᵀ R (k, T), of the hypotheses that are alive."""
        return solve_lower_transposed(self.L, self._fit[3][:, self.alive])

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


@dataclass(frozen=True)
class MixturePosterior:
    """The hypotheses and the run's own process, with its share."""

    hypotheses: Hypotheses
    own: GaussianPosterior
    share: float

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Median and half the width of the central 68 % in the user's units, from the moments of the mixture."""
        scored, alive = self.hypotheses.predict(Z), self.hypotheses.alive
        weights, shift, scale = (part[alive] for part in self.hypotheses._fit[:3])
        means = (scored.mean - shift) / scale
        mean = means @ weights
        second = (means**2 + (scored.std[:, None] / scale) ** 2) @ weights
        own_mean, own_std = self.own.gp.predict(Z)
        both = (1 - self.share) * mean + self.share * own_mean
        second = (1 - self.share) * second + self.share * (own_mean**2 + own_std**2)
        std = np.sqrt(np.maximum(second - both**2, LEAST_VARIANCE))
        warp = self.own.warp
        return warp.inverse(both), 0.5 * (warp.inverse(both + std) - warp.inverse(both - std))

    def extend(self, z: Array, loss: float) -> MixturePosterior:
        v = float(np.clip(self.own.warp(np.array([loss]))[0], -FARTHEST, FARTHEST))
        return replace(self, hypotheses=self.hypotheses.extend(z, v), own=self.own.extend(z, loss))

    def running(self, z: Array) -> MixturePosterior:
        """With a trial at z (d,) that has no result yet: both sides expect what they predict."""
        expected = float(self.own.predict(z[None])[0][0])
        return replace(self, hypotheses=self.hypotheses.extend(z), own=self.own.extend(z, expected))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        scored = self.hypotheses.predict(Z)
        each = acquisition(scored.mean, scored.std[:, None], self.hypotheses.best)
        return self._together(acquisition, each, self.own.score(Z, acquisition) if self.share else None)[0]

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        if acquisition.name == "pi":  # it has the slopes of log EI
            acquisition = replace(acquisition, name="ei")
        scored = self.hypotheses.predict(Z)
        best = np.broadcast_to(self.hypotheses.best, scored.mean.shape)
        std = np.broadcast_to(scored.std[:, None], scored.mean.shape)
        each, by_mean, by_std = acquisition.slopes(scored.mean, std, best)
        own = self.own.climb(Z, acquisition) if self.share else None
        value, parts = self._together(acquisition, each, None if own is None else own[0])
        by_each = parts[:, : each.shape[1]]
        slope = self.hypotheses.pull(Z, scored, by_each * by_mean, (by_each * by_std).sum(axis=1))
        if own is not None:
            slope = slope + parts[:, -1:] * own[1]
        return value, slope

    def _together(self, acquisition: Acquisition, each: Array, own: Array | None) -> tuple[Array, Array]:
        """The score of the mixture (m,), and its derivatives by the scores of its parts (m, T), the process last.

        All criteria are averaged in the units of v; a probability has none. Those of expected improvement are
        logarithms, so their average is a log-sum-exp.
        """
        w = (1 - self.share) * self.hypotheses.weights[self.hypotheses.alive]
        if acquisition.name != "pi":
            w = w / self.hypotheses.typical_scale
        parts = each if own is None else np.column_stack([each, own])
        w = w if own is None else np.append(w, self.share)
        if acquisition.name in ("lcb", "pi"):
            return parts @ w, np.broadcast_to(w, parts.shape)
        logs = parts + np.log(w)
        highest = logs.max(axis=1, keepdims=True)
        relative = np.exp(logs - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total
