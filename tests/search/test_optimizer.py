"""Ask and tell, and the loop around them: what is promised to those who call it."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headstart import Categorical, Float, History, Int, Space
from headstart.errors import ArgumentError, ExhaustedError
from headstart.search.loop import Result, minimize
from headstart.search.optimizer import Optimizer
from headstart.search.trials import Trial, number
from headstart.starts.start import Start
from headstart.strategies import RandomBest
from headstart.strategies.base import Told
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.names import SURROGATES
from headstart.transfer.models import TaskModels
from histories import make

PLANE = Space({"x": Float(-1, 1), "y": Float(1e-3, 1e3, log=True)})
SMALL = Space({"a": Int(0, 3), "b": Categorical(["u", "v", None])})
MIXED = Space(
    {
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "C": Float(2**-5, 2**6, log=True),
        "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": Int(2, 10, when={"kernel": "poly"}),
        "shrink": Categorical([True, False]),
    }
)
SOURCE = Path(__file__).resolve().parents[2] / "src"


def loss(config: dict[str, Any]) -> float:
    """Something to minimise on any of the spaces."""
    total = 0.0
    for name, value in config.items():
        if isinstance(value, (str, bool)) or value is None:
            total += 0.1 * len(str(value))
        else:
            total += (np.log1p(abs(float(value))) - 0.3 * len(name)) ** 2
    return float(total)


def run(optimizer: Optimizer, n: int) -> list[dict[str, Any]]:
    configs = []
    for _ in range(n):
        configs.append(optimizer.ask())
        optimizer.tell(configs[-1], loss(configs[-1]))
    return configs


def mixed(seed: int = 0, **arguments: Any) -> Optimizer:
    return Optimizer(MIXED, **{"n_init": 4, "surrogate": "gp", "seed": seed, **arguments})


# -- asking and telling ----------------------------------------------------------------------------------


def test_a_run_first_fills_the_space_and_then_follows_the_surrogate() -> None:
    optimizer = mixed()
    configs = run(optimizer, 8)
    assert [trial.origin for trial in optimizer.trials] == ["random"] * 4 + ["surrogate"] * 4
    assert [trial.config for trial in optimizer.trials] == configs
    assert [trial.value for trial in optimizer.trials] == [loss(config) for config in configs]
    assert all(MIXED.contains(config) for config in configs)
    assert len({json.dumps(config) for config in configs}) == 8


def test_the_best_is_the_first_of_the_least() -> None:
    optimizer = Optimizer(PLANE, seed=0)
    for x, value in [(0.1, 3.0), (0.2, 1.0), (0.3, None), (0.4, 1.0)]:
        optimizer.tell({"x": x, "y": 1.0}, value)
    assert optimizer.best_config == {"x": 0.2, "y": 1.0}
    assert optimizer.best_value == 1.0
    assert optimizer.best_trial == Trial({"x": 0.2, "y": 1.0}, 1.0, "told")


def test_without_a_success_there_is_no_best() -> None:
    optimizer = Optimizer(PLANE, seed=0)
    with pytest.raises(ValueError, match="there are no trials yet, so there is no best"):
        _ = optimizer.best_value
    optimizer.tell(optimizer.ask(), None)
    with pytest.raises(ValueError, match="none of the 1 trials succeeded"):
        _ = optimizer.best_config


def test_many_asks_before_a_tell() -> None:
    """Parallel workers get different configurations, and may answer in any order."""
    optimizer = mixed()
    run(optimizer, 4)
    asked = [optimizer.ask() for _ in range(4)]
    assert optimizer.pending == asked
    assert len({json.dumps(config) for config in asked}) == 4
    for config in reversed(asked):
        optimizer.tell(config, loss(config))
    assert optimizer.pending == []
    assert [trial.config for trial in optimizer.trials[4:]] == asked[::-1]
    assert {trial.origin for trial in optimizer.trials[4:]} == {"surrogate"}


def test_running_trials_count_towards_n_init() -> None:
    optimizer = mixed()
    optimizer.tell({"kernel": "linear", "C": 1.0, "shrink": True}, 1.0)
    asked = [optimizer.ask() for _ in range(4)]
    for config in asked:
        optimizer.tell(config, loss(config))
    assert [trial.origin for trial in optimizer.trials] == ["told", *["random"] * 3, "surrogate"]


def test_a_running_trial_counts_with_its_expected_loss() -> None:
    """Asking again is the same as first telling the posterior's mean."""
    told, waiting = mixed(), mixed()
    for config in MIXED.sample(6, seed=1):
        told.tell(config, loss(config))
        waiting.tell(config, loss(config))
    first = waiting.ask()
    assert told.ask() == first
    known = Told(MIXED.to_values([t.config for t in told.trials]), np.array([t.value for t in told.trials]))
    posterior = told._model.fit(MIXED.encode_values(known.V), known.losses)
    expected = posterior.predict(MIXED.encode([first]))[0][0]
    second = waiting.ask()
    posterior = posterior.extend(MIXED.encode([first])[0], float(expected))
    from headstart.search.proposal import best_in_space
    from headstart.surrogates.base import Acquisition

    V = known.and_(MIXED.to_values([first])[0])
    rng = np.random.default_rng([0, 3, 7])
    by_hand = best_in_space(posterior, MIXED, V, Acquisition("ei", 7, MIXED.width), rng=rng)
    assert MIXED.from_values(by_hand[None])[0] == second


