"""Studies drawn from the complete runs of past tasks, with which a rule for stopping runs is learned and judged.

A study is all runs of a task in random order. A pruner stops most runs, so those of a drawn study are stopped, too, by
a simple rule: a run goes on while it is among the best share α(t) of the runs so far. Stopped runs keep what
they reached.

| symbol | name   | shape    | meaning                                                                    |
| ------ | ------ | -------- | -------------------------------------------------------------------------- |
| t      | `GRID` | (G,)     | shares of a run's length at which it is judged                             |
| m(t)   | `M`    | (n, G+2) | lowest loss reported until t, for t = 0, the grid, and the end             |
| v(t)   | `V`    | (n, G+2) | loss reported last, at the same points                                     |
| f      | `final`| (n,)     | loss reported at the end                                                   |
| u, b   |        |          | m and f of the best complete run before                                    |
| k      | `k`    | (n,)     | number of runs before                                                      |
|        | `rank` | (n, G)   | how many of them were better until t, or until they were stopped before it |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Mask
from headstart.history import History

GRID = np.array([0.02, 0.04, 0.06, 0.1, 0.14, 0.2, 0.28, 0.38, 0.5, 0.64, 0.8])

# All of these are guesses.
LEAST_RUNS = 4  # complete curves that a task must have
MOST_RUNS = 100  # of a task in a study
MOST_TASKS = 60
CASES = 4400  # runs of all drawn studies together, about
MOST_STUDIES = 25  # of one task
SHORTEST = 20  # length of the studies whose best run counts
FEW = 4  # with so many runs and none of them complete, those among the best `LEADING` of them go on
LEADING = 1 / 3
GOOD = 0.25  # a good run is among this share of its task's
KEEP = np.clip(0.2 * (GRID / 0.02) ** -0.6, 0.01, 1.0)  # α(t)
FACTORS = (0.5, 1.0, 2.0, np.inf)  # of α; one is drawn for each study
FARTHEST = 9.0  # features are clipped here

HALF = np.searchsorted(GRID, GRID / 2, side="right")  # the last point until t / 2, where 0 is the first report
TINY = 1e-12  # progress of a reference below this share of its loss counts as this

Curve = tuple[Any, Array]  # steps and losses


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of one task: m(t) and v(t) (n, G + 2), and final losses (n,)."""

    M: Array
    V: Array
    final: Array

    @classmethod
    def of(cls, curves: Sequence[Curve], first: float | None = None, last: float | None = None) -> Runs:
        """first, last: the steps where a run begins and ends; by default where the first begins and the last ends."""
        first = min(steps[0] for steps, _ in curves) if first is None else first
        last = max(steps[-1] for steps, _ in curves) if last is None else last
        at = first + np.concatenate([[0.0], GRID, [1.0]]) * (last - first)
        places = [np.maximum(np.searchsorted(steps, at + 1e-9, side="right"), 1) - 1 for steps, _ in curves]
        M = [np.minimum.accumulate(losses)[place] for (_, losses), place in zip(curves, places, strict=True)]
        V = [losses[place] for (_, losses), place in zip(curves, places, strict=True)]
        return cls(np.array(M), np.array(V), np.array([losses[-1] for _, losses in curves]))

    def __len__(self) -> int:
        return len(self.final)

    def __getitem__(self, rows: Any) -> Runs:
        return Runs(self.M[rows], self.V[rows], self.final[rows])


def complete_runs(history: History, rng: np.random.Generator) -> tuple[list[str], list[Runs], int]:
    """Tasks with enough complete curves, those curves, and the usual number of steps."""
    curves = history.curves
    if curves is None:
        return [], [], 0
    found: dict[str, list[Curve]] = {}
    for name, ended, curve in zip(curves.tasks, curves.ended, curves, strict=True):
        if ended and len(curve[0]) > 1:
            found.setdefault(name, []).append(curve)
    names = sorted(name for name, runs in found.items() if len(runs) >= LEAST_RUNS)
    if len(names) > MOST_TASKS:
        names = sorted(rng.choice(names, MOST_TASKS, replace=False).tolist())
    lengths = [int(steps[-1] - steps[0]) for name in names for steps, _ in found[name]]
    return names, [Runs.of(found[name]) for name in names], int(np.median(lengths)) if lengths else 0


# -- what is known of a run -------------------------------------------------------------------------------------


def features(runs: Runs, best: Runs, rank: npt.NDArray[np.intp], k: npt.NDArray[np.intp]) -> Array:
    """Runs against the best complete run before each, (n, G, 8); losses in units of the progress of that one."""
    b = best.final[:, None]
    unit = np.maximum(best.M[:, :1] - b, TINY * np.maximum(np.abs(b), 1e-300))
    h, ahead = (runs.M[:, 1:-1] - b) / unit, (best.M[:, 1:-1] - b) / unit
    slope, over = (runs.M[:, HALF] - b) / unit - h, (runs.V[:, 1:-1] - runs.M[:, 1:-1]) / unit
    return _columns([h, slope, ahead, h - ahead, over], rank, k)


