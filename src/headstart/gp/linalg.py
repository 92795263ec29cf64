"""The linear algebra of Gaussian processes: Cholesky factors and solves.

Symbols: K (n, n) symmetric positive definite, L (n, n) its lower Cholesky factor, K = L Lᵀ.

The functions call LAPACK directly, because at the usual sizes (n = 5 … 300) SciPy's general wrappers cost as much as
the computation. Factors are Fortran-ordered, as LAPACK expects and returns them. All functions accept n = 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from headstart._support.types import Array

JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""`cholesky` adds these multiples of the mean diagonal to the diagonal, one after another, until it succeeds."""


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix has no Cholesky factor, even with the largest jitter."""


def cholesky(K: Array) -> tuple[Array, float]:
    """L with L Lᵀ = K + jitter · I, and the jitter: the smallest of `JITTERS` with which it exists.

    If the smallest pivot is no larger than rounding error, the factor counts as non-existent, because solutions with
    it could have any size. Only the upper triangle of K is read, and K is not changed.
    """
    n = len(K)
    if n == 0:
        return np.empty((0, 0), order="F"), 0.0
    diagonal = K.diagonal()
    for relative in JITTERS:
        jitter = relative * float(diagonal.mean())
        A = np.array(K.T, order="F")  # K.T equals K, and is in Fortran order if K is in C order
        A[np.diag_indices(n)] += jitter
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0 and _significant(L.diagonal().min() ** 2, n, float(diagonal.max())):
            return L, jitter
    raise NotPositiveDefiniteError(
        f"the {n} x {n} matrix is not positive definite, even with {JITTERS[-1]:g} times its mean diagonal "
        f"({diagonal.mean():g}) added; raise the noise variance or the lower bound of the lengthscales"
    )


def extend_cholesky(L: Array, k: Array, kappa: float) -> Array:
    """The factor of K extended by one row and column, in O(n²) instead of O(n³).

    The product of the extended factor and its transpose must be the extended K, with l and l* unknown:

        ⎡L   0 ⎤ ⎡Lᵀ  l ⎤   ⎡L Lᵀ      L l    ⎤   ⎡K   k⎤
        ⎣lᵀ  l*⎦ ⎣0   l*⎦ = ⎣lᵀ Lᵀ  lᵀl + l*² ⎦ = ⎣kᵀ  κ⎦

    so the old factor stays, l = L \\ k, and l* = √(κ − lᵀl)  (Wistuba et al. 2015a, eq. 6).
    κ is the whole new diagonal element, including noise and jitter. If l*² is not positive (to working precision, the
    new row depends on the old ones), `NotPositiveDefiniteError` asks for a refit.
    """
    n = len(L)
    row = solve_lower(L, k)
    pivot = kappa - float(row @ row)
    if not _significant(pivot, n + 1, kappa):
        raise NotPositiveDefiniteError(f"row {n} depends on the others (pivot {pivot:g}); factorise again")
    extended = np.zeros((n + 1, n + 1), order="F")
    extended[:n, :n] = L
    extended[n, :n] = row
    extended[n, n] = np.sqrt(pivot)
    return extended


def solve_lower(L: Array, B: Array) -> Array:
    """L \\ B for one or many right-hand sides."""
    if B.size == 0:
        return np.zeros(B.shape)
    solution: Array = lapack.dtrtrs(L, B, lower=1)[0]
    return solution


def solve_lower_transposed(L: Array, B: Array) -> Array:
    """Lᵀ \\ B for one or many right-hand sides."""
    if B.size == 0:
        return np.zeros(B.shape)
    solution: Array = lapack.dtrtrs(L, B, lower=1, trans=1)[0]
    return solution


def solve_cholesky(L: Array, B: Array) -> Array:
    """K⁻¹ B = Lᵀ \\ (L \\ B) for one or many right-hand sides."""
    if B.size == 0:
        return np.zeros(B.shape)
    solution: Array = lapack.dpotrs(L, B, lower=1)[0]
    return solution


def inverse(L: Array) -> Array:
    """K⁻¹ from the factor, exactly symmetric."""
    if len(L) == 0:
        return np.zeros((0, 0))
    lower: Array = lapack.dpotri(L, lower=1)[0]  # keeps the zeros above the diagonal
    full = lower + lower.T
    full[np.diag_indices(len(L))] = lower.diagonal()
    return full


def _significant(pivot: float, n: int, diagonal: float) -> bool:
    """Whether a squared pivot exceeds the rounding error of an n x n factorisation (False for NaN)."""
    return bool(pivot > n * np.finfo(float).eps * diagonal)
