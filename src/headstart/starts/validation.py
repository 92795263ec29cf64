"""Evidence that a start helps: each past task is left out in turn and started from the others.

The candidates for a left-out task are the configurations it was evaluated on. For random search over them the expected
curve is known exactly, so it is not simulated. If the evaluations were chosen by searches, a model of the task takes
their place (`starts/estimates.py`).

A history of thousands of tasks is represented by a random sample of its tasks, since the time grows with the square of
their number. A start learned from the whole history has more to learn from, so the sample understates it, if anything.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np

from headstart._support.arguments import whole
from headstart._support.display import Picture, Series, card, draw
from headstart._support.processes import Child
from headstart._support.progress import Progress, clock
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted
from headstart.errors import ArgumentError, HistoryError
from headstart.history import History, Task
from headstart.history.past import past_runs, required
from headstart.starts.estimates import MOST, Judge, is_searched
from headstart.starts.learning import number_of
from headstart.starts.measures import average_rank
from headstart.starts.over_time import OverTime, over_time
from headstart.strategies.base import Told
from headstart.strategies.candidates import Candidates
from headstart.strategies.names import resolve_strategy, strategy_name
from headstart.transfer.models import TaskModels

if TYPE_CHECKING:
    import pandas as pd

BOOTSTRAPS = 1000
MANY = 60  # a history of at most so many tasks is used whole, among them every shipped one
SAMPLE = 30  # tasks that stand for a longer history: less than a minute of work
N = 10  # configurations of a start, if the space has as many
ESTIMATE = (
    " These figures are estimates, made on a model of each task over the whole search space, because the trials of "
    "past searches crowd around the best."
)
REPEATS = {"rbi": 10, "random": 10}  # random methods are averaged over this many draws


@dataclass(frozen=True, repr=False)
class Evidence:
    """The result of leaving out each task in turn.

    curves: for each method, the scaled distance to each task's best after 1 … n trials, (tasks, n).
    random: the expectation of random search after 1, 2, … trials, (tasks, most).
    estimated: whether all of them are estimates, because the trials of the tasks were chosen by searches.
    of: how many tasks the history has, of which `tasks` are a random sample; 0 if they are all.
    time: the same over time, if it was asked for.
    """

    tasks: list[str]
    curves: dict[str, Array]
    random: Array
    seed: int = 0
    estimated: bool = False
    of: int = 0
    time: OverTime | None = None

    @property
    def n(self) -> int:
        return int(next(iter(self.curves.values())).shape[1])

    @property
    def table(self) -> pd.DataFrame:
        """One row per method and number of trials: ADTM with a 95 % bootstrap interval, average rank."""
        import pandas as pd

        curves = {**self.curves, "random": self.random[:, : self.n]}
        ranks = average_rank(np.stack(list(curves.values())))
        rows = []
        for method, rank in zip(curves, ranks, strict=True):
            low, high = self._interval(curves[method])
            for t in range(self.n):
                adtm = float(curves[method][:, t].mean())
                rows.append((method, t + 1, adtm, float(low[t]), float(high[t]), float(rank[t])))
        return pd.DataFrame(rows, columns=["method", "trials", "adtm", "low", "high", "rank"])

    def _interval(self, curve: Array) -> tuple[Array, Array]:
        means = curve[self._draws()].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975], axis=0)
        return low, high

    def _draws(self) -> Any:
        rng = np.random.default_rng([self.seed, 1])
        return rng.integers(len(self.tasks), size=(BOOTSTRAPS, len(self.tasks)))

    @property
    def method(self) -> str:
        """The method that the verdict is about: the first one named. Picking the best afterwards would flatter it."""
        return next(iter(self.curves))

    @property
    def best_method(self) -> str:
        """The method with the lowest distance, averaged over 1 … n trials."""
        return min(self.curves, key=lambda method: float(self.curves[method].mean()))

    def random_trials(self, method: str, t: int) -> tuple[float, float, float]:
        """The trials that random search needs to match `method` after t: the number and its 95 % interval.

        Infinite if random search does not get there even with all candidates.
        """
        curve = self.curves[method][:, t - 1]
        number = _first_below(self.random.mean(axis=0), float(curve.mean()))
        draws = self._draws()
        resampled = [_first_below(self.random[d].mean(axis=0), float(curve[d].mean())) for d in draws]
        low, high = np.quantile(resampled, [0.025, 0.975], method="nearest")
        return number, float(low), float(high)

    def catches_up(self, t: int) -> str:
        """When random search is where `method` is after t trials, in words: "is after 20 trials (12–31)"."""
        most = self.random.shape[1]
        number, low, high = self.random_trials(self.method, t)
        if np.isinf(number):
            return f"does not get even in {most} trials"
        if number >= most and not self.estimated:
            return f"only gets by trying all {most} configurations"
        interval = "" if low == high else f" ({low:.0f}–{self._count(high)})"
        return f"is after {number:.0f} trials{interval}"

    def _count(self, number: float) -> str:
        """An upper bound of trials: random search may have run out of configurations there."""
        most = self.random.shape[1]
        if number < most or (self.estimated and np.isfinite(number)):
            return f"{number:.0f}"
        return f"more than {most}" if self.estimated else f"all {most}"

    @property
    def helps(self) -> bool:
        """Whether `method` beats random search on average over the first n trials, with 95 % confidence."""
        return self.gain[1] > 0

    @property
    def gain(self) -> tuple[float, float, float]:
        """How much closer `method` comes to a task's best than random search, with its 95 % interval.

        In units of the task's range, averaged over the first n trials and over tasks, paired by task.
        """
        gain = (self.random[:, : self.n] - self.curves[self.method]).mean(axis=1)
        low, high = np.quantile(gain[self._draws()].mean(axis=1), [0.025, 0.975])
        return float(gain.mean()), float(low), float(high)

    @property
    def outliers(self) -> list[str]:
        """Tasks on which `method` does worse than random search on average, worst first."""
        return list(self.harm)

    @property
    def harm(self) -> dict[str, float]:
        """Those tasks, and by how much: in units of the task's range, averaged over the first n trials."""
        loss = (self.curves[self.method] - self.random[:, : self.n]).mean(axis=1)
        return {self.tasks[i]: float(loss[i]) for i in np.argsort(-loss, kind="stable") if loss[i] > 0}

    @property
    def summary(self) -> str:
        """The verdict in one or two sentences."""
        method, t = self.method, min(5, self.n)
        other = self.best_method if self.best_method != method else ""
        sample = f" of {self.of:,} tasks, drawn at random," if self.of else " tasks"
        these, turn = f"{len(self.tasks)}{sample}", f"{'' if self.of else ','} each left out in turn."
        estimate, alone = ESTIMATE if self.estimated else "", f", or check {other!r} alone" if other else ""
        gain, low, high = self.gain
        if not self.helps and gain > 0:
            return (
                f"These {these} cannot tell whether the history helps: a start learned by '{method}' "
                f"is closer to a task's best than random search by {gain:.3f} of its range, but with a 95 % interval "
                f"of {low:.3f} to {high:.3f} that may be chance. More past tasks would tell. "
                f"Start without it{alone}.{estimate}"
            )
        if not self.helps:
            return (
                f"On these {these} the history does not help: a start learned by '{method}' is not "
                f"better than random search. Start without it{alone}.{estimate}"
            )
        if self.random_trials(method, t)[0] > t:
            text = (
                f"After {t} trials from '{method}' you are where random search {self.catches_up(t)}, on {these}{turn}"
            )
        else:  # random search has tried most candidates by then
            gain, low, high = self.gain
            text = (
                f"Over the first {self.n} trials '{method}' is closer to a task's best than random search by "
                f"{gain:.3f} of its range ({low:.3f}–{high:.3f}), on {these}{turn}"
            )
        if self.outliers:
            names = ", ".join(self.outliers[:3]) + (" …" if len(self.outliers) > 3 else "")
            text += f" It did worse than random search on {len(self.outliers)} of them ({names})."
        text += estimate
        if other:
            text += f" Of the methods compared, '{other}' did best."
        return text if self.time is None else f"{text} {self.time.summary}"

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        ends = {**self.curves, "random": self.random[:, : self.n]}
        reached = ", ".join(f"{name} {float(curve[:, -1].mean()):.3f}" for name, curve in ends.items())
        answer = "helps" if self.helps else "does not show that it helps"
        return f"Evidence({len(self.tasks)} tasks, after {self.n} trials {reached}; {answer})"

    def to_frame(self) -> pd.DataFrame:
        """The same as `table`."""
        return self.table

    def _picture(self) -> Picture:
        series = []
        for method, rows in self.table.groupby("method", sort=False):
            x, y, low, high = (rows[name].tolist() for name in ("trials", "adtm", "low", "high"))
            series.append(Series(str(method), x, y, low, high, dashed=method == "random"))
        return Picture(series, x="trials", y="distance to the best")

    def plot(self) -> Any:
        """The mean distance to a task's best after 1, 2, … trials: a figure of Plotly, or of matplotlib without it."""
        return draw(self._picture())

    def _repr_html_(self) -> str:
        marks = sorted({1, min(5, self.n), self.n})
        curves = {**self.curves, "random": self.random[:, : self.n]}
        rows = [[name, *(float(curve[:, t - 1].mean()) for t in marks)] for name, curve in curves.items()]
        header = ["method", *(f"after {t}" for t in marks)]
        return card(self.summary, header, rows, self._picture())


