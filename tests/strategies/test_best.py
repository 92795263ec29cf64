"""RBI and NBI: which tasks come first."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.strategies import NearestBest, RandomBest
from headstart.strategies.base import Told
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_distance, feature_vectors
from histories import FLAT, KINDS, make
from strategy_runs import FEATURES, begin, play, strategy


def test_rbi_proposes_the_best_of_tasks_and_every_task_first_equally_often():
    history = KINDS["flat, shared design"]
    best = {tuple(history.V[t.rows[t.best]]) for t in history}
    told = play(begin(RandomBest(), history, n=len(best)), history, len(best))
    assert {tuple(v) for v in told.V} == best
    firsts = [tuple(begin(RandomBest(), history, seed=s).ask(Told.nothing(FLAT))) for s in range(200)]
    assert set(firsts) == best


def test_nbi_takes_the_nearest_task_first():
    history = make(FLAT, tasks=6)
    for i in (1, 4):
        models = TaskModels(history, rng=np.random.default_rng(0))
        run = NearestBest().begin(models, n=1, features=history[f"task{i}"].features, rng=np.random.default_rng(0))
        task = history[f"task{i}"]
        np.testing.assert_array_equal(run.ask(Told.nothing(FLAT)), history.V[task.rows[task.best]])


def test_nbi_distance_by_hand_and_with_missing_features():
    M = np.array([[0.0, 0.0], [3.0, 4.0], [np.nan, 1.0], [np.nan, np.nan]])
    new = np.array([0.0, 0.0])
    distance = feature_distance(M, new, 2.0)
    assert distance[0] == 0
    assert distance[1] == pytest.approx(5.0 * 1.0)
    assert distance[2] == pytest.approx(
        np.sqrt(2.0)
    )  # one of two features is known: the other counts as if it differed as much
    assert distance[3] == np.inf
    assert feature_distance(M[:2], new, 1.0)[1] == pytest.approx(7.0)


def test_only_shared_features_count_and_they_are_standardised():
    history = make(FLAT, tasks=3)
    models = TaskModels(history, rng=np.random.default_rng(0))
    M, _ = feature_vectors(models, {"centre": 0.5, "unknown": 1.0})
    assert M.shape == (3, 1)
    np.testing.assert_allclose(M.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(M.std(axis=0), 1)
    with pytest.raises(ValueError, match="shares no meta-feature"):
        feature_vectors(models, {"unknown": 1.0})
    with pytest.raises(ValueError, match="needs the new task's meta-features"):
        feature_vectors(models, None)


@pytest.mark.parametrize("name", ["nbi", "pbi", "apbi", "aapbi"])
def test_methods_that_need_features_say_so(name):
    history = make(FLAT, features=False)
    models = TaskModels(history, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="shares no meta-feature with the history, which has none"):
        strategy(name).begin(models, n=2, features=FEATURES, rng=np.random.default_rng(0))


@pytest.mark.parametrize("p", [0, -1.0, np.nan])
def test_the_norm_must_be_positive(p):
    with pytest.raises(ArgumentError, match="p must be above 0, but got"):
        NearestBest(p=p)