def test_results_of_configurations_never_proposed_are_used() -> None:
    optimizer = mixed()
    for config in MIXED.sample(20, seed=3):
        optimizer.tell(config, loss(config))
    assert {trial.origin for trial in optimizer.trials} == {"told"}
    assert optimizer.trials[-1].config == MIXED.sample(20, seed=3)[-1]
    optimizer.tell(optimizer.ask(), 0.0)
    assert optimizer.trials[-1].origin == "surrogate"


def test_a_tell_may_use_numpy_types_and_other_orders_of_the_names() -> None:
    optimizer = mixed(n_init=1)
    config = optimizer.ask()
    turned = {name: np.asarray(config[name])[()] for name in reversed(config)}
    optimizer.tell(turned, np.float32(1.5))
    assert optimizer.trials[0] == Trial(config, 1.5, "random")
    json.dumps(optimizer.state())


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, np.float32("nan")])
def test_a_failed_trial_counts_as_the_worst_seen(value: Any) -> None:
    failed, worst = mixed(), mixed()
    for i, config in enumerate(MIXED.sample(7, seed=5)):
        result = float(i)
        failed.tell(config, value if i == 2 else result)
        worst.tell(config, 6.0 if i == 2 else result)
    assert failed.trials[2].value is None
    assert failed.trials[2].failed
    assert failed.best_value == 0.0
    assert failed.ask() == worst.ask()


def test_when_everything_failed_the_search_goes_on_at_random() -> None:
    optimizer = mixed(n_init=2)
    seen = []
    for _ in range(5):
        seen.append(optimizer.ask())
        optimizer.tell(seen[-1], None)
    assert {trial.origin for trial in optimizer.trials} == {"random"}
    assert len({json.dumps(config) for config in seen}) == 5
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.trials[-1].origin == "surrogate"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.3", "must be a number, or None for a failed trial, but got '0.3'"),
        (b"1", "must be a number"),
        (True, "must be a number, or None for a failed trial, but got True"),
        ([1.0, 2.0], "must be a number"),
        ({}, "must be a number"),
        (1 + 2j, "must be a number"),
        (float("inf"), "must be finite, but got an infinite one; use None for a failed trial"),
        (-np.inf, "must be finite"),
        (10**400, "must be finite"),
        (np.True_, "must be a number"),
    ],
    ids=lambda given: str(given)[:12],
)
def test_values_that_are_no_numbers_are_rejected_and_nothing_is_recorded(value: Any, message: str) -> None:
    optimizer = Optimizer(PLANE, seed=0)
    config = optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(config, value)
    assert optimizer.trials == []
    assert optimizer.pending == [config]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"kernel": "rbf", "C": 1e9, "gamma": 1.0, "shrink": True}, "'C' is 1000000000.0"),
        ({"kernel": "linear", "C": 1.0, "gamma": 1.0, "shrink": True}, "'gamma' has a value, but it is only"),
        ({"kernel": "rbf", "C": 1.0, "shrink": True}, "'gamma' is missing"),
        ({"kernel": "sigmoid", "C": 1.0, "shrink": True}, "'kernel' is 'sigmoid'"),
        ({"kernel": "poly", "C": 1.0, "degree": 2.5, "shrink": True}, "'degree' is 2.5"),
        ({"kernel": "linear", "C": 1.0, "shrink": 1}, "'shrink' is 1"),
        ({"kernel": "linear", "C": 1.0, "shrink": True, "extra": 1}, "extra"),
    ],
)
def test_configurations_outside_the_space_are_rejected_and_nothing_is_recorded(
    config: dict[str, Any], message: str
) -> None:
    optimizer = mixed()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(config, 1.0)
    assert optimizer.trials == []


def test_maximising_is_minimising_the_negative() -> None:
    down, up = mixed(seed=4), mixed(seed=4, direction="maximize")
    for _ in range(9):
        config = down.ask()
        assert up.ask() == config
        down.tell(config, loss(config))
        up.tell(config, -loss(config))
    assert up.best_config == down.best_config
    assert up.best_value == -down.best_value


