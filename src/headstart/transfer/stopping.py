"""When to stop a run early: a rule learned from the learning curves of past tasks.

At a few points of its course, a run is compared with a reference: the best complete run of its study, or, while there
is none, the typical run of the past tasks. A classifier learned on past tasks gives the probability that the run ends
below the reference. The run is stopped if that is below a threshold, which is chosen by cross-validation over tasks:
in studies drawn from a past task that the classifier has not seen, the best run would have been stopped in at most a
given share of them.

| symbol | name     | shape  | meaning                                                                        |
| ------ | -------- | ------ | ------------------------------------------------------------------------------ |
| t      | `GRID`   | (G,)   | shares of a run's length at which it is judged                                 |
| m(t)   | `M`      | (r, G+2) | lowest loss reported until t, for t = 0, the grid, and the end                 |
| f      | `final`  | (r,)   | last loss reported                                                             |
| u, b   |          |        | m and f of the reference                                                       |
| h(t)   |          |        | (m(t) − b) / (u(0) − b): what is missing, in units of the reference's progress |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.history import History

if TYPE_CHECKING:
    import pandas as pd

GRID = np.array([0.02, 0.04, 0.06, 0.1, 0.14, 0.2, 0.28, 0.38, 0.5, 0.64, 0.8])

# All of these are guesses.
RUNS = 25  # of a study drawn from a past task
LEAST_RUNS = 4  # complete curves that a task must have
LEAST_TASKS = 3
STUDIES, MOST_STUDIES = 200, 25  # drawn in total, and from one task
MOST_TASKS = 60
FOLDS = 5
FARTHEST = 9.0  # features are clipped here
TINY = 1e-12  # progress of a reference below this share of its loss counts as this


@dataclass(frozen=True, eq=False)
class Runs:
    """The complete runs of one task: m(t) (r, G + 2) and final losses (r,)."""

    M: Array
    final: Array

    @classmethod
    def of(cls, curves: Sequence[tuple[Any, Array]]) -> Runs:
        first, last = min(steps[0] for steps, _ in curves), max(steps[-1] for steps, _ in curves)
        rows = [lowest(steps, losses, first, last) for steps, losses in curves]
        return cls(np.array(rows), np.array([losses[-1] for _, losses in curves]))

    def __len__(self) -> int:
        return len(self.final)


def lowest(steps: Any, losses: Array, first: float, last: float) -> Array:
    """m(t) of one curve at 0, the grid and 1, (G + 2,). Gaps are filled with what came before."""
    at = first + np.concatenate([[0.0], GRID, [1.0]]) * (last - first)
    reached = np.minimum.accumulate(losses)
    return np.asarray(reached[np.maximum(np.searchsorted(steps, at, side="right"), 1) - 1])


def features(M: Array, u: Array, b: float, *, typical: bool) -> Array:
    """What the classifier sees of one run at each point of the grid, (G, 6); M and u are m(t) of run and reference."""
    scale = max(float(u[0] - b), TINY * max(abs(b), 1e-300))
    half = np.searchsorted(GRID, GRID / 2, side="right")  # the last point until t / 2, where 0 is the first report
    h, before, ahead = (M[1:-1] - b) / scale, (M[half] - b) / scale, (u[1:-1] - b) / scale
    columns = [GRID, h, before - h, ahead, h - ahead, np.full(len(GRID), float(typical))]
    return np.asarray(np.clip(np.nan_to_num(np.column_stack(columns)), -FARTHEST, FARTHEST))


@dataclass(frozen=True)
class StoppingEvidence:
    """What the rule would have done on the past tasks, each judged by a classifier that has not seen it.

    wrong: of the studies drawn from each task, the share whose best run would have been stopped, with a threshold that
    the other tasks chose. steps: the share of all steps that would have been made.
    """

    tasks: list[str]
    rate: float
    wrong: Array = field(repr=False)
    steps: Array = field(repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """One row per task: the share of best runs stopped and of steps made."""
        import pandas as pd

        return pd.DataFrame({"task": self.tasks, "wrong": self.wrong, "steps": self.steps})

    @property
    def summary(self) -> str:
        return (
            f"On {counted(len(self.tasks), 'past task')}, each left out in turn, the best run would have been stopped "
            f"in {self.wrong.mean():.1%} of the studies (stated rate: {self.rate:.1%}; at most {self.wrong.max():.1%} "
            f"on one task), with {self.steps.mean():.0%} of the steps."
        )

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True, eq=False)
class Stopping:
    """A rule that says when to stop a run. typical: relative progress of a typical run, (G + 2,).

    thresholds: of the probability that a run beats its reference, a complete run or the typical one. length: steps of a
    typical run.
    """

    model: Any
    typical: Array
    thresholds: tuple[float, float]
    length: int
    evidence: StoppingEvidence

    def stops(self, steps: Any, losses: Array, best: tuple[Any, Array] | None) -> bool:
        """Whether to stop a run that has reported these losses; best: the curve of the best complete run, if any."""
        first = steps[0] if best is None else best[0][0]
        last = first + self.length if best is None else best[0][-1]
        if last <= first:
            return False
        shares = (np.asarray(steps, dtype=float) - first) / (last - first)
        here = int(np.searchsorted(GRID, shares[-1] + 1e-9, side="right"))
        before = int(np.searchsorted(GRID, shares[-2] + 1e-9, side="right")) if len(steps) > 1 else 0
        if here == before:  # judged at this point of the grid already, or not yet at the first one
            return False
        M = lowest(steps, losses, first, last)
        if best is None:
            u, b = _typical_reference(M, self.typical)
        else:
            u, b = lowest(*best, first, last), float(best[1][-1])
        seen = features(M, u, b, typical=best is None)[[here - 1]]
        chance = float(self.model.predict_proba(seen)[0, 1])
        return chance < self.thresholds[best is None]


def learn_stopping(history: History, rate: float, *, rng: np.random.Generator) -> Stopping | None:
    """The rule for a history; None if it has too few learning curves."""
    names, tasks, length = _complete_runs(history, rng)
    if len(tasks) < LEAST_TASKS:
        return None
    typical = np.median([_progress(task) for task in tasks], axis=0)
    drawn = [_drawn(task, typical, max(2, min(MOST_STUDIES, STUDIES // len(tasks))), rng) for task in tasks]
    seed = int(rng.integers(2**31))
    chances = _unseen(drawn, seed)
    model = _fitted(drawn, seed)
    if model is None or chances is None:
        return None
    limits = [_limits(cases, p) for cases, p in zip(drawn, chances, strict=True)]
    wrong, steps = [], []
    for i, (cases, p) in enumerate(zip(drawn, chances, strict=True)):
        complete, typically = _thresholds([task for j, task in enumerate(limits) if j != i], rate)
        stopped = p < np.where(cases.typical, typically, complete)[:, None]
        wrong.append(_mistakes(cases, stopped))
        made = np.where(stopped.any(axis=1), stopped.argmax(axis=1), len(GRID))
        steps.append(float(np.append(GRID, 1.0)[made[~cases.typical | _first(cases)]].mean()))
    evidence = StoppingEvidence(names, rate, np.array(wrong), np.array(steps))
    return Stopping(model, typical, _thresholds(limits, rate), length, evidence)


# -- past tasks ------------------------------------------------------------------------------------------------


def _complete_runs(history: History, rng: np.random.Generator) -> tuple[list[str], list[Runs], int]:
    """Tasks with enough complete curves, and the usual number of steps."""
    curves = history.curves
    if curves is None:
        return [], [], 0
    found: dict[str, list[tuple[Any, Array]]] = {}
    for name, ended, curve in zip(curves.tasks, curves.ended, curves, strict=True):
        if ended and len(curve[0]) > 1:
            found.setdefault(name, []).append(curve)
    names = sorted(name for name, runs in found.items() if len(runs) >= LEAST_RUNS)
    if len(names) > MOST_TASKS:
        names = sorted(rng.choice(names, MOST_TASKS, replace=False).tolist())
    lengths = [int(steps[-1] - steps[0]) for name in names for steps, _ in found[name]]
    return names, [Runs.of(found[name]) for name in names], int(np.median(lengths)) if lengths else 0


def _progress(task: Runs) -> Array:
    """The relative progress of the task's typical run, (G + 2,)."""
    start = task.M[:, :1]
    return np.asarray(np.median((start - task.M) / np.maximum(np.abs(start), 1e-300), axis=0))