def _first_below(curve: Array, level: float) -> float:
    """The number of trials after which a falling curve first reaches a level."""
    reached = np.flatnonzero(curve <= level + 1e-12)
    return float(reached[0] + 1) if len(reached) else np.inf


def expected_random(scaled: Array, most: int) -> Array:
    """E[min of t draws without replacement] for t = 1 … most: Σ_k s_(k) C(m − k, t − 1) / C(m, t), exactly."""
    from scipy.special import gammaln

    s = np.sort(scaled)
    m = len(s)
    k = np.arange(1, m + 1)

    def log_choose(a: Array, b: float) -> Array:
        return np.asarray(gammaln(a + 1) - gammaln(b + 1) - gammaln(np.maximum(a - b, 0) + 1))

    curve = np.full(most, s[0])
    for t in range(1, min(most, m) + 1):
        possible = m - k >= t - 1
        shares = np.exp(log_choose((m - k)[possible].astype(float), t - 1) - log_choose(np.array([float(m)]), t))
        curve[t - 1] = float(s[possible] @ shares)
    return curve


def evidence(
    history: Any,
    n: int | None = None,
    methods: Sequence[Any] = ("auto", "li", "rbi"),
    seed: int = 0,
    *,
    tasks: int | str | None = None,
    jobs: int = 1,
    progress: bool | None = None,
    space: Any = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    time: bool = False,
) -> Evidence:
    """Leave out each task in turn, start it with each method learned from the others, and compare with random search.

    history, space, rename, fill: as for `learn`. n: configurations of a start (default: 10, or as many as the space
    has). tasks: how many tasks to use, drawn at random, or "all" (default: all of up to 60, 30 of more). jobs: tasks to
    run in parallel, with any backend of joblib. progress: whether to show an estimate of the time and a progress bar;
    None shows them on a terminal only. Methods that need meta-features get those of the left-out task. time: also
    compare over time, for which the history must have costs.
    """
    history = required(past_runs(history, space, rename=rename, fill=fill))
    seed = whole("seed", seed, 0)
    n = int(min(N, history.space.size)) if n is None else number_of(n, history.space)
    methods = [methods] if isinstance(methods, str) else methods
    if len(history) < 3:
        raise ArgumentError(f"leaving one task out needs at least 3 tasks, but the history has {len(history)}")
    if not methods:
        raise ArgumentError("methods is empty", "name at least one method")
    names = [strategy_name(method) for method in methods]
    total, history = len(history), _sampled(history, tasks, seed)
    searched = is_searched(history, np.random.default_rng([seed, 2]))
    if time and searched:
        raise HistoryError("the trials of these tasks were chosen by searches, so they cannot be compared over time")
    by_time = over_time(history, seed, jobs=jobs) if time else None
    work = _all_left_out(history, n, tuple(methods), seed, searched, jobs)
    shown = sys.stderr.isatty() if progress is None else progress
    results = _shown(work, names[0], len(history), total, jobs) if shown else list(work)
    return Evidence(
        history.tasks,
        {name: np.array([curves[i] for curves, _ in results]) for i, name in enumerate(names)},
        np.array([random for _, random in results]),
        seed,
        searched,
        total if total > len(history) else 0,
        by_time,
    )