@pytest.mark.parametrize("acquisition", ["ei", "log_ei", "pi", "lcb"])
@pytest.mark.parametrize("surrogate", ["gp", "rf"])
def test_every_acquisition_runs(acquisition: str, surrogate: str) -> None:
    optimizer = Optimizer(SMALL, n_init=3, acquisition=acquisition, surrogate=surrogate, seed=0)
    assert len({json.dumps(config) for config in run(optimizer, 6)}) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"acquisition": "ie"}, "acquisition must be one of ei, log_ei, pi, lcb, but got 'ie'"),
        ({"surrogate": "gpp"}, "there is no surrogate 'gpp'.*gp"),
        ({"init": "randm"}, "there is no strategy 'randm'.*did you mean 'random'"),
        ({"init": "nbi"}, "pass a history with history=, or use init='random'"),
        ({"init": 3}, "init must be a name or a strategy"),
        ({"surrogate": 3}, "surrogate must be a name or an object"),
        ({"direction": "down"}, "direction must be 'minimize' or 'maximize', but got 'down'"),
        ({"n_init": -1}, "n_init must be a whole number of at least 0, but got -1"),
        ({"n_init": 2.5}, "n_init must be a whole number of at least 0, but got 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, or None, but got -1"),
        ({"seed": "a"}, "seed must be a whole number"),
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": [{"x": 0.0, "y": 1.0}, {"x": 7.0, "y": 1.0}]}, "configuration 1: 'x' is 7.0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Optimizer(PLANE, **arguments)


def test_a_surrogate_may_be_an_object_and_a_space_may_be_foreign() -> None:
    optuna = pytest.importorskip("optuna")
    distributions = {"x": optuna.distributions.FloatDistribution(-1, 1)}
    optimizer = Optimizer(distributions, surrogate=Gaussian(), n_init=2, seed=0)
    assert list(run(optimizer, 3)[-1]) == ["x"]


# -- lists and finite spaces -----------------------------------------------------------------------------


def candidates() -> list[dict[str, Any]]:
    """In types and orders of their own: the optimiser must not touch them."""
    own = [
        {"shrink": np.True_, "C": 1, "kernel": "linear"},
        {"kernel": "poly", "degree": 3.0, "C": 2, "shrink": False},
    ]
    return MIXED.sample(12, seed=8) + own


def test_candidates_come_back_exactly_as_they_were_given() -> None:
    listed = candidates()
    optimizer = mixed(candidates=listed)
    configs = run(optimizer, len(listed))
    for config in configs:
        assert any(config is given for given in listed)
    assert listed == candidates()
    assert sorted(map(str, configs)) == sorted(map(str, listed))
    assert [trial.config for trial in optimizer.trials] == configs
    with pytest.raises(ExhaustedError, match="all 14 candidates have been tried; there is nothing left"):
        optimizer.ask()


