"""When to stop a run early: a rule learned from the learning curves of past tasks.

At a few points of its course, a run is compared with the best complete run of its study and with all runs before it. A
classifier learned on past tasks gives the probability that it ends below the best. While no run is complete, another
one gives the probability that it ends among the best quarter of its task. The run is stopped if that is below a
threshold, which is chosen by cross-validation over tasks: in studies drawn from a past task that the classifiers have
not seen, the best run would have been stopped in at most a given share of them. `drawn` makes the studies and lists the
symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.history import History
from headstart.transfer.drawn import (
    FEW,
    GRID,
    LEADING,
    Cases,
    Curve,
    Runs,
    complete_runs,
    drawn,
    features,
    first_features,
    ranks,
)

if TYPE_CHECKING:
    import pandas as pd

LEAST_TASKS = 3
FOLDS = 3
SHOWN = 5  # points of the grid of each run that a classifier learns from


@dataclass(frozen=True)
class StoppingEvidence:
    """What the rule would have done on the past tasks, each judged by classifiers that have not seen it.

    wrong: of the studies drawn from each task, the share whose best run would have been stopped, with thresholds that
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
    """A rule that says when to stop a run.

    models, thresholds: of the probability to end below the best complete run, and to end well while none is complete.
    length: steps of a typical run.
    """

    models: tuple[Any, Any]
    thresholds: tuple[float, float]
    length: int
    evidence: StoppingEvidence

    def due(self, steps: Any, best: Curve | None) -> int | None:
        """The point of the grid that a run has just reached; None if it was judged there before."""
        first, last = self._span(steps, best)
        if last <= first:
            return None
        shares = (np.asarray(steps[-2:], dtype=float) - first) / (last - first)
        reached = np.searchsorted(GRID, shares + 1e-9, side="right")
        before = reached[0] if len(reached) > 1 else 0
        return int(reached[-1]) - 1 if reached[-1] > before else None

    def stops(self, steps: Any, losses: Array, best: Curve | None, others: Sequence[Curve] = ()) -> bool:
        """Whether to stop a run that has reported these losses.

        best: the curve of the best complete run, if any; others: those of all runs before this one, finished or not.
        """
        here = self.due(steps, best)
        if here is None:
            return False
        span = self._span(steps, best)
        run, k = Runs.of([(steps, losses)], *span), np.array([len(others)])
        before = Runs.of(others, *span).M if others else np.empty((0, len(GRID) + 2))
        rank = ranks(run.M[0], before)[None]
        if best is None:
            if len(others) >= FEW and (rank[0, here] + 0.5) / (len(others) + 1) < LEADING:
                return False
            seen = first_features(run, rank, k)
        else:
            seen = features(run, Runs.of([best], *span), rank, k)
        chance = _chances(self.models[best is None], seen[:, [here]])
        return bool(chance[0, 0] < self.thresholds[best is None])

    def _span(self, steps: Any, best: Curve | None) -> tuple[float, float]:
        """The steps at which the run begins and will end."""
        first = steps[0] if best is None else best[0][0]
        return first, first + self.length if best is None else best[0][-1]


def learn_stopping(history: History, rate: float, *, rng: np.random.Generator) -> Stopping | None:
    """The rule for a history; None if it has too few learning curves."""
    names, tasks, length = complete_runs(history, rng)
    if len(tasks) < LEAST_TASKS:
        return None
    cases = [drawn(task, len(tasks), rng) for task in tasks]
    both = [[later for later, _ in cases], [first for _, first in cases]]
    seed = int(rng.integers(2**31))
    models = [_fitted(some, seed) for some in both]
    unseen = [chances for some in both if (chances := _unseen(some, seed)) is not None]
    if any(model is None for model in models) or len(unseen) < len(both):
        return None
    limits = [list(map(_limits, *pair)) for pair in zip(both, unseen, strict=True)]
    judged = []
    for i in range(len(tasks)):
        ends = [_threshold([low for j, low in enumerate(kind) if j != i], rate) for kind in limits]
        judged.append(_judged(cases[i], [chances[i] < end for chances, end in zip(unseen, ends, strict=True)]))
    wrong, steps = np.array(judged).T
    thresholds = _threshold(limits[0], rate), _threshold(limits[1], rate)
    return Stopping((models[0], models[1]), thresholds, length, StoppingEvidence(names, rate, wrong, steps))


# -- the classifiers and their thresholds -------------------------------------------------------------------------


def _fitted(tasks: Sequence[Cases], seed: int) -> Any:
    """A classifier; None if all past runs end well, or none does."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    y = np.concatenate([cases.good for cases in tasks])
    if y.all() or not y.any():
        return None
    X = np.concatenate([cases.X for cases in tasks])
    points = np.argsort(np.random.default_rng(seed).random(X.shape[:2]), axis=1)[:, :SHOWN]
    model = HistGradientBoostingClassifier(
        learning_rate=0.12, max_iter=60, max_leaf_nodes=15, min_samples_leaf=40, early_stopping=False, random_state=seed
    )
    return model.fit(X[np.arange(len(X))[:, None], points].reshape(-1, X.shape[-1]), np.repeat(y, SHOWN))


def _chances(model: Any, X: Array) -> Array:
    """Probabilities (n, G) for features (n, G, F)."""
    return np.asarray(model.predict_proba(X.reshape(-1, X.shape[-1]))[:, 1].reshape(X.shape[:2]))


def _unseen(tasks: Sequence[Cases], seed: int) -> list[Array] | None:
    """For each task, the probabilities (n, G) by a classifier that has not seen it; None if there is none."""
    fold = np.random.default_rng(seed).permutation(len(tasks)) % min(FOLDS, len(tasks))
    chances: list[Array] = [np.empty(0)] * len(tasks)
    for k in range(fold.max() + 1):
        model = _fitted([cases for cases, f in zip(tasks, fold, strict=True) if f != k], seed)
        if model is None:
            return None
        for i in map(int, np.flatnonzero(fold == k)):
            chances[i] = _chances(model, tasks[i].X)
    return chances


def _limits(cases: Cases, p: Array) -> tuple[Array, Array]:
    """The lowest probabilities of runs that were the best of a study, and how often they were.

    A threshold at or below it does not stop the run.
    """
    best = cases.weight > 0
    return p[best].min(axis=1), cases.weight[best]


def _threshold(limits: Sequence[tuple[Array, Array]], rate: float) -> float:
    """The highest threshold that stops at most this share of the best runs, averaged over tasks."""
    there = [(low, weight) for low, weight in limits if len(low)]
    if not there:
        return 0.0
    values = np.concatenate([low for low, _ in there])
    weights = np.concatenate([weight / (weight.sum() * len(there)) for _, weight in there])
    order = np.argsort(values, kind="stable")
    allowed = int(np.searchsorted(np.cumsum(weights[order]), rate + 1e-12, side="right"))
    return float(values[order][min(allowed, len(values) - 1)])


def _judged(cases: tuple[Cases, Cases], stopped: Sequence[Mask]) -> tuple[float, float]:
    """The share of studies whose best run is stopped, and that of the steps made. First runs meet no complete one."""
    weights, missed, made = 0.0, 0.0, []
    for kind, stop in zip(cases, stopped, strict=True):
        counts = kind.opens if kind is cases[1] else np.ones(len(kind.good), dtype=bool)
        weights += float(kind.weight[counts].sum())
        missed += float(kind.weight[counts & stop.any(axis=1)].sum())
        made.append(np.append(GRID, 1.0)[np.where(stop.any(axis=1), stop.argmax(axis=1), len(GRID))[counts]])
    return missed / weights, float(np.concatenate(made).mean())
