"""One suite for all kernels: factors, slopes and gradients against direct formulas and central differences."""

from __future__ import annotations

import numpy as np
import pytest

from dense import KERNELS, data, dense_distance, dense_kernel, numeric_gradient
from headstart._support.types import Array
from headstart.gp import Kernel, Matern, SquaredExponential

A, B = data(7)[0], data(9, seed=1)[0]


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


def slope(kernel: Kernel, A: Array, B: Array) -> Array:
    """η(A, B)."""
    return kernel.value_and_slope(kernel.left(A), kernel.right(B))[1]


def test_the_product_of_the_factors_equals_the_direct_formula(kernel: Kernel) -> None:
    np.testing.assert_allclose(kernel(A, B), dense_kernel(kernel, A, B), rtol=1e-12)
    # By rounding, the distance of a row to itself is about 1e-8, to which the Matérn kernel is more sensitive.
    np.testing.assert_allclose(kernel(A, A), dense_kernel(kernel, A, A), rtol=1e-7)


def test_the_gram_matrix_adds_noise_to_the_diagonal(kernel: Kernel) -> None:
    K = kernel.gram(A)
    np.testing.assert_allclose(K, dense_kernel(kernel, A, A) + kernel.noise * np.eye(7), rtol=1e-12)
    np.testing.assert_array_equal(K.diagonal(), kernel.amplitude + kernel.noise)


def test_no_value_exceeds_the_amplitude(kernel: Kernel) -> None:
    X = data(50)[0]
    K = type(kernel)(0.3, np.full(3, 1e-3), 1e-6)(X, X)
    assert K.max() <= 0.3 * (1 + 1e-15)


def test_value_and_slope_gives_the_value_of_product(kernel: Kernel) -> None:
    left, right = kernel.left(A), kernel.right(B)
    np.testing.assert_array_equal(kernel.value_and_slope(left, right)[0], kernel.product(left, right))


def test_the_slope_gives_the_gradient_of_the_value(kernel: Kernel) -> None:
    gradient = slope(kernel, A, B)[:, :, None] * (B[None] - A[:, None]) / kernel.lengthscales**2
    numeric = [numeric_gradient(lambda a: kernel(a[None], B)[0], a) for a in A]
    np.testing.assert_allclose(gradient, numeric, atol=1e-8)


def test_slopes_equal_their_formulas() -> None:
    for kernel in KERNELS.values():
        q = np.sqrt(5) * dense_distance(kernel, A, B)
        formulas = {
            SquaredExponential: dense_kernel(kernel, A, B),
            Matern: kernel.amplitude * 5 / 3 * (1 + q) * np.exp(-q),
        }
        np.testing.assert_allclose(slope(kernel, A, B), formulas[type(kernel)], rtol=1e-12)


def test_gram_and_slope_are_gram_and_slope_off_the_diagonal(kernel: Kernel) -> None:
    K, E = kernel.gram_and_slope(A)
    off = ~np.eye(len(A), dtype=bool)
    np.testing.assert_array_equal(K, kernel.gram(A))
    np.testing.assert_array_equal(E[off], slope(kernel, A, A)[off])


def test_contract_is_the_gradient_of_a_weighted_sum(kernel: Kernel) -> None:
    W = np.random.default_rng(0).normal(size=(len(A), len(B)))
    found = kernel.contract(W * slope(kernel, A, B), B, kernel.left(A))
    numeric = [numeric_gradient(lambda z, i=i: W[:, i] @ kernel(A, z[None])[:, 0], z) for i, z in enumerate(B)]
    np.testing.assert_allclose(found, numeric, atol=1e-8)


def test_theta_round_trip(kernel: Kernel) -> None:
    again = type(kernel).from_theta(kernel.theta)
    assert again.amplitude == pytest.approx(kernel.amplitude)
    assert again.noise == pytest.approx(kernel.noise)
    np.testing.assert_allclose(again.lengthscales, kernel.lengthscales)


@pytest.mark.parametrize("kind", [SquaredExponential, Matern])
@pytest.mark.parametrize(
    ("amplitude", "lengthscales", "noise", "message"),
    [
        (0.0, [1.0], 0.1, "amplitude .* 0.0"),
        (np.nan, [1.0], 0.1, "amplitude .* nan"),
        (1.0, [1.0, -2.0], 0.1, r"lengthscales .* \[ 1. -2.\]"),
        (1.0, [[1.0]], 0.1, "lengthscales"),
        (1.0, [1.0], 0.0, "noise .* 0.0"),
        (1.0, [1.0], np.inf, "noise .* inf"),
    ],
)
def test_a_kernel_checks_itself(
    kind: type[Kernel], amplitude: float, lengthscales: list[float], noise: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(amplitude, np.array(lengthscales), noise)
