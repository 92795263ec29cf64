"""What the past says of a new task while its results come in: the formulas behind `auto` and `prior`.

Losses are looked at on a stretched scale that magnifies the good end, where the search is decided:
z = log(1 + v / e) / log(1 + 1 / e), v being the loss scaled to [0, 1].

| symbol | name       | shape   | meaning                                                                    |
| ------ | ---------- | ------- | -------------------------------------------------------------------------- |
| M      | `M`        | (m, T)  | what the surrogates of the T past tasks say of m configurations, stretched |
| s      | `spread`   | (m,)    | how unsure they are of it                                                  |
| w      | `weights`  | (T,)    | how much each past task counts for the new one; they sum to 1              |
| φ(λ)   | `phi`      | (m, q)  | features of a configuration in which the new task is linear: 1, the mean   |
|        |            |         | surface, and the deviation of every past task from it                      |
| ρ      | `rho`      |         | size of what the past cannot explain, chosen by the run's likelihood       |

The new task is thought of as a draw from where the past ones came from: a Gaussian process with the mean of
their surfaces, their covariance, and a residual with the kernel of the past (a learned prior, as in Wang et al.
2021, "Pre-trained Gaussian processes for Bayesian optimization", but from the surrogates of the tasks).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from headstart.acquisition import ei
from headstart.gp import GP, Kernel, Matern, TaskGPs, fit_kernel
from headstart.linalg import cholesky, extend_cholesky, solve_lower
from headstart.parameters import Array

STRETCH = 0.2  # e above
MOST_TASKS = 100  # surfaces of more tasks add nothing but cost
MOST_ROWS = 1500  # evaluations to which the hyperparameters are fitted
MOST_DESIGNS = 10  # designs whose uncertainty is averaged
MOST_MEAN = 200  # configurations over which the average height of the mean surface is taken
FLOOR = 0.05  # what the past cannot know of a new task, as a standard deviation
SOFTNESS = 0.3  # difference at which two past losses are reliably in order
SHARPNESS = 2.0  # how much the ranking of one more result counts
SLOPE = 0.5  # how much the mean surface may be steeper or flatter on the new task
RESIDUALS = (0.05, 0.1, 0.2, 0.4)  # the ρ to choose from
NOISE = 0.01


def stretch(v: Array) -> Array:
    """Scaled losses → z."""
    return np.asarray(np.log1p(np.asarray(v) / STRETCH) / math.log1p(1 / STRETCH))


def unstretch(z: Array) -> Array:
    """z → scaled losses."""
    return np.asarray(STRETCH * np.expm1(np.asarray(z) * math.log1p(1 / STRETCH)))


def own_scale(losses: Array) -> Array:
    """A run's own losses, scaled by the best and worst so far, and stretched."""
    low, high = losses.min(), losses.max()
    return stretch((losses - low) / (high - low)) if high > low else np.zeros(len(losses))


# -- the past --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Surfaces:
    """The response surfaces of the past tasks on the stretched scale."""

    gps: TaskGPs
    tasks: npt.NDArray[np.intp]  # which tasks of the history they belong to
    spreads: tuple[GP, ...]  # the designs alone, for their uncertainty
    level: float  # average height of the mean surface

    @classmethod
    def of(
        cls,
        designs: Sequence[Array],
        losses: Sequence[Array],
        *,
        rng: np.random.Generator,
        kernel: Kernel | None = None,
    ) -> Surfaces:
        """From encoded configurations and scaled losses, task by task; at most 100 tasks, drawn by rng.

        kernel: known hyperparameters; without, they are fitted.
        """
        kept = np.arange(len(designs))
        if len(kept) > MOST_TASKS:
            kept = np.sort(rng.choice(kept, MOST_TASKS, replace=False))
        X, Y = [designs[int(i)] for i in kept], [stretch(losses[int(i)]) for i in kept]
        if kernel is None:
            kernel = fit_kernel(list(zip(X, Y, strict=True)), rng=rng, kind=Matern, max_total=MOST_ROWS)
        gps = TaskGPs.fit(X, Y, kernel)
        few = [gps.rows[group.rows] for group in gps.groups[:MOST_DESIGNS]]
        spreads = tuple(GP.fit(kernel, design, np.zeros((len(design), 0))) for design in few)
        some = gps.rows[np.linspace(0, len(gps.rows) - 1, min(len(gps.rows), MOST_MEAN)).astype(int)]
        return cls(gps, kept, spreads, float(gps.predict(some).mean()))

    @property
    def kernel(self) -> Kernel:
        return self.gps.kernel

    def __len__(self) -> int:
        return len(self.gps)

    def at(self, Z: Array) -> Array:
        """M at the rows of Z; predictions beyond the scale are overshoot, and cut off."""
        return np.clip(self.gps.predict(Z), -0.1, 1.1)

    def spread(self, Z: Array) -> Array:
        """Standard deviation at the rows of Z, averaged over designs, with what no past can know."""
        stds = [design.predict(Z)[1] for design in self.spreads]
        return np.asarray(np.sqrt(np.mean(stds, axis=0) ** 2 + FLOOR**2))


