"""The formulas behind `auto` and `prior`, and when they step aside."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.history.history import build
from headstart.strategies.auto import Auto
from headstart.strategies.base import Told
from headstart.surrogates.base import Acquisition
from headstart.surrogates.experts import Experts, expected_gain
from headstart.surrogates.prior import TransferredPrior
from headstart.transfer.models import TaskModels
from histories import FLAT, make


def test_expected_gain_counts_only_improvement():
    M = np.array([[0.2, 0.8], [0.6, 0.6]])
    gain = expected_gain(M, np.full(2, 1e-9), np.array([0.5, 0.7]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(gain, [0.15, 0.05], atol=1e-8)


@pytest.fixture(scope="module")
def past():
    return TaskModels(make(FLAT, tasks=8, evaluations=25), rng=np.random.default_rng(0))


# -- what is proposed ------------------------------------------------------------------------------------------


def family(target):
    """Tasks whose optimum lies at different places along x, and one to be left out."""
    V = FLAT.sample_values(40, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    centres = np.linspace(0.05, 0.95, 12)
    losses = [(Z[:, 0] - c) ** 2 + 0.1 * (Z[:, 1] - 0.5) ** 2 for c in centres]
    names = np.repeat([f"t{i:02d}" for i in range(12)], 40)
    history = build(FLAT, tasks=names, V=np.tile(V, (12, 1)), losses=np.concatenate(losses))
    return history, lambda c: target((FLAT.encode([c])[0, 0] - 0.8) ** 2 + 0.1 * (FLAT.encode([c])[0, 1] - 0.5) ** 2)


def test_the_start_adapts_to_the_tasks_that_are_alike():
    history, objective = family(lambda x: x)
    opt = hs.Optimizer(FLAT, history=history, init="auto", n_init=6, seed=0)
    for _ in range(6):
        config = opt.ask()
        opt.tell(config, objective(config))
    static = hs.learn(history, n=6, method="auto").configs
    assert opt.best_value < min(objective(config) for config in static)
    assert opt.best_value < 0.01


def test_the_start_fills_the_space_when_the_past_misleads():
    """Past tasks all agree; the new one is their negative. From the fifth on, proposals leave the old optimum."""
    V = FLAT.sample_values(40, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    rng = np.random.default_rng(1)
    losses = [((Z - 0.2) ** 2).sum(axis=1) + 0.01 * rng.random(40) for _ in range(12)]
    history = build(
        FLAT,
        tasks=np.repeat([f"t{i:02d}" for i in range(12)], 40),
        V=np.tile(V, (12, 1)),
        losses=np.concatenate(losses),
    )
    run = Auto().begin(
        TaskModels(history, rng=np.random.default_rng(0)), n=8, features=None, rng=np.random.default_rng(0)
    )
    told = Told.nothing(FLAT)
    for _ in range(8):
        v = run.ask(told)
        told = told.and_(v, -float(((FLAT.encode_values(v[None])[0] - 0.2) ** 2).sum()))
    late = FLAT.encode_values(told.V[5:])
    assert np.abs(late - 0.2).max(axis=1).min() > 0.4


def test_meta_features_order_the_first_two_and_nothing_else():
    """Two kinds of tasks with opposite optima, told apart by a feature."""
    V = FLAT.sample_values(30, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    names, losses, described = [], [], {}
    for i in range(12):
        kind = float(i % 2)
        names += [f"t{i:02d}"] * 30
        losses.append(np.tanh(6 * np.abs(Z[:, 0] - (0.1 if kind else 0.9))))  # no compromise in the middle
        described[f"t{i:02d}"] = {"kind": kind}
    history = build(FLAT, tasks=names, V=np.tile(V, (12, 1)), losses=np.concatenate(losses), features=described)
    past = TaskModels(history, rng=np.random.default_rng(0))
    pairs = []
    for features in ({"kind": 0.0}, {"kind": 1.0}, None):
        run = Auto().begin(past, n=4, features=features, rng=np.random.default_rng(0))
        first = run.ask(Told.nothing(FLAT))
        told = Told.nothing(FLAT).and_(first, 0.5)
        pairs.append((first, run.ask(told)))
    assert pairs[0][0][0] > 0.6  # the first one suits the kind
    assert pairs[1][0][0] < 0.4
    same = {tuple(sorted((a[0], b[0]))) for a, b in pairs}
    assert len(same) == 1


def test_the_experts_take_turns():
    history = make(FLAT, tasks=8, evaluations=25)
    past = TaskModels(history.drop("task3"), rng=np.random.default_rng(0))
    model = Experts().begin(FLAT, past, features=None, rng=np.random.default_rng(0))
    Z, losses = history.design("task3")[:10], history["task3"].losses[:10]
    posterior = model.fit(Z, losses)
    turns = [posterior.score(Z, Acquisition("auto", trials)) for trials in range(6)]
    np.testing.assert_array_equal(turns[0], turns[3])
    assert not np.allclose(turns[0], turns[1])
    assert not np.allclose(turns[1], turns[2])


@pytest.mark.parametrize("name", ["ei", "log_ei", "pi", "lcb"])
def test_a_named_acquisition_is_not_replaced_by_the_experts_own(name):
    history = make(FLAT, tasks=8, evaluations=25)
    models = TaskModels(history.drop("task3"), rng=np.random.default_rng(0))
    begin = {"features": None, "rng": np.random.default_rng(0)}
    Z, losses = history.design("task3")[:10], history["task3"].losses[:10]
    experts = Experts().begin(FLAT, models, **begin).fit(Z, losses)
    one = TransferredPrior(weights="equal").begin(FLAT, models, **begin).fit(Z, losses)
    at = history.design("task3")[10:]
    for trials in range(3):  # whoever's turn it would be
        acquisition = Acquisition(name, trials, FLAT.width)
        np.testing.assert_array_equal(experts.score(at, acquisition), one.score(at, acquisition))


def test_prior_needs_a_history_and_knows_its_weights(past):
    with pytest.raises(ValueError, match="surrogate='prior' learns from past runs"):
        TransferredPrior().begin(FLAT, None, features=None, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="weights must be"):
        TransferredPrior(weights="best")
    with pytest.raises(ValueError, match="needs the new task's meta-features"):
        TransferredPrior(weights="features").begin(FLAT, past, features=None, rng=np.random.default_rng(0))


@pytest.mark.parametrize("weights", ["ranks", "features", "equal"])
def test_prior_proposes_near_the_optimum_of_the_tasks_it_trusts(weights):
    history = make(FLAT, tasks=8, evaluations=25)
    past = TaskModels(history.drop("task5"), rng=np.random.default_rng(0))
    model = TransferredPrior(weights=weights).begin(
        FLAT, past, features=history["task5"].features, rng=np.random.default_rng(0)
    )
    task = history["task5"]
    tried = np.arange(0, 25, 4)
    posterior = model.fit(history.design("task5")[tried], task.losses[tried])
    score = posterior.score(history.design("task5"), Acquisition("ei"))
    score[tried] = -np.inf
    assert task.scaled()[score.argmax()] < np.median(task.scaled())
