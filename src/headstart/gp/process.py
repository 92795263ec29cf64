"""A Gaussian process on one design, for one task or for several that share it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp.arrays import as_columns, as_matrix, as_row
from headstart.gp.kernels import Kernel
from headstart.gp.linalg import NotPositiveDefiniteError, cholesky, extend_cholesky, solve_cholesky, solve_lower

LEAST_VARIANCE = 1e-12
"""Posterior variances below this share of the amplitude are rounding error and are raised to it. A guess."""


class Prediction(NamedTuple):
    """Posterior at m configurations, with gradients with respect to them."""

    mean: Array  # (m,) or (m, t)
    std: Array  # (m,)
    mean_gradient: Array  # (m, d) or (m, t, d)
    std_gradient: Array  # (m, d)


@dataclass(frozen=True, eq=False)
class GP:
    """A Gaussian process conditioned on one design. Build it with `GP.fit` and grow it with `extend`.

    The mean function is m(x) = prior(x) + a constant for each column. By default the constant is the average of the
    residuals Y − prior (in the papers it is 0). The generalised least squares estimate does as well: on the papers'
    SVM tasks, the errors of both agree within 1%.
    """

    kernel: Kernel
    X: Array  # (n, d)
    Y: Array  # (n, t)
    prior: Array | None  # (n, t) values of the prior mean function at X
    mean: float | None  # the constant; None for each column's average
    flat: bool  # Y was given as a vector, so predictions are vectors too
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
        prior: values of a prior mean function at X, (n,) or (n, t). Then `predict` needs its values at Z.
        """
        X = as_matrix(X, "X", kernel.width).copy()
        columns = as_columns(Y, "Y", len(X)).copy()
        if prior is not None:
            prior = np.broadcast_to(as_columns(prior, "prior", len(X)), columns.shape).copy()
        if mean is not None and not math.isfinite(mean):
            raise ArgumentError(f"mean must be finite, but got {mean}")
        L, jitter = cholesky(kernel.gram(X))
        return cls(kernel, X, columns, prior, mean, np.ndim(Y) == 1, L, jitter)

    def extend(self, x: Array, y: float | Array, *, prior: float | Array | None = None) -> GP:
        """The same process with one more observation, in O(n²): equal to a refit (eq. 6).

        x (d,); y: its loss, or one for each column; prior: the prior mean at x, if the process has one.
        """
        x = as_matrix(np.reshape(x, (1, -1)), "x", self.kernel.width)
        self._check_prior(prior, "extend")
        X = np.vstack([self.X, x])
        Y = np.vstack([self.Y, as_row(y, "y", self.Y.shape[1])])
        priors = None
        if self.prior is not None and prior is not None:
            priors = np.vstack([self.prior, as_row(prior, "prior", self.Y.shape[1])])
        jitter = self.jitter
        try:
            corner = self.kernel.amplitude + self.kernel.noise + jitter
            L = extend_cholesky(self.L, self.kernel(x, self.X)[0], corner)
        except NotPositiveDefiniteError:
            L, jitter = cholesky(self.kernel.gram(X))
        return GP(self.kernel, X, Y, priors, self.mean, self.flat, L, jitter)

    def predict_mean(self, Z: Array, *, prior: Array | None = None) -> Array:
        """Posterior mean at the rows of Z, (m,) or (m, t): eq. 5 without its variance."""
        Z = as_matrix(Z, "Z", self.kernel.width)
        return self._mean(self.kernel(Z, self.X), prior)

    def predict(self, Z: Array, *, prior: Array | None = None) -> tuple[Array, Array]:
        """Posterior mean, (m,) or (m, t), and standard deviation (m,) of the function, without noise."""
        Z = as_matrix(Z, "Z", self.kernel.width)
        K = self.kernel(Z, self.X)
        half = solve_lower(self.L, K.T)  # L⁻¹ k
        return self._mean(K, prior), self._std(np.einsum("ij,ij->j", half, half))  # eq. 5

    def predict_with_gradients(self, Z: Array, *, prior: Array | None = None) -> Prediction:
        """`predict`, with the gradients of mean and standard deviation with respect to the rows of Z.

        The gradient of the mean does not include that of the prior mean function; the caller has to add it.
        """
        Z = as_matrix(Z, "Z", self.kernel.width)
        contract = partial(self.kernel.contract, Z=Z, left=self._left)
        right = self.kernel.right(Z)
        K, E = self.kernel.value_and_slope(self._left, right)
        slopes = [contract(E * column[:, None]) for column in self.alpha.T]
        beta = solve_cholesky(self.L, K)  # K_y⁻¹ k
        explained = np.einsum("ij,ij->j", K, beta)
        std = self._std(explained)
        # ∂(κ** − kᵀ K_y⁻¹ k) = −2 (∂k)ᵀ K_y⁻¹ k and ∂√v = ∂v / 2√v; where v is raised to its minimum, it is constant
        free = self.kernel.amplitude - explained > LEAST_VARIANCE * self.kernel.amplitude
        std_gradient = np.where(free[:, None], -contract(E * beta) / std[:, None], 0.0)
        mean_gradient = slopes[0] if self.flat else np.stack(slopes, axis=1)
        return Prediction(self._mean(K.T, prior), std, mean_gradient, std_gradient)

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
        return self._shape(mean if prior is None else mean + as_columns(prior, "prior", len(K)))

    def _shape(self, columns: Array) -> Array:
        return columns[:, 0] if self.flat else columns

    def _check_prior(self, prior: float | Array | None, verb: str) -> None:
        if (prior is None) != (self.prior is None):
            given, had = ("no prior values", "with") if prior is None else ("prior values", "without")
            raise ArgumentError(f"{verb} got {given}, but the GP was fitted {had} a prior mean")
