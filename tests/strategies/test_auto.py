"""`auto`: it adapts to the results, and steps aside if the history misleads."""

from __future__ import annotations

import numpy as np

import headstart as hs
from headstart.history import build
from headstart.strategies.auto import Auto
from headstart.strategies.base import Told
from headstart.transfer.models import TaskModels
from histories import FLAT


def rng():
    return np.random.default_rng(0)


def history_of(losses, n=40, features=None):
    """Tasks on the same n configurations; losses: from their encoding to the losses of each task."""
    V = FLAT.sample_values(n, rng=rng())
    by_task = losses(FLAT.encode_values(V))
    tasks = np.repeat([f"t{i:02d}" for i in range(len(by_task))], n)
    return build(FLAT, tasks=tasks, V=np.tile(V, (len(by_task), 1)), losses=np.concatenate(by_task), features=features)


def test_the_start_adapts_to_the_tasks_that_rank_the_results_as_the_new_one_does():
    """The optimum of the past tasks lies at different places along x; that of the new one, at yet another."""

    def loss(Z, place):
        return (Z[:, 0] - place) ** 2 + 0.1 * (Z[:, 1] - 0.5) ** 2

    history = history_of(lambda Z: [loss(Z, place) for place in np.linspace(0.05, 0.95, 12)])
    plan = FLAT.encode(hs.learn(history, n=4, method="auto").configs)
    adapted, planned = [], []
    for place in (0.13, 0.37, 0.62, 0.86):
        opt = hs.Optimizer(FLAT, history=history, init="auto", n_init=4, seed=0)
        for _ in range(4):
            config = opt.ask()
            opt.tell(config, loss(FLAT.encode([config]), place)[0])
        adapted.append(opt.best_value)
        planned.append(loss(plan, place).min())
    assert np.mean(adapted) < 0.5 * np.mean(planned)
    assert max(adapted) < 0.02


def test_the_first_configuration_goes_where_most_is_at_stake():
    """On seven tasks, low x is best, but hardly better than the rest. On five, high x is far ahead."""

    def nearly_flat(Z):
        return 0.02 * Z[:, 0] + (Z[:, 1] > 0.9)

    def needle(Z):
        return 1.0 - np.exp(-(((Z[:, 0] - 0.95) / 0.08) ** 2)) + (Z[:, 1] > 0.9)

    history = history_of(lambda Z: [nearly_flat(Z)] * 7 + [needle(Z)] * 5, n=100)
    models = TaskModels(history, rng=rng())
    Z = FLAT.encode_values(models.candidates)
    assert Z[np.argmin(models.population.at(Z).mean(axis=1)), 0] < 0.2  # the best rank on average
    assert Z[np.argmin(models.population.losses_at(Z).mean(axis=1)), 0] > 0.8
    first = Auto().begin(models, n=1, features=None, rng=rng()).ask(Told.nothing(FLAT))
    assert FLAT.encode_values(first[None])[0, 0] > 0.8


def test_the_start_fills_the_space_if_the_history_misleads():
    """Past tasks all agree; the new one is their negative. From the fifth on, proposals leave the old optimum."""
    noise = np.random.default_rng(1)
    history = history_of(lambda Z: [((Z - 0.2) ** 2).sum(axis=1) + 0.01 * noise.random(len(Z)) for _ in range(12)])
    run = Auto().begin(TaskModels(history, rng=rng()), n=8, features=None, rng=rng())
    told = Told.nothing(FLAT)
    for _ in range(8):
        v = run.ask(told)
        told = told.and_(v, -float(((FLAT.encode_values(v[None])[0] - 0.2) ** 2).sum()))
    late = FLAT.encode_values(told.V[5:])
    assert np.abs(late - 0.2).max(axis=1).min() > 0.4


def test_meta_features_order_the_first_two_and_nothing_else():
    """Two kinds of tasks with opposite optima, distinguished by a feature."""
    kinds = [float(i % 2) for i in range(12)]
    features = {f"t{i:02d}": {"kind": kind} for i, kind in enumerate(kinds)}
    places = [0.1 if kind else 0.9 for kind in kinds]
    history = history_of(
        lambda Z: [np.tanh(6 * np.abs(Z[:, 0] - place)) for place in places],  # no compromise in the middle
        n=30,
        features=features,
    )
    models = TaskModels(history, rng=rng())
    pairs = []
    for known in ({"kind": 0.0}, {"kind": 1.0}, None):
        run = Auto().begin(models, n=4, features=known, rng=rng())
        first = run.ask(Told.nothing(FLAT))
        pairs.append((first, run.ask(Told.nothing(FLAT).and_(first, 0.5))))
    assert pairs[0][0][0] > 0.6  # the first one suits the kind
    assert pairs[1][0][0] < 0.4
    assert len({tuple(sorted((a[0], b[0]))) for a, b in pairs}) == 1
