"""Hyperparameters by marginal likelihood, with priors and bounds, for all designs of a history together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from headstart._support.rounding import LOGARITHM, descend
from headstart._support.types import Array, Mask
from headstart.errors import ArgumentError
from headstart.gp.arrays import as_columns
from headstart.gp.designs import share_designs
from headstart.gp.kernels import Kernel, SquaredExponential
from headstart.gp.linalg import cholesky, inverse, solve_cholesky

Group: TypeAlias = tuple[Array, Array]
"""A design X (n, d) and its losses Y, (n, t) or (n,)."""


@dataclass(frozen=True)
class Prior:
    """Log-normal priors on the hyperparameters, each as (mode, standard deviation of the logarithm).

    Amplitude and noise are relative to the variance of the losses. By default the lengthscale has BoTorch's mode,
    exp(√2 − 3) √d ≈ 0.2 √d (Hvarfner et al. 2024: distances in the unit cube grow with √d, so lengthscales should
    too), with a narrower spread than BoTorch's √3, and the noise is a little higher. Spread and noise were chosen from
    25 settings by how well 5 to 40 observations of one of the papers' SVM tasks predict its other configurations (at
    20: RMSE .219, against .225 with BoTorch's lengthscales and noise and .255 without a prior, on losses in [0, 1]).
    So these figures are slightly optimistic on that data.
    """

    amplitude: tuple[float, float] = (1.0, 1.0)
    lengthscale: tuple[float, float] | None = None
    noise: tuple[float, float] = (1e-2, 1.0)

    def __post_init__(self) -> None:
        for name in ("amplitude", "lengthscale", "noise"):
            pair = getattr(self, name)
            if pair is not None and not all(math.isfinite(value) and value > 0 for value in pair):
                raise ArgumentError(f"{name} must have a positive mode and spread, but got {pair}")

    def normal(self, d: int) -> tuple[Array, Array]:
        """Mean and standard deviation of θ under this prior, for d lengthscales.

        As a function of log ℓ, a log-normal density of ℓ is, up to a constant, a normal density centred at the
        logarithm of its mode.
        """
        default = (math.exp(math.sqrt(2) - 3) * math.sqrt(d), 0.75)
        pairs = [self.amplitude, *[self.lengthscale or default] * d, self.noise]
        mode, spread = np.array(pairs).T
        return np.log(mode), spread


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds of the hyperparameters; amplitude and noise are relative to the variance of the losses."""

    amplitude: tuple[float, float] = (1e-2, 1e3)
    lengthscale: tuple[float, float] = (2e-2, 50.0)
    noise: tuple[float, float] = (1e-6, 1.0)

    def __post_init__(self) -> None:
        for name in ("amplitude", "lengthscale", "noise"):
            low, high = getattr(self, name)
            if not 0 < low <= high < math.inf:
                raise ArgumentError(f"{name} needs 0 < low <= high, but got low={low}, high={high}")

    def log(self, d: int) -> tuple[Array, Array]:
        """Lower and upper bounds of θ, for d lengthscales."""
        low, high = np.log(np.array([self.amplitude, *[self.lengthscale] * d, self.noise])).T
        return low, high