def _sampled(history: History, tasks: int | str | None, seed: int) -> History:
    """The history, or some of its tasks in their order."""
    if tasks == "all" or (tasks is None and len(history) <= MANY):
        return history
    if isinstance(tasks, str):
        raise ArgumentError(f"tasks must be a whole number or 'all', but got {tasks!r}")
    number = SAMPLE if tasks is None else whole("tasks", tasks, 3)
    if number >= len(history):
        return history
    drawn = np.random.default_rng([seed, 3]).choice(len(history), number, replace=False)
    return history.only([history.tasks[i] for i in np.sort(drawn)])


Result: TypeAlias = tuple[list[Array], Array]
"""The curves of all methods on one task, and that of random search."""


def _all_left_out(
    history: History, n: int, methods: tuple[Any, ...], seed: int, searched: bool, jobs: int
) -> Iterator[Result]:
    """The results in the order of the tasks. The first one is computed here, so that its time can be taken."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    first, *rest = history.tasks
    yield _left_out(history, first, n, methods, seed, searched)
    # One result at a time, for the progress bar; some backends, such as Ray's, can only return whole lists.
    how = "generator" if get_active_backend()[0].supports_return_generator else "list"
    yield from Parallel(n_jobs=jobs, return_as=how)(
        delayed(Child(_left_out))(history, task, n, methods, seed, searched) for task in rest
    )


def _shown(work: Iterator[Result], method: str, tasks: int, total: int, jobs: int) -> list[Result]:
    """All results, with an estimate of the time before the long part begins and the averages so far."""
    from joblib import effective_n_jobs

    begin = time.monotonic()
    results = [next(work)]
    seconds = (time.monotonic() - begin) * (1 + (tasks - 1) / effective_n_jobs(jobs))
    what = counted(tasks, "task") if tasks == total else f"{tasks} of {total:,} tasks"
    print(f"leaving out {what} in turn, about {clock(math.ceil(seconds))}", file=sys.stderr)
    with Progress(tasks, "leaving out tasks") as progress:
        progress.advance()
        for result in work:
            results.append(result)
            mine, random = np.mean([(curves[0][-1], drawn[len(curves[0]) - 1]) for curves, drawn in results], axis=0)
            progress.advance(note=f"so far {method} {mine:.3f}, random {random:.3f}")
    return results


@one_thread
def _left_out(history: History, name: str, n: int, methods: tuple[Any, ...], seed: int, searched: bool) -> Result:
    """The curve of each method on one task, and that of random search."""
    key = [seed, crc32(name.encode())]
    task = history[name]
    judge = Judge.of(history, task, np.random.default_rng([*key, 2])) if searched else None
    allowed = None if searched else history.V[task.rows]
    models = TaskModels(history.drop(name), rng=np.random.default_rng([*key, 0]), allowed=allowed)

    def mean_curve(method: Any) -> Array:
        rngs = [np.random.default_rng([*key, 1, r]) for r in range(_repeats(method))]
        return np.asarray(np.mean([curve(models, task, n, method, rng, judge) for rng in rngs], axis=0))

    most = max(n, MOST if searched else max(len(other) for other in history))
    random = expected_random(task.scaled() if judge is None else judge.drawn, most)
    return [mean_curve(method) for method in methods], random


def _repeats(method: Any) -> int:
    return REPEATS.get(method, 1) if isinstance(method, str) else 1


def curve(
    models: TaskModels, task: Task, n: int, method: Any, rng: np.random.Generator, judge: Judge | None = None
) -> Array:
    """Best scaled loss on a task after 1 … n proposals of a method.

    Proposals are moved to the nearest of the task's own configurations, `models.allowed`, unless a judge says how good
    any configuration is.
    """
    run = resolve_strategy(method).begin(models, n=n, features=task.features, rng=rng)
    told = Told.nothing(models.space)
    if judge is not None:
        for _ in range(n):
            v = run.ask(told)
            told = told.and_(v, judge.loss(v))
        return np.minimum.accumulate(told.losses)
    assert models.allowed is not None
    candidates, scaled = Candidates(models.space, models.allowed), task.scaled()
    for _ in range(min(n, len(candidates))):
        v = run.ask(told)
        i = candidates.nearest(v, told)
        told = told.and_(candidates.V[i], scaled[i])
        if not np.array_equal(v, candidates.V[i], equal_nan=True):
            told = told.moving(v)
    reached = np.minimum.accumulate(told.losses)
    return np.append(reached, np.full(n - len(reached), reached[-1]))
