"""When to stop a run early: where the best runs of past tasks stood at the same point.

A run that ends among the best u of its task stood at about u(t) on its way (`standings.py` has the symbols):

    log u(t) = c(t) + γ(t) log u + e

is fitted to the best runs of past tasks. In a study of N runs the winner has u = 1 / N, so a run is stopped if

    log u(t) > c(t) − γ(t) log N + q(t)

where q(t) is a quantile of e, the same one for all looks. That quantile is what is chosen: as many steps are saved as
possible while the share of the best past runs that are stopped at any look stays below the stated rate. Each task is
judged by the fit to the others, and one more task that is judged wrongly throughout is counted with them (conformal
risk control, Angelopoulos et al. 2022, eq. 4): the rate then holds on average for a new task like the past ones.

A rank among few runs says little about the rank among all. If k of n others are better, u(t) is Beta(k + ½, n − k + ½),
and a low quantile of it is compared; otherwise good runs at the beginning, where a sampler puts them, would be stopped.

A sampler does not draw its runs as the past ones were drawn: it prefers good ones, and the best of them stands lower
among its own kind. If its configurations promise more than those of the past, at a mean place p̄ < ½ among them instead
of ½, they are taken for the best s = 2 p̄ of all, and a standing u(t) among them for s u(t) among all. A promise is
compared with those of past runs and of the study, and the better place counts. The rate is held for runs that are drawn
like the past ones and, with the same rule, for those of a sampler that prefers a run with a promise and an end of z
standard normal scores in proportion to exp(−a z_promise − b z_end): the worse of both shares is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.history import History
from headstart.transfer.promise import Promise, learn_promise
from headstart.transfer.standings import LOOKS, Curve, Task, lowest, past_tasks, progress, standings

if TYPE_CHECKING:
    import pandas as pd

LEAST_TASKS = 3

# These were chosen on the curves of `benchmarks/curves_networks.py` and of TaskSet; PAID and DOUBT on the former alone.
FITTED, JUDGED = 0.25, 0.1  # shares of a task's runs: the best ones that the law is fitted to and judged by
LEVELS = np.concatenate([-np.array([4.0, 2.0, 1.0, 0.5, 0.25]), [0.0], np.geomspace(0.002, 0.5, 40)])
USUAL = 100  # length of the study for which the share of steps is estimated
PAID = 25  # a study is judged as if it had at least as many runs as these whole ones pay for
DOUBT = 0.1  # of a standing that few runs show, the quantile that must be beyond the limit
WEIGHTS = (20, 2)  # runs that the past counts for when a run is ranked: by promise, by losses
FEW = 5  # with so many other runs, the leading one is never stopped;
LEADING = 0.25  # with fewer, if it is among this share of the past runs

# Guesses.
PREFERENCE = (0.5, 0.5)  # a, b: about what simulated samplers did on the networks, and more by the end
ORDINARY = 5  # runs of the mean place ½ that are added to those of a study
LEAST_PLACE = 1e-3  # of a promise that is better than all past ones


@dataclass(frozen=True)
class StoppingEvidence:
    """What the rule would have done on the past tasks, each judged by what the others teach.

    wrong: of the best tenth of each task's runs, the share that would have been stopped. sampled: the same if a sampler
    that prefers good runs had chosen them. steps: the share of the steps of all its runs that would have been made. All
    are those of long studies, in which a run is ranked among all.
    """

    tasks: list[str]
    rate: float
    wrong: Array = field(repr=False)
    sampled: Array = field(repr=False)
    steps: Array = field(repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """One row per task: the share of best runs stopped (beside a sampler, too) and of steps made."""
        import pandas as pd

        return pd.DataFrame(
            {"task": self.tasks, "wrong": self.wrong, "wrong beside a sampler": self.sampled, "steps": self.steps}
        )

    @property
    def summary(self) -> str:
        return (
            f"On {counted(len(self.tasks), 'past task')}, each left out in turn, {self.wrong.mean():.1%} of the best "
            f"runs would have been stopped, and {self.sampled.mean():.1%} beside a sampler that prefers good ones "
            f"(stated rate: {self.rate:.1%}; at most {max(self.wrong.max(), self.sampled.max()):.1%} on one task), "
            f"with {self.steps.mean():.0%} of the steps."
        )

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True, eq=False)
class Law:
    """c(t) and γ(t) at each look, (1+L,), and the residuals e, ascending; looks without data never stop a run."""

    c: Array
    slope: Array
    residuals: list[Array]

    @classmethod
    def of(cls, best: Sequence[tuple[Array, Array]]) -> Law:
        """best: log u (n,) and log u(t) (n, 1+L) of the best runs of each task."""
        x, Y = np.concatenate([x for x, _ in best]), np.concatenate([y for _, y in best])
        c, slope, residuals = [], [], []
        spread = x - x.mean()
        for y in Y.T:
            g = float(np.clip(spread @ y / max(spread @ spread, 1e-300), 0.0, 1.0)) if np.isfinite(y).all() else 0.0
            c.append(float(y.mean() - g * x.mean()))
            slope.append(g)
            residuals.append(np.sort(y - c[-1] - g * x))
        return cls(np.array(c), np.array(slope), residuals)

    def limits(self, level: float) -> Array:
        """c(t) + q(t). level: the share of the best runs beyond the limit at one look; below 0: a margin beyond all."""
        q = [float(e[-1] - level if level < 0 else np.quantile(e, 1 - level)) for e in self.residuals]
        return np.where(np.isfinite(q), self.c + np.array(q), np.inf)


@dataclass(frozen=True, eq=False)
class Stopping:
    """A rule that says when to stop a run.

    limits, slopes (1+L,): of the law. horizon: the least length N of a study. length: steps of a typical run.
    known (n, L): progress of past runs, ascending.
    """

    limits: Array
    slopes: Array
    horizon: float
    length: int
    promise: Promise | None
    known: Array
    evidence: StoppingEvidence

    def span(self, steps: Sequence[int], whole: Curve | None) -> tuple[float, float]:
        """The steps at which a run begins and will end; whole: the curve of a complete run, if any."""
        first = float(steps[0] if whole is None else whole[0][0])
        return first, first + self.length if whole is None else float(whole[0][-1])

    def due(self, steps: Sequence[int], span: tuple[float, float]) -> int | None:
        """The look that a run has just reached: 0 with its first report; None if it was judged there before."""
        if len(steps) == 1:
            return 0
        if span[1] <= span[0]:
            return None
        shares = (np.asarray(steps[-2:], dtype=float) - span[0]) / (span[1] - span[0])
        before, now = np.searchsorted(LOOKS, shares + 1e-9, side="right")
        return int(now) if now > before else None

    def promised(self, Z: Array) -> float:
        """The promise of one configuration (1, d); NaN if the past says nothing about it."""
        return math.nan if self.promise is None else float(self.promise.of(Z)[0])

    def stops_early(self, promise: float, others: Array) -> bool:
        """Whether to stop a run after its first report, by its promise and those of all other runs."""
        if self.promise is None or math.isnan(promise):
            return False
        return self._stops(0, int((others < promise).sum()), len(others), self.promise.place(promise))

    def stops(
        self, look: int, curve: Curve, span: tuple[float, float], others: Array, promises: Array | None = None
    ) -> bool:
        """Whether to stop a run at a look above 0. others (n, L): m(t) of all other runs; promises: of all runs."""
        column = look - 1
        better = int((others[:, column] < lowest(curve, span)[column]).sum())
        ahead = len(self.known) - np.searchsorted(self.known[:, column], progress(curve, span)[column], side="right")
        return self._stops(look, better, len(others), float(ahead) / len(self.known), self.share(promises))

    def share(self, promises: Array | None) -> float:
        """s: which share of all configurations a study's runs are the best of, as far as their promises tell."""
        if self.promise is None or promises is None:
            return 1.0
        places = self.promise.places(promises[~np.isnan(promises)])
        return min(1.0, 2 * (float(places.sum()) + 0.5 * ORDINARY) / (len(places) + ORDINARY))

    def _stops(self, look: int, better: int, n: int, place: float, share: float = 1.0) -> bool:
        """place: the share of past runs that were better."""
        if better == 0 and (n >= FEW or place < LEADING):
            return False
        from scipy.special import betaincinv

        weight = WEIGHTS[look > 0]
        a = better + weight * place + 0.5
        b = n + weight + 1 - a
        few = float(betaincinv(a, b, DOUBT)) if look else a / (a + b)  # few runs say little about all
        standing = share * few if look else min(few, max(place, LEAST_PLACE))
        return bool(math.log(standing) > self.limits[look] - self.slopes[look] * math.log(max(n + 1, self.horizon)))


