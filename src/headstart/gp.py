"""Gaussian processes with a squared exponential kernel: one run's own, and those of all tasks of a history.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section
III-C, eq. 3–6; marginal likelihood and leave-one-out after Rasmussen and Williams (2006), eq. 5.9, 5.12.

| symbol | name            | shape     | what it is                                                          |
| ------ | --------------- | --------- | ------------------------------------------------------------------- |
| Λ      | `X`             | (n, d)    | a design: the encoded configurations that were evaluated            |
| f      | `Y`             | (n, t)    | their losses, a column for each task that shares the design         |
| Λ*     | `Z`             | (m, d)    | configurations to predict                                           |
| κ      | `kernel`        |           | κ(x, z) = amplitude · exp(−½ Σ_j ((x_j − z_j) / lengthscales_j)²)   |
| σ_y²   | `kernel.noise`  |           | noise variance                                                      |
| K_y    | `kernel.gram(X)`| (n, n)    | κ(Λ, Λ) + σ_y² I = L Lᵀ                                             |
| α      | `alpha`         | (n, t)    | K_y⁻¹ (f − mean)                                                    |
| θ      | `theta`         | (d + 2,)  | log of (amplitude, lengthscales, noise)                             |

Everything here is immutable, and expects configurations of order one, as `Space` encodes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize

from headstart.linalg import (
    Array,
    NotPositiveDefiniteError,
    cholesky,
    extend_cholesky,
    inverse,
    solve_cholesky,
    solve_lower,
)

LEAST_VARIANCE = 1e-12
"""Posterior variances below this share of the amplitude are rounding error, and raised to it."""


# Kernel ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kernel:
    """SE-ARD: κ(x, z) = amplitude · exp(−½ Σ_j ((x_j − z_j) / lengthscales_j)²), with the noise variance."""

    amplitude: float
    lengthscales: Array
    noise: float

    def __post_init__(self) -> None:
        lengthscales = np.array(self.lengthscales, dtype=float)
        lengthscales.setflags(write=False)
        object.__setattr__(self, "lengthscales", lengthscales)
        if not (math.isfinite(self.amplitude) and self.amplitude > 0):
            raise ValueError(f"amplitude must be positive and finite, but got {self.amplitude}")
        if lengthscales.ndim != 1 or not np.all(np.isfinite(lengthscales) & (lengthscales > 0)):
            raise ValueError(f"lengthscales must be a vector of positive numbers, but got {lengthscales}")
        if not (math.isfinite(self.noise) and self.noise > 0):
            raise ValueError(f"noise must be a positive variance, but got {self.noise}; give 1e-8 for none")

    @classmethod
    def from_theta(cls, theta: Array) -> Kernel:
        """The kernel with θ = log(amplitude, lengthscales …, noise)."""
        amplitude, *lengthscales, noise = np.exp(theta)
        return cls(float(amplitude), np.array(lengthscales), float(noise))

    @property
    def theta(self) -> Array:
        """log(amplitude, lengthscales …, noise)."""
        return np.asarray(np.log([self.amplitude, *self.lengthscales, self.noise]))

    @property
    def width(self) -> int:
        """d, the number of columns of a design."""
        return len(self.lengthscales)

    def __call__(self, A: Array, B: Array) -> Array:
        """κ(A, B), of shape (rows of A, rows of B); no noise."""
        return self.product(self.left(A), self.right(B))

    def gram(self, X: Array) -> Array:
        """K_y = κ(X, X) + noise · I, eq. 3."""
        K = self(X, X)
        K[np.diag_indices(len(X))] = self.amplitude + self.noise
        return K

    def gradient(self, x: Array, B: Array) -> Array:
        """∂κ(x, b_i) / ∂x_j for one x (d,) and all rows of B: (rows of B, d)."""
        return self.slope(self.left(x[None]), self.right(B)).T * (B - x) / self.lengthscales**2

    def contract(self, C: Array, Z: Array, left: Array) -> Array:
        """Σ_i W_iz ∂κ(z, x_i) / ∂z for every row z of Z, (m, d), given C = W ∘ η(X, Z), (n, m), and left(X).

        Since ∂κ(z, x)/∂z_j = η(z, x) (x_j − z_j) / ℓ_j², one product does it, and no (m, n, d) array.
        """
        sums = C.T @ left  # the last column of `left` is ones
        return np.asarray((sums[:, :-2] - sums[:, -1:] * (Z / self.lengthscales)) / self.lengthscales)

    # log κ(a, b) = aᵀb − ½|a|² − ½|b|² + log amplitude with a and b in units of the lengthscales. So it is
    # one product of a and b with two columns more: [a, −½|a|², 1] · [b, 1, log amplitude − ½|b|²].

    def left(self, A: Array) -> Array:
        """A's factor of log κ(A, ·); worth keeping where that is needed again and again."""
        return self._lifted(A, 0.0, swap=0)

    def right(self, B: Array) -> Array:
        """B's factor of log κ(·, B)."""
        return self._lifted(B, math.log(self.amplitude), swap=1)

    def product(self, left: Array, right: Array) -> Array:
        """κ(A, B) from left(A) and right(B)."""
        logarithm = self._logarithm(left, right)
        return np.exp(logarithm, out=logarithm)

    def slope(self, left: Array, right: Array) -> Array:
        """η(A, B), with which ∂κ(a, b)/∂a_j = η(a, b) (b_j − a_j) / ℓ_j²; for this kernel it is κ itself."""
        return self.product(left, right)

    def _logarithm(self, left: Array, right: Array) -> Array:
        """log amplitude − ½ r², r being the distance in units of the lengthscales."""
        logarithm = left @ right.T
        return np.minimum(logarithm, math.log(self.amplitude), out=logarithm)  # no distance below 0 by rounding

    def _lifted(self, A: Array, constant: float, swap: int) -> Array:
        d = self.width
        out = np.empty((len(A), d + 2))
        scaled = np.divide(A, self.lengthscales, out=out[:, :d])
        out[:, d + swap] = constant - 0.5 * np.einsum("ij,ij->i", scaled, scaled)
        out[:, d + 1 - swap] = 1.0
        return out


