"""Gaussian processes as the formulas state them, with dense matrices and explicit inverses, and numeric gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headstart._support.types import Array
from headstart.gp import Kernel, Matern, SquaredExponential

LENGTHSCALES = np.array([0.3, 0.8, 2.0])
KERNEL = SquaredExponential(amplitude=1.7, lengthscales=LENGTHSCALES, noise=0.01)
KERNELS: dict[str, Kernel] = {"squared exponential": KERNEL, "matern": Matern(1.7, LENGTHSCALES, 0.01)}


def data(n: int, t: int | None = None, seed: int = 0, d: int = 3) -> tuple[Array, Array]:
    """A design X (n, d) and smooth noisy losses, (n,) or (n, t)."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    Y = np.sin(5 * X @ rng.random((d, t or 1))) + 0.1 * rng.normal(size=(n, t or 1))
    return X, Y if t else Y[:, 0]


def numeric_gradient(f: Callable[[Array], Array], x: Array, step: float = 1e-5) -> Array:
    """Central differences of f at x, along a new last axis."""
    steps = step * np.eye(len(x))
    return np.stack([(f(x + h) - f(x - h)) / (2 * step) for h in steps], axis=-1)


def dense_distance(kernel: Kernel, A: Array, B: Array) -> Array:
    """r, the distance in units of the lengthscales."""
    return np.asarray(np.sqrt((((A[:, None, :] - B[None, :, :]) / kernel.lengthscales) ** 2).sum(axis=-1)))


def dense_kernel(kernel: Kernel, A: Array, B: Array) -> Array:
    """κ(A, B)."""
    r = dense_distance(kernel, A, B)
    if isinstance(kernel, Matern):
        return np.asarray(kernel.amplitude * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r))
    return np.asarray(kernel.amplitude * np.exp(-0.5 * r**2))


def dense_posterior(kernel: Kernel, X: Array, Y: Array, Z: Array, mean: float | Array) -> tuple[Array, Array]:
    """Posterior mean and standard deviation by eq. 4, with an explicit inverse."""
    inverse = np.linalg.inv(dense_kernel(kernel, X, X) + kernel.noise * np.eye(len(X)))
    k = dense_kernel(kernel, X, Z)
    covariance = dense_kernel(kernel, Z, Z) - k.T @ inverse @ k
    return mean + k.T @ inverse @ (Y - mean), np.sqrt(covariance.diagonal())