def learn_stopping(history: History, rate: float, *, rng: np.random.Generator) -> Stopping | None:
    """The rule for a history; None if it has too few learning curves for this rate."""
    tasks, length = past_tasks(history, rng)
    if len(tasks) < tasks_needed(rate) or length < 1:
        return None
    learned = learn_promise(tasks, rng)
    promise, promises = learned if learned is not None else (None, [None] * len(tasks))
    U = [np.log(task.U(p)) for task, p in zip(tasks, promises, strict=True)]
    fitted = [_best(task, u, FITTED) for task, u in zip(tasks, U, strict=True)]
    judged = [_best(task, u, JUDGED) for task, u in zip(tasks, U, strict=True)]
    V = [np.log(_preferred(task, p, promise)) for task, p in zip(tasks, promises, strict=True)]
    chosen = [_best(task, v, JUDGED) for task, v in zip(tasks, V, strict=True)]
    laws = [Law.of([pair for j, pair in enumerate(fitted) if j != i]) for i in range(len(tasks))]
    wrong = np.array([[_wrong(law, *pair) for law, pair in zip(laws, runs, strict=True)] for runs in (judged, chosen)])
    level = _level(wrong, rate)
    if level is None:
        return None
    steps = [_steps(law, u, LEVELS[level], length) for law, u in zip(laws, U, strict=True)]
    names, shares = [task.name for task in tasks], wrong[:, :, level]
    evidence = StoppingEvidence(names, rate, shares[0], shares[1], np.array(steps))
    law, known = Law.of(fitted), np.sort(np.concatenate([task.A for task in tasks]), axis=0)
    horizon = max(10.0, PAID / float(np.mean(steps)))
    return Stopping(law.limits(LEVELS[level]), law.slope, horizon, length, promise, known, evidence)


