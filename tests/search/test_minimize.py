"""`minimize`: several trials at once, a time limit, callbacks, and what the progress bar shows."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

import joblib
import pytest

import headstart as hs
from headstart import Float, Int, Space
from headstart.search.loop import minimize

PLANE = Space({"x": Float(0, 1), "y": Float(0, 1)})
SMALL = Space({"a": Int(1, 5)})


def loss(config: dict[str, Any]) -> float:
    return float((config["x"] - 0.3) ** 2 + (config["y"] - 0.7) ** 2)


def process(config: dict[str, Any]) -> float:
    """The number of the process that evaluates."""
    time.sleep(0.05)
    return float(os.getpid())


class AwkwardError(Exception):
    """An exception that can be pickled but not unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def awkward(config: dict[str, Any]) -> float:
    if config["a"] == 3:
        raise AwkwardError(1, 2)
    return float(config["a"])


# -- several at once ---------------------------------------------------------------------------------------------


def test_with_one_job_the_trials_are_those_of_ask_and_tell():
    opt = hs.Optimizer(PLANE, n_init=3, seed=0)
    for _ in range(6):
        config = opt.ask()
        opt.tell(config, loss(config))
    assert minimize(loss, PLANE, 6, n_init=3, seed=0).trials == opt.trials


def test_jobs_run_at_once_in_threads():
    """Three trials wait for each other: they can only end if all of them run at the same time."""
    together = threading.Barrier(3, timeout=20)

    def waits(config):
        together.wait()
        return loss(config)

    with joblib.parallel_config("threading"):
        result = minimize(waits, PLANE, 6, n_init=4, n_jobs=3, seed=0)
    assert len(result.trials) == 6
    assert not any(trial.failed for trial in result.trials)


def test_the_others_of_a_round_are_known_and_timing_does_not_matter():
    """Asked as a round of two: the same as two calls of ask before the results are told."""
    opt = hs.Optimizer(PLANE, n_init=3, seed=0)
    for _ in range(4):
        for config in [opt.ask(), opt.ask()]:
            opt.tell(config, loss(config))

    def unsteady(config):
        time.sleep(0.05 * config["x"])
        return loss(config)

    with joblib.parallel_config("threading"):
        runs = [minimize(f, PLANE, 8, n_init=3, n_jobs=2, seed=0).trials for f in (loss, unsteady)]
    assert runs[0] == runs[1] == opt.trials
    assert len({tuple(trial.config.values()) for trial in opt.trials}) == 8


def test_processes_and_their_awkward_exceptions():
    result = minimize(process, PLANE, 4, n_jobs=2, seed=0)
    assert os.getpid() not in {trial.value for trial in result.trials}
    found = minimize(awkward, SMALL, 9, n_init=5, n_jobs=2, seed=0)  # five configurations: the last round has one
    assert sorted(t.config["a"] for t in found.trials) == [1, 2, 3, 4, 5]
    assert [t.config["a"] for t in found.trials if t.failed] == [3]


def test_the_jobs_end_with_the_last_trial():
    with joblib.parallel_config("threading"):
        assert len(minimize(loss, PLANE, 5, n_init=5, n_jobs=4, seed=0).trials) == 5


# -- time and callbacks ------------------------------------------------------------------------------------------


def test_after_the_time_limit_no_trial_begins():
    calls = []

    def slow(config):
        calls.append(config)
        time.sleep(0.3)
        return loss(config)

    result = minimize(slow, PLANE, 50, timeout=0.2, seed=0)
    assert len(result.trials) == len(calls) == 1  # the one that was running is finished
    assert not result.interrupted


def test_every_callback_sees_every_trial_and_any_can_end_the_search():
    seen: dict[str, list[Any]] = {"a": [], "b": []}

    def stops(optimizer, trial):
        assert optimizer.trials[-1] is trial
        seen["a"].append(trial)
        return len(seen["a"]) == 3

    result = minimize(loss, PLANE, 10, callbacks=[stops, lambda _, trial: seen["b"].append(trial)], seed=0)
    assert result.trials == seen["a"] == seen["b"]
    assert len(result.trials) == 3
    assert len(minimize(loss, PLANE, 10, callbacks=lambda *_: True, seed=0).trials) == 1  # one alone needs no list


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, but got 0"),
        ({"n_jobs": "2"}, "n_jobs must be a whole number other than 0, or None, but got '2'"),
        ({"timeout": -1}, "timeout must be a number of seconds above 0, or None, but got -1"),
        ({"timeout": "1h"}, "timeout must be a number of seconds above 0, or None, but got '1h'"),
        ({"callbacks": [3]}, "callbacks must be functions, but got 3"),
    ],
)
def test_arguments_are_checked(arguments, words):
    with pytest.raises(hs.errors.ArgumentError, match=re.escape(words)):
        minimize(loss, PLANE, 3, **arguments)


def test_the_progress_shows_the_best_so_far(capsys):
    minimize(lambda config: None if config["x"] < 0.5 else 1.5, PLANE, 6, n_init=6, seed=0, progress=True)
    assert "trials 6/6" in (err := capsys.readouterr().err)
    assert err.rstrip().endswith("best 1.5")
