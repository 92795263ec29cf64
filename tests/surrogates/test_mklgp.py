"""MKLGP: its kernel of data sets, and the weights it learns."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.gp import GP, SquaredExponential
from headstart.surrogates.joint import JointGP, JointPrior, PastEvaluations, task_vectors
from headstart.surrogates.mklgp import (
    APART,
    MKLGP,
    deviations,
    euclidean,
    fit_weights,
    log_likelihood,
    task_covariance,
    task_squares,
)
from headstart.transfer.models import TaskModels
from histories import FLAT, embedded, make
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


# -- other distances between data sets -----------------------------------------------------------------------


def test_classical_scaling_keeps_distances_that_are_euclidean_and_makes_others_so() -> None:
    X = np.random.default_rng(0).random((6, 3))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(euclidean(D), D**2, atol=1e-12)
    odd = np.array([[0, 1, 1, 3.0], [1, 0, 1, 1], [1, 1, 0, 1], [3, 1, 1, 0]])  # 3 > 1 + 1: no triangle
    E = np.exp(-0.5 * euclidean(odd))
    assert np.linalg.eigvalsh(E).min() > -1e-10


@pytest.mark.parametrize("distance", ["features", "forest", "metric"])
def test_the_new_data_set_is_most_like_the_nearest_by_each_distance(distance: str) -> None:
    history = embedded(make(FLAT, tasks=8, evaluations=15))
    models = TaskModels(history, rng=np.random.default_rng(0))
    features = {**history["task6"].features, "metric 0a 0": history["task6"].features["centre"]}
    squares = MKLGP(distance=distance)._squares(models, features, np.random.default_rng(0))
    np.testing.assert_allclose(squares, squares.T, atol=1e-9)
    assert squares[-1, :-1].argmin() in (5, 6, 7)
    model = MKLGP(distance=distance).begin(FLAT, models, features=features, rng=np.random.default_rng(0))
    mean, std = model.fit(np.empty((0, 2)), np.empty(0)).predict(history.design("task6"))  # before the first trial
    assert np.corrcoef(mean, history["task6"].losses)[0, 1] > 0.5
    assert (std > 0).all()


def test_the_distance_is_checked() -> None:
    with pytest.raises(ArgumentError, match="distance must be one of features, forest, metric, but got 'l1'"):
        MKLGP(distance="l1")
