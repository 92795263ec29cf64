"""Kernels with a lengthscale for each dimension: squared exponential and Matérn 5/2.

Both are functions of the distance r in units of the lengthscales, and both have gradients of the form

    ∂κ(a, b)/∂a_j = η(a, b) (b_j − a_j) / ℓ_j²,

so a kernel only has to define its value κ and its slope η; they share everything else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError

Kind = TypeVar("Kind", bound="Kernel")


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """The common part of all kernels: hyperparameters, Gram matrices, gradients and the factors of the distance."""

    amplitude: float
    lengthscales: Array
    noise: float

    def __post_init__(self) -> None:
        lengthscales = np.array(self.lengthscales, dtype=float)
        lengthscales.setflags(write=False)
        object.__setattr__(self, "lengthscales", lengthscales)
        if not (math.isfinite(self.amplitude) and self.amplitude > 0):
            raise ArgumentError(f"amplitude must be positive and finite, but got {self.amplitude}")
        if lengthscales.ndim != 1 or not np.all(np.isfinite(lengthscales) & (lengthscales > 0)):
            raise ArgumentError(f"lengthscales must be a vector of positive numbers, but got {lengthscales}")
        if not (math.isfinite(self.noise) and self.noise > 0):
            raise ArgumentError(f"noise must be a positive variance, but got {self.noise}", "use 1e-8 for exact data")

    @classmethod
    def from_theta(cls: type[Kind], theta: Array) -> Kind:
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
        """κ(A, B), of shape (rows of A, rows of B), without noise."""
        return self.product(self.left(A), self.right(B))

    def gram(self, X: Array) -> Array:
        """K_y = κ(X, X) + noise · I, eq. 3."""
        return self._with_noise(self(X, X))

    def gram_and_slope(self, X: Array) -> tuple[Array, Array]:
        """K_y and η(X, X); the diagonal of η does not enter any gradient."""
        K, E = self.value_and_slope(self.left(X), self.right(X))
        return self._with_noise(K), E

    def _with_noise(self, K: Array) -> Array:
        K[np.diag_indices(len(K))] = self.amplitude + self.noise
        return K

    def contract(self, C: Array, Z: Array, left: Array) -> Array:
        """Σ_i W_iz ∂κ(z, x_i) / ∂z for every row z of Z, (m, d), given C = W ∘ η(X, Z), (n, m), and left(X).

        Since ∂κ(z, x)/∂z_j = η(z, x) (x_j − z_j) / ℓ_j², one matrix product is enough; no (m, n, d) array is needed.
        """
        sums = C.T @ left  # the last column of `left` is ones
        return np.asarray((sums[:, :-2] - sums[:, -1:] * (Z / self.lengthscales)) / self.lengthscales)

    # With a and b in units of the lengthscales, log amplitude − ½ r² = aᵀb − ½|a|² − ½|b|² + log amplitude. This is
    # one product of two vectors with two more columns each: [a, −½|a|², 1] · [b, 1, log amplitude − ½|b|²].

    def left(self, A: Array) -> Array:
        """A's factor of log amplitude − ½ r²; worth keeping if it is used repeatedly."""
        return self._lifted(A, 0.0, swap=0)

    def right(self, B: Array) -> Array:
        """B's factor of log amplitude − ½ r²."""
        return self._lifted(B, math.log(self.amplitude), swap=1)

    @abstractmethod
    def product(self, left: Array, right: Array) -> Array:
        """κ(A, B) from left(A) and right(B)."""

    @abstractmethod
    def value_and_slope(self, left: Array, right: Array) -> tuple[Array, Array]:
        """κ(A, B) and η(A, B) from left(A) and right(B); both may be the same array."""

    def _logarithm(self, left: Array, right: Array) -> Array:
        """log amplitude − ½ r², where r is the distance in units of the lengthscales."""
        logarithm = left @ right.T
        return np.minimum(logarithm, math.log(self.amplitude), out=logarithm)  # rounding must not make r² negative

    def _lifted(self, A: Array, constant: float, swap: int) -> Array:
        d = self.width
        out = np.empty((len(A), d + 2))
        scaled = np.divide(A, self.lengthscales, out=out[:, :d])
        out[:, d + swap] = constant - 0.5 * np.einsum("ij,ij->i", scaled, scaled)
        out[:, d + 1 - swap] = 1.0
        return out


class SquaredExponential(Kernel):
    """SE-ARD: κ(x, z) = amplitude · exp(−½ Σ_j ((x_j − z_j) / lengthscales_j)²). Its slope η equals κ."""

    def product(self, left: Array, right: Array) -> Array:
        logarithm = self._logarithm(left, right)
        return np.exp(logarithm, out=logarithm)

    def value_and_slope(self, left: Array, right: Array) -> tuple[Array, Array]:
        K = self.product(left, right)
        return K, K


class Matern(Kernel):
    """Matérn 5/2: κ = amplitude · (1 + q + q²/3) e^−q with q = √5 r.

    It is rougher than SE and so extrapolates less. Its slope is η = amplitude · 5/3 (1 + q) e^−q.
    """

    def product(self, left: Array, right: Array) -> Array:
        q = self._root(left, right)
        return np.asarray(self.amplitude * (1 + q + q**2 / 3) * np.exp(-q))

    def value_and_slope(self, left: Array, right: Array) -> tuple[Array, Array]:
        q = self._root(left, right)
        decay = np.exp(-q)
        return (
            np.asarray(self.amplitude * (1 + q + q**2 / 3) * decay),
            np.asarray(self.amplitude * (5 / 3) * (1 + q) * decay),
        )

    def _root(self, left: Array, right: Array) -> Array:
        """q = √5 r."""
        return np.sqrt(10.0 * (math.log(self.amplitude) - self._logarithm(left, right)))