class Matern(Kernel):
    """Matérn 5/2: κ = amplitude · (1 + q + q²/3) e^−q with q = √5 r.

    Rougher than SE, so it believes its data less far. Its slope is η = amplitude · 5/3 (1 + q) e^−q.
    """

    def product(self, left: Array, right: Array) -> Array:
        q = self._root(left, right)
        return np.asarray(self.amplitude * (1 + q + q**2 / 3) * np.exp(-q))

    def slope(self, left: Array, right: Array) -> Array:
        q = self._root(left, right)
        return np.asarray(self.amplitude * (5 / 3) * (1 + q) * np.exp(-q))

    def _root(self, left: Array, right: Array) -> Array:
        return np.sqrt(10.0 * (math.log(self.amplitude) - self._logarithm(left, right)))


# One design --------------------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """Posterior at m configurations, with its gradients with respect to them."""

    mean: Array  # (m,) or (m, t)
    std: Array  # (m,)
    mean_gradient: Array  # (m, d) or (m, t, d)
    std_gradient: Array  # (m, d)


@dataclass(frozen=True, eq=False)
class GP:
    """A Gaussian process conditioned on one design; build it with `GP.fit`, grow it with `extend`.

    The mean function is m(x) = prior(x) + a constant for each column. The constant is the average of the
    residuals Y − prior unless a number was given (the papers' is 0). The generalised least squares estimate
    would serve as well: on the papers' SVM tasks, predictions with either err the same, within 1 %.
    """

    kernel: Kernel
    X: Array  # (n, d)
    Y: Array  # (n, t)
    prior: Array | None  # (n, t), values of the prior mean function at X
    mean: float | None  # the constant; None: each column's average
    flat: bool  # Y was given as a vector, so answers are vectors
    L: Array = field(repr=False)  # (n, n)
    jitter: float = field(repr=False)
    constant: Array = field(init=False, repr=False)  # (t,)
    alpha: Array = field(init=False, repr=False)  # (n, t)

    def __post_init__(self) -> None:
        residuals = self._residuals()
        constant = np.full(residuals.shape[1], 0.0 if self.mean is None else self.mean)
        if self.mean is None and len(residuals):
            constant = residuals.mean(axis=0)
        object.__setattr__(self, "constant", constant)
        object.__setattr__(self, "alpha", solve_cholesky(self.L, residuals - constant))  # eq. 5
        for array in (self.X, self.Y, self.prior, self.L, self.constant, self.alpha):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def fit(cls, kernel: Kernel, X: Array, Y: Array, *, mean: float | None = None, prior: Array | None = None) -> GP:
        """Condition on losses Y, (n,) or (n, t), at the design X (n, d); n = 0 gives the prior.

        mean: the constant of the mean function; None takes each column's average.
        prior: values at X of a prior mean function, (n,) or (n, t). Then `predict` needs its values too.
        """
        X = _matrix(X, "X", kernel.width).copy()
        columns = _columns(Y, "Y", len(X)).copy()
        if prior is not None:
            prior = np.broadcast_to(_columns(prior, "prior", len(X)), columns.shape).copy()
        if mean is not None and not math.isfinite(mean):
            raise ValueError(f"mean must be finite, but got {mean}")
        L, jitter = cholesky(kernel.gram(X))
        return cls(kernel, X, columns, prior, mean, np.ndim(Y) == 1, L, jitter)

    def extend(self, x: Array, y: float | Array, *, prior: float | Array | None = None) -> GP:
        """The same process with one more observation, in O(n²): equal to fitting anew (eq. 6).

        x (d,); y: its loss, or one for each column; prior: the prior mean at x, where there is one.
        """
        x = _matrix(np.reshape(x, (1, -1)), "x", self.kernel.width)
        self._check_prior(prior, "extend")
        X = np.vstack([self.X, x])
        Y = np.vstack([self.Y, _row(y, "y", self.Y.shape[1])])
        P = None
        if self.prior is not None and prior is not None:
            P = np.vstack([self.prior, _row(prior, "prior", self.Y.shape[1])])
        jitter = self.jitter
        try:
            corner = self.kernel.amplitude + self.kernel.noise + jitter
            L = extend_cholesky(self.L, self.kernel(x, self.X)[0], corner)
        except NotPositiveDefiniteError:
            L, jitter = cholesky(self.kernel.gram(X))
        return GP(self.kernel, X, Y, P, self.mean, self.flat, L, jitter)

    def predict_mean(self, Z: Array, *, prior: Array | None = None) -> Array:
        """Posterior mean at the rows of Z, (m,) or (m, t): eq. 5 without the variance."""
        Z = _matrix(Z, "Z", self.kernel.width)
        return self._mean(self.kernel(Z, self.X), prior)

    def predict(self, Z: Array, *, prior: Array | None = None) -> tuple[Array, Array]:
        """Posterior mean, (m,) or (m, t), and standard deviation of the function (without noise), (m,)."""
        Z = _matrix(Z, "Z", self.kernel.width)
        K = self.kernel(Z, self.X)
        V = solve_lower(self.L, K.T)
        return self._mean(K, prior), self._std(np.einsum("ij,ij->j", V, V))  # eq. 5

    def predict_with_gradients(self, Z: Array, *, prior: Array | None = None) -> Prediction:
        """`predict`, and the gradients of both with respect to the rows of Z.

        The gradient of the mean is without that of the prior mean function, which the caller adds.
        """
        Z = _matrix(Z, "Z", self.kernel.width)
        contract = partial(self.kernel.contract, Z=Z, left=self._left)
        right = self.kernel.right(Z)
        K = self.kernel.product(self._left, right)
        E = K if type(self.kernel) is Kernel else self.kernel.slope(self._left, right)
        slopes = [contract(E * column[:, None]) for column in self.alpha.T]
        V = solve_cholesky(self.L, K)
        explained = np.einsum("ij,ij->j", K, V)
        std = self._std(explained)
        # ∂(κ** − kᵀ K_y⁻¹ k) = −2 (∂k)ᵀ K_y⁻¹ k, and ∂√v = ∂v / 2√v; where v is at its floor, it is flat
        free = self.kernel.amplitude - explained > LEAST_VARIANCE * self.kernel.amplitude
        std_gradient = np.where(free[:, None], -contract(E * V) / std[:, None], 0.0)
        mean_gradient = slopes[0] if self.flat else np.stack(slopes, axis=1)
        return Prediction(self._mean(K.T, prior), std, mean_gradient, std_gradient)

    def loo(self) -> tuple[Array, Array]:
        """What each observation's loss would have been predicted to be without it: mean and std.

        In closed form from K_y⁻¹ (Rasmussen and Williams, eq. 5.12), equal to n refits; where the constant
        is an average, it too is the average of the others. The std includes the noise, as it is that of an
        observation, so that (Y − mean) / std should look standard normal.
        """
        n, residuals = len(self.X), self._residuals()
        P = inverse(self.L)
        constant = self.constant
        if self.mean is None:
            constant = (residuals.sum(axis=0) - residuals) / max(n - 1, 1)
        precision = P.diagonal()[:, None]
        error = (P @ residuals - constant * P.sum(axis=1)[:, None]) / precision
        return self._shape(self.Y - error), np.sqrt(1.0 / precision[:, 0])

    def log_marginal_likelihood(self) -> float:
        """log p(Y | X, θ), summed over the columns."""
        residuals = self._residuals() - self.constant
        return _log_likelihood(self.L, residuals, self.alpha)

    @cached_property
    def _left(self) -> Array:
        return self.kernel.left(self.X)

    def _residuals(self) -> Array:
        return self.Y if self.prior is None else self.Y - self.prior

    def _std(self, explained: Array) -> Array:
        least = LEAST_VARIANCE * self.kernel.amplitude
        return np.asarray(np.sqrt(np.maximum(self.kernel.amplitude - explained, least)))

    def _mean(self, K: Array, prior: Array | None) -> Array:
        self._check_prior(prior, "predict")
        mean = self.constant + K @ self.alpha
        return self._shape(mean if prior is None else mean + _columns(prior, "prior", len(K)))

    def _shape(self, columns: Array) -> Array:
        return columns[:, 0] if self.flat else columns

    def _check_prior(self, prior: float | Array | None, verb: str) -> None:
        if (prior is None) != (self.prior is None):
            given, had = ("no prior values", "with") if prior is None else ("prior values", "without")
            raise ValueError(f"{verb} got {given}, but the GP was fitted {had} a prior mean; be consistent")