def test_a_list_runs_out_during_the_start_too() -> None:
    optimizer = Optimizer(PLANE, candidates=[{"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 1.0}], seed=0)
    optimizer.ask()
    optimizer.ask()
    with pytest.raises(ExhaustedError, match=r"all 2 candidates have been tried or are running \(2\)"):
        optimizer.ask()


def test_a_proposal_off_the_list_is_moved_to_the_nearest_that_is_untried() -> None:
    space = Space({"x": Float(0, 10)})
    start = Start(space, [{"x": 2.2}, {"x": 2.3}, {"x": 8.0}])
    listed = [{"x": float(x)} for x in range(11)]
    optimizer = Optimizer(space, init=start, candidates=listed, n_init=3, seed=0)
    assert [optimizer.ask()["x"] for _ in range(3)] == [2.0, 3.0, 8.0]
    again = Optimizer(space, init=start, candidates=listed, n_init=3, seed=0)
    again.tell({"x": 8.0}, 1.0)
    assert [config["x"] for config in run(again, 2)] == [2.0, 3.0]
    assert [trial.origin for trial in again.trials] == ["told", "start", "start"]


def test_a_finite_space_is_used_up_without_repeats_and_then_says_so() -> None:
    optimizer = Optimizer(SMALL, n_init=3, surrogate="gp", seed=1)
    configs = run(optimizer, 12)
    assert sorted(map(str, configs)) == sorted(map(str, SMALL.from_values(SMALL.grid())))
    with pytest.raises(ExhaustedError, match="all 12 configurations of the space have been tried"):
        optimizer.ask()
    early = Optimizer(SMALL, n_init=20, seed=1)
    run(early, 12)
    with pytest.raises(ExhaustedError, match="all 12 configurations of the space"):
        early.ask()
    assert isinstance(ExhaustedError("x"), ValueError)


# -- starts and histories --------------------------------------------------------------------------------


def test_a_start_comes_first_and_counts() -> None:
    start = Start(MIXED, MIXED.sample(3, seed=2))
    optimizer = mixed(init=start, n_init=10)
    configs = run(optimizer, 5)
    assert configs[:3] == start.configs
    assert [trial.origin for trial in optimizer.trials] == ["start"] * 3 + ["surrogate"] * 2
    short = mixed(init=start, n_init=2)
    run(short, 3)
    assert [trial.origin for trial in short.trials] == ["start"] * 2 + ["surrogate"]


def test_a_start_skips_configurations_already_reported() -> None:
    start = Start(MIXED, MIXED.sample(3, seed=2))
    optimizer = mixed(init=start)
    optimizer.tell(start.configs[0], 1.0)
    assert optimizer.ask() == start.configs[1]


def test_a_start_of_another_space_is_reconciled_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    start = Start(Space({"x": Float(-5, 5)}), [{"x": -3.0}, {"x": 0.5}])
    with caplog.at_level(logging.WARNING, logger="headstart"):
        optimizer = Optimizer(PLANE, init=start, seed=0)
    assert "the start has another search space" in caplog.text
    assert all(PLANE.contains(config) for config in run(optimizer, 2))


def test_a_strategy_uses_the_history() -> None:
    history = make(MIXED, tasks=3)
    optimizer = Optimizer(MIXED, history, init="rbi", n_init=2, surrogate="gp", seed=0)
    run(optimizer, 4)
    assert [trial.origin for trial in optimizer.trials] == ["strategy"] * 2 + ["surrogate"] * 2
    bests = [history.best(name) for name in history.tasks]
    assert all(trial.config in bests for trial in optimizer.trials[:2])


def test_a_history_of_another_space_is_reconciled_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    other = Space({name: parameter for name, parameter in MIXED.items() if name != "shrink"})
    with caplog.at_level(logging.WARNING, logger="headstart"):
        optimizer = Optimizer(MIXED, make(other, tasks=3), init="rbi", n_init=2, surrogate="gp", seed=0)
    assert "the history has another search space; converted" in caplog.text
    assert "shrink" in caplog.text
    assert all(MIXED.contains(config) for config in run(optimizer, 3))


# -- state -----------------------------------------------------------------------------------------------


def arguments(kind: str) -> dict[str, Any]:
    if kind == "list":
        space = Space({"x": Float(0, 10)})
        return {
            "space": space,
            "init": Start(space, [{"x": 2.2}, {"x": 2.3}, {"x": 8.0}]),
            "candidates": [{"x": float(x)} for x in range(11)],
        }
    if kind == "history":
        return {"space": MIXED, "history": make(MIXED, tasks=3), "init": "ali"}
    return {"space": {"mixed": MIXED, "plane": PLANE, "small": SMALL}[kind]}


@pytest.mark.parametrize("kind", ["mixed", "plane", "small", "list", "history"])
@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("waiting", [0, 2])
def test_a_run_continues_identically_after_json(kind: str, after: int, waiting: int) -> None:
    """At every phase: before the first trial, during the start, under the surrogate, with trials running."""
    make_it = {"n_init": 4, "surrogate": "gp", "seed": 11, **arguments(kind)}
    original = Optimizer(**make_it)
    run(original, after)
    asked = [original.ask() for _ in range(waiting)]
    copied = Optimizer(**make_it).restore(json.loads(json.dumps(original.state(), allow_nan=False)))
    assert copied.trials == original.trials
    assert copied.pending == original.pending
    for config in asked:
        original.tell(config, loss(config))
        copied.tell(config, loss(config))
    for _ in range(3):
        config = original.ask()
        assert copied.ask() == config
        original.tell(config, loss(config))
        copied.tell(config, loss(config))
    assert copied.state() == original.state()


def test_a_long_run_continued_equals_one_told_at_once() -> None:
    """Hyperparameters that were kept between trials are those that come out of the trials themselves."""
    step_by_step = Optimizer(PLANE, surrogate="gp", n_init=5, seed=3)
    run(step_by_step, 26)
    at_once = Optimizer(PLANE, surrogate="gp", n_init=5, seed=3).restore(step_by_step.state())
    assert at_once.ask() == step_by_step.ask()


def test_failures_that_change_earlier_losses_do_not_disturb_the_memory() -> None:
    optimizer = Optimizer(PLANE, surrogate="gp", n_init=5, seed=3)
    for i, config in enumerate(PLANE.sample(16, seed=0)):
        optimizer.tell(config, None if i % 5 == 0 else loss(config) + i)  # every new worst changes the failed ones
        if i > 5:
            fresh = Optimizer(PLANE, surrogate="gp", n_init=5, seed=3).restore(optimizer.state())
            assert fresh.ask() == optimizer.ask()
            optimizer.tell(fresh.pending[0], loss(fresh.pending[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "not the state of an optimiser"),
        ({"seed": 5}, "the state has seed=5, but this optimiser has seed="),
        ({"direction": "maximize"}, "the state has direction='maximize', but"),
        ({"n_init": 7}, "the state has n_init=7, but this optimiser has n_init="),
        ({"space": {}}, "the state has space={}, but"),
        ({"trials": [{"config": {"x": 9.0, "y": 1.0}, "value": 1.0, "origin": "told"}]}, "damaged.*'x' is 9.0"),
        ({"trials": [{"config": {"x": 0.0, "y": 1.0}, "origin": "told"}]}, "damaged.*value"),
        ({"trials": [{"config": {"x": 0.0, "y": 1.0}, "value": "a", "origin": "told"}]}, "damaged.*number"),
        ({"pending": [3]}, "damaged"),
    ],
)
def test_a_state_that_does_not_fit_is_rejected(change: dict[str, Any], message: str) -> None:
    optimizer = Optimizer(PLANE, seed=0)
    state = Optimizer(PLANE, seed=0).state()
    with pytest.raises(ValueError, match=message):
        optimizer.restore({**state, **change})
    assert optimizer.trials == []
    optimizer.restore(state)


def test_states_of_earlier_versions_continue_with_the_criterion_they_had() -> None:
    """Format 1 wrote "ei"; the first states of format 2 wrote "auto" for the same."""
    first = Optimizer(PLANE, n_init=3, seed=4)
    for _ in range(5):
        config = first.ask()
        first.tell(config, loss(config))
    states = [{**first.state(), "format": 1}, {**first.state(), "acquisition": "auto"}]
    following = first.ask()
    for state in states:
        assert Optimizer(PLANE, n_init=3, seed=4).restore(state).ask() == following
        with pytest.raises(ValueError, match=r"the state has acquisition=.*, but this optimiser has acquisition='pi'"):
            Optimizer(PLANE, n_init=3, seed=4, acquisition="pi").restore(state)


def test_a_strategy_object_that_learns_needs_a_history() -> None:
    with pytest.raises(ValueError, match=r"init=RandomBest\(\) learns from past runs; pass a history with history="):
        Optimizer(PLANE, init=RandomBest(), seed=0)


def test_only_a_new_optimizer_takes_over_a_state() -> None:
    optimizer = Optimizer(PLANE, seed=0)
    optimizer.ask()
    with pytest.raises(ValueError, match="has trials already; restore the state into a new one"):
        optimizer.restore(Optimizer(PLANE, seed=0).state())


def test_the_seed_decides() -> None:
    assert run(mixed(seed=1), 6) == run(mixed(seed=1), 6)
    assert run(mixed(seed=1), 1) != run(mixed(seed=2), 1)
    drawn = [Optimizer(PLANE).seed for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert run(Optimizer(PLANE, seed=drawn[0]), 2) == run(Optimizer(PLANE, seed=drawn[0]), 2)


PROGRAM = """
    import json
    from headstart import Categorical, Float, History, Int, Space
    from headstart.search.optimizer import Optimizer

    space = Space({
        "model": Categorical(["a", "b", "c"]),
        "x": Float(1e-3, 1e3, log=True, when={"model": {"a", "b"}}),
        "n": Int(1, 9, when={"model": {"c", "b"}}),
    })
    optimizer = Optimizer(space, surrogate="gp", n_init=4, seed=5)
    for i in range(8):
        config = optimizer.ask()
        optimizer.tell(config, config.get("x", 3.0) + config.get("n", 2))
    print(json.dumps([trial.config for trial in optimizer.trials]))
"""


def python(program: str, **environment: str) -> subprocess.Popen[str]:
    everything = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=everything,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_other_processes_and_hash_seeds_give_the_same_configurations() -> None:
    processes = [python(PROGRAM, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")]
    outputs = {process.communicate(timeout=120)[0] for process in processes}
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())) == 8


# -- minimize --------------------------------------------------------------------------------------------


def test_minimize_finds_a_minimum() -> None:
    result = minimize(lambda c: (c["x"] - 0.3) ** 2 + np.log10(c["y"]) ** 2, PLANE, 30, surrogate="gp", seed=0)
    assert result.best_value < 1e-3
    assert result.best_config["x"] == pytest.approx(0.3, abs=0.05)
    assert len(result.trials) == 30
    assert not result.interrupted
    assert result.best_trial in result.trials
    assert repr(result).startswith("Result(30 trials, best ")
    with pytest.raises(AttributeError):
        result.interrupted = True  # type: ignore[misc]


def test_minimize_is_the_loop_written_out() -> None:
    optimizer = mixed(seed=3)
    run(optimizer, 6)
    result = minimize(loss, MIXED, 6, n_init=4, surrogate="gp", seed=3)
    assert result.trials == optimizer.trials
    assert result.state == optimizer.state()


def test_an_exception_is_a_failed_trial(caplog: pytest.LogCaptureFixture) -> None:
    calls = []

    def fragile(config: dict[str, Any]) -> float:
        calls.append(config)
        if len(calls) % 3 == 0:
            raise RuntimeError("out of memory")
        return loss(config)

    with caplog.at_level(logging.WARNING, logger="headstart"):
        result = minimize(fragile, MIXED, 9, n_init=4, surrogate="gp", seed=0)
    assert [trial.failed for trial in result.trials] == [False, False, True] * 3
    assert caplog.text.count("RuntimeError: out of memory") == 3
    assert "trial 2 failed" in caplog.text
    assert result.best_value == min(loss(c) for i, c in enumerate(calls) if i % 3 != 2)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), np.array(np.inf)])
def test_a_value_that_is_none_is_a_failed_trial(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="headstart"):
        result = minimize(lambda config: value, PLANE, 3, n_init=2, seed=0)
    assert [trial.failed for trial in result.trials] == [True] * 3
    quiet = value is None or value != value
    assert ("counts as failed" in caplog.text) != quiet
    with pytest.raises(ValueError, match="none of the 3 trials succeeded, so there is no best one"):
        _ = result.best_config


def test_an_objective_that_always_raises_ends_the_search() -> None:
    calls: list[Any] = []

    def broken(config: dict[str, Any]) -> float:
        calls.append(config)
        raise KeyError("learning_rate")

    with pytest.raises(KeyError, match="learning_rate") as caught:
        minimize(broken, PLANE, 12, seed=0)
    assert len(calls) == 3
    assert caught.traceback[-1].name == "broken"

    def different(config: dict[str, Any]) -> float:
        calls.append(config)
        raise RuntimeError(f"attempt {len(calls)}")

    calls.clear()
    with pytest.raises(RuntimeError, match="attempt 5"):
        minimize(different, PLANE, 5, seed=0)
    calls.clear()
    failing = minimize(lambda config: loss(config) if len(calls) > 1 else different(config), PLANE, 4, seed=0)
    assert [trial.failed for trial in failing.trials] == [True, True, False, False]


def test_an_objective_that_never_returns_a_number_is_an_error() -> None:
    for value in ("good", [1]):
        with pytest.raises(ArgumentError, match=rf"objective returned no result: .* but got {re.escape(repr(value))}"):
            minimize(lambda config, value=value: value, PLANE, 20, seed=0)
    values = iter(["good", 0.5, 0.4])
    once = minimize(lambda config: next(values), PLANE, 3, seed=0)
    assert [trial.failed for trial in once.trials] == [True, False, False]


def test_one_line_says_what_a_search_begins_with(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="headstart"):
        minimize(loss, MIXED, 3, n_init=2, surrogate="gp", seed=0)
    assert "No past runs. 2 of 3 trials are the start: random." in caplog.messages


def test_exceptions_outside_catch_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        minimize(lambda config: 1 / 0, PLANE, 3, seed=0, catch=())
    with pytest.raises(ZeroDivisionError):
        minimize(lambda config: 1 / 0, PLANE, 3, seed=0, catch=(KeyError, OSError))


def test_the_objective_cannot_spoil_the_configuration() -> None:
    def spoil(config: dict[str, Any]) -> float:
        value = config["x"]
        config.clear()
        return float(value)

    result = minimize(spoil, PLANE, 3, seed=0)
    assert all(set(trial.config) == {"x", "y"} for trial in result.trials)


def test_a_callback_sees_every_trial_and_can_end_the_search() -> None:
    seen: list[Trial] = []

    def callback(optimizer: Optimizer, trial: Trial) -> bool:
        assert optimizer.trials[-1] is trial
        seen.append(trial)
        return len(seen) == 4

    result = minimize(loss, PLANE, 10, callbacks=[callback], seed=0)
    assert result.trials == seen
    assert len(seen) == 4
    assert not result.interrupted


@pytest.mark.parametrize("n_trials", [0, -3, 2.5, "9", True])
def test_the_number_of_trials_must_be_a_positive_whole_number(n_trials: Any) -> None:
    with pytest.raises(ValueError, match="n_trials must be a whole number of at least 1, but got"):
        minimize(loss, PLANE, n_trials)


def test_fewer_trials_than_n_init_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="headstart"):
        result = minimize(loss, PLANE, 4, seed=0)
    assert "n_init=10 is more than n_trials=4" in caplog.text
    assert [trial.origin for trial in result.trials] == ["random"] * 4


