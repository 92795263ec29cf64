"""PBI, aPBI and aaPBI: landmarks, distances and active configurations."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.strategies import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.base import Told
from headstart.strategies.predictive import PairForest, active_configurations, landmarks, landmarks_to
from headstart.transfer.models import TaskModels
from histories import FLAT, make
from strategy_runs import FEATURES, begin


def test_landmarks_by_hand():
    F = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0], [0.0, 3.0, 4.0]])  # configurations × tasks
    pairs = np.array([[0, 1], [0, 2]])
    # orders (0>1, 0>2, 1>2): task 0: F, T, T; task 1: T, F, F; task 2: F, F, T
    np.testing.assert_array_equal(landmarks(F, pairs), [[1, 1, 1], [0, 1, 0]])


def test_pbi_learns_a_distance_that_a_feature_determines():
    history = make(FLAT, tasks=12, evaluations=25)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task9"].features, 50, np.random.default_rng(0))
    order = np.argsort(forest.predict(Told.nothing(FLAT)))
    assert set(order[:3].tolist()) <= {history.tasks.index(f"task{i}") for i in (7, 8, 9, 10, 11)}


def test_apbi_without_results_is_pbi():
    history = make(FLAT, tasks=8)
    plain = begin(PredictiveBest(trees=20), history).ask(Told.nothing(FLAT))
    np.testing.assert_array_equal(plain, begin(AdaptivePredictiveBest(trees=20), history).ask(Told.nothing(FLAT)))


def test_results_outweigh_misleading_features():
    """The new task behaves like task 1 but has the features of task 8: landmarks correct the prediction."""
    history = make(FLAT, tasks=9, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task8"].features, 50, np.random.default_rng(0))
    V = history.V[history["task1"].rows[::3]]
    told = Told(V, models.responses(V)[:, history.tasks.index("task1")])
    near, far = history.tasks.index("task1"), history.tasks.index("task8")
    before, after = forest.predict(Told.nothing(FLAT)), forest.predict(told)
    assert before[far] < before[near]
    assert after[near] < after[far]


def test_active_configurations_are_best_on_some_task_and_differ_in_their_landmarks():
    history = make(FLAT, tasks=10, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 20, np.random.default_rng(0))
    chosen = active_configurations(forest, n=6, k=3)
    best = {tuple(history.V[t.rows[t.best]]) for t in history}
    assert {tuple(v) for v in chosen} <= best
    assert len({tuple(v) for v in chosen}) == 3
    orders = models.responses(chosen)[:, None] > models.responses(chosen)[None]
    assert orders.any(axis=2).sum() > orders.all(axis=2).sum()  # some tasks order two of them differently


def test_aapbi_starts_with_its_active_configurations_whatever_their_results():
    history = make(FLAT, tasks=8)
    run = begin(ActivePredictiveBest(k=3, trees=5), history, n=6)
    for result in (0.0, 1.0):
        told = Told.nothing(FLAT)
        for expected in run.first:
            np.testing.assert_array_equal(run.ask(told), expected)
            told = told.and_(expected, result)


def test_landmarks_to_a_task_like_a_past_one_are_those_between_past_tasks():
    F = np.random.default_rng(0).random((5, 4))
    pairs = np.array([[t, 2] for t in range(4)])
    np.testing.assert_array_equal(landmarks_to(F, F[:, 2]), landmarks(F, pairs))


@pytest.mark.parametrize("kind", [PredictiveBest, AdaptivePredictiveBest, ActivePredictiveBest])
@pytest.mark.parametrize("trees", [0, 2.5])
def test_a_forest_needs_a_tree(kind, trees):
    with pytest.raises(ArgumentError, match="trees must be a whole number of at least 1, but got"):
        kind(trees=trees)


def test_landmarks_need_two_configurations():
    with pytest.raises(ArgumentError, match="k must be a whole number of at least 2, but got 1"):
        ActivePredictiveBest(k=1)
