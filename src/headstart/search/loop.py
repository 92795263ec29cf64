"""The whole search in one call: ask, evaluate, tell, until the trials are used up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from headstart._support.arguments import whole
from headstart._support.log import log
from headstart._support.progress import Progress
from headstart.errors import ExhaustedError
from headstart.history import Features, History
from headstart.search.optimizer import Optimizer, Trial, best_of_trials, number
from headstart.space import Config

Objective = Callable[[Config], Any]
Callback = Callable[[Optimizer, Trial], Any]


@dataclass(frozen=True)
class Result:
    """What a search found.

    trials: every trial, in order. interrupted: whether the search was stopped by the keyboard before its end.
    state: for `restore` of an `Optimizer` made with the same arguments, to go on from here; if n_trials was less
    than n_init, the whole search was the start, and that of an `Optimizer` with n_init=n_trials.
    """

    trials: list[Trial] = field(repr=False)
    direction: str
    interrupted: bool
    state: dict[str, Any] = field(repr=False)

    @property
    def best_trial(self) -> Trial:
        """The first of the best trials; an error if none succeeded."""
        return best_of_trials(self.trials, self.direction)

    @property
    def best_config(self) -> Config:
        return self.best_trial.config

    @property
    def best_value(self) -> float:
        value = self.best_trial.value
        assert value is not None
        return value


def minimize(
    objective: Objective,
    space: Any,
    n_trials: int = 50,
    history: History | None = None,
    init: Any = "auto",
    n_init: int = 10,
    surrogate: Any = "auto",
    acquisition: str = "auto",
    features: Features | None = None,
    candidates: Sequence[Mapping[str, Any]] | None = None,
    direction: str = "minimize",
    seed: int | None = None,
    *,
    callback: Callback | None = None,
    progress: bool | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> Result:
    """Search for the configuration with the least (or, if `direction` says so, the greatest) value.

    objective: from a configuration to its value; None or NaN if it failed. An exception, or a value that is
        no finite number, is logged and counts as a failed trial.
    callback: called with the optimizer and the trial after every trial; the search ends if it returns True.
    progress: whether to show how far the search is; None: only on a terminal.
    catch: which of the objective's exceptions count as failures; `()` lets all of them through.
    The other arguments are those of `Optimizer`.

    The search also ends when every configuration of a finite space has been tried, and on an interrupt
    (Ctrl-C), with everything so far in the result.

    >>> result = minimize(lambda config: (config["x"] - 1) ** 2, Space({"x": Float(-5, 5)}), n_trials=20)
    >>> result.best_config
    """
    n_trials = whole("n_trials", n_trials, 1)
    if n_trials < n_init:
        log.warning("n_init=%d, but there are only %d trials: all of them belong to the start", n_init, n_trials)
        n_init = n_trials
    optimizer = Optimizer(space, history, init, n_init, surrogate, acquisition, features, candidates, direction, seed)
    interrupted = False
    try:
        _loop(optimizer, objective, n_trials, callback, progress, catch)
    except KeyboardInterrupt:
        interrupted = True
        log.warning("interrupted after %d of %d trials", len(optimizer.trials), n_trials)
    # What was running when the interrupt came would be asked for again.
    state = {**optimizer.state(), "pending": []}
    return Result(optimizer.trials, direction, interrupted, state)


def _loop(
    optimizer: Optimizer,
    objective: Objective,
    n_trials: int,
    callback: Callback | None,
    progress: bool | None,
    catch: type[Exception] | tuple[type[Exception], ...],
) -> None:
    shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
    with Progress(n_trials, "trials") if shown else nullcontext() as bar:
        for i in range(n_trials):
            try:
                config = optimizer.ask()
            except ExhaustedError as error:
                log.info("the search ends after %d trials: %s", i, error)
                return
            optimizer.tell(config, _evaluated(objective, config, i, catch))
            trial = optimizer.trials[-1]
            if bar is not None:
                bar.advance(note="failed" if trial.failed else f"best {optimizer.best_value:.6g}")
            if callback is not None and callback(optimizer, trial) is True:
                log.info("the callback ended the search after %d trials", i + 1)
                return


def _evaluated(
    objective: Objective, config: Config, i: int, catch: type[Exception] | tuple[type[Exception], ...]
) -> float | None:
    """The objective's value; None, and the reason in the log, if there is none."""
    try:
        value = objective(dict(config))
    except catch as error:
        log.warning("trial %d failed: %s: %s (%s)", i, type(error).__name__, error, config)
        log.debug("trial %d failed", i, exc_info=True)
        return None
    try:
        return number(value)
    except ValueError as error:
        log.warning("trial %d counts as failed: %s (%s)", i, error, config)
        return None
