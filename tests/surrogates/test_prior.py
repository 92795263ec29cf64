"""The Gaussian process with a transferred prior."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.surrogates.base import Acquisition
from headstart.surrogates.prior import NearestPrior, TransferredPrior
from headstart.transfer.models import TaskModels
from histories import FLAT, make

HISTORY = make(FLAT, tasks=8, evaluations=25)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("surrogate", [TransferredPrior(), NearestPrior()])
def test_it_needs_a_history(surrogate: TransferredPrior | NearestPrior) -> None:
    with pytest.raises(ArgumentError, match="surrogate='prior' learns from past runs; pass a history with history="):
        surrogate.begin(FLAT, None, features=None, rng=rng())


def test_settings_are_checked() -> None:
    with pytest.raises(ArgumentError, match="weights must be 'ranks', 'features' or 'equal', but got 'best'"):
        TransferredPrior(weights="best")
    with pytest.raises(ArgumentError, match="k must be a whole number of at least 1, but got 0"):
        NearestPrior(k=0)


def test_weights_by_features_need_features() -> None:
    models = TaskModels(HISTORY, rng=rng())
    with pytest.raises(ArgumentError, match="needs the new task's meta-features"):
        TransferredPrior(weights="features").begin(FLAT, models, features=None, rng=rng())


@pytest.mark.parametrize("weights", ["ranks", "features", "equal"])
def test_it_proposes_near_the_optimum_of_the_tasks_it_trusts(weights: str) -> None:
    models, task = TaskModels(HISTORY.drop("task5"), rng=rng()), HISTORY["task5"]
    model = TransferredPrior(weights=weights).begin(FLAT, models, features=task.features, rng=rng())
    tried = np.arange(0, 25, 4)
    posterior = model.fit(HISTORY.design("task5")[tried], task.losses[tried])
    score = posterior.score(HISTORY.design("task5"), Acquisition("ei"))
    score[tried] = -np.inf
    assert task.scaled()[score.argmax()] < np.median(task.scaled())


def test_weights_by_ranks_follow_the_results_and_equal_ones_do_not() -> None:
    models = TaskModels(HISTORY.drop("task5"), rng=rng())
    Z, losses = HISTORY.design("task5")[:10], HISTORY["task5"].losses[:10]
    weights = {
        kind: TransferredPrior(weights=kind).begin(FLAT, models, features=None, rng=rng()).fit(Z, losses).process
        for kind in ("ranks", "equal")
    }
    np.testing.assert_allclose(weights["equal"].prior.weights, 1 / 7)
    ranked = weights["ranks"].prior.weights
    nearest = [models.history.tasks.index(name) for name in ("task4", "task6")]
    assert set(np.argsort(-ranked)[:2]) <= {*nearest, models.history.tasks.index("task7")}
    assert ranked.sum() == pytest.approx(1)
