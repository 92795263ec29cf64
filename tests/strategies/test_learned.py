"""LI and aLI: the meta-loss and its gradient, the starts, and the weights of the past tasks."""

from __future__ import annotations

import numpy as np
import pytest

from headstart import Float, Space
from headstart.errors import ArgumentError
from headstart.history.history import build
from headstart.strategies import AdaptiveLearnedInit, LearnedInit
from headstart.strategies.base import Told
from headstart.strategies.learned import best_power, descend, greedy, meta_gradient, meta_loss, softmin
from headstart.transfer.models import TaskModels
from histories import FLAT, KINDS, MIXED
from strategy_runs import begin, play


def two_groups(loss):
    """Four tasks whose optimum is at 0.1, and two at 0.9; loss: of the distance to it."""
    space = Space({"x": Float(0, 1)})
    V = np.linspace(0, 1, 9)[:, None]
    losses = [loss(V[:, 0] - (0.1 if i < 4 else 0.9)) for i in range(6)]
    tasks = np.repeat([f"t{i}" for i in range(6)], 9)
    return build(space, tasks=tasks, V=np.tile(V, (6, 1)), losses=np.concatenate(losses))


# -- the meta-loss -------------------------------------------------------------------------------------------


def test_softmin_and_meta_loss_by_hand():
    F = np.array([[0.0, 0.5], [1.0, 0.5]])
    sigma = softmin(F, -np.log(3))
    np.testing.assert_allclose(sigma, [[0.75, 0.5], [0.25, 0.5]])
    assert meta_loss(F, -np.log(3), np.ones(2)) == pytest.approx((0.25 + 0.5) / 2)
    assert meta_loss(F, -1e5, np.array([1.0, 0.0])) == pytest.approx(0.0)


def test_the_right_gradient_is_that_of_the_loss_and_the_printed_one_is_not():
    rng = np.random.default_rng(0)
    F, weights = 0.4 + 0.02 * rng.random((5, 7)), rng.random(7)  # close together, as good configurations are
    numeric = np.empty_like(F)
    for at in np.ndindex(F.shape):
        step = np.zeros_like(F)
        step[at] = 1e-6
        up, down = meta_loss(F + step, -30.0, weights), meta_loss(F - step, -30.0, weights)
        numeric[at] = (up - down) / 2e-6
    np.testing.assert_allclose(meta_gradient(F, -30.0, weights), numeric, atol=1e-8)
    off = np.abs(meta_gradient(F, -30.0, weights, "printed") - numeric).max()
    assert off > np.abs(numeric).max()


def test_the_gradient_reaches_the_configurations():
    models = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0))
    Z = np.random.default_rng(1).random((3, models.space.width))
    ones = np.ones(len(models))
    F, pull = models.surrogates.pullback(Z)
    analytic = pull(meta_gradient(F, -20.0, ones))
    for at in [(0, 0), (1, 3), (2, 5)]:
        step = np.zeros_like(Z)
        step[at] = 1e-6
        up, down = (meta_loss(models.predict(Z + s), -20.0, ones) for s in (step, -step))
        assert analytic[at] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_descending_lowers_the_loss_and_stays_within_bounds():
    models = TaskModels(KINDS["flat, shared design"], rng=np.random.default_rng(0))
    Z = np.random.default_rng(2).random((3, 2))
    ones = np.ones(len(models))
    moved = descend(models, Z, ones, -100.0)
    assert meta_loss(models.predict(moved), -100.0, ones) < meta_loss(models.predict(Z), -100.0, ones)
    assert (moved >= 0).all()
    assert (moved <= 1).all()


def test_li_beats_every_evaluated_configuration_when_the_optimum_lies_between_them():
    """One smooth task on a coarse grid: the learned configuration is off the grid and better."""
    V = np.array([(x, 10.0**y) for x in np.linspace(0, 1, 4) for y in (-3, -1, 1, 3)])
    loss = (V[:, 0] - 0.5) ** 2 + (np.log10(V[:, 1]) / 6) ** 2
    history = build(FLAT, tasks=["one"] * 16, V=V, losses=loss)
    v = begin(LearnedInit(), history, n=1).ask(Told.nothing(FLAT))
    reached = (v[0] - 0.5) ** 2 + (np.log10(v[1]) / 6) ** 2
    assert reached < loss.min() / 2


