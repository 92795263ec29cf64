"""Evidence from leaving out each past task in turn: the curves, and the verdict in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.display import Picture, Series, card, draw
from headstart._support.types import Array
from headstart.starts.measures import average_rank
from headstart.starts.over_time import OverTime

if TYPE_CHECKING:
    import pandas as pd

BOOTSTRAPS = 1000
ESTIMATE = (
    " These figures are estimates, made on a model of each task over the whole search space, because the trials of "
    "past searches crowd around the best."
)


@dataclass(frozen=True, repr=False)
class Evidence:
    """The result of leaving out each task in turn.

    curves: for each method, the scaled distance to each task's best after 1 … n trials, (tasks, n).
    random: the expectation of random search after 1, 2, … trials, (tasks, most).
    estimated: whether all of them are estimates, because the trials of the tasks were chosen by searches.
    of: how many tasks the history has, of which `tasks` are a random sample; 0 if they are all.
    time: the same over time, if it was asked for.
    interrupted: whether Ctrl-C ended the work early, with the tasks that were done by then.
    """

    tasks: list[str]
    curves: dict[str, Array]
    random: Array
    seed: int = 0
    estimated: bool = False
    of: int = 0
    time: OverTime | None = None
    interrupted: bool = False

    @property
    def n(self) -> int:
        return int(next(iter(self.curves.values())).shape[1])

    @property
    def table(self) -> pd.DataFrame:
        """One row per method and number of trials: ADTM with a 95% bootstrap interval, average rank."""
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
        """The trials that random search needs to match `method` after t: the number and its 95% interval.

        Infinite if random search does not get there even with all candidates.
        """
        curve = self.curves[method][:, t - 1]
        number = _first_below(self.random.mean(axis=0), float(curve.mean()))
        draws = self._draws()
        resampled = [_first_below(self.random[d].mean(axis=0), float(curve[d].mean())) for d in draws]
        low, high = np.quantile(resampled, [0.025, 0.975], method="nearest")
        return number, float(low), float(high)

    def catches_up(self, t: int) -> str:
        """Where `method` is after t trials, in words: "where random search is after 20 trials (12–31)"."""
        most = self.random.shape[1]
        number, low, high = self.random_trials(self.method, t)
        if np.isinf(number):
            return f"closer to the best than random search gets in {most} trials"
        if number >= most and not self.estimated:
            return f"where random search only gets by trying all {most} configurations"
        upper = self._count(high)
        interval = "" if low == high else f" ({low:.0f}{'–' if upper.isdigit() else ' to '}{upper})"
        return f"where random search is after {number:.0f} trials{interval}"

    def _count(self, number: float) -> str:
        """An upper bound of trials: random search may have run out of configurations there."""
        most = self.random.shape[1]
        if number < most or (self.estimated and np.isfinite(number)):
            return f"{number:.0f}"
        return f"more than {most}" if self.estimated else f"all {most}"

    @property
    def helps(self) -> bool:
        """Whether `method` beats random search on average over the first n trials, with 95% confidence."""
        return self.gain[1] > 0

    @property
    def gain(self) -> tuple[float, float, float]:
        """How much closer `method` comes to a task's best than random search, with its 95% interval.

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
                f"With {these.rstrip(',')}, it is not clear whether the history helps: on average, a start learned by "
                f"'{method}' comes closer to a task's best than random search by {gain:.3f} of its range, but the 95% "
                f"interval ({low:.3f} to {high:.3f}) includes 0. More past tasks would tell. Until then, start without "
                f"it{alone}.{estimate}"
            )
        if not self.helps:
            return (
                f"On these {these.rstrip(',')}, the history does not help: a start learned by '{method}' is not "
                f"better than random search. Start without it{alone}.{estimate}"
            )
        if self.random_trials(method, t)[0] > t:
            text = f"After {t} trials from '{method}' you are {self.catches_up(t)}, on {these}{turn}"
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
        return Picture(series, x="trials", y="distance to the best (95% intervals)")

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
