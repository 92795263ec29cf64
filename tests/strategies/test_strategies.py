"""One set of checks for every strategy."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from headstart import Categorical, Float, Space
from headstart.errors import ExhaustedError
from headstart.history import build
from headstart.space.rows import among
from headstart.strategies.base import Run, Strategy, Told
from headstart.strategies.names import STRATEGIES
from histories import KINDS
from strategy_runs import begin, play


@pytest.fixture(params=sorted(STRATEGIES))
def name(request):
    return request.param


@pytest.fixture(params=sorted(KINDS))
def history(request):
    return KINDS[request.param]


def test_every_strategy_has_the_members_of_the_protocol(name):
    conforms(STRATEGIES[name](), Strategy)
    conforms(begin(name, KINDS["two tasks"]), Run)


def conforms(thing, protocol):
    """Every method of the protocol is there and takes the same arguments."""
    methods = {key: value for key, value in vars(protocol).items() if not key.startswith("_")}
    assert methods
    for key, expected in methods.items():
        given = inspect.signature(getattr(thing, key)).parameters
        assert list(given) == list(inspect.signature(expected).parameters)[1:]


def test_proposals_are_valid_distinct_and_reproducible(name, history):
    first = play(begin(name, history), history, 5)
    again = play(begin(name, history), history, 5)
    np.testing.assert_array_equal(first.V, again.V)
    assert len(np.unique(first.V, axis=0, equal_nan=True)) == 5
    for config in history.space.from_values(first.V):
        assert history.space.contains(config)


def test_asking_is_pure(name):
    history = KINDS["mixed, ragged"]
    run = begin(name, history)
    told = play(run, history, 3)
    one = run.ask(told)
    run.ask(Told.nothing(history.space))
    np.testing.assert_array_equal(one, run.ask(told))
    np.testing.assert_array_equal(one, begin(name, history).ask(told))


def test_the_order_of_tasks_and_rows_does_not_matter(name):
    history = KINDS["mixed, ragged"]
    long = [
        (t, v, y) for t in history.tasks for v, y in zip(history.V[history[t].rows], history[t].losses, strict=True)
    ]
    shuffled = [long[i] for i in np.random.default_rng(3).permutation(len(long))]
    other = build(
        history.space,
        tasks=[t for t, _, _ in shuffled],
        V=np.array([v for _, v, _ in shuffled]),
        losses=np.array([y for _, _, y in shuffled]),
        features={t.name: t.features for t in history},
    )
    np.testing.assert_array_equal(play(begin(name, history), history, 4).V, play(begin(name, other), other, 4).V)


def test_more_can_be_asked_for_than_there_are_tasks(name):
    history = KINDS["two tasks"]
    told = play(begin(name, history, n=30), history, 30)
    assert len(np.unique(told.V, axis=0, equal_nan=True)) == 30


def test_a_finite_space_is_covered_and_then_exhausted(name):
    history = KINDS["finite space"]
    run = begin(name, history, n=10)
    told = play(run, history, 10)
    with pytest.raises(ExhaustedError, match="all 10 configurations"):
        run.ask(told)


def test_trials_that_failed_or_still_run_are_not_proposed_again(name):
    history = KINDS["mixed, shared design"]
    run = begin(name, history)
    told = Told.nothing(history.space)
    for _ in range(6):
        told = told.and_(run.ask(told))  # no result
    assert len(np.unique(told.V, axis=0, equal_nan=True)) == 6


def test_the_scale_of_a_task_does_not_matter(name):
    history = KINDS["mixed, ragged"]
    tasks = {t.name: replace(t, losses=t.losses * 1e4 - 7) for t in history}
    np.testing.assert_allclose(
        play(begin(name, history), history, 3).V,
        play(begin(name, replace(history, by_name=tasks)), history, 3).V,
        rtol=1e-3,
    )


@pytest.mark.parametrize("name", ["random", "auto"])
def test_only_allowed_configurations_are_proposed(name):
    history = KINDS["mixed, shared design"]
    allowed = history.V[::2]
    run = begin(name, history, n=4, allowed=allowed)
    assert among(play(run, history, 4).V, allowed).all()


def test_choices_of_every_type_survive():
    space = Space({"c": Categorical([None, True, 1.5, "x"]), "x": Float(0, 1)})
    rng = np.random.default_rng(0)
    V = space.sample_values(12, rng=rng)
    history = build(space, tasks=["a"] * 12 + ["b"] * 12, V=np.tile(V, (2, 1)), losses=rng.random(24))
    for config in space.from_values(play(begin("li", history, n=3), history, 3).V):
        assert space.contains(config)