def feature_weights(M: Array, features: Array, new: Array) -> Array:
    """Weights w with which w · M predicts the new task's surface from meta-features; they sum to 1.

    Kernel ridge regression of whole surfaces, M (m, T), on standardised features (T, F); length-scale and ridge by
    leaving out one task after another (in closed form), and equal weights if nothing predicts better than those.
    """
    T = M.shape[1]
    equal = np.full(T, 1.0 / T)
    gaps = features[:, None] - features[None]
    squared = np.nanmean(gaps**2, axis=2)
    to_new = np.nanmean((features - np.clip(new, -3.0, 3.0)) ** 2, axis=1)
    if T < 4 or not (np.isfinite(squared).all() and np.isfinite(to_new).all()):
        return equal
    typical = float(np.median(squared[np.triu_indices(T, 1)]))
    best, weights = np.mean(((M - M.mean(axis=1, keepdims=True)) * T / (T - 1)) ** 2), equal
    for length in (0.25, 0.5, 1.0, 2.0, 4.0):
        K, k = (np.exp(-0.5 * d / max(length * typical, 1e-12)) for d in (squared, to_new))
        for ridge in (0.1, 0.3, 1.0, 3.0, 10.0):
            inverse = np.linalg.inv(K + ridge * np.eye(T))
            level = inverse.sum(axis=1) / inverse.sum()
            H = K @ inverse
            S = H + np.outer(1 - H.sum(axis=1), level)
            error = np.mean(((M - M @ S.T) / (1 - np.diag(S))) ** 2)
            if error < best:
                raw = k @ inverse
                best, weights = error, raw + (1 - raw.sum()) * level
    return np.asarray(weights)


# -- tasks weighted by how they rank the results ---------------------------------------------------------------


def rank_weights(M: Array, losses: Array) -> Array:
    """w given k results: M (k, T) at the configurations tried, and their losses (k,).

    Each pair of results is evidence for the tasks that put it in the same order, the more so the further apart
    they see it: log w = τ · 2/k · Σ_pairs log Φ(± (M_i − M_j) / σ). Only ranks of the new task are used, whatever
    its scale. This is eq. 17 of Wistuba et al. (2015a), made soft.
    """
    k = len(losses)
    logs = np.zeros(M.shape[1])
    if k >= 2:
        i, j = np.triu_indices(k, 1)
        sign = np.sign(losses[i] - losses[j])
        logs = logs + SHARPNESS * 2 / k * (np.abs(sign) @ log_ndtr(sign[:, None] * (M[i] - M[j]) / SOFTNESS))
    w = np.exp(logs - logs.max())
    return np.asarray(w / w.sum())


def expected_gain(M: Array, spread: Array, reached: Array, weights: Array) -> Array:
    """Expected improvement under each past task on the best it has among the tried, averaged by weight: (m,).

    Eq. 16 of Wistuba et al. (2015a), with the uncertainty of the surrogates.
    """
    return np.asarray(ei(M, np.broadcast_to(spread[:, None], M.shape), reached) @ weights)