# Hyperparameters ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prior:
    """Log-normal priors on the hyperparameters, each as (mode, standard deviation of the logarithm).

    Amplitude and noise are relative to the variance of the targets. By default the lengthscale's mode is
    that of BoTorch, exp(√2 − 3) √d ≈ 0.2 √d (Hvarfner et al. 2024: distances in the unit cube grow with √d,
    and so should lengthscales). Its spread is narrower than BoTorch's √3 and the noise a little higher. Both
    were picked among 25 settings by how well 5 to 40 observations of one of the papers' SVM tasks predict its
    other configurations (at 20: RMSE .219, against .225 with BoTorch's lengthscales and noise and .255 without
    a prior, on losses in [0, 1]); so on that data these figures flatter a little.
    """

    amplitude: tuple[float, float] = (1.0, 1.0)
    lengthscale: tuple[float, float] | None = None
    noise: tuple[float, float] = (1e-2, 1.0)

    def __post_init__(self) -> None:
        for name in ("amplitude", "lengthscale", "noise"):
            pair = getattr(self, name)
            if pair is not None and not all(math.isfinite(value) and value > 0 for value in pair):
                raise ValueError(f"{name} must be a positive mode and spread, but got {pair}")

    def normal(self, d: int) -> tuple[Array, Array]:
        """Mean and standard deviation of θ under this prior, for d lengthscales.

        A log-normal density of ℓ is, as a function of log ℓ and up to a constant, a normal density
        centred at the log of its mode.
        """
        scaled = (math.exp(math.sqrt(2) - 3) * math.sqrt(d), 0.75)
        pairs = [self.amplitude, *[self.lengthscale or scaled] * d, self.noise]
        mode, spread = np.array(pairs).T
        return np.log(mode), spread


