"""The learned prior against its dense formula."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.transfer.models import TaskModels
from headstart.transfer.prior import LEAST_VARIANCE, NOISE, LearnedPrior
from headstart.transfer.surfaces import Surfaces
from histories import FLAT, make


@pytest.fixture(scope="module")
def surfaces() -> Surfaces:
    return TaskModels(make(FLAT, tasks=8, evaluations=25), rng=np.random.default_rng(0)).surfaces


def test_without_results_the_prior_is_the_mean_of_the_past_tasks(surfaces):
    Z = np.random.default_rng(1).random((5, 2))
    mean, _ = LearnedPrior.equal(surfaces).mean_and_phi(Z)
    np.testing.assert_allclose(mean, surfaces.at(Z).mean(axis=1))


def test_without_covariance_only_offset_and_slope_are_free(surfaces):
    Z = np.random.default_rng(1).random((5, 2))
    assert LearnedPrior.equal(surfaces).mean_and_phi(Z)[1].shape == (5, 2 + 8)
    assert LearnedPrior.equal(surfaces, covariance=False).mean_and_phi(Z)[1].shape == (5, 2)


def test_conditioning_equals_the_dense_formula(surfaces):
    rng = np.random.default_rng(2)
    X, y, Z = rng.random((6, 2)), rng.random(6), rng.random((4, 2))
    found = LearnedPrior.equal(surfaces).condition(X, y)
    mean, phi = found.prior.mean_and_phi(Z)
    kernel = found.prior.kernel(found.rho)
    K = found.phi @ found.phi.T + kernel(X, X) + NOISE**2 * np.eye(6)
    k = phi @ found.phi.T + kernel(Z, X)
    np.testing.assert_allclose(found.predict(Z)[0], mean + k @ np.linalg.solve(K, y - found.mean), atol=1e-8)
    variance = (phi**2).sum(1) + found.rho**2 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    np.testing.assert_allclose(found.predict(Z)[1] ** 2, np.maximum(variance, LEAST_VARIANCE), atol=1e-8)


def test_extending_equals_conditioning_again_with_the_same_residual(surfaces, monkeypatch):
    monkeypatch.setattr("headstart.transfer.prior.RESIDUALS", (0.2,))
    rng = np.random.default_rng(3)
    X, y, Z = rng.random((7, 2)), rng.random(7), rng.random((4, 2))
    prior = LearnedPrior.equal(surfaces)
    grown = prior.condition(X[:6], y[:6]).extend(X[6], y)
    whole = prior.condition(X, y)
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), atol=1e-8)


def test_results_that_contradict_the_past_tasks_make_the_residual_large(surfaces):
    X = np.random.default_rng(4).random((10, 2))
    typical = surfaces.at(X)[:, 3]
    contrary = np.random.default_rng(5).random(10)
    prior = LearnedPrior.equal(surfaces)
    assert prior.condition(X, contrary).rho > prior.condition(X, typical).rho
