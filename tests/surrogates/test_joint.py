"""One process over all data sets: against the dense formulas, the rows it uses, and the meta-features it sees."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest

from headstart._support.types import Array, Rows
from headstart.gp import GP, Kernel, SquaredExponential
from headstart.surrogates.base import Acquisition, standardise
from headstart.surrogates.joint import JointGP, JointPrior, PastEvaluations, task_vectors
from headstart.surrogates.mklgp import MKLGP, deviations
from headstart.surrogates.names import SURROGATES
from headstart.surrogates.scot import SCoT
from headstart.transfer.models import TaskModels
from related_tasks import (
    FEATURES,
    JOINT,
    PLAIN,
    candidates,
    check,
    constant_task,
    family,
    model,
    rng,
    slope,
    trials,
)

# The process -------------------------------------------------------------------------------------------


def dense(
    kernel: Kernel, covariance: Array, rows: PastEvaluations, Z: Array, y: Array, at: Array
) -> tuple[Array, Array]:
    """Mean and std of the new task, from the dense covariance of all rows."""
    new = len(covariance) - 1
    X = np.vstack([rows.X, Z])
    tasks = np.append(rows.tasks, np.full(len(Z), new))
    scale = covariance / kernel.amplitude
    K = kernel(X, X) * scale[np.ix_(tasks, tasks)] + kernel.noise * np.eye(len(X))
    k = kernel(X, at) * scale[tasks, new][:, None]
    weights = np.linalg.solve(K, k)
    variance = kernel.amplitude - np.einsum("ij,ij->j", k, weights)
    return weights.T @ np.append(rows.labels, y), np.sqrt(variance)


def random_history(distinct: int, n: int, tasks: int = 4) -> tuple[Kernel, Array, PastEvaluations]:
    """n random evaluations of some tasks, at `distinct` configurations, with a random covariance of tasks."""
    generator = rng(17, 0)
    X, which = generator.random((distinct, 3))[np.arange(n) % distinct], generator.integers(0, tasks, n)
    root = generator.normal(size=(tasks + 1, tasks + 2))
    covariance, labels = root @ root.T, generator.normal(size=n)
    kernel = SquaredExponential(covariance[-1, -1], np.array([0.4, 0.7, 1.5]), 0.05)
    return kernel, covariance, PastEvaluations(X, which, labels)


@pytest.mark.parametrize(("distinct", "n"), [(7, 30), (30, 30), (1, 1)])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_the_joint_process_is_the_dense_one(distinct: int, n: int, k: int) -> None:
    kernel, covariance, rows = random_history(distinct, n)
    prior = JointPrior.fit(kernel, covariance, rows)
    Z, y, at = rng(1).random((k, 3)), rng(2).normal(size=k), rng(3).random((9, 3))
    assert prior.root.shape == (distinct, distinct)
    gp = JointGP.at(prior, Z)
    mean, std = gp.predict(at, gp.weights(y))
    expected = dense(kernel, covariance, rows, Z, y, at)
    assert np.allclose(mean, expected[0], rtol=1e-8, atol=1e-10)
    assert np.allclose(std, expected[1], rtol=1e-7)


def test_extending_trial_by_trial_is_fitting_all_at_once() -> None:
    prior = JointPrior.fit(*random_history(7, 30))
    Z, y, at = rng(1).random((6, 3)), rng(2).normal(size=6), rng(3).random((9, 3))
    grown = JointGP.at(prior, Z[:0])
    for z in Z:
        grown = grown.extend(z)
    anew = JointGP.at(prior, Z)
    assert np.allclose(grown.R, anew.R)
    assert np.allclose(grown.J, anew.J)
    for one, other in zip(grown.predict(at, grown.weights(y)), anew.predict(at, anew.weights(y)), strict=True):
        assert np.allclose(one, other, rtol=1e-9)


def test_unrelated_data_sets_leave_a_plain_process() -> None:
    """With no covariance between the past tasks and the new one, only the run's own trials count."""
    kernel, covariance, rows = random_history(7, 30)
    covariance[-1, :-1] = covariance[:-1, -1] = 0.0
    Z, y, at = rng(1).random((6, 3)), rng(2).normal(size=6), rng(3).random((9, 3))
    gp = JointGP.at(JointPrior.fit(kernel, covariance, rows), Z)
    expected = GP.fit(kernel, Z, y, mean=0.0).predict(at)
    for one, other in zip(gp.predict(at, gp.weights(y)), expected, strict=True):
        assert np.allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("name", JOINT)
def test_without_trials_it_predicts_from_the_history(name: str) -> None:
    posterior = model(name).fit(np.empty((0, 2)), np.empty(0))
    mean, std = posterior.predict(candidates())
    assert np.corrcoef(mean, slope(candidates()))[0, 1] > 0.85
    assert (std > 0).all()
    assert np.isfinite(posterior.score(candidates(), Acquisition())).all()
    Z, losses = trials(1)
    extended, fitted = posterior.extend(Z[0], float(losses[0])), model(name).fit(Z, losses)
    assert np.allclose(extended.predict(candidates()), fitted.predict(candidates()))


@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("kind", ["shared", "ragged", "without features"])
def test_a_history_of_related_tasks_makes_a_difference(name: str, kind: str) -> None:
    """After a random first trial, the next two are better than random ones, on average."""
    at, gains = candidates(), []
    m = model(name, kind)
    for seed in range(8):
        tried = [int(i) for i in rng(13, seed).choice(len(at), 1)]
        f = 2.0 + 5.0 * slope(at, 0.45)
        while len(tried) < 3:
            score = m.fit(at[tried], f[tried]).score(at, Acquisition())
            score[tried] = -np.inf
            tried.append(int(np.argmax(score)))
        gains.append(f.mean() - f[tried[1:]].mean())
    assert np.mean(gains) > 0.5 * (f.mean() - f.min())


