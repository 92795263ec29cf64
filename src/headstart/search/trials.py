"""Trials of a search, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart._support.direction import turned
from headstart.errors import ArgumentError, HistoryError
from headstart.space import Config


@dataclass(frozen=True)
class Trial:
    """One trial of a search.

    value: in the user's direction; None if the trial failed. origin: where the configuration came from: "start" (a
    given Start), "strategy", "surrogate", "random", or "told" for one that the search had not proposed. cost: None if
    unknown.
    """

    config: Config
    value: float | None
    origin: str
    cost: float | None = None

    @property
    def failed(self) -> bool:
        return self.value is None


class BestTrial:
    """The best of an object's `trials` in its `direction`: the common part of `Optimizer` and `Result`."""

    @property
    def best_trial(self: Any) -> Trial:
        """The first of the best trials; an error if none succeeded."""
        trials: Sequence[Trial] = self.trials
        succeeded = [trial for trial in trials if trial.value is not None]
        if not succeeded:
            tried = f"none of the {len(trials)} trials succeeded" if trials else "there are no trials yet"
            raise HistoryError(f"{tried}, so there is no best one")
        return min(succeeded, key=lambda trial: turned(trial.value or 0.0, self.direction))

    @property
    def best_config(self) -> Config:
        return self.best_trial.config

    @property
    def best_value(self) -> float:
        value = self.best_trial.value
        assert value is not None
        return value


def number(value: Any) -> float | None:
    """A finite number, or None for a failed trial."""
    if value is None:
        return None
    problem = f"a value must be a number, or None for a failed trial, but got {value!r}"
    if isinstance(value, (str, bytes, bool, np.bool_)):
        raise ArgumentError(problem)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    except (TypeError, ValueError):
        raise ArgumentError(problem) from None
    if math.isinf(result):
        raise ArgumentError("a value must be finite, but got an infinite one", "use None for a failed trial")
    return None if math.isnan(result) else result


def spent(cost: Any) -> float | None:
    """A cost: a finite number of at least 0, or None if it is unknown."""
    if cost is None:
        return None
    problem = f"a cost must be a number of at least 0, or None if it is unknown, but got {cost!r}"
    if isinstance(cost, (str, bytes, bool, np.bool_)):
        raise ArgumentError(problem)
    try:
        result = float(cost)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(problem) from None
    if math.isnan(result):
        return None
    if result < 0 or math.isinf(result):
        raise ArgumentError(problem)
    return result
