"""Gaussian processes against a dense reference, numeric gradients, refits, and each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart._support.types import Array
from headstart.gp import (
    GP,
    LEAST_VARIANCE,
    Bounds,
    Fit,
    Kernel,
    Prior,
    SquaredExponential,
    TaskGPs,
    fit_kernel,
    linalg,
    log_marginal_likelihood,
    share_designs,
)
from headstart.gp.linalg import NotPositiveDefiniteError

KERNEL = SquaredExponential(amplitude=1.7, lengthscales=np.array([0.3, 0.8, 2.0]), noise=0.01)
seeds = st.integers(0, 2**32 - 1)


def data(n: int, t: int | None = None, seed: int = 0, d: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    Y = np.sin(5 * X @ rng.random((d, t or 1))) + 0.1 * rng.normal(size=(n, t or 1))
    return X, Y if t else Y[:, 0]


def numeric_gradient(f: Callable[[Array], Array], x: Array, step: float = 1e-5) -> Array:
    """Central differences of f at x, along a new last axis."""
    steps = step * np.eye(len(x))
    return np.stack([(f(x + h) - f(x - h)) / (2 * step) for h in steps], axis=-1)


def dense_kernel(kernel: Kernel, A: Array, B: Array) -> Array:
    squares = ((A[:, None, :] - B[None, :, :]) / kernel.lengthscales) ** 2
    return np.asarray(kernel.amplitude * np.exp(-0.5 * squares.sum(axis=-1)))


def dense_posterior(kernel: Kernel, X: Array, Y: Array, Z: Array, mean: float | Array) -> tuple[Array, Array]:
    """Eq. 4 as it stands, with an explicit inverse."""
    inverse = np.linalg.inv(dense_kernel(kernel, X, X) + kernel.noise * np.eye(len(X)))
    k = dense_kernel(kernel, X, Z)
    covariance = dense_kernel(kernel, Z, Z) - k.T @ inverse @ k
    return mean + k.T @ inverse @ (Y - mean), np.sqrt(covariance.diagonal())


# Linear algebra ----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(0, 30))
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


def test_extending_by_a_dependent_row_is_refused() -> None:
    with pytest.raises(NotPositiveDefiniteError, match="row 1 depends on the others"):
        linalg.extend_cholesky(np.ones((1, 1)), np.ones(1), 1.0)


# Kernel ------------------------------------------------------------------------------------------------


def test_kernel_equals_the_dense_reference() -> None:
    A, B = data(7)[0], data(9, seed=1)[0]
    np.testing.assert_allclose(KERNEL(A, B), dense_kernel(KERNEL, A, B), rtol=1e-13)
    np.testing.assert_allclose(KERNEL.gram(A), dense_kernel(KERNEL, A, A) + 0.01 * np.eye(7), rtol=1e-13)


def test_kernel_never_exceeds_its_amplitude() -> None:
    X = data(50)[0]
    K = SquaredExponential(0.3, np.full(3, 1e-3), 1e-6)(X, X)
    assert K.max() <= 0.3 * (1 + 1e-15)


def test_kernel_gradient_is_the_numeric_gradient() -> None:
    x, B = data(1)[0][0], data(9, seed=1)[0]
    numeric = numeric_gradient(lambda x: KERNEL(x[None], B)[0], x)
    np.testing.assert_allclose(KERNEL.gradient(x, B), numeric, atol=1e-8)


def test_contract_is_the_weighted_sum_of_gradients() -> None:
    X, Z = data(9)[0], data(4, seed=1)[0]
    W = np.random.default_rng(0).normal(size=(9, 4))
    expected = [W[:, i] @ KERNEL.gradient(z, X) for i, z in enumerate(Z)]
    np.testing.assert_allclose(KERNEL.contract(W * KERNEL(X, Z), Z, KERNEL.left(X)), expected, atol=1e-12)


def test_theta_round_trip() -> None:
    again = SquaredExponential.from_theta(KERNEL.theta)
    assert again.amplitude == pytest.approx(KERNEL.amplitude)
    assert again.noise == pytest.approx(KERNEL.noise)
    np.testing.assert_allclose(again.lengthscales, KERNEL.lengthscales)


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
def test_kernel_checks_itself(amplitude: float, lengthscales: list[float], noise: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SquaredExponential(amplitude, np.array(lengthscales), noise)


# One design --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [None, 0.0, -1.5])
def test_posterior_equals_the_dense_reference(mean: float | None) -> None:
    (X, y), Z = data(20), data(11, seed=1)[0]
    constant = y.mean() if mean is None else mean
    expected_mean, expected_std = dense_posterior(KERNEL, X, y, Z, constant)
    gp = GP.fit(KERNEL, X, y, mean=mean)
    got_mean, got_std = gp.predict(Z)
    np.testing.assert_allclose(got_mean, expected_mean, atol=1e-10)
    np.testing.assert_allclose(got_std, expected_std, atol=1e-10)
    np.testing.assert_array_equal(gp.predict_mean(Z), got_mean)


def test_likelihood_equals_the_multivariate_normal_density() -> None:
    from scipy.stats import multivariate_normal

    X, Y = data(12, t=2)
    expected = sum(multivariate_normal(np.full(12, y.mean()), KERNEL.gram(X)).logpdf(y) for y in Y.T)
    assert GP.fit(KERNEL, X, Y).log_marginal_likelihood() == pytest.approx(expected, rel=1e-10)


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
    loo_mean, loo_std = together.loo()
    assert (mean.shape, std.shape, slopes.mean_gradient.shape) == ((7, 4), (7,), (7, 4, 3))
    for i, y in enumerate(Y.T):
        alone = GP.fit(KERNEL, X, y)
        np.testing.assert_allclose(mean[:, i], alone.predict(Z)[0], atol=1e-12)
        np.testing.assert_allclose(std, alone.predict(Z)[1], atol=1e-12)
        gradient = alone.predict_with_gradients(Z).mean_gradient
        np.testing.assert_allclose(slopes.mean_gradient[:, i], gradient, atol=1e-10)
        np.testing.assert_allclose(loo_mean[:, i], alone.loo()[0], atol=1e-10)
        np.testing.assert_allclose(loo_std, alone.loo()[1], atol=1e-10)


def test_gradients_of_mean_and_std_are_the_numeric_ones() -> None:
    (X, Y), Z = data(20, t=2), data(6, seed=1)[0]
    gp = GP.fit(KERNEL, X, Y)
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
        assert gp.log_marginal_likelihood() == pytest.approx(refit.log_marginal_likelihood(), abs=1e-10)


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


@pytest.mark.parametrize("mean", [None, 0.3])
def test_loo_equals_brute_force_refits(mean: float | None) -> None:
    X, y = data(12)
    prior = np.cos(X[:, 0])
    for given_prior in (None, prior):
        loo_mean, loo_std = GP.fit(KERNEL, X, y, mean=mean, prior=given_prior).loo()
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            at = {} if given_prior is None else {"prior": prior[rest]}
            here = {} if given_prior is None else {"prior": prior[[i]]}
            refit_mean, refit_std = GP.fit(KERNEL, X[rest], y[rest], mean=mean, **at).predict(X[[i]], **here)
            assert loo_mean[i] == pytest.approx(refit_mean[0], abs=1e-10)
            assert loo_std[i] == pytest.approx(np.hypot(refit_std[0], np.sqrt(KERNEL.noise)), abs=1e-10)


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
    answers = [*gp.predict_with_gradients(Z), *gp.loo(), np.array(gp.log_marginal_likelihood())]
    return all(np.isfinite(answer).all() for answer in answers)


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(0, 12), st.sampled_from([1e-18, 1e-8, 1.0]), st.sampled_from([0.01, 1.0, 100.0]))
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


def test_bad_input_is_refused_by_name() -> None:
    X, y = data(4)
    gp = GP.fit(KERNEL, X, y)
    hole = X.copy()
    hole[2, 1] = np.nan
    with pytest.raises(ValueError, match="X must be finite, but row 2 is"):
        GP.fit(KERNEL, hole, y)
    with pytest.raises(ValueError, match=r"Y must be finite, but row 1 is .*give failures a loss"):
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


# Hyperparameters ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_likelihood_gradient_is_the_numeric_gradient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=5) * 0.7 + [0, -0.5, -0.5, -0.5, -2]
    groups = [data(12, t=3, seed=seed), data(7, t=1, seed=seed + 1)]
    value, gradient = log_marginal_likelihood(theta, groups)
    kernel = SquaredExponential.from_theta(theta)
    separate = [GP.fit(kernel, X, Y, mean=0.0).log_marginal_likelihood() for X, Y in groups]
    assert value == pytest.approx(sum(separate), rel=1e-10)
    numeric = numeric_gradient(lambda t: np.array(log_marginal_likelihood(t, groups)[0]), theta)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


def sample_functions(kernel: Kernel, X: Array, t: int, rng: np.random.Generator) -> Array:
    L, _ = linalg.cholesky(kernel.gram(X))
    return np.asarray(L @ rng.normal(size=(len(X), t)))


def test_known_lengthscales_are_recovered() -> None:
    rng = np.random.default_rng(0)
    true = SquaredExponential(2.0, np.array([0.2, 0.6, 20.0]), 0.01)
    X = rng.random((60, 3))
    found = fit_kernel([(X, sample_functions(true, X, 20, rng))], rng=rng)
    np.testing.assert_allclose(found.lengthscales[:2], true.lengthscales[:2], rtol=0.25)
    assert found.lengthscales[2] > 5 * found.lengthscales[1]  # an input that does not matter
    assert found.amplitude == pytest.approx(2.0, rel=0.5)
    assert found.noise == pytest.approx(0.01, rel=0.5)


def test_the_optimum_is_reached_and_the_prior_pulls() -> None:
    X, Y = data(30, t=5)
    groups = [(X, Y - Y.mean(axis=0))]
    likely = fit_kernel([(X, Y)], rng=np.random.default_rng(0))
    low, high = Bounds().log(3)
    theta = likely.theta
    inside = (theta > low + 1) & (theta < high - 1)
    gradient = log_marginal_likelihood(theta, groups)[1]
    assert np.abs(gradient[1:-1][inside[1:-1]]).max() < 0.2  # per 150 observations
    pulled = fit_kernel([(X, Y)], Fit(prior=Prior(lengthscale=(0.05, 0.01))), rng=np.random.default_rng(0))
    np.testing.assert_allclose(pulled.lengthscales, 0.05, rtol=0.1)
    assert log_marginal_likelihood(theta, groups)[0] > log_marginal_likelihood(pulled.theta, groups)[0]


def test_the_default_lengthscale_prior_grows_with_the_dimension() -> None:
    for d in (1, 9):
        mode, _ = Prior().normal(d)
        np.testing.assert_allclose(np.exp(mode[1:-1]), np.sqrt(d) * np.exp(np.sqrt(2) - 3))


def same(a: Kernel, b: Kernel, atol: float = 0.0) -> bool:
    return np.allclose(a.theta, b.theta, rtol=0, atol=atol)


def test_fit_is_reproducible_whatever_the_order_of_tasks() -> None:
    tasks = [data(n, seed=n) for n in range(8, 20)] + [(data(15)[0], data(15, seed=s)[1]) for s in range(3)]
    fit = partial(fit_kernel, how=Fit(max_rows=10, max_total=60))
    first, again = fit(tasks, rng=np.random.default_rng(1)), fit(tasks, rng=np.random.default_rng(1))
    turned = fit(tasks[::-1], rng=np.random.default_rng(1))
    other = fit(tasks, rng=np.random.default_rng(2))
    assert same(first, again)
    assert same(first, turned)
    assert not same(first, other)


def test_tasks_that_share_a_design_may_be_given_one_by_one() -> None:
    X, Y = data(20, t=9)
    together = fit_kernel([(X, Y)], rng=np.random.default_rng(0))
    order = np.random.default_rng(0).permutation(20)
    apart = [(X[order], Y[order, 3])] + [(X, y) for y in np.delete(Y, 3, axis=1).T[::-1]]
    assert same(together, fit_kernel(apart, rng=np.random.default_rng(0)))


@settings(max_examples=5, deadline=None)
@given(st.sampled_from([1e-6, 0.1, 1e5]), st.sampled_from([-1e3, 0.0, 10.0]))
def test_fit_scales_with_the_losses(factor: float, shift: float) -> None:
    X, y = data(15)
    plain = fit_kernel([(X, y)], Fit(prior=Prior()), rng=np.random.default_rng(0))
    scaled = fit_kernel([(X, shift * factor + factor * y)], Fit(prior=Prior()), rng=np.random.default_rng(0))
    np.testing.assert_allclose(scaled.lengthscales, plain.lengthscales, rtol=1e-3)
    assert scaled.amplitude == pytest.approx(factor**2 * plain.amplitude, rel=1e-3)
    assert scaled.noise == pytest.approx(factor**2 * plain.noise, rel=1e-3)


def test_where_nothing_varies_the_start_is_returned() -> None:
    X = data(5)[0]
    rng = np.random.default_rng(0)
    for groups in ([(X, np.ones(5))], [(X[:1], np.ones(1))], [(X[:0], np.ones(0))]):
        assert fit_kernel(groups, rng=rng, start=KERNEL) is KERNEL
        np.testing.assert_allclose(fit_kernel(groups, rng=rng).theta, Prior().normal(3)[0])


def test_a_column_that_never_varies_keeps_its_start() -> None:
    X, y = data(15)
    X[:, 1] = 0.5
    for seed in range(5):
        found = fit_kernel([(X, y)], Fit(restarts=3), rng=np.random.default_rng(seed))
        assert found.lengthscales[1] == pytest.approx(np.exp(Prior().normal(3)[0][1]))


def test_restarts_on_a_part_end_at_the_optimum_of_the_whole() -> None:
    tasks = [data(20, seed=s) for s in range(30)]
    staged = fit_kernel(tasks, Fit(prior=Prior(), max_total=600), rng=np.random.default_rng(0))
    at_once = fit_kernel(tasks, Fit(prior=Prior(), max_total=8 * 600), rng=np.random.default_rng(0))
    assert same(staged, at_once, atol=0.01)


def test_tasks_with_a_single_observation_say_nothing() -> None:
    tasks = [data(15, seed=s) for s in range(3)]
    single = [data(1, seed=s) for s in range(9)]
    fit = partial(fit_kernel, how=Fit(restarts=0), rng=np.random.default_rng(0))
    assert same(fit(tasks), fit(tasks + single), atol=0.01)


def test_a_warm_start_finds_the_same_optimum() -> None:
    X, Y = data(30, t=5)
    cold = fit_kernel([(X, Y)], Fit(prior=Prior()), rng=np.random.default_rng(0))
    warm = fit_kernel([(X, Y)], Fit(prior=Prior(), restarts=0), rng=np.random.default_rng(0), start=KERNEL)
    assert same(cold, warm, atol=0.01)


def test_fit_respects_its_bounds() -> None:
    X, Y = data(20, t=3)
    found = fit_kernel([(X, Y)], Fit(bounds=Bounds(lengthscale=(3.0, 4.0))), rng=np.random.default_rng(0))
    assert (found.lengthscales >= 3.0 - 1e-9).all()
    assert (found.lengthscales <= 4.0 + 1e-9).all()


def test_fit_refuses_bad_input() -> None:
    X, y = data(5)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="groups is empty"):
        fit_kernel([], rng=rng)
    with pytest.raises(ValueError, match="max_rows must be at least 2, but got 1"):
        fit_kernel([(X, y)], Fit(max_rows=1), rng=rng)
    with pytest.raises(ValueError, match=r"design 1 must have shape \(rows, 3\)"):
        fit_kernel([(X, y), (X[:, :2], y)], rng=rng)
    with pytest.raises(ValueError, match=r"noise needs 0 < low <= high, but got low=0\.1, high=0\.01"):
        Bounds(noise=(0.1, 0.01))
    with pytest.raises(ValueError, match=r"amplitude must be a positive mode and spread, but got \(1.0, 0.0\)"):
        Prior(amplitude=(1.0, 0.0))


# All tasks of a history --------------------------------------------------------------------------------

rng_ = np.random.default_rng(5)
GRID = rng_.random((40, 3))
HISTORIES = {
    "shared": [GRID] * 5,
    "permuted": [rng_.permutation(GRID) for _ in range(5)],
    "ragged": [rng_.random((n, 3)) for n in (3, 17, 1, 30)],
    "overlapping": [GRID[rng_.choice(40, n, replace=False)] for n in (5, 20, 35, 20)],
    "mixed": [GRID, rng_.random((9, 3)), GRID, np.vstack([GRID[:3], rng_.random((4, 3)), GRID[:2]]), GRID[:1]],
    "one task": [GRID],
    "some empty": [GRID[:0], GRID[:4], GRID[:0]],
    "all empty": [GRID[:0]],
}


@pytest.fixture(params=HISTORIES)
def designs(request: pytest.FixtureRequest) -> list[Array]:
    return HISTORIES[request.param]


@pytest.mark.parametrize("block", [7, 1024])
@pytest.mark.parametrize("dense", [0.0, 1.1])
def test_all_tasks_at_once_equal_separate_processes(
    designs: list[Array], block: int, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskGPs, "BLOCK", block)
    monkeypatch.setattr(TaskGPs, "DENSE", dense)  # all dense or all sparse
    monkeypatch.setattr(TaskGPs, "CHUNK", 4)
    rng = np.random.default_rng(0)
    losses = [rng.random(len(X)) for X in designs]
    Z, W = rng.random((6, 3)), rng.normal(size=(6, len(designs)))
    gps = TaskGPs.fit(designs, losses, KERNEL)
    separate = [GP.fit(KERNEL, X, y).predict_with_gradients(Z) for X, y in zip(designs, losses, strict=True)]
    expected = np.stack([p.mean for p in separate], axis=1)
    slopes = np.stack([p.mean_gradient for p in separate], axis=1)
    assert len(gps) == len(designs)
    np.testing.assert_allclose(gps.predict(Z), expected, atol=1e-10)
    np.testing.assert_allclose(gps.std(Z), np.stack([p.std for p in separate], axis=1), atol=1e-10)
    mean, gradient = gps.predict_with_gradient(Z)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    np.testing.assert_allclose(gradient, slopes, atol=1e-9)
    for keep in (0, 2**20):
        monkeypatch.setattr(TaskGPs, "KEEP", keep)
        mean, pull = gps.pullback(Z)
        np.testing.assert_allclose(mean, expected, atol=1e-10)
        np.testing.assert_allclose(pull(W), np.einsum("mt,mtd->md", W, slopes), atol=1e-9)


def test_pullback_gives_the_gradient_of_a_loss_of_the_predictions() -> None:
    rng = np.random.default_rng(0)
    gps = TaskGPs.fit([GRID, GRID[:9]], [rng.random(40), rng.random(9)], KERNEL)
    Z = rng.random((4, 3))
    mean, pull = gps.pullback(Z)
    numeric = numeric_gradient(lambda z: np.array((gps.predict(z.reshape(4, 3)) ** 2).sum()), Z.ravel())
    np.testing.assert_allclose(pull(2 * mean).ravel(), numeric, atol=1e-7)


def test_pullback_survives_a_reused_buffer() -> None:
    gps = TaskGPs.fit([GRID], [np.arange(40.0)], KERNEL)
    Z = GRID[:2] + 0.01
    _, pull = gps.pullback(Z)
    before = pull(np.ones((2, 1)))
    Z[:] = 0.0
    np.testing.assert_array_equal(pull(np.ones((2, 1))), before)


def test_the_order_of_tasks_is_kept_and_plays_no_part() -> None:
    designs = HISTORIES["mixed"]
    rng = np.random.default_rng(0)
    losses, Z = [rng.random(len(X)) for X in designs], rng.random((5, 3))
    forward = TaskGPs.fit(designs, losses, KERNEL).predict(Z)
    backward = TaskGPs.fit(designs[::-1], losses[::-1], KERNEL).predict(Z)
    np.testing.assert_allclose(forward, backward[:, ::-1], atol=1e-12)


def test_one_factorisation_for_each_distinct_design() -> None:
    designs = [*HISTORIES["permuted"], -0.0 * GRID[:2], 0.0 * GRID[:2]]
    rows, groups = share_designs(designs, [np.arange(len(X), dtype=float) for X in designs])
    assert [group.tasks.tolist() for group in groups] == [[0, 1, 2, 3, 4], [5, 6]]
    assert len(rows) == 41
    for group in groups:
        for column, task in zip(group.Y.T, group.tasks, strict=True):
            order = column.astype(int)  # the losses are places in the design as it was given
            np.testing.assert_array_equal(designs[task][order], rows[group.rows])


def test_tasks_refuse_bad_input() -> None:
    y = np.zeros(40)
    with pytest.raises(ValueError, match="there are no tasks"):
        TaskGPs.fit([], [], KERNEL)
    with pytest.raises(ValueError, match="losses for every design, but got 2 and 1"):
        TaskGPs.fit([GRID, GRID], [y], KERNEL)
    with pytest.raises(ValueError, match="losses of task 1 must have 40 rows"):
        TaskGPs.fit([GRID, GRID], [y, y[:3]], KERNEL)
    with pytest.raises(ValueError, match="losses of task 0 must be finite"):
        TaskGPs.fit([GRID], [np.full(40, np.nan)], KERNEL)
    with pytest.raises(ValueError, match=r"losses of task 0 must be a vector, but have shape \(40, 2\)"):
        TaskGPs.fit([GRID], [np.zeros((40, 2))], KERNEL)
    with pytest.raises(ValueError, match=r"designs must have shape \(rows, 3\)"):
        TaskGPs.fit([GRID[:, :2]], [y], KERNEL)
    with pytest.raises(ValueError, match=r"Z must have shape"):
        TaskGPs.fit([GRID], [y], KERNEL).predict(np.zeros(3))
