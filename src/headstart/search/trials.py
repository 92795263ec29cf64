"""Trials of a search, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.direction import turned
from headstart._support.display import Picture, Series, card, draw
from headstart._support.wording import counted
from headstart.errors import ArgumentError, HistoryError
from headstart.space import Config

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Trial:
    """One trial of a search.

    value: in the user's direction; None if the trial failed. origin: where the configuration came from: "start" (a
    given Start), "strategy", "surrogate", "random", or "told" for one that the search had not proposed. cost: None if
    unknown. why: what the configuration was chosen for, and which past tasks spoke for it, in words.
    """

    config: Config
    value: float | None
    origin: str
    cost: float | None = None
    why: str = field(default="", compare=False)

    @property
    def failed(self) -> bool:
        return self.value is None


class BestTrial:
    """An object's `trials` in its `direction`, and the best of them: the common part of `Optimizer` and `Result`."""

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
        """The configuration of the best trial."""
        return self.best_trial.config

    @property
    def best_value(self) -> float:
        """The value of the best trial."""
        value = self.best_trial.value
        assert value is not None
        return value

    # -- shown ----------------------------------------------------------------------------------------------

    def _about(self: Any) -> str:
        """The trials in a phrase: "50 trials, best 0.0123"."""
        trials: Sequence[Trial] = self.trials
        failed = sum(trial.failed for trial in trials)
        said = counted(len(trials), "trial") + (f" ({failed} failed)" if failed else "")
        return f"{said}, best {self.best_value:.6g}" if failed < len(trials) else said

    def to_frame(self: Any) -> pd.DataFrame:
        """One row per trial: the configuration (missing where a parameter is inactive), the value, and its origin."""
        import pandas as pd

        trials: Sequence[Trial] = self.trials
        names = list(dict.fromkeys(name for trial in trials for name in trial.config))
        columns = {name: [trial.config.get(name) for trial in trials] for name in names}
        values = [math.nan if trial.value is None else trial.value for trial in trials]
        more = {"value": values, "origin": [trial.origin for trial in trials]}
        return pd.DataFrame({**columns, **{name if name not in columns else f"{name}_": c for name, c in more.items()}})

    def _picture(self: Any) -> Picture | None:
        """All values, by origin, and the best so far."""
        known = [(i, trial) for i, trial in enumerate(self.trials) if trial.value is not None]
        if not known:
            return None
        losses = [turned(trial.value, self.direction) for _, trial in known]
        best = [turned(float(loss), self.direction) for loss in np.minimum.accumulate(losses)]
        series = [Series("best so far", [i for i, _ in known], best, steps=True)]
        for origin in dict.fromkeys(trial.origin for _, trial in known):
            points = [(i, trial.value) for i, trial in known if trial.origin == origin]
            series.append(Series(origin, [i for i, _ in points], [value for _, value in points], marks=True))
        return Picture(series, x="trial", y="value")

    def plot(self) -> Any:
        """The values of the trials and the best so far: a figure of Plotly, or of matplotlib without it."""
        picture = self._picture()
        if picture is None:
            raise HistoryError("no trial has a result yet, so there is nothing to draw")
        return draw(picture)

    def _repr_html_(self: Any) -> str:
        ranked = sorted(
            ((i, trial) for i, trial in enumerate(self.trials) if not trial.failed),
            key=lambda pair: turned(pair[1].value, self.direction),
        )
        names = list(dict.fromkeys(name for _, trial in ranked for name in trial.config))
        rows = [[i, trial.value, trial.origin, *map(trial.config.get, names)] for i, trial in ranked]
        return card(repr(self), ["trial", "value", "origin", *names], rows, self._picture())


def number(value: Any) -> float | None:
    """A finite number, or None for a failed trial."""
    problem = f"a value must be a number, or None for a failed trial, but got {value!r}"
    result = _float(value, problem)
    if result is not None and math.isinf(result):
        raise ArgumentError("a value must be finite, but got an infinite one", "use None for a failed trial")
    return result


def spent(cost: Any) -> float | None:
    """A cost: a finite number of at least 0, or None if it is unknown."""
    problem = f"a cost must be a number of at least 0, or None if it is unknown, but got {cost!r}"
    result = _float(cost, problem)
    if result is not None and (result < 0 or math.isinf(result)):
        raise ArgumentError(problem)
    return result


def _float(value: Any, problem: str) -> float | None:
    """The number, or None for None and NaN; an error if it is none."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, bool, np.bool_)):
        raise ArgumentError(problem)
    try:
        result = float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise ArgumentError(problem) from None
    return None if math.isnan(result) else result
