"""Hyperparameters: the likelihood and its gradient against references, and properties of the fit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from dense import KERNEL, LENGTHSCALES, data, dense_kernel, numeric_gradient
from headstart._support.types import Array
from headstart.gp import (
    Bounds,
    Fit,
    Kernel,
    Matern,
    Prior,
    SquaredExponential,
    fit_kernel,
    linalg,
    log_marginal_likelihood,
)
from headstart.gp.hyperparameters import Group

kinds = pytest.mark.parametrize("kind", [SquaredExponential, Matern])


def centred(*seeds: int) -> list[Group]:
    """Groups of different sizes with centred losses."""
    groups = [data(12 - 5 * i, t=3 - 2 * i, seed=seed) for i, seed in enumerate(seeds)]
    return [(X, Y - Y.mean(axis=0)) for X, Y in groups]


@kinds
def test_likelihood_equals_the_multivariate_normal_density(kind: type[Kernel]) -> None:
    groups, kernel = centred(0, 1), kind(1.7, LENGTHSCALES, 0.01)
    expected = sum(
        multivariate_normal(np.zeros(len(X)), dense_kernel(kernel, X, X) + 0.01 * np.eye(len(X))).logpdf(y)
        for X, Y in groups
        for y in Y.T
    )
    assert log_marginal_likelihood(kernel.theta, groups, kind=kind)[0] == pytest.approx(expected, rel=1e-10)


@kinds
@pytest.mark.parametrize("free_mean", [False, True])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_likelihood_gradient_equals_central_differences(kind: type[Kernel], free_mean: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=5) * 0.7 + [0, -0.5, -0.5, -0.5, -2]
    likelihood = partial(log_marginal_likelihood, groups=centred(seed, seed + 1), free_mean=free_mean, kind=kind)
    gradient = likelihood(theta)[1]
    numeric = numeric_gradient(lambda theta: np.array(likelihood(theta)[0]), theta)
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
    assert found.lengthscales[2] > 5 * found.lengthscales[1]  # the last input does not matter
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
    assert np.abs(gradient[1:-1][inside[1:-1]]).max() < 0.2  # for 150 observations
    pulled = fit_kernel([(X, Y)], Fit(prior=Prior(lengthscale=(0.05, 0.01))), rng=np.random.default_rng(0))
    np.testing.assert_allclose(pulled.lengthscales, 0.05, rtol=0.1)
    assert log_marginal_likelihood(theta, groups)[0] > log_marginal_likelihood(pulled.theta, groups)[0]


@kinds
def test_the_kind_of_kernel_is_kept_by_fitting(kind: type[Kernel]) -> None:
    X, y = data(20)
    assert type(fit_kernel([(X, y)], Fit(kind=kind), rng=np.random.default_rng(0))) is kind


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


def test_the_start_is_returned_if_no_loss_varies() -> None:
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


def test_tasks_with_a_single_observation_are_skipped() -> None:
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


def test_fit_rejects_bad_input() -> None:
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
    with pytest.raises(ValueError, match=r"amplitude must have a positive mode and spread, but got \(1.0, 0.0\)"):
        Prior(amplitude=(1.0, 0.0))


@pytest.mark.parametrize("prior", [None, Prior()])
def test_columns_that_do_not_vary_change_nothing(prior: Prior | None) -> None:
    """The lengthscales of the others are the same with and without them; their own stay where they began."""
    X, Y = data(14, t=1, seed=3)
    wide = np.insert(X, [0, 1, 1, X.shape[1]], 0.5, axis=1)
    varies = np.ptp(wide, axis=0) > 0
    start = SquaredExponential(1.0, np.full(wide.shape[1], 0.4), 0.01)
    narrow = SquaredExponential(1.0, np.full(X.shape[1], 0.4), 0.01)
    lengthscale = None if prior is None else (0.5, 0.75)  # the default depends on the number of columns
    how = Fit(restarts=0, prior=None if prior is None else Prior(lengthscale=lengthscale))
    fitted = fit_kernel([(wide, Y)], how, rng=np.random.default_rng(0), start=start)
    expected = fit_kernel([(X, Y)], how, rng=np.random.default_rng(0), start=narrow)
    np.testing.assert_allclose(fitted.lengthscales[varies], expected.lengthscales)
    np.testing.assert_allclose(fitted.lengthscales[~varies], 0.4)
    assert fitted.noise == pytest.approx(expected.noise)
