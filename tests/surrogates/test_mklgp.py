"""MKLGP: its kernel of data sets, and the weights it learns."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.gp import GP, SquaredExponential
from headstart.surrogates.joint import JointGP, JointPrior, PastEvaluations, task_vectors
from headstart.surrogates.mklgp import APART, deviations, fit_weights, log_likelihood, task_covariance, task_squares
from headstart.transfer.models import TaskModels
from related_tasks import FEATURES, candidates, family, rng, trials


def test_deviations_are_standardised_losses_with_a_way_back() -> None:
    labels = deviations(np.empty((3, 0)), np.array([1.0, 2.0, 6.0]))
    assert labels.values.mean() == pytest.approx(0.0)
    assert labels.values.std() == pytest.approx(1.0)
    assert labels.offset + labels.scale * labels.values == pytest.approx([1.0, 2.0, 6.0])


def test_distances_of_data_sets() -> None:
    squares = task_squares(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 4.0]]), 2)
    assert squares.tolist() == [[0.0, 2.0, 10.0], [2.0, 0.0, 8.0], [10.0, 8.0, 0.0]]
    apart = task_squares(None, 2)
    covariance, noise = task_covariance(np.log([0.2, 0.3, 1.0, 0.01]), apart)
    assert np.allclose(covariance, 0.2 + 0.3 * np.eye(3))
    assert noise == pytest.approx(0.01)
    assert apart.max() == APART


def test_gradient_of_the_likelihood_is_central_differences() -> None:
    generator = rng(0)
    X, M, labels = generator.random((12, 2)), generator.normal(size=(12, 2)), generator.normal(size=12)
    S = SquaredExponential(1.0, np.array([0.5, 1.0]), 1.0)(X, X)
    squares = task_squares(M, 11)
    theta = np.log([0.4, 0.7, 0.8, 0.2])
    _, gradient = log_likelihood(theta, S, squares, labels)
    for j, step in enumerate(1e-6 * np.eye(4)):
        high, low = (log_likelihood(theta + s * step, S, squares, labels)[0] for s in (1, -1))
        assert gradient[j] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("truth", [(1.0, 1e-3), (1e-3, 1.0)])
def test_weights_find_what_data_sets_share(truth: tuple[float, float]) -> None:
    generator = rng(0)
    tasks = np.repeat(np.arange(12), 12)
    X = generator.random((len(tasks), 1))
    S = SquaredExponential(1.0, np.array([0.4]), 1.0)(X, X)
    squares = (APART * (1 - np.eye(12)))[np.ix_(tasks, tasks)]
    covariance, noise = task_covariance(np.log([*truth, 1.0, 1e-3]), squares)
    K = covariance * S + noise * np.eye(len(X))
    labels = np.linalg.cholesky(K) @ generator.normal(size=len(X))
    shared, by_task, *_ = np.exp(fit_weights(S, squares, labels))
    assert (shared > 10 * by_task) if truth[0] > truth[1] else (by_task > 10 * shared)


def test_without_a_kernel_of_data_sets_mklgp_is_one_process_on_all_standardised_losses() -> None:
    models = TaskModels(family(ragged=True), rng=rng(0))
    rows = PastEvaluations.of(models, deviations)
    squares = task_squares(task_vectors(models, FEATURES), len(models))
    covariance, noise = task_covariance(np.array([np.log(0.8), -np.inf, 0.0, np.log(0.1)]), squares)
    kernel = SquaredExponential(0.8, np.array([0.5, 0.9]), noise)
    Z, f = trials(5)
    y = deviations(Z, f).values
    gp = JointGP.at(JointPrior.fit(kernel, covariance, rows), Z)
    one = GP.fit(kernel, np.vstack([rows.X, Z]), np.append(rows.labels, y), mean=0.0)
    for ours, theirs in zip(gp.predict(candidates(), gp.weights(y)), one.predict(candidates()), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-10)
