"""The process on one design against a dense reference, central differences and refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import KERNEL, KERNELS, data, dense_posterior, numeric_gradient
from headstart._support.types import Array
from headstart.gp import GP, LEAST_VARIANCE, SquaredExponential


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("mean", [None, 0.0, -1.5])
def test_posterior_equals_the_dense_reference(mean: float | None, kind: str) -> None:
    (X, y), Z = data(20), data(11, seed=1)[0]
    constant = y.mean() if mean is None else mean
    expected_mean, expected_std = dense_posterior(KERNELS[kind], X, y, Z, constant)
    gp = GP.fit(KERNELS[kind], X, y, mean=mean)
    got_mean, got_std = gp.predict(Z)
    np.testing.assert_allclose(got_mean, expected_mean, atol=1e-10)
    np.testing.assert_allclose(got_std, expected_std, atol=1e-10)
    np.testing.assert_array_equal(gp.predict_mean(Z), got_mean)


def test_almost_without_noise_it_interpolates() -> None:
    X, y = data(15)
    mean, std = GP.fit(SquaredExponential(1.0, np.full(3, 0.5), 1e-10), X, y).predict(X)
    np.testing.assert_allclose(mean, y, atol=1e-5)
    assert (std < 1e-4).all()
    assert (std > 0).all()


def test_a_variance_that_is_rounding_error_is_floored_and_flat() -> None:
    X, y = data(30)
    got = GP.fit(SquaredExponential(4.0, np.full(3, 100.0), 1e-18), X, y).predict_with_gradients(X)
    floored = got.std == np.sqrt(4.0 * LEAST_VARIANCE)
    assert floored.any()
    assert (got.std >= np.sqrt(4.0 * LEAST_VARIANCE)).all()
    assert (got.std_gradient[floored] == 0).all()


def test_far_from_the_data_it_is_the_prior() -> None:
    X, y = data(15)
    mean, std = GP.fit(KERNEL, X, y).predict(np.full((2, 3), 1e3))
    np.testing.assert_allclose(mean, y.mean())
    np.testing.assert_allclose(std, np.sqrt(KERNEL.amplitude))


def test_columns_that_share_a_design_equal_separate_processes() -> None:
    (X, Y), Z = data(20, t=4), data(7, seed=1)[0]
    together = GP.fit(KERNEL, X, Y)
    mean, std = together.predict(Z)
    slopes = together.predict_with_gradients(Z)
    assert (mean.shape, std.shape, slopes.mean_gradient.shape) == ((7, 4), (7,), (7, 4, 3))
    for i, y in enumerate(Y.T):
        alone = GP.fit(KERNEL, X, y)
        np.testing.assert_allclose(mean[:, i], alone.predict(Z)[0], atol=1e-12)
        np.testing.assert_allclose(std, alone.predict(Z)[1], atol=1e-12)
        gradient = alone.predict_with_gradients(Z).mean_gradient
        np.testing.assert_allclose(slopes.mean_gradient[:, i], gradient, atol=1e-10)


@pytest.mark.parametrize("kind", KERNELS)
def test_gradients_of_mean_and_std_equal_central_differences(kind: str) -> None:
    (X, Y), Z = data(20, t=2), data(6, seed=1)[0]
    gp = GP.fit(KERNELS[kind], X, Y)
    got = gp.predict_with_gradients(Z)
    mean, std = gp.predict(Z)
    np.testing.assert_allclose(got.mean, mean, atol=1e-12)
    np.testing.assert_allclose(got.std, std, atol=1e-12)
    for i, z in enumerate(Z):
        mean_slope = numeric_gradient(lambda z: gp.predict(z[None])[0][0], z)
        std_slope = numeric_gradient(lambda z: gp.predict(z[None])[1][0], z)
        np.testing.assert_allclose(got.mean_gradient[i], mean_slope, atol=1e-7)
        np.testing.assert_allclose(got.std_gradient[i], std_slope, atol=1e-7)


@pytest.mark.parametrize("mean", [None, 0.3])
@pytest.mark.parametrize("t", [None, 3])
def test_extend_equals_refit_fifty_times_over(t: int | None, mean: float | None) -> None:
    (X, Y), Z = data(52, t=t), data(5, seed=1)[0]
    gp = GP.fit(KERNEL, X[:2], Y[:2], mean=mean)
    for n in range(2, 52):
        gp = gp.extend(X[n], Y[n])
        refit = GP.fit(KERNEL, X[: n + 1], Y[: n + 1], mean=mean)
        for got, expected in zip(gp.predict(Z), refit.predict(Z), strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(gp.alpha, refit.alpha, rtol=0, atol=1e-10)


def test_extend_from_nothing_and_by_duplicates_equals_refit() -> None:
    kernel = SquaredExponential(1.0, np.full(3, 0.5), 1e-18)  # so little noise that a duplicate needs jitter
    X = np.repeat(data(3)[0], 2, axis=0)
    y = np.arange(6.0)
    gp = GP.fit(kernel, np.empty((0, 3)), np.empty(0))
    for n in range(6):
        gp = gp.extend(X[n], y[n])
        refit = GP.fit(kernel, X[: n + 1], y[: n + 1])
        assert gp.jitter == refit.jitter
        np.testing.assert_allclose(gp.L @ gp.L.T, refit.L @ refit.L.T, rtol=0, atol=1e-13)
        np.testing.assert_allclose(gp.predict(X)[0], refit.predict(X)[0], atol=1e-3)
    assert gp.jitter > 0


def test_extend_returns_a_new_process_and_nothing_can_be_written() -> None:
    X, y = data(5)
    gp = GP.fit(KERNEL, X, y)
    gp.extend(X[0] + 0.1, 1.0)
    assert gp.X.shape == (5, 3)
    assert X.flags.writeable
    assert not any(array.flags.writeable for array in (gp.X, gp.Y, gp.L, gp.alpha, gp.kernel.lengthscales))


@pytest.mark.parametrize("t", [None, 2])
def test_a_zero_prior_mean_changes_nothing(t: int | None) -> None:
    (X, Y), Z = data(10, t=t), data(4, seed=1)[0]
    plain = GP.fit(KERNEL, X, Y).extend(Z[0], 0.5)
    zero = GP.fit(KERNEL, X, Y, prior=np.zeros(10)).extend(Z[0], 0.5, prior=0.0)
    np.testing.assert_array_equal(zero.predict(Z, prior=np.zeros(4))[0], plain.predict(Z)[0])


def test_a_prior_mean_is_a_process_on_the_residuals() -> None:
    (X, y), Z = data(10), data(4, seed=1)[0]
    m = np.sin
    with_prior = GP.fit(KERNEL, X[:-1], y[:-1], mean=0.0, prior=m(X[:-1, 0]))
    with_prior = with_prior.extend(X[-1], y[-1], prior=m(X[-1, 0]))
    residual = GP.fit(KERNEL, X, y - m(X[:, 0]), mean=0.0)
    expected = residual.predict(Z)[0] + m(Z[:, 0])
    np.testing.assert_allclose(with_prior.predict(Z, prior=m(Z[:, 0]))[0], expected, atol=1e-10)
    with pytest.raises(ValueError, match="predict got no prior values, but the GP was fitted with"):
        with_prior.predict(Z)
    with pytest.raises(ValueError, match="extend got prior values, but the GP was fitted without"):
        residual.extend(Z[0], 0.0, prior=1.0)


def all_finite(gp: GP, Z: Array) -> bool:
    return all(np.isfinite(answer).all() for answer in gp.predict_with_gradients(Z))


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 12),
    st.sampled_from([1e-18, 1e-8, 1.0]),
    st.sampled_from([0.01, 1.0, 100.0]),
)
def test_duplicates_constants_and_few_rows_give_finite_numbers(
    seed: int, n: int, noise: float, lengthscale: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 3)) / 1.0  # eight places: many duplicates
    kernel = SquaredExponential(1.0, np.full(3, lengthscale), noise)
    Z = np.vstack([X, rng.random((3, 3))])
    assert all_finite(GP.fit(kernel, X, rng.random(n)), Z)
    constant = GP.fit(kernel, X, np.full(n, 3.0))
    assert all_finite(constant, Z)
    np.testing.assert_allclose(constant.predict(Z)[0], 3.0 if n else 0.0)


def test_without_observations_it_is_the_prior() -> None:
    for shape in ((0,), (0, 2)):
        mean, std = GP.fit(KERNEL, np.empty((0, 3)), np.empty(shape), mean=0.25).predict(np.zeros((4, 3)))
        np.testing.assert_array_equal(mean, np.full((4, *shape[1:]), 0.25))
        np.testing.assert_allclose(std, np.sqrt(KERNEL.amplitude))


def test_bad_input_is_rejected_by_name() -> None:
    X, y = data(4)
    gp = GP.fit(KERNEL, X, y)
    hole = X.copy()
    hole[2, 1] = np.nan
    with pytest.raises(ValueError, match="X must be finite, but row 2 is"):
        GP.fit(KERNEL, hole, y)
    with pytest.raises(ValueError, match=r"Y must be finite, but row 1 is .*give failed trials a loss"):
        GP.fit(KERNEL, X, np.array([0.0, np.nan, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"X must have shape \(rows, 3\), but has \(4, 2\)"):
        GP.fit(KERNEL, X[:, :2], y)
    with pytest.raises(ValueError, match=r"Y must have 4 rows.*\(3,\)"):
        GP.fit(KERNEL, X, y[:3])
    with pytest.raises(ValueError, match="mean must be finite"):
        GP.fit(KERNEL, X, y, mean=np.inf)
    with pytest.raises(ValueError, match="Z must be finite"):
        gp.predict(hole)
    with pytest.raises(ValueError, match="y must be one value or 1"):
        gp.extend(X[0], np.zeros(2))
