"""Starting over beside a search that has stalled, so that a history never costs the end of a search.

Past runs lead a search quickly to a good region, and nearly all its trials lie there. If the best one is elsewhere, the
run's own process has seen nothing of it; a search that began at random would have. So once a search no longer improves,
every second trial belongs to another one that starts over: it begins at random and knows only its own trials. What it
finds, the first one sees as well. If the second one stalls, too, a third takes its place. So after a stall, a search
needs about twice the trials of one without past runs, at worst.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headstart._support.types import Array
from headstart.strategies.base import Told

# `benchmarks/long_run.py` shows what starting over is worth; the constants are guesses, not swept one by one.
EARLIEST = 30  # no search stalls before so many results
PATIENCE = 10  # a search has stalled if so many results gain too little
LITTLE = 1e-3  # too little: this share of the distance from the median of the first EARLIEST results to the best one
BEGINNING = 5  # results of the new search that are spread over the space


def own_trials(told: Told) -> Told | None:
    """The trials of the search that the next trial belongs to; None if it belongs to the first one, which knows all.

    The trials of the others count as taken.
    """
    begin = stalled_after(told.losses)
    if begin is None or (len(told) - begin) % 2:
        return None
    while (more := stalled_after(told.losses[begin::2])) is not None:
        begin += 2 * more
    mine = np.arange(begin, len(told), 2)
    costs = None if told.costs is None else told.costs[mine]
    others = np.delete(told.gone, mine, axis=0)
    return replace(told, V=told.V[mine], losses=told.losses[mine], costs=costs, taken=others)


def stalled_after(losses: Array) -> int | None:
    """After how many trials a search had stalled; None if it has not. A trial that is still running has no loss."""
    results = np.flatnonzero(np.isfinite(losses))
    if len(results) < EARLIEST:
        return None
    losses = losses[results]
    best, typical = np.minimum.accumulate(losses), float(np.median(losses[:EARLIEST]))
    ends = np.arange(EARLIEST - 1, len(losses))
    gains = best[ends - PATIENCE] - best[ends]
    stalled = np.flatnonzero(gains <= LITTLE * (typical - best[ends]))
    return int(results[ends[stalled[0]]]) + 1 if len(stalled) else None