def concordances(M: Array, losses: Array) -> tuple[float, Array]:
    """Mean concordant share of the new task with the past ones, and of each past one with the rest."""
    from headstart.metrics import discordant_share

    T = M.shape[1]
    new = float(np.mean(1 - discordant_share(M, losses[:, None])))
    if T < 2:
        return new, np.zeros(T)
    among = 1 - discordant_share(M)
    return new, np.asarray((among.sum(axis=1) - 1) / (T - 1))


def is_unlike(M: Array, losses: Array) -> bool:
    """Whether the new task orders the tried configurations unlike every past one: less in accord with them than
    any of them with the others, and less than by chance."""
    if len(losses) < 4 or M.shape[1] < 3:
        return False
    new, others = concordances(M, losses)
    return new < min(0.5, float(others.min()))


# -- one process with a learned prior ----------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedPrior:
    """The prior of the new task: mean w · M, covariance φ φᵀ + ρ² κ."""

    surfaces: Surfaces
    weights: Array
    covariance: bool = True  # whether deviations of the past tasks take part in φ

    @classmethod
    def equal(cls, surfaces: Surfaces, covariance: bool = True) -> LearnedPrior:
        """With every past task counting the same."""
        return cls(surfaces, np.full(len(surfaces), 1.0 / len(surfaces)), covariance)

    def mean_and_phi(self, Z: Array) -> tuple[Array, Array]:
        M = self.surfaces.at(Z)
        mean = M @ self.weights
        columns = [np.ones((len(Z), 1)), SLOPE * (mean - self.surfaces.level)[:, None]]
        if self.covariance:
            columns.append((M - mean[:, None]) / math.sqrt(M.shape[1]))
        return mean, np.hstack(columns)

    def kernel(self, rho: float) -> Kernel:
        past = self.surfaces.kernel
        return Matern(rho**2, past.lengthscales, NOISE**2)

    def condition(self, Z: Array, z: Array) -> Conditioned:
        """On results z at the rows of Z, with the ρ that makes them most likely."""
        mean, phi = self.mean_and_phi(Z)
        best: tuple[float, float, Array] | None = None
        for rho in RESIDUALS:
            L, _ = cholesky(phi @ phi.T + self.kernel(rho).gram(Z))
            r = solve_lower(L, (z - mean)[:, None])[:, 0]
            likelihood = -0.5 * float(r @ r) - float(np.log(L.diagonal()).sum())
            if best is None or likelihood > best[0]:
                best = (likelihood, rho, L)
        assert best is not None
        return Conditioned(self, best[1], Z, mean, phi, best[2], z)


@dataclass(frozen=True)
class Conditioned:
    """A learned prior that has seen results."""

    prior: LearnedPrior
    rho: float
    Z: Array
    mean: Array
    phi: Array
    L: Array
    z: Array

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation on the stretched scale."""
        mean, phi = self.prior.mean_and_phi(Z)
        kernel = self.prior.kernel(self.rho)
        B = solve_lower(self.L, self.phi @ phi.T + kernel(self.Z, Z))
        r = solve_lower(self.L, (self.z - self.mean)[:, None])[:, 0]
        variance = (phi**2).sum(axis=1) + self.rho**2 - (B**2).sum(axis=0)
        return mean + r @ B, np.sqrt(np.maximum(variance, 1e-10))

    def extend(self, x: Array, z: Array) -> Conditioned:
        """With one result more at x (d,), and all results z on a new scale; ρ stays."""
        mean, phi = self.prior.mean_and_phi(x[None])
        kernel = self.prior.kernel(self.rho)
        k = (phi @ self.phi.T + kernel(x[None], self.Z))[0]
        L = extend_cholesky(self.L, k, float((phi**2).sum()) + self.rho**2 + NOISE**2)
        Z, means = np.vstack([self.Z, x]), np.append(self.mean, mean)
        return Conditioned(self.prior, self.rho, Z, means, np.vstack([self.phi, phi]), L, z)
