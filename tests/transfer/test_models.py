"""Models of the past tasks: which are fitted, when, and with what result."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.transfer.models import MOST_CANDIDATES, MOST_SHARED, TaskModels
from headstart.transfer.ranks import normal_scores
from histories import FINITE, FLAT, KINDS, make


def models_of(history, **options) -> TaskModels:
    return TaskModels(history, rng=np.random.default_rng(0), **options)


def fail(*_, **__):
    raise AssertionError("a model was fitted")


# -- responses use the models that are there -------------------------------------------------------------------


@pytest.fixture
def ragged():
    return make(FLAT, tasks=4, evaluations=[8, 12, 10, 9], shared=False)


def test_observed_losses_come_before_predictions(ragged):
    models = models_of(ragged)
    F = models.responses(ragged.V)
    predicted = models.predict(ragged.Z)
    for t, task in enumerate(ragged):
        np.testing.assert_array_equal(F[task.rows, t], task.scaled())
        others = np.setdiff1d(np.arange(len(ragged.V)), task.rows)
        np.testing.assert_array_equal(F[others, t], predicted[others, t])


def test_responses_use_the_population_if_it_is_fitted_already(ragged):
    """A score becomes the loss with that rank: a task's own scores give back its own losses."""
    models = models_of(ragged)
    V = FLAT.sample_values(5, rng=np.random.default_rng(1))
    scores = models.population.at(FLAT.encode_values(V))
    F = models.responses(V)
    assert "surrogates" not in vars(models)
    assert "kernel" not in vars(models)
    for t, task in enumerate(ragged):
        known, losses = np.sort(normal_scores(task.losses)), np.sort(task.scaled())
        above = np.searchsorted(known, scores[:, t])
        low, high = losses[np.maximum(above - 1, 0)], losses[np.minimum(above, len(losses) - 1)]
        assert np.all((low <= F[:, t]) & (F[:, t] <= high))


def test_responses_use_the_plain_models_if_these_are_fitted_already(ragged):
    models = models_of(ragged)
    V = FLAT.sample_values(5, rng=np.random.default_rng(1))
    expected = models.predict(FLAT.encode_values(V))
    _ = models.population
    np.testing.assert_array_equal(models.responses(V), expected)


def test_a_population_that_lacks_a_task_does_not_make_responses(ragged, monkeypatch):
    monkeypatch.setattr("headstart.transfer.population.MOST_TASKS", 3)
    models = models_of(ragged)
    assert len(models.population) == 3
    V = FLAT.sample_values(5, rng=np.random.default_rng(1))
    F, shares = models.sampled_responses(V)
    assert F.shape == (5, 3)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_array_equal(models.responses(V), models.predict(FLAT.encode_values(V)))


def test_learning_with_auto_fits_no_plain_models(ragged, monkeypatch):
    monkeypatch.setattr("headstart.transfer.models.fit_kernel", fail)
    assert len(hs.learn(ragged, n=4, method="auto").expected) == 4


def test_learning_with_rbi_on_a_shared_grid_fits_no_model(monkeypatch):
    monkeypatch.setattr("headstart.transfer.models.fit_kernel", fail)
    monkeypatch.setattr("headstart.transfer.surfaces.fit_kernel", fail)
    start = hs.learn(make(FLAT, tasks=6), n=4, method="rbi")
    assert len(start.expected) == 4


# -- views of the history --------------------------------------------------------------------------------------


def test_surfaces_of_some_tasks_keep_the_hyperparameters():
    models = models_of(make(FLAT))
    some = models.surfaces_of([4, 1])
    Z = np.random.default_rng(0).random((3, 2))
    assert some.kernel is models.surfaces.kernel
    np.testing.assert_allclose(some.at(Z), models.surfaces.at(Z)[:, [4, 1]], atol=1e-10)


def test_rows_are_ranked_with_failures_last():
    history = make(FLAT, failures=3)
    for task, rows in zip(history, models_of(history).ranked_rows, strict=True):
        losses = dict(zip(task.rows.tolist(), task.losses, strict=True))
        ranked = np.array([losses[row] for row in rows.tolist()])
        assert np.isnan(ranked[-3:]).all()
        assert (np.diff(ranked[:-3]) >= 0).all()


@pytest.mark.parametrize("name", ["flat, shared design", "mixed, ragged"])
def test_shared_losses_are_observed_on_a_shared_design_and_predicted_otherwise(name):
    models = models_of(KINDS[name])
    V, F = models.shared
    assert models.is_shared == (name == "flat, shared design")
    assert ("surrogates" in vars(models)) != models.is_shared
    expected = models.responses(V) if models.is_shared else models.predict(models.space.encode_values(V))
    np.testing.assert_allclose(F, expected, atol=1e-12)


def test_shared_configurations_are_limited():
    history = make(FLAT, tasks=2, evaluations=MOST_SHARED + 50)
    V, F = models_of(history).shared
    assert V.shape == (MOST_SHARED, 2)
    assert F.shape == (MOST_SHARED, 2)


def test_candidates_are_the_allowed_ones_or_a_limited_mixture():
    history = make(FLAT)
    allowed = FLAT.sample_values(7, rng=np.random.default_rng(1))
    assert models_of(history, allowed=allowed).candidates is allowed
    V = models_of(history).candidates
    assert len(history.V) < len(V) <= MOST_CANDIDATES
    assert {row.tobytes() for row in history.V} <= {row.tobytes() for row in V}


def test_a_space_that_was_tried_completely_has_no_further_candidates():
    history = make(FINITE, tasks=2, evaluations=100)
    assert len(history.V) == FINITE.size
    assert len(models_of(history).candidates) == FINITE.size
