"""`random`: what the filler gives, spread evenly, without repetition, and the same everywhere."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest
from scipy.stats import qmc

import headstart as hs
from headstart import Categorical, Float, Int, Space
from headstart.errors import ArgumentError, ExhaustedError
from headstart.space.rows import among, distinct, unrepeated
from headstart.strategies import Random
from headstart.strategies.base import FINITE, LISTABLE, Told, anywhere
from headstart.transfer.models import NewTask
from histories import FLAT, MIXED
from program import python

SMALL = Space({"a": Int(0, 9), "b": Categorical(["u", "v", "w"]), "c": Int(1, 4, when={"b": ["u", "v"]})})


def run_of(space, seed=7, allowed=None):
    return Random(seed).begin(NewTask(space, allowed), n=5, features=None, rng=np.random.default_rng(0))


def play(run, space, n):
    told = Told.nothing(space)
    for i in range(n):
        told = told.and_(run.ask(told), float(i))
    return told.V


# -- the strategy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [FLAT, MIXED, SMALL])
def test_it_proposes_what_the_filler_gives(space):
    filler = unrepeated(np.array(list(islice(anywhere(space, 7), 60))))[:20]
    np.testing.assert_array_equal(play(run_of(space), space, 20), filler)


@pytest.mark.parametrize("space", [FLAT, MIXED, SMALL])
def test_proposals_depend_on_the_seed_and_not_on_the_results(space):
    run, told = run_of(space), Told.nothing(space)
    for loss in (np.nan, 5.0, -5.0, np.nan):
        told = told.and_(run.ask(told), loss)
    np.testing.assert_array_equal(told.V, play(run_of(space), space, 4))
    assert not np.array_equal(told.V, play(run_of(space, seed=8), space, 4), equal_nan=True)


def test_another_process_proposes_the_same():
    program = (
        "import json, headstart as hs; "
        "space = hs.Space({'x': hs.Float(0, 1), 'n': hs.Int(1, 900), 'c': hs.Categorical(['u', 'v'])}); "
        "opt = hs.Optimizer(space, init='random', n_init=6, seed=11); "
        "print(json.dumps([opt.ask() for _ in range(6)]))"
    )
    done = python(program)
    space = hs.Space({"x": hs.Float(0, 1), "n": hs.Int(1, 900), "c": hs.Categorical(["u", "v"])})
    here = space.from_values(play(run_of(space, seed=11), space, 6))
    assert json.loads(done.stdout) == here


def test_without_a_seed_the_generator_of_the_run_gives_one():
    def first(seed):
        run = Random().begin(NewTask(FLAT), n=1, features=None, rng=np.random.default_rng(seed))
        return run.ask(Told.nothing(FLAT))

    np.testing.assert_array_equal(first(0), first(0))
    assert not np.array_equal(first(0), first(1))


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ArgumentError, match="seed must be a whole number of at least 0, or None, but got"):
        Random(seed)


@pytest.mark.parametrize("space", [FLAT, MIXED])
def test_it_never_repeats_a_configuration(space):
    V = play(run_of(space), space, 100)
    assert len(distinct(V)[0]) == 100
    assert all(space.contains(config) for config in space.from_values(V))


def test_a_finite_space_is_covered_completely_and_then_exhausted():
    size = int(SMALL.size)
    V = play(run_of(SMALL), SMALL, size)
    np.testing.assert_array_equal(distinct(V)[0], distinct(SMALL.grid())[0])
    with pytest.raises(ExhaustedError, match=f"all {size} configurations of the space have been tried"):
        run_of(SMALL).ask(Told(V, np.zeros(size)))


def test_only_allowed_configurations_are_proposed_each_of_them_once():
    allowed = MIXED.sample_values(12, rng=np.random.default_rng(3))
    V = play(run_of(MIXED, allowed=allowed), MIXED, 12)
    assert among(V, allowed).all()
    assert among(allowed, V).all()
    with pytest.raises(ExhaustedError):
        run_of(MIXED, allowed=allowed).ask(Told(V, np.zeros(12)))
    assert not np.array_equal(V, allowed, equal_nan=True)  # in random order


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("n", [10, 30])
def test_it_is_spread_more_evenly_than_uniform_draws(d, n):
    space = Space({f"x{j}": Float(0, 1) for j in range(d)})
    ours = [qmc.discrepancy(play(run_of(space, seed), space, n)) for seed in range(10)]
    uniform = [qmc.discrepancy(np.random.default_rng(seed).random((n, d))) for seed in range(20)]
    assert np.mean(ours) < 0.7 * np.mean(uniform)
    assert max(ours) < np.mean(uniform)


# -- in a search -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [None, FLAT.sample(15, seed=0)])
def test_an_optimizer_takes_it_by_name_or_as_an_object(candidates):
    def asked(init):
        opt = hs.Optimizer(FLAT, init=init, n_init=6, seed=4, candidates=candidates)
        for i in range(6):
            opt.tell(opt.ask(), float(i))
        return [(trial.config, trial.origin) for trial in opt.trials]

    assert asked("random") == asked(Random(4))
    assert asked("random") == asked("auto")  # which has no history here
    assert asked("random") != asked(Random(5))
    assert {origin for _, origin in asked("random")} == {"random"}


# -- the filler ------------------------------------------------------------------------------------------


def test_a_space_too_large_to_list_at_once_begins_evenly_and_is_still_covered():
    space = Space({"a": Int(0, LISTABLE - 1), "b": Categorical(["u", "v"])})
    assert LISTABLE < space.size <= FINITE
    V = np.array(list(anywhere(space, 0)))
    assert len(distinct(V)[0]) == space.size
    early = space.encode_values(V[:64])[:, 0]
    assert np.histogram(early, bins=8, range=(0, 1))[0].min() >= 4


def test_a_range_with_few_numbers_ends():
    """Only a few floats lie in its range."""
    space = Space({"x": Float(1.0, 1.0 + 1e-15)})
    everything = distinct(np.array(list(anywhere(space, 0))))[0]
    assert len(everything) == space.size == 6
    with pytest.raises(ExhaustedError, match="all 6 configurations of the space have been tried"):
        run_of(space).ask(Told(everything, np.zeros(len(everything))))
