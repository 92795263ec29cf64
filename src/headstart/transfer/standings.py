"""Where the runs of a task stand among each other, at a few looks in their course.

| symbol | name    | shape    | meaning                                                                                |
| ------ | ------- | -------- | -------------------------------------------------------------------------------------- |
| t      | `LOOKS` | (L,)     | shares of a run's course at which it is judged by its losses                           |
| m(t)   | `M`     | (n, L)   | lowest loss until the first report at t or after; a stopped run keeps what it had      |
| a(t)   | `A`     | (n, L)   | by how much m(t) has fallen since the first report, as a share of that report's size   |
| u(t)   | `U`     | (n, 1+L) | standing: the share of all runs that are better. First by the promise of the           |
|        |         |          | configuration (`promise.py`; NaN if unknown), then by m(t)                             |
| u      | `end`   | (n,)     | standing by the loss at the end; runs that were stopped share the last places          |
| w      | weights | (n,)     | how often a sampler makes such a run, against one that draws at random                 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Mask
from headstart.history import History

LOOKS = np.array([0.02, 0.05, 0.1, 0.2, 0.4])

# These are guesses.
LEAST_RUNS = 4  # complete curves that a task must have
MOST_RUNS = 3000  # of all tasks together; this bounds the time to learn
MOST_TASKS = 60

Curve = tuple[Any, Array]  # steps and losses


@dataclass(frozen=True, eq=False)
class Task:
    """Past runs of one task. Z (n, d): their configurations, encoded. complete (n,): which went to their end."""

    name: str
    Z: Array
    M: Array
    A: Array
    end: Array
    complete: Mask

    def __len__(self) -> int:
        return len(self.end)

    def U(self, promises: Array | None, weights: Array | None = None) -> Array:
        """u(t) of all runs."""
        first = np.full(len(self), np.nan) if promises is None else standings(promises[:, None], weights)[:, 0]
        return np.column_stack([first, standings(self.M, weights)])


def standings(values: Array, weights: Array | None = None) -> Array:
    """The share of rows that are better (lower), column by column; ties share their places. Between 0 and 1."""
    from scipy.stats import rankdata

    if weights is None:
        return np.asarray((rankdata(values, axis=0) - 0.5) / len(values))
    found = np.empty(values.shape)
    for column, row in zip(values.T, found.T, strict=True):
        tied = np.unique(column, return_inverse=True)[1].reshape(-1)
        many = np.bincount(tied, weights=weights)
        row[:] = ((np.cumsum(many) - many / 2) / many.sum())[tied]
    return found


def lowest(curve: Curve, span: tuple[float, float]) -> Array:
    """m(t) of a run whose course spans these steps, (L,): by its first report at or after each look.

    A run that has not come so far keeps what it has reached.
    """
    steps, losses = curve
    at = span[0] + LOOKS * (span[1] - span[0])
    places = np.minimum(np.searchsorted(steps, at - 1e-9), len(steps) - 1)
    return np.asarray(np.minimum.accumulate(losses)[places])


def progress(curve: Curve, span: tuple[float, float]) -> Array:
    """a(t) of a run, (L,)."""
    first = float(curve[1][0])
    return np.asarray((first - lowest(curve, span)) / max(abs(first), 1e-300))


def past_tasks(history: History, rng: np.random.Generator) -> tuple[list[Task], int]:
    """Tasks with enough complete curves, and the usual number of steps of a complete run."""
    curves = history.curves
    if curves is None:
        return [], 0
    everything, Z = list(curves), history.space.encode_values(curves.V)
    whole = curves.ended & np.array([len(steps) > 1 for steps, _ in everything], dtype=bool)
    names, counts = np.unique(np.asarray(curves.tasks, dtype=str)[whole], return_counts=True)
    names = names[counts >= LEAST_RUNS]
    if len(names) > MOST_TASKS:
        names = np.sort(rng.choice(names, MOST_TASKS, replace=False))
    tasks, lengths = [], []
    for name in names.tolist():
        rows = np.flatnonzero(curves.tasks == name)
        most = max(MOST_RUNS // len(names), 2 * LEAST_RUNS)
        if len(rows) > most:
            rows = np.sort(rng.choice(rows, most, replace=False))
        if whole[rows].sum() >= LEAST_RUNS:
            tasks.append(_task(name, [everything[i] for i in rows], Z[rows], whole[rows]))
            lengths += [int(everything[i][0][-1] - everything[i][0][0]) for i in rows[whole[rows]]]
    return tasks, int(np.median(lengths)) if lengths else 0


def _task(name: str, curves: Sequence[Curve], Z: Array, complete: Mask) -> Task:
    whole: npt.NDArray[np.intp] = np.flatnonzero(complete)
    span = float(min(curves[i][0][0] for i in whole)), float(max(curves[i][0][-1] for i in whole))
    ends = np.where(complete, [float(losses[-1]) for _, losses in curves], np.inf)
    M, A = np.array([lowest(curve, span) for curve in curves]), np.array([progress(curve, span) for curve in curves])
    return Task(name, Z, M, A, standings(ends[:, None])[:, 0], complete)