def test_a_finite_space_ends_the_search(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="headstart"):
        result = minimize(loss, SMALL, 50, n_init=3, surrogate="gp", seed=0)
    assert len(result.trials) == 12
    assert "ends after 12 trials: all 12 configurations" in caplog.text


def test_maximising() -> None:
    result = minimize(lambda config: -loss(config), PLANE, 6, n_init=4, direction="maximize", seed=0)
    assert result.best_value == max(trial.value for trial in result.trials if trial.value is not None)


def test_progress_is_shown_when_asked_for_and_on_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    minimize(loss, PLANE, 2, n_init=2, seed=0)
    assert capsys.readouterr().err == ""
    minimize(loss, PLANE, 2, n_init=2, seed=0, progress=True)
    assert "trials 2/2" in capsys.readouterr().err


INTERRUPTED = """
    import json, sys, time
    from headstart import Float, Space
    from headstart.search.loop import minimize

    def objective(config):
        objective.calls += 1
        if objective.calls == 4:
            print("waiting", flush=True)
            time.sleep(60)
        return config["x"]

    objective.calls = 0
    result = minimize(objective, Space({"x": Float(0, 1)}), 20, seed=0)
    print(json.dumps({
        "interrupted": result.interrupted,
        "values": [trial.value for trial in result.trials],
        "best": result.best_value,
        "state": result.state,
    }))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals work differently there")
def test_an_interrupt_keeps_everything() -> None:
    process = python(INTERRUPTED)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["interrupted"]
    assert len(found["values"]) == 3
    assert found["best"] == min(found["values"])
    assert "interrupted after 3 of 20 trials" in err
    space = Space({"x": Float(0, 1)})
    resumed = Optimizer(space, seed=0).restore(found["state"])
    whole = Optimizer(space, seed=0)
    for value in found["values"]:
        assert whole.ask()["x"] == value
        whole.tell({"x": value}, value)
    assert resumed.ask() == whole.ask()


def test_a_result_holds_what_it_says() -> None:
    trials = [Trial({"x": 1}, 2.0, "random"), Trial({"x": 2}, None, "random"), Trial({"x": 3}, 5.0, "random")]
    assert Result(trials, "minimize", False, {}).best_config == {"x": 1}
    assert Result(trials, "maximize", False, {}).best_value == 5.0


def test_numbers() -> None:
    assert number(3) == 3.0
    assert number(np.array(2.5)) == 2.5
    assert number(None) is None


# -- where spaces end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["auto", "random"])
def test_a_larger_finite_space_is_used_up_during_the_start_too(init: str) -> None:
    optimizer = Optimizer(Space({"x": Int(1, 1100)}), init=init, n_init=2000, seed=0)
    for x in range(1, 1100):
        optimizer.tell({"x": x}, None)
    assert optimizer.ask() == {"x": 1100}
    with pytest.raises(ValueError, match="all 1,100 configurations of the space have been tried or are running"):
        optimizer.ask()


def test_a_range_that_holds_few_numbers_ends_the_search() -> None:
    space = Space({"x": Float(1.0, 1.0 + 1e-12)})
    trials = minimize(lambda config: config["x"], space, n_trials=100, n_init=100, seed=0).trials
    values = {trial.config["x"] for trial in trials}
    assert len(values) == len(trials) < 100


def test_trials_beyond_a_given_start_have_another_origin() -> None:
    """Three configurations that are one in a narrower space."""
    start = Start(Space({"x": Float(0, 1)}), [{"x": 0.1}, {"x": 0.2}, {"x": 0.3}])
    optimizer = Optimizer(Space({"x": Float(0.6, 1)}), init=start, seed=0)
    for _ in range(3):
        config = optimizer.ask()
        optimizer.tell(config, config["x"])
    assert [trial.origin for trial in optimizer.trials] == ["start", "surrogate", "surrogate"]
    assert optimizer.trials[0].config == {"x": 0.6}


def test_the_state_of_a_search_that_was_all_start_is_that_of_such_an_optimizer() -> None:
    space = Space({"x": Float(0, 1)})
    state = minimize(lambda config: config["x"], space, n_trials=3, seed=1).state
    assert len(Optimizer(space, n_init=3, seed=1).restore(state).trials) == 3


def test_a_search_explains_what_decides() -> None:
    """The task that the new one repeats is named; without past runs, so is the surrogate."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    configs = space.sample(30, seed=0)
    rows = [
        {"task": f"at {p}", **c, "loss": (c["x"] - p) ** 2 + (c["y"] - 0.5) ** 2}
        for p in (0.1, 0.5, 0.9)
        for c in configs
    ]
    history = History.from_frame(pd.DataFrame(rows), space, task="task", value="loss")
    search = Optimizer(space, history, n_init=3, seed=0)
    assert search.explain() == "No result yet: all 3 past tasks count, each with its share."
    for config in space.sample(6, seed=1):
        search.tell(config, 7 + 1e3 * ((config["x"] - 0.9) ** 2 + (config["y"] - 0.5) ** 2))
    assert re.match(
        r"After 6 results, the past tasks (decide|have a weight)[^(]*(: |\()at 0\.9 \(\d+%\), ", search.explain()
    )
    planned = Optimizer(space, history, "li", 3, seed=0)
    assert planned.explain() == "3 of the first 3 trials are still to come from the start: 'li'."
    cold = Optimizer(space, n_init=1, seed=0)
    cold.tell(cold.ask(), 1.0)
    assert cold.explain() == "The surrogate 'gp' decides; there are no past runs."