# The rows that are used --------------------------------------------------------------------------------


def evaluations(tasks: Rows) -> PastEvaluations:
    """Rows whose labels are their positions."""
    n = len(tasks)
    return PastEvaluations(np.arange(n, dtype=float)[:, None], tasks, np.arange(n, dtype=float))


def test_a_sample_is_even_over_tasks() -> None:
    everything = evaluations(np.repeat([0, 1, 2], [100, 3, 50]))
    sample = everything.sample(21, rng=rng(0))
    assert np.bincount(sample.tasks).tolist() == [9, 3, 9]
    assert np.array_equal(sample.labels, everything.sample(21, rng=rng(0)).labels)
    assert everything.sample(153, rng=rng(0)) is everything
    assert len(np.unique(evaluations(np.arange(50)).sample(10, rng=rng(0)).labels)) == 10


def test_a_sample_keeps_the_order_and_what_belongs_together() -> None:
    everything = evaluations(np.repeat([0, 1, 2], [100, 3, 50]))
    sample = everything.sample(100, rng=rng(1))
    assert (np.diff(sample.labels) > 0).all()
    assert np.array_equal(sample.X[:, 0], sample.labels)
    assert np.array_equal(sample.tasks, everything.tasks[sample.labels.astype(int)])


def test_evaluations_are_those_of_the_history_with_labels_per_task() -> None:
    history = family(ragged=True)
    models = TaskModels(history, rng=rng(0))
    rows = PastEvaluations.of(models, deviations)
    for t, name in enumerate(history.tasks):
        mine = rows.tasks == t
        assert np.array_equal(rows.X[mine], history.design(name))
        assert np.array_equal(rows.labels[mine], standardise(models.losses[t])[0])


@pytest.mark.parametrize(("surrogate", "name"), [(SCoT(max_rows=40), "scot"), (MKLGP(max_rows=40), "mklgp")])
def test_a_sample_of_a_large_history_is_logged(
    surrogate: SCoT | MKLGP, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    models = TaskModels(family(ragged=True), rng=rng(0))
    with caplog.at_level(logging.INFO, logger="headstart"):
        m = surrogate.begin(PLAIN, models, features=FEATURES, rng=rng(1))
    assert (m.rows, m.total) == (40, 70)
    assert f"{name}: trained on 40 (a seeded sample) of 70 past evaluations, 40 distinct" in caplog.text
    check(m, *trials(5), candidates(n=30))
    again = surrogate.begin(PLAIN, models, features=FEATURES, rng=rng(1))
    assert np.array_equal(m.fit(*trials(5)).predict(candidates()), again.fit(*trials(5)).predict(candidates()))


@pytest.mark.parametrize("name", JOINT)
def test_cost_depends_on_distinct_configurations(name: str) -> None:
    assert "all 90 past evaluations, 18 distinct configurations" in model(name).notes
    assert model(name).prior.root.shape == (18, 18)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SCoT(C=0.0),
        lambda: SCoT(max_rows=1),
        lambda: SCoT(fit_rows=0),
        lambda: SCoT(ranking="pairs"),
        lambda: MKLGP(max_rows=1),
        lambda: MKLGP(fit_rows=1),
    ],
)
def test_impossible_settings_are_rejected(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


# Meta-features -----------------------------------------------------------------------------------------


def test_task_vectors_are_standardised_and_stay_in_the_range_of_past_tasks() -> None:
    models = TaskModels(family(), rng=rng(0))
    M = task_vectors(models, {"size": 0.5, "width": 1e9, "unheard of": 1.0})
    assert M is not None
    assert M.shape == (6, 2)
    assert np.allclose(M[:-1].mean(axis=0), 0)
    assert np.allclose(M[:-1].std(axis=0), 1)
    assert M[-1] == pytest.approx([0.0, M[:-1, 1].max()])


def test_task_vectors_need_features_on_both_sides() -> None:
    models = TaskModels(family(), rng=rng(0))
    assert task_vectors(models, None) is None
    assert task_vectors(models, {"unheard of": 1.0}) is None
    assert task_vectors(models, {"size": np.nan}) is None
    assert task_vectors(TaskModels(family(features=False), rng=rng(0)), FEATURES) is None
    M = task_vectors(TaskModels(constant_task(family()), rng=rng(0)), FEATURES)
    assert M is not None
    assert M[0].tolist() == [0.0, 0.0]  # "flat" has no features: it counts as average


@pytest.mark.parametrize(
    ("name", "text"), [("scot", "the process sees configurations only"), ("mklgp", "no two data sets count as similar")]
)
def test_missing_meta_features_are_logged(name: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="headstart"):
        SURROGATES[name]().begin(PLAIN, TaskModels(family(), rng=rng(0)), features=None, rng=rng(1))
    assert text in caplog.text


@pytest.mark.parametrize("name", JOINT)
def test_predictions_follow_the_meta_features(name: str) -> None:
    """The greater the size of a past task, the more its losses rise with the second parameter."""
    models, costs = TaskModels(family(tasks=8, rows=30), rng=rng(0)), []
    for size in (0.0, 1.0):
        features = {"size": size, "width": 2.1 * size}
        m = SURROGATES[name]().begin(PLAIN, models, features=features, rng=rng(1))
        mean, _ = m.fit(np.empty((0, 2)), np.empty(0)).predict(np.array([[0.5, 0.0], [0.5, 1.0]]))
        costs.append(mean[1] - mean[0])
    assert costs[0] < costs[1] - 0.1