@dataclass(frozen=True)
class Bounds:
    """Least and greatest hyperparameters; amplitude and noise relative to the variance of the targets."""

    amplitude: tuple[float, float] = (1e-2, 1e3)
    lengthscale: tuple[float, float] = (2e-2, 50.0)
    noise: tuple[float, float] = (1e-6, 1.0)

    def __post_init__(self) -> None:
        for name in ("amplitude", "lengthscale", "noise"):
            low, high = getattr(self, name)
            if not 0 < low <= high < math.inf:
                raise ValueError(f"{name} needs 0 < low <= high, but got low={low}, high={high}")

    def log(self, d: int) -> tuple[Array, Array]:
        """The least and the greatest θ, for d lengthscales."""
        low, high = np.log(np.array([self.amplitude, *[self.lengthscale] * d, self.noise])).T
        return low, high


def log_marginal_likelihood(
    theta: Array, groups: Sequence[tuple[Array, Array]], *, free_mean: bool = False, kind: type[Kernel] = Kernel
) -> tuple[float, Array]:
    """Σ log p(Y | X, θ) over groups of design X (n, d) and centred losses Y (n, t), and its gradient in θ.

    free_mean: take each column's most likely constant instead of 0; at that maximum it adds nothing to the
    gradient.

    With G = ααᵀ − t K_y⁻¹, ∂/∂θ_j = ½ Σ G ∘ ∂K_y/∂θ_j (Rasmussen and Williams, eq. 5.9). For log ℓ_k,
    ∂K = η ∘ (x_ik − x_jk)² / ℓ_k²; as M = G ∘ η is symmetric, with r its row sums and x scaled by 1/ℓ,

        ½ Σ_ij M_ij (x_ik − x_jk)² = Σ_i r_i x_ik² − Σ_ij x_ik M_ij x_jk,

    which needs one product M x for all k, and no (n, n, d) array.
    """
    kernel = kind.from_theta(theta)
    value, gradient = 0.0, np.zeros_like(theta)
    for X, Y in groups:
        K = kernel.gram(X)
        L, _ = cholesky(K)
        if free_mean:
            Y = Y - likely_mean(L, Y)
        alpha = solve_cholesky(L, Y)
        value += _log_likelihood(L, Y, alpha)
        G = alpha @ alpha.T - Y.shape[1] * inverse(L)
        diagonal = G.diagonal().sum()
        M = G * (K if kind is Kernel else kernel.slope(kernel.left(X), kernel.right(X)))
        scaled = X / kernel.lengthscales
        gradient[0] += 0.5 * (np.vdot(G, K) - kernel.noise * diagonal)
        gradient[1:-1] += M.sum(axis=1) @ scaled**2 - np.einsum("ik,ik->k", scaled, M @ scaled)
        gradient[-1] += 0.5 * kernel.noise * diagonal
    return value, gradient