# -- the number of starts --------------------------------------------------------------------------------------


def test_the_number_of_starts_can_be_learned() -> None:
    """Tasks of two kinds: two configurations serve them all, and a third would serve nobody."""
    x = np.linspace(0, 1, 11)
    rows = [
        {"task": f"t{i}", "x": a, "value": float(abs(a - (0.2 if i % 2 else 0.8)))}
        for i in range(6)
        for a in x.round(1)
    ]
    space = Space({"x": Float(0, 1)})
    history = History.from_frame(pd.DataFrame(rows), space)
    optimizer = Optimizer(space, history, init="rbi", n_init="auto", seed=0)
    assert optimizer.n_init == 2
    assert {optimizer.ask()["x"], optimizer.ask()["x"]} == {0.2, 0.8}
    result = minimize(lambda c: c["x"], space, 4, history, init="rbi", n_init="auto", surrogate="gp", seed=0)
    assert [trial.origin for trial in result.trials] == ["strategy", "strategy", "surrogate", "surrogate"]
    assert Optimizer(space, n_init="auto").n_init == 10
    with pytest.raises(ValueError, match="n_init must be a whole number of at least 0, but got 'many'"):
        Optimizer(space, history, n_init="many")


# -- losses at the ends of floating point ------------------------------------------------------------------------

