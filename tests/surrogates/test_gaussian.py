"""The independent Gaussian process: its predictions, its memory, and its hyperparameters."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import headstart as hs
from headstart._support.types import Array
from headstart.gp import GP, Fit, Prior, SquaredExponential, fit_kernel, likely_mean, log_marginal_likelihood
from headstart.gp.linalg import cholesky
from headstart.space import Float, Space
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import Gaussian, GaussianModel, refit_at

SPACE = Space({"x": Float(0, 1), "y": Float(0, 1)})


def model() -> GaussianModel:
    return Gaussian().begin(SPACE, None, features=None, rng=np.random.default_rng(0))


def trials(n: int, seed: int = 0) -> tuple[Array, Array]:
    Z = np.random.default_rng(seed).random((n, 2))
    return Z, np.asarray(3.0 + np.sin(4 * Z[:, 0]) * Z[:, 1] + Z[:, 0])


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
    """Without noise, predictions at the trials are their losses; otherwise no search could end on a minimum."""
    Z, losses = trials(30)
    posterior = model().fit(Z, losses)
    np.testing.assert_allclose(posterior.predict(Z)[0], losses, atol=2e-3 * np.ptp(losses))


def test_noise_is_recognised() -> None:
    Z, losses = trials(40)
    noisy = losses + 0.3 * np.random.default_rng(5).normal(size=40)
    posterior = model().fit(np.vstack([Z, Z]), np.append(noisy, losses - (noisy - losses)))
    error = np.abs(posterior.predict(Z)[0] - losses)
    assert np.median(error) < 0.15


def test_a_trial_with_the_expected_loss_changes_no_mean() -> None:
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
    """Step by step, with jumps, returns and changed losses: the same as a new model to the last bit."""
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


def test_a_cluster_of_good_trials_does_not_pull_the_mean() -> None:
    """Far from all trials, the process predicts what is usual, not what forty nearly equal trials gave."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((12, 2)), 0.5 + 1e-3 * rng.normal(size=(40, 2))])
    y = np.append(rng.normal(size=12), np.full(40, -5.0) + 1e-3 * rng.normal(size=40))
    kernel = fit_kernel([(X, y)], Fit(prior=Prior(), free_mean=True), rng=rng)
    mean = float(likely_mean(cholesky(kernel.gram(X))[0], y))
    far = np.array([[30.0, 30.0]])
    assert GP.fit(kernel, X, y, mean=mean).predict(far)[0][0] > -2.5
    assert GP.fit(kernel, X, y).predict(far)[0][0] < -3.0


def test_a_search_goes_on_after_the_worst_finite_loss() -> None:
    def objective(config: dict[str, float]) -> float:
        return sys.float_info.max if config["x"] < 0.2 else (config["x"] - 0.5) ** 2

    space = hs.Space({"x": hs.Float(0, 1)})
    result = hs.minimize(objective, space, n_trials=18, n_init=8, seed=0, surrogate="gp")
    assert len(result.trials) == 18
    assert max(trial.value or 0 for trial in result.trials) == sys.float_info.max
    assert result.best_value < 1e-4
