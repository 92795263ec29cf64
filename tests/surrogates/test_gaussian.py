"""The independent Gaussian process: its warp of the losses, its memory, and its hyperparameters."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import headstart as hs
from headstart._support.types import Array
from headstart.gp import GP, Fit, Prior, SquaredExponential, fit_kernel, likely_mean, log_marginal_likelihood
from headstart.gp.linalg import cholesky
from headstart.space import Float, Space
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import FAR, Gaussian, GaussianModel, Warp, bend, refit_at, unbend

SPACE = Space({"x": Float(0, 1), "y": Float(0, 1)})
POWERS = [-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 2.4, 3.0]


def model() -> GaussianModel:
    return Gaussian().begin(SPACE, None, features=None, rng=np.random.default_rng(0))


def trials(n: int, seed: int = 0) -> tuple[Array, Array]:
    Z = np.random.default_rng(seed).random((n, 2))
    return Z, np.asarray(3.0 + np.sin(4 * Z[:, 0]) * Z[:, 1] + Z[:, 0])


# -- warp ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", POWERS)
def test_bending_is_that_of_yeo_and_johnson(power: float) -> None:
    t = np.linspace(-6, 6, 41)
    np.testing.assert_allclose(bend(t, power), stats.yeojohnson(t, lmbda=power), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("power", POWERS)
def test_unbending_is_the_reverse(power: float) -> None:
    t = np.linspace(-20, 20, 81)
    np.testing.assert_allclose(unbend(bend(t, power), power), t, rtol=1e-9, atol=1e-12)
    beyond = unbend(np.array([-1e3, -10.0, 10.0, 1e3]), power)
    assert np.isfinite(beyond).all()
    assert (np.diff(beyond) >= 0).all()


def test_power_one_bends_nothing() -> None:
    t = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(bend(t, 1.0), t)


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
    told_apart = np.minimum(losses, warp.shift + FAR * warp.scale)  # disasters are not
    np.testing.assert_allclose(warp.back(y), told_apart, atol=1e-5 * wide, rtol=1e-5)


def test_losses_that_nearly_all_agree_can_be_warped() -> None:
    losses = np.array([0.0, 0.0, 0.0, -1.0, -3.1e-142])
    warp = Warp.fit(losses)
    np.testing.assert_allclose(warp.back(warp(losses)), losses, atol=1e-9)


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


def test_a_disaster_does_not_hide_the_differences_between_good_losses() -> None:
    losses = np.append(np.linspace(0.1, 0.5, 20), [1e6, 3e5])
    y = Warp.fit(losses)(losses)
    assert np.ptp(y[:20]) > 1.0
    plain = (losses - losses.mean()) / losses.std()
    assert np.ptp(plain[:20]) < 1e-5


@pytest.mark.parametrize("losses", [[2.0], [2.0, 2.0, 2.0], [0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0, 5.0]])
def test_losses_without_spread_are_only_shifted(losses: list[float]) -> None:
    warp = Warp.fit(np.array(losses))
    np.testing.assert_allclose(warp.back(warp(np.array(losses))), losses)
    assert np.isfinite(warp(np.array([0.0, 1e9]))).all()


# -- posterior -------------------------------------------------------------------------------------------


def test_predictions_are_in_the_units_of_the_losses() -> None:
    Z, losses = trials(25)
    posterior = model().fit(Z, 1e4 * losses)
    mean, std = posterior.predict(Z)
    np.testing.assert_allclose(mean, 1e4 * losses, rtol=1e-3)
    at, truth = trials(200, seed=1)
    mean, std = posterior.predict(at)
    assert np.corrcoef(mean, truth)[0, 1] > 0.99
    assert (std > 0).all()


def test_exact_functions_are_interpolated_closely() -> None:
    """Without noise, what is told is what is predicted: otherwise no search could end on a minimum."""
    Z, losses = trials(30)
    posterior = model().fit(Z, losses)
    np.testing.assert_allclose(posterior.predict(Z)[0], losses, atol=2e-3 * np.ptp(losses))


def test_noise_is_recognised() -> None:
    Z, losses = trials(40)
    noisy = losses + 0.3 * np.random.default_rng(5).normal(size=40)
    posterior = model().fit(np.vstack([Z, Z]), np.append(noisy, losses - (noisy - losses)))
    error = np.abs(posterior.predict(Z)[0] - losses)
    assert np.median(error) < 0.15


def test_extending_by_what_is_expected_leaves_the_prediction() -> None:
    Z, losses = trials(15)
    posterior = model().fit(Z, losses)
    z = np.array([[0.3, 0.9]])
    expected, before = posterior.predict(z)
    after = posterior.extend(z[0], float(expected[0])).predict(z)
    assert after[0] == pytest.approx(expected, rel=1e-6)
    assert after[1] < before


# -- memory ----------------------------------------------------------------------------------------------


def test_the_number_of_trials_behind_the_hyperparameters() -> None:
    assert [refit_at(n) for n in range(1, 15)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 12, 12, 14]
    known = [refit_at(n) for n in range(1, 1000)]
    assert known == sorted(known)
    assert all(n - k <= max(1, 0.12 * n) for n, k in enumerate(known, 1))
    assert len(set(known)) < 60


def test_the_memory_changes_no_answer() -> None:
    """Step by step, with jumps, returns and changed losses: to the last bit what a new model answers."""
    Z, losses = trials(30)
    at = np.random.default_rng(1).random((20, 2))
    remembering = model()
    changed = losses.copy()
    changed[3] += 0.5
    order = [(n, losses) for n in (*range(8, 24), 30, 12, 13, 30)] + [(13, changed), (14, changed), (14, losses)]
    for n, y in order:
        answer = remembering.fit(Z[:n], y[:n]).score(at, Acquisition())
        np.testing.assert_array_equal(answer, model().fit(Z[:n], y[:n]).score(at, Acquisition()))


def test_the_memory_is_not_disturbed_from_outside() -> None:
    Z, losses = trials(12)
    kept, at = model(), np.array([[0.5, 0.5]])
    first = kept.fit(Z, losses).predict(at)
    Z[0] = 0.0
    losses[0] = 100.0
    again = kept.fit(*trials(12)).predict(at)
    np.testing.assert_array_equal(first, again)


# -- hyperparameters -------------------------------------------------------------------------------------


def test_the_likely_mean_is_that_of_generalised_least_squares() -> None:
    X, y = trials(12)
    K = SquaredExponential(1.3, np.array([0.4, 0.2]), 0.05).gram(X)
    inverse, one = np.linalg.inv(K), np.ones(12)
    Y = np.column_stack([y, y**2])
    expected = one @ inverse @ Y / (one @ inverse @ one)
    np.testing.assert_allclose(likely_mean(cholesky(K)[0], Y), expected)


def test_the_likelihood_with_a_free_mean_is_the_greatest_over_means() -> None:
    X, y = trials(10)
    theta = np.log([1.2, 0.4, 0.3, 0.02])
    free = log_marginal_likelihood(theta, [(X, y[:, None])], free_mean=True)[0]
    fixed = [log_marginal_likelihood(theta, [(X, y[:, None] - m)])[0] for m in np.linspace(0, 6, 601)]
    assert free == pytest.approx(max(fixed), abs=1e-3)
    assert free >= max(fixed)


def test_its_gradient_is_the_numeric_one() -> None:
    X, y = trials(10)
    theta = np.log([1.2, 0.4, 0.3, 0.02])
    groups = [(X, np.column_stack([y, -(y**2)])), (X[:5] ** 2, y[:5, None])]
    _, gradient = log_marginal_likelihood(theta, groups, free_mean=True)
    for j, step in enumerate(1e-5 * np.eye(4)):
        up, down = (log_marginal_likelihood(theta + s, groups, free_mean=True)[0] for s in (step, -step))
        assert gradient[j] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


def test_a_cluster_of_good_trials_does_not_pull_the_mean() -> None:
    """Far from everything the process says what is usual, not what was seen at forty almost equal trials."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((12, 2)), 0.5 + 1e-3 * rng.normal(size=(40, 2))])
    y = np.append(rng.normal(size=12), np.full(40, -5.0) + 1e-3 * rng.normal(size=40))
    kernel = fit_kernel([(X, y)], Fit(prior=Prior(), free_mean=True), rng=rng)
    mean = float(likely_mean(cholesky(kernel.gram(X))[0], y))
    far = np.array([[30.0, 30.0]])
    assert GP.fit(kernel, X, y, mean=mean).predict(far)[0][0] > -2.5
    assert GP.fit(kernel, X, y).predict(far)[0][0] < -3.0