def test_li_covers_groups_of_tasks_with_opposite_optima():
    history = two_groups(np.square)
    told = play(begin(LearnedInit(), history, n=2), history, 2)
    assert abs(told.V[0, 0] - 0.1) < 0.08  # the larger group first
    assert abs(told.V[1, 0] - 0.9) < 0.08


@pytest.mark.parametrize(
    "recipe", [LearnedInit(), LearnedInit(recipe="paper", epochs=20), LearnedInit(gradient="printed", epochs=20)]
)
def test_plans_are_valid_configurations(recipe):
    history = KINDS["mixed, ragged"]
    plan = recipe.plan(TaskModels(history, rng=np.random.default_rng(0)), 4, np.random.default_rng(0))
    assert MIXED.checked(plan) is plan
    assert len(plan) == 4 if recipe == LearnedInit() else 1 <= len(plan) <= 4


@pytest.mark.parametrize("beta", [0.0, 3.0, -1e9, np.nan])
def test_a_beta_that_overflows_or_is_not_negative_is_an_error(beta):
    with pytest.raises(ValueError, match="beta must be negative"):
        LearnedInit(beta=beta)


# -- the greedy choice ---------------------------------------------------------------------------------------


def test_each_greedy_row_lowers_the_mean_of_the_best_losses_most():
    F = np.random.default_rng(0).random((12, 7))
    chosen = greedy(F, 5)
    for k in range(5):
        means = [F[[*chosen[:k], i]].min(axis=0).mean() for i in range(len(F))]
        assert means[chosen[k]] == min(means)
    assert sorted(greedy(F, 99)) == list(range(12))  # every row once, even if it adds nothing


# -- aLI -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat, shared design", "mixed, ragged", "one task"])
def test_ali_with_equal_weights_is_li(kind):
    history = KINDS[kind]
    li = play(begin(LearnedInit(), history, n=6), history, 6)
    ali = play(begin(AdaptiveLearnedInit(power=0.0), history, n=6), history, 6)
    np.testing.assert_array_equal(li.V, ali.V)


def test_ali_turns_to_the_tasks_that_agree_with_the_results():
    history = two_groups(np.abs)
    told = Told(np.array([[0.2], [0.5], [0.7]]), np.array([0.7, 0.4, 0.2]))  # like the smaller group
    run = begin(AdaptiveLearnedInit(power=4.0), history, n=5)
    assert run.task_weights(told).argmax() in (4, 5)
    assert abs(run.ask(told)[0] - 0.9) < 0.1
    printed = begin(AdaptiveLearnedInit(power=4.0, weights="printed"), history, n=5)
    assert printed.task_weights(told).argmax() in (0, 1, 2, 3)


def test_the_power_is_zero_if_all_tasks_are_the_same():
    """Every power gives the same start then, and the smallest is chosen."""
    V = np.linspace(0, 1, 9)[:, None]
    space = Space({"x": Float(0, 1)})
    history = build(
        space, tasks=np.repeat([f"t{i}" for i in range(5)], 9), V=np.tile(V, (5, 1)), losses=np.tile(V[:, 0] ** 2, 5)
    )
    assert best_power(TaskModels(history, rng=np.random.default_rng(0)), 5) == 0.0


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: AdaptiveLearnedInit(power=-1.0), "power must be finite and not negative, but got -1"),
        (lambda: AdaptiveLearnedInit(power=np.nan), "power must be finite and not negative, but got nan"),
        (lambda: AdaptiveLearnedInit(weights="reverse"), "weights must be"),
        (lambda: LearnedInit(recipe="mine"), "recipe must be"),
        (lambda: LearnedInit(gradient="numeric"), "gradient must be"),
        (lambda: LearnedInit(restarts=-1), "restarts must be a whole number of at least 0"),
        (lambda: LearnedInit(epochs=1.5), "epochs must be a whole number of at least 0"),
    ],
)
def test_parameters_are_checked(make_it, message):
    with pytest.raises(ArgumentError, match=message):
        make_it()
