"""Kernels: squared exponential with a length-scale for each dimension, and Matérn; their factors and gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headstart.linalg import (
    Array,
)


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
