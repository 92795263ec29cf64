"""Evidence over time: where a start that knows what trials cost is after some time, and where random search is.

Each past task is left out in turn. Its own configurations are the candidates, and trying one takes what it took then.
Time is counted in average trials of the task, so that tasks of any size can be compared; `unit` turns it back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from headstart._support.processes import parallel
from headstart._support.threads import one_thread
from headstart._support.types import Array, Mask, Rows
from headstart.errors import HistoryError
from headstart.history import History
from headstart.strategies.auto import Auto, AutoRun
from headstart.strategies.base import Told
from headstart.strategies.candidates import Candidates
from headstart.surrogates.costs import CostModel, Spending
from headstart.transfer.models import TaskModels

if TYPE_CHECKING:
    import pandas as pd

TIMES = np.concatenate([np.geomspace(0.05, 20.0, 40), np.geomspace(22.0, 1000.0, 40)])  # in average trials
AFTER = 2.0  # average trials after which the verdict compares
ORDERS = 200  # of random search
LEAST = 5  # evaluations with a cost that a task must have
LEAST_TASKS = 3


@dataclass(frozen=True)
class OverTime:
    """Distances to each task's best after some time: of a start that knows the cost, and of random search.

    times (k,): in average trials. start, random: (tasks, k), scaled; 1 before the first trial has ended. unit: what an
    average trial costs, the median over the tasks.
    """

    tasks: list[str]
    times: Array = field(repr=False)
    start: Array = field(repr=False)
    random: Array = field(repr=False)
    unit: float

    @property
    def table(self) -> pd.DataFrame:
        """One row per time: the average distance of both."""
        import pandas as pd

        columns = {"cost": self.unit * self.times, "start": self.start.mean(axis=0), "random": self.random.mean(axis=0)}
        return pd.DataFrame(columns)

    def catches_up(self, after: float = AFTER) -> float:
        """The time, in average trials, after which random search is where the start is after a time; it may be inf."""
        level = float(self.start.mean(axis=0)[np.searchsorted(self.times, after, side="right") - 1])
        random = self.random.mean(axis=0)
        reached = np.flatnonzero(random <= level + 1e-12)
        if not len(reached) or reached[0] == 0:
            return float(self.times[0]) if len(reached) else np.inf
        k = int(reached[0])
        share = float(min((random[k - 1] - level) / (random[k - 1] - random[k]), 1.0))
        return float(self.times[k - 1] * (self.times[k] / self.times[k - 1]) ** share)  # between two of the times

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        other, after = self.catches_up(), in_words(AFTER * self.unit)
        never = "closer to the best than random search ever gets"
        there = never if np.isinf(other) else f"where random search is after {in_words(other * self.unit)}"
        return (
            f"After {after} of a start that knows what trials cost, you are {there}, on "
            f"{len(self.tasks)} tasks, each left out in turn."
        )

    def __str__(self) -> str:
        return self.summary


def fitting_unit(seconds: float) -> tuple[float, str]:
    """A unit for times of this size: its length in seconds, and its name."""
    units = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
    return next(((size, name) for size, name in units if seconds >= 1.5 * size), (1.0, "seconds"))


def in_words(seconds: float) -> str:
    """A time with a fitting unit: 0.5 seconds, 25 minutes."""
    size, unit = fitting_unit(seconds)
    return f"{seconds / size:.3g} {unit}"


def timed_tasks(history: History) -> list[str]:
    """The tasks with enough costs."""
    return [name for name in history.tasks if _known(history, name).sum() >= LEAST]


def over_time(history: History, seed: int, *, jobs: int = 1, most: int | None = None) -> OverTime:
    """The evidence for a history with costs. most: leave out no more tasks than this, drawn at random."""
    from joblib import delayed

    tasks = timed_tasks(history)
    if len(tasks) < LEAST_TASKS:
        raise HistoryError(
            f"evidence over time needs at least {LEAST_TASKS} tasks with {LEAST} costs above 0 each, "
            f"but the history has {len(tasks)}",
            "name the column of the costs with {cost}",
        )
    if most is not None and len(tasks) > most:
        drawn = np.random.default_rng([seed, 4]).choice(len(tasks), most, replace=False)
        tasks = [tasks[i] for i in np.sort(drawn)]
    found = parallel(n_jobs=jobs)(delayed(_left_out)(history, name, seed) for name in tasks)
    start, random, unit = zip(*found, strict=True)
    return OverTime(tasks, TIMES, np.array(start), np.array(random), float(np.median(unit)))


def _known(history: History, name: str) -> Mask:
    """Which evaluations of a task have a cost above 0."""
    costs = history[name].costs
    return np.zeros(len(history[name]), dtype=bool) if costs is None else np.asarray(np.nan_to_num(costs) > 0)


@one_thread
def _left_out(history: History, name: str, seed: int) -> tuple[Array, Array, float]:
    """Both curves of one task, and the cost of its average trial."""
    task, known = history[name], _known(history, name)
    assert task.costs is not None
    scaled, costs = task.scaled()[known], task.costs[known]
    unit = float(costs.mean())
    key = [seed, crc32(name.encode())]
    others = history.drop(name)
    models = TaskModels(others, rng=np.random.default_rng([*key, 0]), allowed=history.V[task.rows[known]])
    model = CostModel.of(others, rng=np.random.default_rng([*key, 3]))
    run = Auto().begin(models, n=1, features=None, rng=np.random.default_rng([*key, 1]))
    assert isinstance(run, AutoRun)
    order = _tried(run, model, scaled, costs, AFTER * unit)
    rng = np.random.default_rng([*key, 2])
    random = [_curve(scaled, costs / unit, rng.permutation(len(costs))) for _ in range(ORDERS)]
    return _curve(scaled, costs / unit, order), np.mean(random, axis=0), unit


def _tried(run: AutoRun, model: CostModel, scaled: Array, costs: Array, budget: float) -> Rows:
    """The configurations that a start tries within a budget, in order."""
    assert run.models.allowed is not None
    space, V = run.models.space, run.models.allowed
    candidates, told = Candidates(space, V), Told(np.empty((0, len(space))), np.empty(0), np.empty(0))
    order: list[int] = []
    while len(order) < len(V) and costs[order].sum() < budget:
        paid, spending = model.fit(space.encode_values(told.V), costs[order]), Spending.of(costs[order], budget)
        penalty = spending.penalty(paid.log_cost(run.Z))
        order.append(candidates.nearest(run.ask_per_cost(told, penalty), told))
        told = Told(V[order], scaled[order], costs[order])
    return np.array(order, dtype=np.intp)


def _curve(scaled: Array, costs: Array, order: Rows) -> Array:
    """The best scaled loss at each time; 1 before the first trial has ended."""
    best = np.append(1.0, np.minimum.accumulate(scaled[order]))
    return np.asarray(best[np.searchsorted(np.cumsum(costs[order]), TIMES, side="right")])
