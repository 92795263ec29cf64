"""The power transform of losses: against SciPy, its inverse, and absurd magnitudes."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headstart.gp import SquaredExponential
from headstart.gp.linalg import cholesky
from headstart.surrogates.warp import FAR, Warp, generalised_variance, inverse_yeo_johnson, yeo_johnson

POWERS = [-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 2.4, 3.0]


@pytest.mark.parametrize("power", POWERS)
def test_the_transform_is_that_of_scipy(power: float) -> None:
    t = np.linspace(-6, 6, 41)
    np.testing.assert_allclose(yeo_johnson(t, power), stats.yeojohnson(t, lmbda=power), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("power", POWERS)
def test_the_inverse_undoes_the_transform(power: float) -> None:
    t = np.linspace(-20, 20, 81)
    np.testing.assert_allclose(inverse_yeo_johnson(yeo_johnson(t, power), power), t, rtol=1e-9, atol=1e-12)
    beyond = inverse_yeo_johnson(np.array([-1e3, -10.0, 10.0, 1e3]), power)
    assert np.isfinite(beyond).all()
    assert (np.diff(beyond) >= 0).all()


def test_power_one_is_the_identity() -> None:
    t = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(yeo_johnson(t, 1.0), t)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    st.floats(1e-6, 1e6),
    st.floats(-1e6, 1e6),
)
def test_a_warp_keeps_the_order_and_can_be_undone(values: list[float], scale: float, shift: float) -> None:
    losses = np.array(values) * scale + shift
    warp = Warp.fit(losses)
    y = warp(losses)
    assert np.isfinite(y).all()
    order = np.argsort(losses, kind="stable")
    assert (np.diff(y[order]) >= -1e-9).all()
    wide = max(float(np.ptp(losses)), float(np.abs(losses).max()) * 1e-6)
    clipped = np.minimum(losses, warp.shift + FAR * warp.scale)
    np.testing.assert_allclose(warp.inverse(y), clipped, atol=1e-5 * wide, rtol=1e-5)


def test_losses_that_nearly_all_agree_can_be_warped() -> None:
    losses = np.array([0.0, 0.0, 0.0, -1.0, -3.1e-142])
    warp = Warp.fit(losses)
    np.testing.assert_allclose(warp.inverse(warp(losses)), losses, atol=1e-9)


def test_the_power_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    for skewed in (rng.exponential(size=40), -rng.exponential(size=40), rng.normal(size=40)):
        warp = Warp.fit(skewed)
        likely = stats.yeojohnson_normmax((skewed - warp.shift) / warp.scale)
        assert warp.power == pytest.approx(likely, abs=0.03)
        y = warp(skewed)
        assert y.mean() == pytest.approx(0.0, abs=1e-12)
        assert y.std() == pytest.approx(1.0)
        assert abs(stats.skew(y)) < abs(stats.skew(skewed)) + 0.05


def correlated(n: int) -> np.ndarray:
    """The covariance of n results of which all but eight lie close together."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.random((8, 1)), 0.4 + 0.02 * rng.random((n - 8, 1))])
    return SquaredExponential(1.0, np.array([0.2]), 1e-4).gram(X)


def test_results_that_are_independent_are_a_special_case() -> None:
    losses = np.random.default_rng(5).exponential(size=30)
    plain, general = Warp.fit(losses), Warp.fit(losses, np.asfortranarray(3.0 * np.eye(30)))
    assert general == plain
    Y = np.random.default_rng(6).normal(size=(4, 30))
    np.testing.assert_allclose(generalised_variance(Y, np.asfortranarray(np.eye(30))), Y.var(axis=1))


def test_the_power_of_correlated_results_is_the_most_likely_one() -> None:
    """Against the multivariate normal density with the best mean and amplitude, and the transform's derivative."""
    K = correlated(24)
    draw = np.linalg.cholesky(K) @ np.random.default_rng(1).normal(size=24)
    losses = np.exp(2 * draw)
    warp = Warp.fit(losses, cholesky(K)[0])
    t = (losses - warp.shift) / warp.scale

    def log_likelihood(power: float) -> float:
        y = stats.yeojohnson(t, lmbda=power)
        inverse = np.linalg.inv(K)
        mean = np.ones(24) @ inverse @ y / inverse.sum()
        amplitude = (y - mean) @ inverse @ (y - mean) / 24
        density = stats.multivariate_normal(np.full(24, mean), amplitude * K).logpdf(y)
        return float(density + (power - 1) * np.sum(np.sign(t) * np.log1p(np.abs(t))))

    powers = np.arange(-1, 3.01, 0.05)
    assert warp.power == pytest.approx(powers[np.argmax([log_likelihood(power) for power in powers])])
    assert warp.power != Warp.fit(losses).power


def test_a_crowd_of_results_around_the_best_does_not_bend_the_scale() -> None:
    """A smooth bowl, tried at eight places and then at many close to its lowest one: no bend is needed."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((8, 1)), 0.5 + 0.03 * rng.normal(size=(30, 1))])
    losses = (X[:, 0] - 0.5) ** 2
    L = cholesky(SquaredExponential(1.0, np.array([0.5]), 1e-6).gram(X))[0]
    assert Warp.fit(losses).power < 0
    assert Warp.fit(losses, L).power > 0.5


def test_a_penalty_does_not_hide_the_differences_between_good_losses() -> None:
    losses = np.append(np.linspace(0.1, 0.5, 20), [1e6, 3e5])
    y = Warp.fit(losses)(losses)
    assert np.ptp(y[:20]) > 1.0
    plain = (losses - losses.mean()) / losses.std()
    assert np.ptp(plain[:20]) < 1e-5


@pytest.mark.parametrize("losses", [[2.0], [2.0, 2.0, 2.0], [0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0, 5.0]])
def test_losses_without_spread_are_only_shifted(losses: list[float]) -> None:
    warp = Warp.fit(np.array(losses))
    np.testing.assert_allclose(warp.inverse(warp(np.array(losses))), losses)
    assert np.isfinite(warp(np.array([0.0, 1e9]))).all()


@pytest.mark.parametrize("times", [2, 4, 20])
@pytest.mark.parametrize("penalty", [1e7, 1e9, 1e100, 1e155, sys.float_info.max])
def test_a_penalty_of_any_size_leaves_ordinary_losses_apart(penalty: float, times: int) -> None:
    ordinary = np.linspace(0.1, 0.5, 9)
    warp = Warp.fit(np.append(ordinary, [penalty] * times))
    y = warp(np.append(ordinary, penalty))
    assert np.isfinite(y).all()
    assert np.ptp(y[:-1]) > 0.05  # of a standard deviation that is mostly due to the penalties
    np.testing.assert_allclose(warp.inverse(y[:-1]), ordinary, rtol=1e-6)


def test_penalties_hide_no_success_where_most_losses_are_the_same() -> None:
    warp = Warp.fit(np.array([0.5] * 7 + [0.4, 0.3, 1e9]))
    best, plateau = warp(np.array([0.3, 0.5]))
    assert plateau - best > 0.5
    tiny = Warp.fit(np.append(np.linspace(1e-10, 5e-10, 9), sys.float_info.max))  # and nothing overflows
    assert np.isfinite(tiny(np.array([1e-10, sys.float_info.max]))).all()
