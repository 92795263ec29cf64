"""`auto`: three experts, their turns, and when the first one steps aside."""

from __future__ import annotations

import numpy as np
import pytest

from headstart._support.types import Array
from headstart.surrogates.acquisition import lcb
from headstart.surrogates.base import Acquisition
from headstart.surrogates.experts import ENOUGH, KAPPA, Experts, ExpertsPosterior, expected_gain
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.prior import TransferredPrior
from headstart.transfer.models import TaskModels
from histories import FLAT, make

HISTORY = make(FLAT, tasks=8, evaluations=25)


@pytest.fixture(scope="module")
def models() -> TaskModels:
    return TaskModels(HISTORY.drop("task3"), rng=np.random.default_rng(0))


def fitted(surrogate: Experts | TransferredPrior, models: TaskModels, losses: Array) -> ExpertsPosterior:
    model = surrogate.begin(FLAT, models, features=None, rng=np.random.default_rng(0))
    return model.fit(HISTORY.design("task3")[: len(losses)], losses)


def turns(posterior: ExpertsPosterior, n: int) -> list[Array]:
    Z = HISTORY.design("task3")[10:]
    return [posterior.score(Z, Acquisition("auto", trials)) for trials in range(n)]


def test_expected_gain_counts_only_improvement() -> None:
    F = np.array([[0.2, 0.8], [0.6, 0.6]])
    gain = expected_gain(F, np.full(2, 1e-9), np.array([0.5, 0.7]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(gain, [0.15, 0.05], atol=1e-8)


def test_the_three_experts_take_turns(models: TaskModels) -> None:
    first, second, third, *again = turns(fitted(Experts(), models, HISTORY["task3"].losses[:10]), 6)
    for one, other in zip((first, second, third), again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.allclose(first, second)
    assert not np.allclose(second, third)


def test_the_third_expert_is_a_confidence_bound_on_the_mean_of_the_past_tasks(models: TaskModels) -> None:
    losses = HISTORY["task3"].losses[:10]
    third = turns(fitted(Experts(), models, losses), 3)[2]
    plain = fitted(TransferredPrior(weights="equal", covariance=False), models, losses).process
    np.testing.assert_array_equal(third, lcb(*plain.predict(HISTORY.design("task3")[10:]), KAPPA))


def test_the_first_expert_steps_aside_if_no_past_task_ranks_the_results_well(models: TaskModels) -> None:
    """The new task is the opposite of one in the middle of the past ones; few results are no evidence for that."""
    contrary = -HISTORY["task3"].losses[:ENOUGH]
    early, late = (fitted(Experts(), models, contrary[:n]) for n in (ENOUGH - 1, ENOUGH))
    first, second, third = turns(early, 3)
    assert not np.allclose(first, third)
    first, second, third = turns(late, 3)
    np.testing.assert_array_equal(first, third)
    assert not np.allclose(first, second)


@pytest.mark.parametrize("name", ["ei", "log_ei", "pi", "lcb"])
def test_a_named_acquisition_is_applied_to_the_second_expert(name: str, models: TaskModels) -> None:
    losses, at = HISTORY["task3"].losses[:10], HISTORY.design("task3")[10:]
    experts = fitted(Experts(), models, losses)
    second = fitted(TransferredPrior(weights="equal"), models, losses)
    for trials in range(3):  # every turn
        acquisition = Acquisition(name, trials, FLAT.width)
        np.testing.assert_array_equal(experts.score(at, acquisition), second.score(at, acquisition))


def test_without_a_history_it_is_the_independent_gaussian_process() -> None:
    Z, losses = HISTORY.design("task3")[:10], HISTORY["task3"].losses[:10]
    one, other = (
        surrogate.begin(FLAT, None, features=None, rng=np.random.default_rng(0)).fit(Z, losses).predict(Z)
        for surrogate in (Experts(), Gaussian())
    )
    np.testing.assert_array_equal(one, other)