LARGEST = float(np.finfo(float).max)
EXTREME = {
    "both ends": lambda x: LARGEST if x > 0.5 else -LARGEST,
    "large": lambda x: LARGEST * x,
    "small": lambda x: 1e-305 * x,
    "denormal": lambda x: 5e-324 * round(20 * x),
    "mixed": lambda x: LARGEST if x > 0.8 else x,
    "equal": lambda x: LARGEST,
}


@pytest.mark.parametrize("loss", EXTREME.values(), ids=EXTREME)
@pytest.mark.parametrize("surrogate", ["gp", "rf"])
def test_losses_of_any_size_give_new_finite_proposals(surrogate: str, loss: Any) -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    optimizer = Optimizer(space, n_init=3, surrogate=surrogate, seed=0)
    tried = []
    for _ in range(8):
        config = optimizer.ask()
        assert 0 <= config["x"] <= 1
        assert config not in tried
        tried.append(config)
        optimizer.tell(config, loss(config["x"]))


def test_the_unit_of_the_losses_does_not_change_the_search() -> None:
    def run(unit: float) -> list[Any]:
        optimizer = Optimizer(Space({"x": Float(0, 1)}), n_init=3, surrogate="rf", seed=0)
        for _ in range(8):
            config = optimizer.ask()
            optimizer.tell(config, unit * (config["x"] - 0.3) ** 2)
        return [trial.config for trial in optimizer.trials]

    assert run(1.0) == run(2.0**1000) == run(2.0**-1000)


