"""Evidence that a start helps: each past task is left out in turn and started from the others.

The candidates for a left-out task are the configurations it was evaluated on. For random search over them the expected
curve is known exactly, so it is not simulated. If the evaluations were chosen by searches, a model of the task takes
their place (`starts/estimates.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from headstart._support.arguments import whole
from headstart._support.progress import track
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import History, Task
from headstart.history.past import past_runs, required
from headstart.starts.estimates import MOST, Judge, is_searched
from headstart.starts.learning import number_of
from headstart.starts.measures import average_rank
from headstart.strategies.base import Told
from headstart.strategies.candidates import Candidates
from headstart.strategies.names import resolve_strategy, strategy_name
from headstart.transfer.models import TaskModels

if TYPE_CHECKING:
    import pandas as pd

BOOTSTRAPS = 1000
ESTIMATE = (
    " These figures are estimates, made on a model of each task over the whole search space, because the trials of "
    "past searches crowd around the best."
)
REPEATS = {"rbi": 10, "random": 10}  # random methods are averaged over this many draws


@dataclass(frozen=True)
class Evidence:
    """The result of leaving out each task in turn.

    curves: for each method, the scaled distance to each task's best after 1 … n trials, (tasks, n).
    random: the expectation of random search after 1, 2, … trials, (tasks, most).
    estimated: whether all of them are estimates, because the trials of the tasks were chosen by searches.
    """

    tasks: list[str]
    curves: dict[str, Array] = field(repr=False)
    random: Array = field(repr=False)
    seed: int = 0
    estimated: bool = False

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
        loss = (self.curves[self.method] - self.random[:, : self.n]).mean(axis=1)
        return [self.tasks[i] for i in np.argsort(-loss, kind="stable") if loss[i] > 0]

    @property
    def summary(self) -> str:
        """The verdict in one or two sentences."""
        method, t = self.method, min(5, self.n)
        other = self.best_method if self.best_method != method else ""
        estimate, alone = ESTIMATE if self.estimated else "", f", or check {other!r} alone" if other else ""
        gain, low, high = self.gain
        if not self.helps and gain > 0:
            return (
                f"These {len(self.tasks)} tasks cannot tell whether the history helps: a start learned by '{method}' "
                f"is closer to a task's best than random search by {gain:.3f} of its range, but with a 95 % interval "
                f"of {low:.3f} to {high:.3f} that may be chance. More past tasks would tell. "
                f"Start without it{alone}.{estimate}"
            )
        if not self.helps:
            return (
                f"On these {len(self.tasks)} tasks the history does not help: a start learned by '{method}' is not "
                f"better than random search. Start without it{alone}.{estimate}"
            )
        number, low, high = self.random_trials(method, t)
        most = self.random.shape[1]
        if number > t:
            text = (
                f"After {t} trials from '{method}' you are where random search is after {_count(number, most)} trials "
                f"({_count(low, most)}–{_count(high, most)}), on {len(self.tasks)} tasks, each left out in turn."
            )
        else:  # random search has tried most candidates by then
            gain, low, high = self.gain
            text = (
                f"Over the first {self.n} trials '{method}' is closer to a task's best than random search by "
                f"{gain:.3f} of its range ({low:.3f}–{high:.3f}), on {len(self.tasks)} tasks, each left out in turn."
            )
        if self.outliers:
            names = ", ".join(self.outliers[:3]) + (" …" if len(self.outliers) > 3 else "")
            text += f" It did worse than random search on {len(self.outliers)} of them ({names})."
        text += estimate
        if other:
            text += f" Of the methods compared, '{other}' did best."
        return text

    def __str__(self) -> str:
        return self.summary


def _count(number: float, most: int) -> str:
    return f"more than {most}" if np.isinf(number) else f"{number:.0f}"


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
    n: int = 10,
    methods: Sequence[Any] = ("auto", "li", "rbi"),
    seed: int = 0,
    *,
    jobs: int = 1,
    progress: bool | None = None,
    space: Any = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
) -> Evidence:
    """Leave out each task in turn, start it with each method learned from the others, and compare with random search.

    history, space, rename, fill: as for `learn`. jobs: tasks to run in parallel, with any backend of joblib. progress:
    whether to show a progress bar; None shows one on a terminal only. Methods that need meta-features get those of the
    left-out task.
    """
    history = required(past_runs(history, space, rename=rename, fill=fill))
    n, seed = number_of(n, history.space), whole("seed", seed, 0)
    methods = [methods] if isinstance(methods, str) else methods
    if len(history) < 3:
        raise ArgumentError(f"leaving one task out needs at least 3 tasks, but the history has {len(history)}")
    if not methods:
        raise ArgumentError("methods is empty", "name at least one method")
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    names = [strategy_name(method) for method in methods]
    searched = is_searched(history, np.random.default_rng([seed, 2]))
    # One result at a time, for the progress bar; some backends, such as Ray's, can only return whole lists.
    how = "generator" if get_active_backend()[0].supports_return_generator else "list"
    work = Parallel(n_jobs=jobs, return_as=how)(
        delayed(_left_out)(history, task, n, tuple(methods), seed, searched) for task in history.tasks
    )
    shown = sys.stderr.isatty() if progress is None else progress
    results = list(track(work, total=len(history), label="leaving out tasks") if shown else work)
    return Evidence(
        history.tasks,
        {name: np.array([curves[i] for curves, _ in results]) for i, name in enumerate(names)},
        np.array([random for _, random in results]),
        seed,
        searched,
    )


@one_thread
def _left_out(
    history: History, name: str, n: int, methods: tuple[Any, ...], seed: int, searched: bool
) -> tuple[list[Array], Array]:
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