def likely_mean(L: Array, Y: Array) -> Array:
    """The most likely constant of each column of Y (n, t), 1ᵀK⁻¹Y / 1ᵀK⁻¹1: generalised least squares.

    Unlike the average, it does not count a cluster of trials around the best one many times over.
    """
    weights = solve_cholesky(L, np.ones(len(Y)))
    return np.asarray(weights @ Y / weights.sum())


def fit_kernel(
    groups: Sequence[tuple[Array, Array]],
    *,
    rng: np.random.Generator,
    restarts: int = 2,
    prior: Prior | None = None,
    bounds: Bounds | None = None,
    start: Kernel | None = None,
    mean: float | None = None,
    free_mean: bool = False,
    max_rows: int = 128,
    max_total: int = 4096,
    kind: type[Kernel] = Kernel,
) -> Kernel:
    """The hyperparameters most likely for all groups together, by L-BFGS-B from several starts.

    groups: designs X (n, d) with losses Y, (n,) or (n, t). Those with the same design are merged, so that
        a history may be passed task by task. Groups of fewer than two rows say nothing and are left out.
    restarts: how many random starts are descended from, beside `start` or the default one.
    prior: None maximises the likelihood (for a history); `Prior()` the posterior (for a single run).
    start: where to begin, for instance the kernel of the step before.
    mean: what is subtracted from the losses; None subtracts each column's average.
    free_mean: take the constant that is most likely beside the hyperparameters, whatever `mean` is.
    max_rows, max_total: a design with more rows is represented by that many of them, drawn at random, and
        designs are drawn until they have max_total rows together. Restarts are tried on an eighth of that,
        and the best goes on with all. The cost is O(max_total · max_rows²).
    kind: the kernel, SE-ARD or Matern.

    The result does not depend on the order of the groups, and scales with the losses (twice the loss, four
    times the amplitude and noise). If no loss varies, the start is returned.
    """
    if not groups:
        raise ValueError("groups is empty: a kernel can only be fitted to at least one design")
    d = np.shape(groups[0][0])[-1]
    sample = _sample(_centred(groups, mean), rng, max_rows, max_total)
    size = max(sum(Y.size for _, Y in sample), 1)
    scale = math.sqrt(sum(float(np.sum(Y**2)) for _, Y in sample) / size) or 1.0
    units = np.zeros(d + 2)  # θ of the losses = θ of the scaled losses + units
    units[[0, -1]] = 2 * math.log(scale)
    normal = (prior or Prior()).normal(d)
    low, high = (bounds or Bounds()).log(d)
    first = np.clip(normal[0] if start is None else start.theta - units, low, high)
    if not any(Y.any() for _, Y in sample):
        return start or kind.from_theta(first + units)

    scaled = [(X, Y / scale) for X, Y in sample]
    few = _sample(scaled, rng, max_rows, max_total // 8)
    varies = np.array([True, *np.any([np.ptp(X, axis=0) > 0 for X, _ in scaled], axis=0), True])
    random = first + varies * rng.normal(size=(restarts, d + 2))

    def descend(theta: Array, part: list[tuple[Array, Array]]) -> Any:
        assumed = None if prior is None else normal
        objective = partial(_negative_posterior, groups=part, normal=assumed, free_mean=free_mean, kind=kind)
        limits = list(zip(low, high, strict=True))
        options = {"maxiter": 100, "ftol": 1e-8, "gtol": 1e-5}
        return minimize(objective, theta, jac=True, method="L-BFGS-B", bounds=limits, options=options)

    runs = [descend(theta, few) for theta in (first, *np.clip(random, low, high))]
    best = min(runs, key=lambda run: float(run.fun)).x
    if len(few) < len(scaled):
        best = descend(best, scaled).x
    return kind.from_theta(best + units)


def _negative_posterior(
    theta: Array,
    groups: Sequence[tuple[Array, Array]],
    normal: tuple[Array, Array] | None,
    free_mean: bool = False,
    kind: type[Kernel] = Kernel,
) -> tuple[float, Array]:
    """−(log likelihood + log prior) per observation, which gives the tolerances a meaning, and gradient."""
    value, gradient = log_marginal_likelihood(theta, groups, free_mean=free_mean, kind=kind)
    if normal is not None:
        deviation = (theta - normal[0]) / normal[1]
        value -= 0.5 * float(deviation @ deviation)
        gradient -= deviation / normal[1]
    size = sum(Y.size for _, Y in groups)
    return -value / size, -gradient / size


def _centred(groups: Sequence[tuple[Array, Array]], mean: float | None) -> list[tuple[Array, Array]]:
    """Groups with different designs, in an order that depends only on their content, and centred losses."""
    designs, losses = [], []
    for X, Y in groups:
        columns = _columns(Y, "Y", len(X))
        designs += [X] * columns.shape[1]
        losses += list(columns.T)
    rows, shared = share_designs(designs, losses)
    shared = sorted((group for group in shared if len(group.rows) > 1), key=lambda group: group.rows.tolist())
    out = []
    for group in shared:
        Y = group.Y[:, np.lexsort(group.Y)]
        out.append((rows[group.rows], Y - (Y.mean(axis=0) if mean is None else mean)))
    return out


def _sample(
    groups: list[tuple[Array, Array]], rng: np.random.Generator, max_rows: int, max_total: int
) -> list[tuple[Array, Array]]:
    """At most max_rows rows of each group, and groups at random until they have max_total rows."""
    if max_rows < 2:
        raise ValueError(f"max_rows must be at least 2, but got {max_rows}")
    sample: list[tuple[Array, Array]] = []
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


def _log_likelihood(L: Array, Y: Array, alpha: Array) -> float:
    """Σ over columns of −½ yᵀα − Σ log L_ii − n/2 log 2π (Rasmussen and Williams, algorithm 2.1, line 7)."""
    n, t = Y.shape
    constant = np.log(L.diagonal()).sum() + 0.5 * n * math.log(2 * math.pi)
    return float(-0.5 * np.sum(Y * alpha) - t * constant)


# All tasks of a history --------------------------------------------------------------------------------


class SharedDesign(NamedTuple):
    """One design, and the tasks that were evaluated on it."""

    rows: npt.NDArray[np.intp]  # (n,) which of the distinct rows form the design, ascending
    Y: Array  # (n, t)
    tasks: npt.NDArray[np.intp]  # (t,) their places in the history


def share_designs(designs: Sequence[Array], losses: Sequence[Array]) -> tuple[Array, list[SharedDesign]]:
    """The distinct rows (u, d) of all designs, in lexicographic order, and the tasks grouped by design.

    The order in which a task's configurations were evaluated plays no part.
    """
    if len(designs) != len(losses):
        raise ValueError(f"there must be losses for every design, but got {len(designs)} and {len(losses)}")
    if not designs:
        raise ValueError("there are no tasks; give at least one design")
    width = np.shape(designs[0])[-1]
    checked = [_matrix(X, f"design {i}", width) for i, X in enumerate(designs)]
    rows, identity = _distinct(np.concatenate(checked))
    ends = np.cumsum([len(X) for X in checked])
    members: dict[bytes, list[tuple[int, Array]]] = {}
    for task, (places, y) in enumerate(zip(np.split(identity, ends[:-1]), losses, strict=True)):
        column = _columns(y, f"losses of task {task}", len(places))
        if column.shape[1] != 1:
            raise ValueError(f"losses of task {task} must be a vector, but have shape {np.shape(y)}")
        order = np.argsort(places, kind="stable")
        members.setdefault(places[order].tobytes(), []).append((task, column[order, 0]))
    groups = [
        SharedDesign(
            np.frombuffer(key, dtype=np.intp),
            np.stack([y for _, y in tasks], axis=1),
            np.array([task for task, _ in tasks]),
        )
        for key, tasks in members.items()
    ]
    return rows, groups


def _distinct(rows: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """The distinct rows in lexicographic order, and which of them each row is (as np.unique, but faster)."""
    order = np.lexsort(rows.T[::-1])
    ranked = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    identity = np.empty(len(rows), dtype=np.intp)
    identity[order] = np.cumsum(new) - 1
    return ranked[new], identity


class _Block(NamedTuple):
    """Some distinct rows, and what they weigh in the tasks they occur in."""

    left: Array  # (r, d + 2), the rows' factor of the kernel
    tasks: npt.NDArray[np.intp]  # (t,)
    alpha: Any  # (t, r), a dense array or, where most of it would be zero, a sparse one


@dataclass(frozen=True, eq=False)
class TaskGPs:
    """The Gaussian processes of all tasks of a history under one kernel; build it with `TaskGPs.fit`.

    f_D(z) = mean_D + Σ_i α_iD κ(u_i, z), where u_i runs over the distinct rows of all designs and α_iD is
    zero where task D lacks row i. So a configuration that many tasks share meets the kernel only once. Rows
    are taken in blocks in the order in which tasks use them, so that a block concerns few tasks when designs
    differ and its weights are dense when designs are shared. Memory: the weights, and one block at a time.
    """

    kernel: Kernel
    means: Array  # (tasks,), the constant of each task's mean function
    rows: Array = field(repr=False)  # (u, d)
    groups: tuple[SharedDesign, ...] = field(repr=False)
    blocks: tuple[_Block, ...] = field(repr=False)

    BLOCK = 1024  # rows in a block
    CHUNK = 256  # configurations predicted at once
    DENSE = 0.1  # weights with a larger share of nonzeros than this are stored densely
    KEEP = 2**23  # numbers `pullback` may keep for its second half

    @classmethod
    def fit(
        cls, designs: Sequence[Array], losses: Sequence[Array], kernel: Kernel, *, mean: float | None = None
    ) -> TaskGPs:
        """A process for each design X (n, d) and losses y (n,); tasks with the same design share the work.

        mean: the constant of the mean function (the papers' is 0); None takes each task's average loss.
        """
        rows, groups = share_designs(designs, losses)
        _matrix(rows, "designs", kernel.width)
        means = np.full(len(losses), 0.0 if mean is None else mean)
        if mean is None:
            means = np.array([np.mean(y) if len(y) else 0.0 for y in losses])
        values, places, tasks = [np.empty(0)], [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for group in groups:
            L, _ = cholesky(kernel.gram(rows[group.rows]))
            values.append(solve_cholesky(L, group.Y - means[group.tasks]).ravel())
            places.append(np.repeat(group.rows, len(group.tasks)))
            tasks.append(np.tile(group.tasks, len(group.rows)))
        coordinates = (np.concatenate(tasks), np.concatenate(places))
        alpha = sparse.csc_array((np.concatenate(values), coordinates), shape=(len(designs), len(rows)))
        used, first = np.unique(coordinates[1], return_index=True)
        order = used[np.argsort(first)]  # of first use
        blocks = cls._blocks(kernel.left(rows[order]), alpha[:, order])
        return cls(kernel, means, rows, tuple(groups), tuple(blocks))

    @classmethod
    def _blocks(cls, left: Array, alpha: Any) -> Iterator[_Block]:
        for s in range(0, len(left), cls.BLOCK):
            part = alpha[:, s : s + cls.BLOCK].tocsr()
            concerned = np.flatnonzero(np.diff(part.indptr))
            part = part[concerned]
            dense = part.nnz > cls.DENSE * part.shape[0] * part.shape[1]
            yield _Block(left[s : s + cls.BLOCK], concerned, part.toarray() if dense else part)

    def __len__(self) -> int:
        return len(self.means)

    def predict(self, Z: Array) -> Array:
        """Posterior means of all tasks, (m, tasks), in the order in which tasks were given."""
        Z = _matrix(Z, "Z", self.kernel.width)
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, K in self._kernels(Z):
            mean[block.tasks, part] += block.alpha @ K
        return mean.T

    def std(self, Z: Array) -> Array:
        """Posterior standard deviations (without noise), (m, tasks).

        Factorises every distinct design again: keeping the factors of 1,000 designs would take a gigabyte.
        """
        out = np.empty((len(Z), len(self)))
        for group in self.groups:
            nothing = np.zeros((len(group.rows), 0))  # the std does not depend on the losses
            out[:, group.tasks] = GP.fit(self.kernel, self.rows[group.rows], nothing).predict(Z)[1][:, None]
        return out

    def predict_with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Posterior means (m, tasks), and their gradients with respect to the rows of Z, (m, tasks, d)."""
        Z = _matrix(Z, "Z", self.kernel.width)
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        gradient = np.zeros((len(self), len(Z), self.kernel.width))
        for (part, block, K), (_, _, E) in zip(self._kernels(Z), self._kernels(Z, slope=True), strict=True):
            mean[block.tasks, part] += block.alpha @ K
            F = block.alpha @ E
            for j, z in enumerate((Z[part] / self.kernel.lengthscales).T):  # as in Kernel.contract
                gradient[block.tasks, part, j] += block.alpha @ (E * block.left[:, j, None]) - F * z
        return mean.T, gradient.transpose(1, 0, 2) / self.kernel.lengthscales

    def pullback(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Posterior means (m, tasks), and the function W (m, tasks) ↦ Σ_D W_D ∂f_D(z)/∂z, (m, d).

        That is all the gradient of a loss of the predictions needs (W: its derivatives by them), and it
        costs about as much as the predictions, whereas `predict_with_gradient` costs d times as much.
        """
        Z = _matrix(Z, "Z", self.kernel.width).copy()  # optimisers reuse their buffers
        kept = list(self._kernels(Z)) if len(Z) * len(self.rows) <= self.KEEP else None
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, K in kept or self._kernels(Z):
            mean[block.tasks, part] += block.alpha @ K

        def pull(W: Array) -> Array:
            total = np.zeros(Z.shape)
            same = type(self.kernel) is Kernel
            for part, block, E in (kept if same else None) or self._kernels(Z, slope=True):
                weights = block.alpha.T @ W[part].T[block.tasks]
                total[part] += self.kernel.contract(E * weights, Z[part], block.left)
            return total

        return mean.T, pull

    def _kernels(self, Z: Array, *, slope: bool = False) -> Iterator[tuple[slice, _Block, Array]]:
        """κ(block, part of Z) for every block and part, or η."""
        product = self.kernel.slope if slope else self.kernel.product
        for s in range(0, len(Z), self.CHUNK):
            part = slice(s, s + self.CHUNK)
            right = self.kernel.right(Z[part])
            for block in self.blocks:
                yield part, block, product(block.left, right)


# Input -------------------------------------------------------------------------------------------------


def _matrix(values: Array, name: str, width: int) -> Array:
    """A finite matrix of floats with that many columns, copied unless it is one already."""
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise ValueError(f"{name} must have shape (rows, {width}), but has {matrix.shape}")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise ValueError(f"{name} must be finite, but row {row} is {matrix[row]}; encode or drop it first")
    return matrix


def _columns(values: Array, name: str, rows: int) -> Array:
    """A vector (n,) or matrix (n, t) as a finite matrix of columns."""
    columns = np.asarray(values, dtype=float)
    if columns.ndim not in (1, 2) or len(columns) != rows:
        raise ValueError(f"{name} must have {rows} rows, as the design has, but has shape {columns.shape}")
    if columns.ndim == 1:
        columns = columns[:, None]
    if not np.isfinite(columns).all():
        row = int(np.flatnonzero(~np.isfinite(columns).all(axis=1))[0])
        raise ValueError(f"{name} must be finite, but row {row} is {columns[row]}; give failures a loss")
    return columns


def _row(values: float | Array, name: str, columns: int) -> Array:
    """One finite value for each column, (1, t); a single one serves them all."""
    row = _columns(np.reshape(values, (1, -1)), name, 1)
    if row.shape[1] not in (1, columns):
        raise ValueError(f"{name} must be one value or {columns}, one for each column, but is {row}")
    return np.broadcast_to(row, (1, columns))