@pytest.mark.parametrize("times", [2, 4, 20])
@pytest.mark.parametrize("penalty", [1e7, 1e9, 1e100, 1e155, sys.float_info.max])
def test_a_penalty_of_any_size_leaves_ordinary_losses_apart(penalty: float, times: int) -> None:
    ordinary = np.linspace(0.1, 0.5, 9)
    warp = Warp.fit(np.append(ordinary, [penalty] * times))
    y = warp(np.append(ordinary, penalty))
    assert np.isfinite(y).all()
    assert np.ptp(y[:-1]) > 0.05  # of the warped losses' standard deviation, most of which the penalties are
    np.testing.assert_allclose(warp.back(y[:-1]), ordinary, rtol=1e-6)


def test_penalties_hide_no_success_where_most_losses_are_the_same() -> None:
    warp = Warp.fit(np.array([0.5] * 7 + [0.4, 0.3, 1e9]))
    best, plateau = warp(np.array([0.3, 0.5]))
    assert plateau - best > 0.5
    tiny = Warp.fit(np.append(np.linspace(1e-10, 5e-10, 9), sys.float_info.max))  # no overflow either
    assert np.isfinite(tiny(np.array([1e-10, sys.float_info.max]))).all()


def test_a_search_goes_on_after_the_worst_finite_loss() -> None:
    def objective(config: dict[str, float]) -> float:
        return sys.float_info.max if config["x"] < 0.2 else (config["x"] - 0.5) ** 2

    space = hs.Space({"x": hs.Float(0, 1)})
    result = hs.minimize(objective, space, n_trials=18, n_init=8, seed=0, surrogate="gp")
    assert len(result.trials) == 18
    assert max(trial.value or 0 for trial in result.trials) == sys.float_info.max
    assert result.best_value < 1e-4
