"""The whole search in one call: ask, evaluate, tell, until all trials are done."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from headstart._support.log import announce, log
from headstart._support.progress import Progress
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history import Features, Store
from headstart.search.arguments import sorted_past
from headstart.search.budget import Limit, checked_seconds
from headstart.search.evaluation import Caught, Objective, Outcome, at_once, evaluated, workers
from headstart.search.optimizer import Optimizer
from headstart.search.trials import BestTrial, Trial
from headstart.space import Config
from headstart.space.scalars import as_number

Callback = Callable[[Optimizer, Trial], Any]
TRIALS = 50  # of a search that has no budget
SAME = 3  # trials that must fail with the same exception before it is raised
Record = Callable[[Trial, float], None]


@dataclass(frozen=True, repr=False)
class Result(BestTrial):
    """The outcome of a search.

    trials: all trials, in order. interrupted: whether Ctrl-C stopped the search early. state: for `restore` of an
    `Optimizer` made with the same arguments, to continue from here. If n_trials was below n_init, that is one with
    n_init=n_trials.
    """

    trials: list[Trial]
    direction: str
    interrupted: bool
    state: dict[str, Any]

    def __repr__(self) -> str:
        best = next((f": {self.best_config}" for trial in self.trials if not trial.failed), "")
        early = ", interrupted" if self.interrupted else ""
        return f"Result({self._about()}, {self.direction}{early}{best})"


@dataclass(frozen=True)
class _Run:
    """How the trials run: the arguments of `minimize` that say nothing about the search itself."""

    n_jobs: int | None
    timeout: float | None
    callbacks: tuple[Callback, ...]
    progress: bool
    catch: Caught

    @classmethod
    def of(cls, n_jobs: Any, timeout: Any, callbacks: Any, progress: bool | None, catch: Caught) -> _Run:
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
            raise ArgumentError(f"n_jobs must be a whole number other than 0, or None, but got {n_jobs!r}")
        if timeout is not None and not as_number(timeout) > 0:
            raise ArgumentError(f"timeout must be a number of seconds above 0, or None, but got {timeout!r}")
        listed = (callbacks,) if callable(callbacks) else tuple(callbacks)
        if wrong := [one for one in listed if not callable(one)]:
            raise ArgumentError(f"callbacks must be functions, but got {wrong[0]!r}")
        shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
        return cls(n_jobs, timeout, listed, shown, catch)


def minimize(
    objective: Objective,
    space: Any,
    n_trials: int | None = None,
    history: Any = None,
    init: Any = "auto",
    n_init: int | str = 10,
    surrogate: Any = "auto",
    acquisition: str = "ei",
    features: Features | None = None,
    candidates: Sequence[Mapping[str, Any]] | None = None,
    direction: str = "minimize",
    seed: int | None = None,
    *,
    store: Store | str | os.PathLike[str] | None = None,
    task: str | None = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    n_jobs: int | None = 1,
    timeout: float | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | None = None,
    catch: Caught = Exception,
    cost: str | None = None,
    budget: float | str | None = None,
) -> Result:
    """Search for the configuration with the lowest value, or the highest if direction="maximize".

    objective: takes a configuration and returns its value, or None or NaN if it failed. An exception or any other value
        is logged and counts as a failed trial. If no trial has succeeded and three in a row fail with the same
        exception, or if every trial raised one, it is raised, since the fault is then in the objective.
    n_trials: default 50, or as many as the budget allows if there is one.
    cost: "seconds" prefers configurations that gain much in little time, as for `Optimizer`; the trials are timed here.
    budget: end the search after this time: seconds, or text such as "30 min". This implies cost="seconds". The first
        trial always runs, and a trial that has begun is finished. `timeout` ends a search without such a preference.
    store: a `Store`, or where it is, such as "runs.db". Its runs are past runs, too, and every trial of this search is
        added to it under the name `task`. It need not exist yet, so the same script serves the first run and the ninth.
    n_jobs: how many trials to run at once, as joblib counts: -1 is one per core. They run in rounds, each proposed
        knowing the others of its round, so a result depends on the seed and on n_jobs, not on timing. joblib's
        `parallel_config` chooses threads, processes or a cluster.
    timeout: after so many seconds no further trial begins.
    callbacks: functions that are called with the optimiser and the trial after every trial; the search ends if one
        returns True.
    progress: whether to show a progress bar with the best value so far; None shows one on a terminal only.
    catch: the exceptions of the objective that count as failures; `()` lets all of them through.

    All other arguments are those of `Optimizer`. The search also ends when every configuration of a finite space has
    been tried, and on Ctrl-C; the result then holds all trials so far.

    >>> import headstart as hs
    >>> def objective(config):
    ...     return (config["x"] - 1) ** 2
    >>> result = hs.minimize(objective, {"x": (-5.0, 5.0)}, n_trials=20, seed=0)
    >>> abs(result.best_config["x"] - 1) < 0.1
    True
    """
    limit = Limit.of(n_trials, checked_seconds(cost, budget), TRIALS)
    run = _Run.of(n_jobs, timeout, callbacks, progress, catch)
    n_trials = limit.trials
    if not isinstance(n_init, str) and n_trials is not None and n_trials < n_init:
        log.warning("n_init=%d is more than n_trials=%d, so the whole search is the start", n_init, n_trials)
        n_init = n_trials
    history, init = sorted_past(history, init)
    stored = checked_store(store, task)
    past = [one for one in (history, stored) if one is not None] or None
    settings = (init, n_init, surrogate, acquisition, features, candidates, direction, seed)
    optimizer = Optimizer(
        space, past, *settings, rename=rename, fill=fill, cost=cost, budget=limit.spread(at_once(n_jobs))
    )
    announce(optimizer.about(n_trials))
    interrupted = False
    with _recording(stored, task, optimizer) as record:
        try:
            _loop(optimizer, objective, limit, run, record)
        except KeyboardInterrupt:
            interrupted = True
            of = "" if n_trials is None else f" of {n_trials}"
            log.warning("interrupted after %d%s trials", len(optimizer.trials), of)
    # A trial that the interrupt cut off is proposed again.
    state = {**optimizer.state(), "pending": []}
    return Result(optimizer.trials, direction, interrupted, state)


def checked_store(store: Store | str | os.PathLike[str] | None, task: str | None) -> Store | None:
    """The store, which needs the name of the task; None if there is no store."""
    if store is None:
        if task is not None:
            raise ArgumentError(f"task={task!r} names a run in a store, but there is none", "pass {store}, too")
        return None
    if task is None:
        raise ArgumentError("a store needs the name of the task", "name the data set or the problem with {task}")
    return Store(store)


@contextmanager
def _recording(store: Store | None, task: str | None, optimizer: Optimizer) -> Iterator[Record]:
    """A function that adds a trial and its duration to the store; it does nothing without a store."""
    if store is None:
        yield lambda trial, seconds: None
        return
    recorder = store.record(str(task), optimizer.space, direction=optimizer.direction)
    try:
        yield lambda trial, seconds: recorder.add(trial.config, trial.value, trial.origin, seconds, trial.why)
    finally:
        recorder.close()


def _loop(optimizer: Optimizer, objective: Objective, limit: Limit, run: _Run, record: Record) -> None:
    ends = math.inf if run.timeout is None else time.monotonic() + run.timeout
    raised: list[Exception] = []  # by the trials so far, as long as all of them raised
    bar_of = Progress(limit.trials, "trials") if run.progress else nullcontext()
    with bar_of as bar, workers(run.n_jobs) as (size, each):
        evaluate = partial(evaluated, objective, run.catch)
        for done in limit.counted(size):
            if time.monotonic() >= ends:
                log.info("the search ends after %d trials: the time is up", done)
                return
            batch = _asked(optimizer, limit.rest(size, done))
            if not batch:
                return
            stop = False
            for config, outcome in zip(batch, each(evaluate, batch), strict=True):
                trial = _told(optimizer, config, outcome)
                record(trial, outcome.seconds)
                raised = [] if (error := outcome.mistake) is None else [*raised, error]
                if _is_hopeless(raised, len(optimizer.trials), limit.trials):
                    raise raised[-1]
                if bar is not None:
                    bar.advance(note=_best(optimizer), lasting=True)
                for callback in run.callbacks:
                    stop |= callback(optimizer, trial) is True
            if stop:
                log.info("a callback ended the search after %d trials", len(optimizer.trials))
                return


def _asked(optimizer: Optimizer, n: int) -> list[Config]:
    """The next configurations, n at most; each but the first is chosen knowing that those before it are running."""
    batch: list[Config] = []
    try:
        while len(batch) < n:
            batch.append(optimizer.ask())
    except ExhaustedError as error:
        if not batch:
            log.info("the search ends after %d trials: %s", len(optimizer.trials), error)
    return batch


def _told(optimizer: Optimizer, config: Config, outcome: Outcome) -> Trial:
    """The finished trial; if it failed, the reason is logged."""
    number = len(optimizer.trials)
    if outcome.error is not None:
        log.warning("trial %d failed: %s: %s (%s)", number, type(outcome.error).__name__, outcome.error, config)
        log.debug("trial %d failed", number, exc_info=outcome.error)
    elif outcome.problem:
        log.warning("trial %d counts as failed: %s (%s)", number, outcome.problem, config)
    optimizer.tell(config, outcome.value, outcome.seconds if optimizer.cost is not None else None)
    return optimizer.trials[-1]


def _best(optimizer: Optimizer) -> str:
    """The best result so far, for the progress bar."""
    succeeded = any(not trial.failed for trial in optimizer.trials)
    return f"best {optimizer.best_value:.6g}" if succeeded else "no result yet"


def _is_hopeless(raised: Sequence[Exception], done: int, n_trials: int | None) -> bool:
    """Whether all trials so far raised exceptions, and the first few the same one, or there are no more trials."""
    if not raised or len(raised) < done:
        return False
    return (len({repr(error) for error in raised}) == 1 and done >= SAME) or done == n_trials
