"""Evaluating configurations: one after the other here, or several at once with any backend of joblib."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from headstart._support.processes import parallel
from headstart.errors import ArgumentError
from headstart.search.trials import number
from headstart.space import Config

Objective: TypeAlias = Callable[[Config], Any]
Caught: TypeAlias = type[Exception] | tuple[type[Exception], ...]


@dataclass(frozen=True)
class Outcome:
    """What came of one evaluation.

    value: None if it failed. error: the exception that the objective raised. problem: why its value is none.
    strange: whether that is because it is no number at all, such as text.
    """

    value: float | None
    seconds: float
    error: Exception | None = None
    problem: str = ""
    strange: bool = False

    @property
    def mistake(self) -> Exception | None:
        """What the caller should hear of if all trials end like this."""
        return ArgumentError(f"the objective returned no result: {self.problem}") if self.strange else self.error


Evaluate: TypeAlias = Callable[[Config], Outcome]
Each: TypeAlias = Callable[[Evaluate, Sequence[Config]], Iterable[Outcome]]


def evaluated(objective: Objective, catch: Caught, config: Config) -> Outcome:
    """The outcome of one configuration. Exceptions that are not to be caught are raised."""
    began = time.monotonic()
    try:
        value = objective(dict(config))
    except catch as error:
        return Outcome(None, time.monotonic() - began, error=error)
    seconds = time.monotonic() - began
    try:
        return Outcome(number(value), seconds)
    except ValueError as error:
        strange = isinstance(value, (str, bytes)) or not hasattr(value, "__float__")
        return Outcome(None, seconds, problem=str(error), strange=strange)


def at_once(n_jobs: int | None) -> int:
    """How many configurations are evaluated at once."""
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


@contextmanager
def workers(n_jobs: int | None) -> Iterator[tuple[int, Each]]:
    """How many configurations to evaluate at once, and a function that does it and keeps their order."""
    if n_jobs == 1:
        yield 1, map
        return
    from joblib import delayed

    with parallel(n_jobs=n_jobs, batch_size=1) as pool:

        def each(evaluate: Evaluate, configs: Sequence[Config]) -> Iterable[Outcome]:
            return list(pool(delayed(_sent)(evaluate, config) for config in configs))

        yield at_once(n_jobs), each


def _sent(evaluate: Evaluate, config: Config) -> Outcome:
    """The outcome in a form that can be sent back: some exceptions cannot be pickled, or not unpickled."""
    outcome = evaluate(config)
    try:
        pickle.loads(pickle.dumps(outcome))
        return outcome
    except Exception:
        error = RuntimeError(f"{type(outcome.error).__name__}: {outcome.error}")
        return Outcome(None, outcome.seconds, error=error)
