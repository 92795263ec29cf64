"""Which metric of the runs is the value, and whether it is minimised or maximised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstart._support.direction import VERBS, direction_in
from headstart._support.wording import closest, counted, some
from headstart.errors import HistoryError
from headstart.history.reading import Reading


@dataclass(frozen=True)
class Choice:
    """The metric that is the value, its direction, and a note if that was inferred."""

    metric: str
    direction: str
    note: str = ""


def choose(
    source: str,
    finished: Sequence[Mapping[str, Any]],
    optimised: str | None,
    directions: Mapping[str, str],
    value: str | None,
    direction: str | None,
) -> Choice:
    """The metric and direction that the user names, or the source, or that are beyond doubt.

    finished: the metrics of each finished run. optimised, directions: what the source recorded.
    """
    counts = Counter(name for metrics in finished for name, number in metrics.items() if number is not None)
    metric = _metric(source, counts, optimised, value)
    recorded = directions.get(metric)
    if recorded is not None:
        if direction not in (None, recorded):
            raise HistoryError(
                f"{source} {VERBS[recorded]} {metric!r}, so it cannot be read with direction {direction!r}",
                "leave out {direction}",
            )
        return Choice(metric, recorded)
    if direction is not None:
        return Choice(metric, direction)
    inferred = direction_of(metric)
    if inferred is None:
        raise HistoryError(
            f"{source} does not record whether {metric!r} was minimised or maximised", "choose with {direction}"
        )
    return Choice(metric, inferred, f"by its name, this source {VERBS[inferred]} {metric!r}")


def _metric(source: str, counts: Mapping[str, int], optimised: str | None, value: str | None) -> str:
    there = ", ".join(f"{name!r} ({counted(n, 'run')})" for name, n in sorted(counts.items())[:20])
    if value is not None:
        if value not in counts:
            raise HistoryError(
                f"no finished run of {source} has the metric {value!r}{closest(value, list(counts))} "
                f"(metrics: {there or 'none'})",
                "name another one with {value}",
            )
        return value
    if optimised is not None:
        return optimised
    if len(counts) == 1 or Reading.value in counts:
        return Reading.value if Reading.value in counts else next(iter(counts))
    if not counts:
        raise HistoryError(f"no finished run of {source} has a metric")
    raise HistoryError(f"the runs of {source} have several metrics: {there}", "name the one to learn from with {value}")


def direction_of(metric: str) -> str | None:
    """The direction that the name of a metric implies: "val/roc_auc" is maximised; None if it implies none, or both."""
    found = direction_in(metric)
    return None if found == "unclear" else found


def listed(names: Sequence[str]) -> str:
    """Names for a note, quoted."""
    return some([repr(name) for name in names], 8)