def log_marginal_likelihood(
    theta: Array, groups: Sequence[Group], *, free_mean: bool = False, kind: type[Kernel] = SquaredExponential
) -> tuple[float, Array]:
    """Σ log p(Y | X, θ) over groups of a design X (n, d) and centred losses Y (n, t), and its gradient in θ.

    free_mean: use each column's most likely constant instead of 0. At that maximum it does not change the gradient.

    With G = ααᵀ − t K_y⁻¹, ∂/∂θ_j = ½ Σ G ∘ ∂K_y/∂θ_j (Rasmussen and Williams, eq. 5.9). For log ℓ_k,
    ∂K = η ∘ (x_ik − x_jk)² / ℓ_k². Since C = G ∘ η is symmetric, with r its row sums and x scaled by 1/ℓ,

        ½ Σ_ij C_ij (x_ik − x_jk)² = Σ_i r_i x_ik² − Σ_ij x_ik C_ij x_jk,

    so one product C x serves all k, and no (n, n, d) array is needed.
    """
    kernel = kind.from_theta(theta)
    value, gradient = 0.0, np.zeros_like(theta)
    for X, Y in groups:
        K, E = kernel.gram_and_slope(X)
        L, _ = cholesky(K)
        if free_mean:
            Y = Y - likely_mean(L, Y)
        alpha = solve_cholesky(L, Y)
        value += _log_likelihood(L, Y, alpha)
        G = alpha @ alpha.T - Y.shape[1] * inverse(L)
        diagonal = G.diagonal().sum()
        C = G * E
        scaled = X / kernel.lengthscales
        gradient[0] += 0.5 * (np.vdot(G, K) - kernel.noise * diagonal)
        gradient[1:-1] += C.sum(axis=1) @ scaled**2 - np.einsum("ik,ik->k", scaled, C @ scaled)
        gradient[-1] += 0.5 * kernel.noise * diagonal
    return value, gradient


def _log_likelihood(L: Array, Y: Array, alpha: Array) -> float:
    """Σ over columns of −½ yᵀα − Σ log L_ii − n/2 log 2π (Rasmussen and Williams, algorithm 2.1, line 7)."""
    n, t = Y.shape
    constant = np.log(L.diagonal()).sum() + 0.5 * n * math.log(2 * math.pi)
    return float(-0.5 * np.sum(Y * alpha) - t * constant)


def likely_mean(L: Array, Y: Array) -> Array:
    """The most likely constant of each column of Y (n, t) by generalised least squares, 1ᵀK⁻¹Y / 1ᵀK⁻¹1.

    Unlike the average, it is not dominated by a cluster of trials around the best one.
    """
    ones = solve_cholesky(L, np.ones(len(Y)))  # K⁻¹ 1
    return np.asarray(ones @ Y / ones.sum())


@dataclass(frozen=True)
class Fit:
    """Settings of `fit_kernel`.

    restarts: number of random starting points, besides the given or default one.
    prior: None maximises the likelihood (for a history), `Prior()` the posterior (for a single run).
    mean: the constant to subtract from the losses; None subtracts each column's average.
    free_mean: fit the most likely constant along with the hyperparameters, whatever `mean` is.
    max_rows, max_total: of each design at most max_rows rows are used, drawn at random, and designs are drawn until
        they have max_total rows together. The cost is O(max_total · max_rows²).
    kind: the class of the kernel.
    """

    restarts: int = 2
    prior: Prior | None = None
    bounds: Bounds = field(default_factory=Bounds)
    mean: float | None = None
    free_mean: bool = False
    max_rows: int = 128
    max_total: int = 4096
    kind: type[Kernel] = SquaredExponential

    def __post_init__(self) -> None:
        if self.max_rows < 2:
            raise ArgumentError(f"max_rows must be at least 2, but got {self.max_rows}")


FEW = 8  # restarts run on this fraction of the rows, and the best one goes on with all; a guess
DESCENT = {"maxiter": 100, "ftol": 1e-8, "gtol": 1e-5}  # tolerances per observation; a guess