def tasks_needed(rate: float) -> int:
    """How many past tasks a rate needs: with fewer, even a rule that was never wrong on them may not hold it."""
    return max(LEAST_TASKS, math.ceil(1 / rate - 1e-9) - 1)


def _best(task: Task, U: Array, share: float) -> tuple[Array, Array]:
    """log u and log u(t) of the best complete runs of a task; at least two, for a tenth, or three."""
    many = max(math.ceil(share * len(task)), 2 if share < FITTED else 3)
    rows = np.flatnonzero(task.complete)
    rows = rows[np.argsort(task.end[rows], kind="stable")[:many]]
    return np.log(task.end[rows]), U[rows]


def _preferred(task: Task, promises: Array | None, promise: Promise | None) -> Array:
    """u(t) of all runs of a task if a sampler that prefers good ones had made them; by its own promises if any."""
    from scipy.special import ndtri

    a, b = PREFERENCE
    if promises is None or promise is None:
        return task.U(None, np.exp(-b * ndtri(task.end)))
    weights = np.exp(-a * ndtri(standings(promises[:, None])[:, 0]) - b * ndtri(task.end))
    places = promise.places(promises)
    U = task.U(promises, weights)
    U[:, 0] = np.minimum(U[:, 0], np.maximum(places, LEAST_PLACE))
    U[:, 1:] *= min(1.0, 2 * float(np.average(places, weights=weights)))
    return U


def _beyond(law: Law, level: float, x: Array, U: Array) -> Mask:
    """Which runs are stopped at which look, (n, 1+L). x: log u of the run that each is compared with."""
    limits = law.limits(level) + law.slope * x[:, None]
    return np.asarray(limits + 1e-9 < U)


def _wrong(law: Law, x: Array, U: Array) -> Array:
    """At each level, the share of these runs that are stopped."""
    return np.array([_beyond(law, level, x, U).any(axis=1).mean() for level in LEVELS])


def _level(wrong: Array, rate: float) -> int | None:
    """The boldest level that holds the rate, with one more task that is judged wrongly.

    wrong (kinds, tasks, levels): for runs like the past ones, and for those of a sampler.
    """
    holds = ((wrong.sum(axis=1) + 1) / (wrong.shape[1] + 1) <= rate + 1e-12).all(axis=0)
    return None if not holds[0] else int(np.argmin(np.append(holds, False))) - 1


def _steps(law: Law, U: Array, level: float, length: int) -> float:
    """The share of the steps that are made if all runs of a task are judged in a study of the usual length."""
    stop = _beyond(law, level, np.full(len(U), -math.log(USUAL)), U)
    made = np.array([1 / (length + 1), *LOOKS, 1.0])
    return float(made[np.where(stop.any(axis=1), stop.argmax(axis=1), -1)].mean())
