"""Factors, solves and extensions against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import KERNEL, data
from headstart.gp import linalg
from headstart.gp.linalg import NotPositiveDefiniteError


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30))
def test_factor_solves_and_inverts(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 2))
    K, b, B = A @ A.T + 0.1 * np.eye(n), rng.normal(size=n), rng.normal(size=(n, 3))
    L, jitter = linalg.cholesky(K)
    assert jitter == 0.0
    np.testing.assert_allclose(L @ L.T, K, atol=1e-10)
    np.testing.assert_allclose(L @ linalg.solve_lower(L, B), B, atol=1e-8)
    np.testing.assert_allclose(K @ linalg.solve_cholesky(L, B), B, atol=1e-8)
    np.testing.assert_allclose(K @ linalg.solve_cholesky(L, b), b, atol=1e-8)
    inverse = linalg.inverse(L)
    np.testing.assert_allclose(K @ inverse, np.eye(n), atol=1e-8)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_cholesky_leaves_its_argument_alone() -> None:
    K = KERNEL.gram(data(5)[0])
    before = K.copy()
    linalg.cholesky(K)
    np.testing.assert_array_equal(K, before)


def test_a_singular_matrix_gets_the_smallest_jitter_that_helps() -> None:
    L, jitter = linalg.cholesky(np.ones((4, 4)))
    assert jitter == linalg.JITTERS[1]
    np.testing.assert_allclose(L @ L.T, np.ones((4, 4)) + jitter * np.eye(4), atol=1e-12)


def test_a_pivot_that_is_rounding_error_counts_as_none() -> None:
    almost = np.array([[1.0, 1.0], [1.0, 1.0 + np.finfo(float).eps]])
    assert linalg.cholesky(almost)[1] > 0
    with pytest.raises(NotPositiveDefiniteError):
        linalg.extend_cholesky(np.ones((1, 1)), almost[0, :1], almost[1, 1])


def test_beyond_the_limit_the_error_names_the_remedy() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NotPositiveDefiniteError, match=r"2 x 2 .* not positive definite.*raise the noise"):
        linalg.cholesky(K)
    assert issubclass(NotPositiveDefiniteError, np.linalg.LinAlgError)


def test_extending_by_a_dependent_row_is_rejected() -> None:
    with pytest.raises(NotPositiveDefiniteError, match="row 1 depends on the others"):
        linalg.extend_cholesky(np.ones((1, 1)), np.ones(1), 1.0)