def _typical_reference(M: Array, typical: Array) -> tuple[Array, float]:
    """The curve and the end of a typical run that began like this one."""
    u = M[0] - abs(float(M[0])) * typical
    return u, float(u[-1])


@dataclass(frozen=True, eq=False)
class Cases:
    """Runs of drawn studies against their references.

    X (n, G, 6): features. beats (n,): whether the run ends below its reference. best (n,): whether it is the best of
    its study. typical (n,): whether the reference is the typical run. study (n,).
    """

    X: Array
    beats: Mask
    best: Mask
    typical: Mask
    study: Any


def _drawn(task: Runs, typical: Array, studies: int, rng: np.random.Generator) -> Cases:
    """Studies of random runs in random order. The first run, and the best one, also meet the typical run."""
    X, beats, best, alone, study = [], [], [], [], []
    for number in range(studies):
        order = rng.permutation(len(task))[:RUNS]
        final = task.final[order]
        winner, reference = int(final.argmin()), 0
        for i, run in enumerate(order):
            if i == 0 or i == winner:
                u, b = _typical_reference(task.M[run], typical)
                X.append(features(task.M[run], u, b, typical=True))
                beats.append(final[i] < b)
                best.append(i == winner)
                alone.append(True)
                study.append(number)
            if i > 0:
                at = order[reference]
                X.append(features(task.M[run], task.M[at], float(task.final[at]), typical=False))
                beats.append(final[i] < final[reference])
                best.append(i == winner)
                alone.append(False)
                study.append(number)
            if final[i] < final[reference]:
                reference = i
    return Cases(np.array(X), np.array(beats), np.array(best), np.array(alone), np.array(study))