# -- no start -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", ["scot", "mklgp"])
def test_without_a_start_a_transfer_surrogate_proposes_from_the_first_trial_on(surrogate: str) -> None:
    history = make(PLANE, tasks=5, evaluations=15)
    candidates = history.configs("task2")
    optimizer = Optimizer(PLANE, history, n_init=0, surrogate=surrogate, candidates=candidates, seed=0)
    run(optimizer, 4)
    assert {trial.origin for trial in optimizer.trials} == {"surrogate"}
    models = TaskModels(history, rng=np.random.default_rng([0, 2]))
    model = SURROGATES[surrogate]().begin(PLANE, models, features=None, rng=np.random.default_rng([0, 1]))
    prior = model.fit(np.empty((0, 2)), np.empty(0))  # type: ignore[attr-defined]
    score = prior.score(PLANE.encode_values(PLANE.to_values(candidates)), Acquisition("ei"))
    assert candidates.index(optimizer.trials[0].config) == score.argmax()
    again = Optimizer(PLANE, history, n_init=0, surrogate=surrogate, candidates=candidates, seed=0)
    run(again, 2)
    for _ in range(2):  # two workers: pending trials are known
        again.ask()
    assert len({json.dumps(config) for config in again.pending}) == 2


def test_without_a_start_a_surrogate_that_knows_nothing_begins_at_random() -> None:
    optimizer = Optimizer(PLANE, n_init=0, surrogate="gp", seed=0)
    run(optimizer, 3)
    assert [trial.origin for trial in optimizer.trials] == ["random", "surrogate", "surrogate"]


def test_without_a_start_auto_begins_like_its_own_start() -> None:
    history = make(PLANE, tasks=5, evaluations=15)
    with_start, without = (Optimizer(PLANE, history, n_init=n, seed=0) for n in (1, 0))
    assert with_start.ask() == without.ask()


# -- why ----------------------------------------------------------------------------------------------------------


def test_every_trial_says_what_it_was_chosen_for(caplog: pytest.LogCaptureFixture) -> None:
    past = make(PLANE, tasks=3, features=False)
    with caplog.at_level(logging.INFO, "headstart"):
        optimizer = Optimizer(PLANE, past, n_init=2, seed=0)
        run(optimizer, 3)
    first, second, third = (trial.why for trial in optimizer.trials)
    assert first == (
        "Chosen for its average over the past tasks. No result yet: all 3 past tasks count, each with its share."
    )
    assert second.startswith("Chosen for its expected improvement. After 1 result, the past tasks decide")
    assert third.startswith("Chosen for its expected improvement. After 2 results")
    assert f"trial 2: {third}" in caplog.text
    optimizer.tell({"x": 0.0, "y": 1.0}, 1.0)
    assert optimizer.trials[-1].why == ""  # nobody chose it here


def test_reasons_of_the_other_origins() -> None:
    start = Start(PLANE, [{"x": 0.5, "y": 1.0}, {"x": -0.5, "y": 2.0}])
    optimizer = Optimizer(PLANE, init=start, seed=0)
    run(optimizer, 1)
    assert optimizer.trials[0].why == "Configuration 1 of 2 of the given start."
    cold = Optimizer(PLANE, seed=0)
    run(cold, 1)
    assert cold.trials[0].why == "Spread evenly over the search space, without a model."


def test_reasons_survive_the_state() -> None:
    optimizer = Optimizer(PLANE, make(PLANE, tasks=3, features=False), n_init=2, seed=0)
    run(optimizer, 3)
    optimizer.ask()
    state = json.loads(json.dumps(optimizer.state()))
    again = Optimizer(PLANE, make(PLANE, tasks=3, features=False), n_init=2, seed=0).restore(state)
    assert [trial.why for trial in again.trials] == [trial.why for trial in optimizer.trials]
    assert again.state() == optimizer.state()