def first_features(runs: Runs, rank: npt.NDArray[np.intp], k: npt.NDArray[np.intp]) -> Array:
    """Runs before which none was complete, (n, G, 6); losses in units of the first one reported."""
    unit = np.maximum(np.abs(runs.M[:, :1]), 1e-300)
    progress, before = (runs.M[:, :1] - runs.M[:, 1:-1]) / unit, (runs.M[:, :1] - runs.M[:, HALF]) / unit
    return _columns([progress, progress - before, (runs.V[:, 1:-1] - runs.M[:, 1:-1]) / unit], rank, k)


def _columns(losses: Sequence[Array], rank: npt.NDArray[np.intp], k: npt.NDArray[np.intp]) -> Array:
    shape = rank.shape
    share, many = (rank + 0.5) / (k[:, None] + 1), np.broadcast_to(np.log(k + 1.0)[:, None], shape)
    stacked = np.stack([np.broadcast_to(GRID, shape), *losses, share, many], axis=-1)
    return np.asarray(np.clip(np.nan_to_num(stacked), -FARTHEST, FARTHEST))


def ranks(M: Array, others: Array) -> npt.NDArray[np.intp]:
    """How many others (k, G + 2) were better than one run (G + 2,) at each point of the grid, (G,)."""
    return np.asarray((others[:, 1:-1] < M[1:-1]).sum(axis=0))


# -- studies ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cases:
    """Runs of drawn studies of one task.

    X (n, G, F): features. good (n,): whether the run ends below the best before, or well. weight (n,): how often it is
    the best of its study, whose length is log-uniform between `SHORTEST` and all runs; sums to 1 over a study.
    opens (n,): whether it is the first of its study.
    """

    X: Array
    good: Mask
    weight: Array
    opens: Mask


def drawn(task: Runs, tasks: int, rng: np.random.Generator) -> tuple[Cases, Cases]:
    """Runs against the best complete run of their study, and runs before which none was complete."""
    n = min(len(task), MOST_RUNS)
    studies = int(np.clip(CASES // (tasks * n), 2, MOST_STUDIES))
    limit = float(np.quantile(task.final, GOOD))
    made = [_study(task[rng.permutation(len(task))[:n]], limit, rng) for _ in range(studies)]
    return _joined([later for later, _ in made]), _joined([first for _, first in made])


def _joined(cases: Sequence[Cases]) -> Cases:
    X, good, weight, opens = zip(*[(c.X, c.good, c.weight, c.opens) for c in cases], strict=True)
    return Cases(np.concatenate(X), np.concatenate(good), np.concatenate(weight), np.concatenate(opens))


def _study(runs: Runs, limit: float, rng: np.random.Generator) -> tuple[Cases, Cases]:
    reached, complete = held(runs.M, KEEP * rng.choice(FACTORS))
    complete[0] = True
    ends = np.where(complete, runs.final, np.inf)
    weight, n = best_of(runs.final, SHORTEST), len(runs)
    later = np.arange(1, n)
    best = np.array([int(ends[:i].argmin()) for i in later])
    rank = np.array([ranks(runs.M[i], reached[:i]) for i in later])
    against = Cases(
        features(runs[later], runs[best], rank, later),
        runs.final[later] < runs.final[best],
        weight[later],
        np.zeros(n - 1, dtype=bool),
    )
    some = np.union1d(np.arange(min(FEW, n)), np.flatnonzero(weight))
    k = np.where(some < FEW, some, rng.integers(0, min(FEW, n), len(some)))  # as if it came early
    rank = np.array([ranks(runs.M[i], runs.M[:before]) for i, before in zip(some, k, strict=True)])
    first = Cases(first_features(runs[some], rank, k), runs.final[some] <= limit, weight[some], some == 0)
    return against, first


def held(M: Array, keep: Array) -> tuple[Array, Mask]:
    """m(t) of runs that are stopped where they are not among the best share of those so far; which were not stopped."""
    reached, complete = M.copy(), np.ones(len(M), dtype=bool)
    for i in range(FEW, len(M)):
        behind = (ranks(M[i], reached[:i]) + 0.5) / (i + 1) > keep
        if behind.any():
            stop = 1 + int(behind.argmax())
            reached[i, stop:] = M[i, stop]
            complete[i] = False
    return reached, complete


def best_of(final: Array, shortest: int) -> Array:
    """How often each run is the best of a study's first N runs, N log-uniform in shortest … n, (n,)."""
    n = len(final)
    lengths = np.arange(min(shortest, n), n + 1)
    share = np.diff(np.log(np.append(lengths, n + 1)))
    best = [int(final[:length].argmin()) for length in lengths]
    return np.asarray(np.bincount(best, weights=share / share.sum(), minlength=n), dtype=float)