# -- the classifier and its thresholds ---------------------------------------------------------------------------


def _fitted(drawn: Sequence[Cases], seed: int) -> Any:
    """A classifier; None if all past runs beat their references, or none did."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X = np.concatenate([cases.X.reshape(-1, cases.X.shape[-1]) for cases in drawn])
    y = np.concatenate([np.repeat(cases.beats, len(GRID)) for cases in drawn])
    if y.all() or not y.any():
        return None
    model = HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=15, min_samples_leaf=50, early_stopping=False, random_state=seed
    )
    return model.fit(X, y)


def _unseen(drawn: Sequence[Cases], seed: int) -> list[Array] | None:
    """For each task, the probabilities (n, G) by a classifier that has not seen it; None if there is none."""
    fold = np.arange(len(drawn)) % min(FOLDS, len(drawn))
    chances: list[Array] = [np.empty(0)] * len(drawn)
    for k in range(fold.max() + 1):
        model = _fitted([cases for cases, f in zip(drawn, fold, strict=True) if f != k], seed)
        if model is None:
            return None
        for i in map(int, np.flatnonzero(fold == k)):
            X = drawn[i].X
            chances[i] = model.predict_proba(X.reshape(-1, X.shape[-1]))[:, 1].reshape(X.shape[:2])
    return chances


def _limits(cases: Cases, p: Array) -> tuple[Array, Array]:
    """The lowest probabilities of the best runs, against complete runs and against the typical one.

    A threshold at or below it does not stop the run.
    """
    low = p.min(axis=1)
    return low[cases.best & ~cases.typical], low[cases.best & cases.typical]


def _thresholds(limits: Sequence[tuple[Array, Array]], rate: float) -> tuple[float, float]:
    """Of both kinds of reference."""
    return _threshold([low for low, _ in limits], rate), _threshold([low for _, low in limits], rate)


def _threshold(limits: Sequence[Array], rate: float) -> float:
    """The highest threshold that stops at most this share of the best runs, averaged over tasks."""
    there = [low for low in limits if len(low)]
    if not there:
        return 0.0
    values = np.concatenate(there)
    weights = np.concatenate([np.full(len(low), 1 / (len(there) * len(low))) for low in there])
    order = np.argsort(values, kind="stable")
    allowed = int(np.searchsorted(np.cumsum(weights[order]), rate + 1e-12, side="right"))
    return float(values[order][min(allowed, len(values) - 1)])


def _mistakes(cases: Cases, stopped: Mask) -> float:
    """The share of studies whose best run is stopped. If it comes first, its reference is the typical run."""
    counted_in = cases.best & (~cases.typical | _first(cases))
    return float(stopped[counted_in].any(axis=1).mean()) if counted_in.any() else 0.0


def _first(cases: Cases) -> Mask:
    """Which cases are those of a study's first run."""
    return np.append(True, cases.study[1:] != cases.study[:-1])
