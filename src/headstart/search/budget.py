"""A budget: how much a search may cost, as a number or as a time such as "30 min"."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart._support.log import log
from headstart._support.wording import counted
from headstart.errors import ArgumentError

SECONDS = "seconds"
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", re.IGNORECASE)


def checked_cost(cost: Any, budget: Any) -> tuple[str | None, float | None]:
    """The currency and the budget. A budget without a currency is in seconds."""
    if cost is not None and (not isinstance(cost, str) or not cost):
        raise ArgumentError(f"cost must be the name of what trials cost, such as 'seconds', or None, but got {cost!r}")
    if budget is None:
        return cost, None
    cost = cost or SECONDS
    return cost, _amount(budget, cost)


def _amount(budget: Any, cost: str) -> float:
    """The budget as a number: seconds for a time, and as it is otherwise."""
    amount: float | None = None
    if isinstance(budget, str) and cost == SECONDS:
        amount = _seconds(budget)
    elif isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool):
        amount = float(budget)
    if amount is None or not math.isfinite(amount) or amount <= 0:
        time = " or a time such as '30 min' or '1 h 30 min'" if cost == SECONDS else ""
        raise ArgumentError(f"budget must be a positive number of {cost}{time}, but got {budget!r}")
    return amount


def _seconds(text: str) -> float | None:
    parts = PART.findall(text)
    if not parts or PART.sub("", text) or any(unit.lower() not in UNITS for _, unit in parts):
        return None
    return sum(float(number) * UNITS[unit.lower()] for number, unit in parts)


def checked_seconds(cost: Any, budget: Any) -> float | None:
    """The budget in seconds, where the search itself measures what trials cost."""
    currency, amount = checked_cost(cost, budget)
    if currency not in (None, SECONDS):
        raise ArgumentError(
            f"cost must be 'seconds', which is measured here, but got {cost!r}", "use hs.Optimizer and tell it the cost"
        )
    return amount


@dataclass(frozen=True)
class Limit:
    """When a search ends. trials: after so many; seconds: no trial begins later. None: no such limit."""

    trials: int | None
    seconds: float | None = None

    @classmethod
    def of(cls, n_trials: Any, seconds: float | None, usual: int) -> Limit:
        """usual: the number of trials if neither is given."""
        if n_trials is None:
            return cls(usual if seconds is None else None, seconds)
        return cls(whole("n_trials", n_trials, 1), seconds)

    def counted(self, batch: int = 1) -> Iterator[int]:
        """The number of trials so far, in steps of a batch, until the search ends; the first one always comes."""
        begun = time.monotonic()
        for i in count(step=batch) if self.trials is None else range(0, self.trials, batch):
            if i and self.seconds is not None and time.monotonic() - begun >= self.seconds:
                few = " (it was smaller than one trial)" if i == batch else ""
                done = counted(i, "trial")
                log.info("the search ends after %s: the budget of %g seconds is spent%s", done, self.seconds, few)
                return
            yield i

    def rest(self, n: int, done: int = 0) -> int:
        """The smaller one of a number and the trials that are left after some."""
        return n if self.trials is None else min(n, self.trials - done)

    def spread(self, workers: int) -> float | None:
        """What all trials together may cost if several run at once."""
        return None if self.seconds is None else self.seconds * workers