def fit_kernel(
    groups: Sequence[Group], how: Fit | None = None, *, rng: np.random.Generator, start: Kernel | None = None
) -> Kernel:
    """The most likely hyperparameters for all groups together, by L-BFGS-B from several starting points.

    groups: designs X (n, d) with losses Y, (n,) or (n, t). Groups with the same design are merged, so a history may be
        passed task by task. Groups with fewer than two rows carry no information and are skipped.
    start: where to begin, for instance the kernel of the previous step.

    The result does not depend on the order of the groups and scales with the losses (twice the loss, four times the
    amplitude and noise). If no loss varies, the start is returned.
    """
    if not groups:
        raise ArgumentError("groups is empty", "give at least one design")
    how = how or Fit()
    d = np.shape(groups[0][0])[-1]
    sample = _sample(_centred(groups, how.mean), rng, how.max_rows, how.max_total)
    scaled, scale = _unit_variance(sample)
    units = np.zeros(d + 2)  # θ of the losses = θ of the scaled losses + units
    units[[0, -1]] = 2 * math.log(scale)
    low, high = how.bounds.log(d)
    first = np.clip((how.prior or Prior()).normal(d)[0] if start is None else start.theta - units, low, high)
    if not any(Y.any() for _, Y in sample):
        return start or how.kind.from_theta(first + units)
    few = _sample(scaled, rng, how.max_rows, how.max_total // FEW)
    varies = np.array([True, *np.any([np.ptp(X, axis=0) > 0 for X, _ in scaled], axis=0), True])
    random = first + varies * rng.normal(size=(how.restarts, d + 2))
    runs = [_descend(theta, few, how, varies) for theta in (first, *np.clip(random, low, high))]
    best = min(runs, key=lambda run: run[0])[1]
    if len(few) < len(scaled):
        best = _descend(best, scaled, how, varies)[1]
    return how.kind.from_theta(best + units)


def _unit_variance(groups: Sequence[Group]) -> tuple[list[Group], float]:
    """Groups with their losses divided by their common root mean square, and that number."""
    size = max(sum(Y.size for _, Y in groups), 1)
    scale = math.sqrt(sum(float(np.sum(Y**2)) for _, Y in groups) / size) or 1.0
    return [(X, Y / scale) for X, Y in groups], scale


def _descend(theta: Array, groups: Sequence[Group], how: Fit, varies: Mask) -> tuple[float, Array]:
    """The best hyperparameters found from theta. Those of columns that do not vary say nothing and stay as they are."""
    d = len(theta) - 2
    bounds = np.column_stack(how.bounds.log(d))[varies]
    prior = None if how.prior is None else tuple(part[varies] for part in how.prior.normal(d))
    narrow = [(X[:, varies[1:-1]], Y) for X, Y in groups]
    objective = partial(_negative_posterior, groups=narrow, how=how, prior=prior)
    value, place = descend(objective, theta[varies], bounds, LOGARITHM, **DESCENT)
    best = theta.copy()
    best[varies] = place
    return value, best


def _negative_posterior(
    theta: Array, groups: Sequence[Group], how: Fit, prior: tuple[Array, ...] | None
) -> tuple[float, Array]:
    """−(log likelihood + log prior) and its gradient, per observation so that tolerances do not depend on n.

    prior: mean and standard deviation of theta.
    """
    value, gradient = log_marginal_likelihood(theta, groups, free_mean=how.free_mean, kind=how.kind)
    if prior is not None:
        mode, spread = prior
        deviation = (theta - mode) / spread
        value -= 0.5 * float(deviation @ deviation)
        gradient -= deviation / spread
    size = sum(Y.size for _, Y in groups)
    return -value / size, -gradient / size


def _centred(groups: Sequence[Group], mean: float | None) -> list[Group]:
    """One group per distinct design, with centred losses, in an order that depends only on their content."""
    designs, losses = [], []
    for X, Y in groups:
        columns = as_columns(Y, "Y", len(X))
        designs += [X] * columns.shape[1]
        losses += list(columns.T)
    rows, shared = share_designs(designs, losses)
    shared = sorted((group for group in shared if len(group.rows) > 1), key=lambda group: group.rows.tolist())
    out = []
    for group in shared:
        Y = group.Y[:, np.lexsort(group.Y)]
        out.append((rows[group.rows], Y - (Y.mean(axis=0) if mean is None else mean)))
    return out


def _sample(groups: list[Group], rng: np.random.Generator, max_rows: int, max_total: int) -> list[Group]:
    """Random groups until they have max_total rows together, with at most max_rows rows of each."""
    sample: list[Group] = []
    total = 0
    for i in rng.permutation(len(groups)):
        X, Y = groups[i]
        if len(X) > max_rows:
            kept = np.sort(rng.choice(len(X), max_rows, replace=False))
            X, Y = X[kept], Y[kept]
        if sample and total + len(X) > max_total:
            break
        sample.append((X, Y))
        total += len(X)
    return sample
