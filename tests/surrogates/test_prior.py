"""The Gaussian process with a transferred prior."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import ArgumentError
from headstart.surrogates.base import Acquisition
from headstart.surrogates.prior import NearestPrior, TransferredPrior
from headstart.surrogates.prior_mean import PriorMean, shape_of
from headstart.transfer.models import TaskModels
from headstart.transfer.prior import LearnedPrior
from headstart.transfer.similarity import distance_to_new
from histories import FLAT, embedded, make

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


# -- Algorithm 3 as printed, and a prior mean of one's own ---------------------------------------------------


def dense(kernel, X, r, Z):
    """A zero-mean process in a few lines: mean and standard deviation at Z given r at X."""
    K = kernel(X, X) + kernel.noise * np.eye(len(X))
    k = kernel(X, Z)
    mean = k.T @ np.linalg.solve(K, r)
    return mean, np.sqrt(kernel.amplitude - np.einsum("ij,ij->j", k, np.linalg.solve(K, k)))


def test_the_printed_prior_mean_is_the_plain_average_of_the_nearest_data_sets_losses() -> None:
    history = embedded(HISTORY)
    models = TaskModels(history, rng=rng())
    model = NearestPrior(k=2, form="printed").begin(FLAT, models, features={"metric 0a 0": 0.45}, rng=rng())
    Z = history.design("task3")
    average = (history["task3"].losses + history["task4"].losses) / 2  # centres .4375 and .5625
    spread = np.ptp(average)
    np.testing.assert_allclose(model.mean_of(Z), average, atol=0.02 * spread)
    tried, losses = Z[:5], average[:5] + np.array([0.3, -0.1, 0.2, 0.0, 0.1]) * spread
    mean, std = model.fit(tried, losses).predict(Z)
    r = losses - model.mean_of(tried)
    s = np.sqrt(np.mean(r**2))
    expected = dense(shape_of(models), tried, r / s, Z)
    np.testing.assert_allclose(mean, model.mean_of(Z) + s * expected[0], rtol=1e-6, atol=1e-6 * spread)
    np.testing.assert_allclose(std, s * expected[1], rtol=1e-4, atol=1e-6 * spread)


def test_an_unbiased_prior_mean_of_ones_own_is_followed_from_the_first_trial_on() -> None:
    """Through the public interface: the first proposal is its minimum, and the surrogate goes on from there."""

    def mean(config):
        return (config["x"] - 0.3) ** 2

    space = hs.Space({"x": hs.Float(0, 1)})
    optimizer = hs.Optimizer(space, n_init=0, surrogate=hs.surrogates.PriorMean(mean), seed=0)
    for _ in range(4):
        config = optimizer.ask()
        optimizer.tell(config, mean(config) + 0.001)
    assert abs(optimizer.trials[0].config["x"] - 0.3) < 0.02
    assert optimizer.best_value < 0.0015


def test_a_prior_mean_far_from_the_losses_is_corrected_where_there_are_trials() -> None:
    models = TaskModels(HISTORY, rng=rng())
    model = PriorMean(lambda config: 100.0).begin(FLAT, models, features=None, rng=rng())
    Z = HISTORY.design("task3")[:6]
    mean, _ = model.fit(Z, np.linspace(1, 2, 6)).predict(Z)
    np.testing.assert_allclose(mean, np.linspace(1, 2, 6), atol=2.0)  # the noise is relative to the deviation of 98


@pytest.mark.parametrize("start", ["rbi", "li", "auto", "metric"])
def test_the_nearest_prior_follows_any_start(start: str) -> None:
    history = embedded(HISTORY)
    prior = hs.surrogates.NearestPrior(k=2)
    features = {**HISTORY["task3"].features, "metric 0a 0": 0.45}
    optimizer = hs.Optimizer(FLAT, history, init=start, n_init=2, surrogate=prior, features=features, seed=0)
    for i in range(4):
        optimizer.tell(optimizer.ask(), float(i))
    assert [trial.origin for trial in optimizer.trials] == ["strategy"] * 2 + ["surrogate"] * 2


@pytest.mark.parametrize("by", ["features", "forest", "metric"])
def test_the_nearest_data_sets_may_be_those_by_any_distance(by: str) -> None:
    history = embedded(HISTORY)
    models = TaskModels(history, rng=rng())
    features = {**HISTORY["task3"].features, "metric 0a 0": HISTORY["task3"].features["centre"]}
    model = NearestPrior(k=1, by=by).begin(FLAT, models, features=features, rng=rng())
    nearest = int(distance_to_new(models, features, by, rng=rng()).argmin())
    assert abs(nearest - 3) <= 1
    expected = LearnedPrior.equal(models.surfaces_of([nearest]), covariance=False)
    Z = history.design("task0")
    np.testing.assert_allclose(model.prior.surfaces.at(Z), expected.surfaces.at(Z))


def test_forms_and_means_are_checked() -> None:
    with pytest.raises(ArgumentError, match="form must be 'fitted' or 'printed', but got 'plain'"):
        NearestPrior(form="plain")
    with pytest.raises(ArgumentError, match="mean must be a function of a configuration, but got 3"):
        PriorMean(3)
    with pytest.raises(ArgumentError, match="the prior mean must be a finite number"):
        PriorMean(lambda config: np.nan).begin(FLAT, None, features=None, rng=rng()).fit(np.zeros((1, 2)), np.zeros(1))
