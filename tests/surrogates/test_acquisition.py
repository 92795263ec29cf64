"""Acquisition functions against numeric integration, their own identities, and absurd magnitudes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from headstart._support.types import Array
from headstart.surrogates.acquisition import ei, growing_kappa, lcb, log_ei, log_ei_slopes, log_h, pi
from headstart.surrogates.base import Acquisition

numbers = st.floats(-5, 5)
spreads = st.floats(0.01, 10)


# Expected improvement ----------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(numbers, spreads, numbers)
def test_ei_is_the_expectation_of_the_improvement(mean: float, std: float, best: float) -> None:
    expected, _ = quad(lambda y: (best - y) * norm.pdf(y, mean, std), mean - 12 * std, best, epsabs=1e-13)
    assert ei(mean, std, best) == pytest.approx(max(expected, 0.0), rel=1e-6, abs=1e-11)


@settings(max_examples=100, deadline=None)
@given(st.floats(-35, 1e6), spreads)
def test_log_ei_is_the_logarithm_of_ei_where_that_is_a_number(u: float, std: float) -> None:
    direct = std * (norm.pdf(u) + u * norm.cdf(u)) if u > -3 else float(ei(0.0, std, u * std))
    assert log_ei(0.0, std, u * std) == pytest.approx(math.log(direct), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("u", "expected"),  # computed with 60 digits
    [
        (-0.5, -1.6205162643873199193),
        (-1.0, -2.4851210257126413368),
        (-5.0, -16.744301162660990143),
        (-20.0, -206.91783850942509785),
        (-999.0, -499015.23245109650025),
        (-1001.0, -501015.23645108583364),
        (-1e6, -500000000028.54995965),
    ],
)
def test_log_h_against_many_digits(u: float, expected: float) -> None:
    assert log_h(u) == pytest.approx(expected, rel=1e-13)


def test_log_ei_rises_with_the_improvement_at_any_magnitude() -> None:
    u = np.concatenate([-np.logspace(6, -6, 4001), [0.0], np.logspace(-6, 6, 4001)])
    for std in (1e-300, 1e-150, 1e-8, 1.0, 1e8, 1e150, 1e300):
        value = log_ei(-u * std, std, 0.0)
        assert np.isfinite(value).all()
        assert (np.diff(value) > 0).all()


def test_no_seam_where_formulas_meet() -> None:
    for seam in (-1.0, -1e3):
        u = seam + np.linspace(-1e-6, 1e-6, 2001)
        assert (np.diff(log_h(u)) > 0).all()


def test_ei_and_pi_are_finite_at_any_magnitude() -> None:
    u = np.concatenate([-np.logspace(6, -6, 50), [0.0], np.logspace(-6, 6, 50)])
    for std in (1e-300, 1.0, 1e300):
        for function in (ei, pi):
            value = function(-u * std, std, 0.0)
            assert np.isfinite(value).all()
            assert (value >= 0).all()
            assert (np.diff(value) >= 0).all()
    assert np.isfinite(log_ei(1e308, 1.0, -1e308))
    assert log_ei(-1e300, 1e-200, 1e300) == pytest.approx(math.log(2e300))


def test_ei_grows_with_spread_and_with_lower_means() -> None:
    std = np.linspace(0.0, 3.0, 50)
    assert (np.diff(ei(0.5, std, 0.0)) >= 0).all()
    assert (np.diff(log_ei(0.5, std[1:], 0.0)) > 0).all()
    assert (np.diff(ei(np.linspace(3, -3, 50), 1.0, 0.0)) > 0).all()


@given(numbers, spreads, numbers, st.floats(0.1, 10), numbers)
@settings(max_examples=50, deadline=None)
def test_units_do_not_matter(mean: float, std: float, best: float, scale: float, shift: float) -> None:
    there = log_ei(scale * mean + shift, scale * std, scale * best + shift)
    assert there == pytest.approx(log_ei(mean, std, best) + math.log(scale), rel=1e-9, abs=1e-9)
    assert pi(scale * mean + shift, scale * std, scale * best + shift) == pytest.approx(pi(mean, std, best))


# Without spread, and errors ----------------------------------------------------------------------------


def test_limits_without_spread() -> None:
    mean = np.array([-2.0, 0.0, 2.0])
    assert ei(mean, 0.0, 0.0).tolist() == [2.0, 0.0, 0.0]
    assert pi(mean, 0.0, 0.0).tolist() == [1.0, 0.0, 0.0]
    assert log_ei(mean, 0.0, 0.0).tolist() == [math.log(2.0), -math.inf, -math.inf]
    for std in (1e-3, 1e-6, 1e-12, 1e-200):
        assert ei(-2.0, std, 0.0) == pytest.approx(2.0)
        assert ei(2.0, std, 0.0) == 0.0
        assert pi(-2.0, std, 0.0) == 1.0
        assert ei(0.0, std, 0.0) == pytest.approx(std * norm.pdf(0))


@pytest.mark.parametrize("function", [ei, log_ei, pi])
def test_a_negative_std_is_an_error(function) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="std must not be negative, but got -1"):
        function(np.zeros(2), np.array([1.0, -1.0]), 0.0)


def test_arguments_are_broadcast() -> None:
    assert ei(np.zeros((3, 1)), np.ones(4), 0.0).shape == (3, 4)


# The others --------------------------------------------------------------------------------------------


@given(numbers, spreads, numbers)
def test_pi_is_the_probability_of_improvement(mean: float, std: float, best: float) -> None:
    assert pi(mean, std, best) == pytest.approx(norm.cdf(best, mean, std), abs=1e-14)


@given(numbers, spreads)
def test_lcb_is_a_negated_quantile(mean: float, std: float) -> None:
    assert lcb(mean, std, 0.0) == -mean
    assert -lcb(mean, std, norm.ppf(0.9)) == pytest.approx(norm.ppf(0.1, mean, std))


def test_kappa_grows_with_trials_and_dimensions() -> None:
    kappas = [growing_kappa(t, 3) for t in range(1, 1000)]
    assert (np.diff(kappas) > 0).all()
    assert growing_kappa(0, 3) == growing_kappa(1, 3) > 0
    assert growing_kappa(50, 4) > growing_kappa(50, 3)
    assert 2 < growing_kappa(50, 3) < 4
    assert math.isfinite(growing_kappa(10**9, 10**6))


# Slopes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("u", [-800.0, -30.0, -5.0, -1.5, -0.7, 0.0, 0.4, 3.0, 50.0])
@pytest.mark.parametrize("std", [1e-3, 1.0, 1e3])
def test_slopes_are_central_differences(u: float, std: float) -> None:
    mean, h = -u * std, 1e-5 * std / max(1.0, abs(u))
    value, by_mean, by_std = log_ei_slopes(mean, std, 0.0)
    assert value == log_ei(mean, std, 0.0)
    rise = log_ei(mean + h, std, 0.0) - log_ei(mean - h, std, 0.0)
    widening = log_ei(mean, std + h, 0.0) - log_ei(mean, std - h, 0.0)
    assert by_mean * std == pytest.approx(rise / (2 * h) * std, rel=1e-4, abs=1e-7)
    assert by_std * std == pytest.approx(widening / (2 * h) * std, rel=1e-4, abs=1e-7)


def test_slopes_keep_their_signs_at_any_magnitude() -> None:
    u = np.concatenate([-np.logspace(12, -3, 200), np.logspace(-3, 1, 50)])
    for std in (1e-200, 1.0, 1e200):
        _, by_mean, by_std = log_ei_slopes(-u * std, std, 0.0)
        assert np.isfinite(by_mean).all()
        assert np.isfinite(by_std).all()
        assert (by_mean < 0).all()
        assert (by_std > 0).all()
    far = np.array([-1e5, -1e8, -1e12])  # there h ≈ φ / u², so ∂ log h / ∂u ≈ |u|
    assert np.allclose(log_ei_slopes(-far, 1.0, 0.0)[1], far, rtol=1e-6)


# By name -----------------------------------------------------------------------------------------------


def test_ei_by_name_is_computed_as_its_logarithm() -> None:
    mean, std = np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.5, 2.0])
    assert Acquisition("ei")(mean, std, 0.0).tolist() == log_ei(mean, std, 0.0).tolist()
    assert Acquisition("log_ei")(mean, std, 0.0).tolist() == log_ei(mean, std, 0.0).tolist()
    assert Acquisition("pi")(mean, std, 0.0).tolist() == pi(mean, std, 0.0).tolist()
    kappa = growing_kappa(20, 4)
    assert Acquisition("lcb", 20, 4)(mean, std, 0.0).tolist() == lcb(mean, std, kappa).tolist()


@pytest.mark.parametrize("name", ["ei", "log_ei", "lcb"])
def test_slopes_by_name(name: str) -> None:
    acquisition, h = Acquisition(name, 10, 2), 1e-6
    mean, std = np.array([0.3, -0.4, 2.0]), np.array([0.5, 1.0, 0.2])
    value, by_mean, by_std = acquisition.slopes(mean, std, 0.0)

    def difference(a: Array, b: Array) -> Array:
        return (acquisition(mean + a, std + b, 0.0) - acquisition(mean - a, std - b, 0.0)) / (2 * h)

    step, nothing = np.full(3, h), np.zeros(3)
    assert np.allclose(value, acquisition(mean, std, 0.0))
    assert np.allclose(by_mean, difference(step, nothing), rtol=1e-5)
    assert np.allclose(by_std, difference(nothing, step), rtol=1e-5)


def test_unknown_names_are_errors() -> None:
    with pytest.raises(ValueError, match="one of ei, log_ei, pi, lcb, but got 'ucb'"):
        Acquisition("ucb")
