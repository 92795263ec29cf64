"""Past runs in columns, one entry per evaluation: the form that readers hand to `History` and writers take from it.

| symbol | name   | shape  | meaning                                                      |
| ------ | ------ | ------ | ------------------------------------------------------------ |
|        | tasks  | (n,)   | the name of the task                                         |
| V      | V      | (n, p) | the configuration, as values                                 |
|        | losses | (n,)   | the loss, already turned to minimise; NaN for a failed trial |
|        | counts | (n,)   | how many evaluations the loss is the mean of                 |
|        | costs  | (n,)   | the cost ≥ 0, NaN where it is unknown; None: all are unknown |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.direction import turned
from headstart._support.types import Array, Mask
from headstart.errors import HistoryError
from headstart.history.curves import Curves
from headstart.history.repeats import averaged
from headstart.history.task import Features, Task
from headstart.space import Space
from headstart.space.rows import distinct


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The evaluations of past runs in columns, as in the table above.

    features: the meta-features of the tasks, by the name of the task. direction: of the values from which the losses
    were made. directions: of single tasks, by name, where theirs is another one. source: where a reader found the
    evaluations; the notes of the history then begin with what was read from there and what was skipped. curves: of the
    same runs and of others that were stopped early.
    """

    space: Space
    tasks: npt.NDArray[Any]
    V: Array
    losses: Array
    counts: npt.NDArray[np.int64]
    costs: Array | None = None
    features: Mapping[str, Features] = field(default_factory=dict)
    direction: str = "minimize"
    info: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    source: str = ""
    skipped: Sequence[str] = ()
    directions: Mapping[str, str] = field(default_factory=dict)
    curves: Curves | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "info", dict(self.info))
        object.__setattr__(self, "notes", tuple(self.notes))
        if not len(self):
            raise HistoryError("a history needs at least one evaluation")
        if np.isinf(self.losses).any():
            name = self.tasks[np.isinf(self.losses)][0]
            raise HistoryError(f"task {name!r} has an infinite loss", "use NaN for a failed trial")
        if self.costs is not None and (bad := (self.costs < 0) | np.isinf(self.costs)).any():
            raise HistoryError(
                f"task {self.tasks[bad][0]!r} has the cost {self.costs[bad][0]:g}, which is negative or infinite",
                "use NaN for an unknown cost",
            )
        if failed := self._tasks_without_success():
            raise HistoryError(f"task {min(failed)!r} has no usable evaluation: all of its trials failed")

    def __len__(self) -> int:
        return len(self.losses)

    def _tasks_without_success(self) -> set[str]:
        finite = np.isfinite(self.losses)
        return set() if finite.all() else set(self.tasks.tolist()) - set(self.tasks[finite].tolist())

    @property
    def values(self) -> Array:
        """The results in the direction in which each task has them."""
        return turned_by_task(self.losses, self.tasks, self.direction, self.directions)

    def where(self, keep: Mask) -> Evaluations:
        """Only the evaluations that a mask marks."""
        return replace(self, **{name: column[keep] for name, column in self._columns().items()})

    def and_those_of(self, other: Evaluations) -> Evaluations:
        """These evaluations, followed by those of another record; everything else stays."""
        pairs = zip(self._columns().items(), other._columns().values(), strict=True)
        joined: dict[str, Any] = {name: np.concatenate([ours, theirs]) for (name, ours), theirs in pairs}
        return replace(self, **joined)

    def _columns(self) -> dict[str, Any]:
        costs = np.full(len(self), np.nan) if self.costs is None else self.costs
        return {"tasks": self.tasks, "V": self.V, "losses": self.losses, "counts": self.counts, "costs": costs}

    def gathered(self) -> tuple[Array, dict[str, Task]]:
        """The distinct configurations, and the tasks by name with repeats averaged."""
        import pandas as pd

        V, config = distinct(self.V)
        codes, names = pd.factorize(self.tasks, sort=True)
        key, losses, counts, costs = averaged(
            codes.astype(np.int64) * len(V) + config,
            np.where(np.isnan(self.losses), np.nan, self.losses + 0.0),  # one NaN, one zero
            self.counts,
            self._columns()["costs"],
        )
        task_of, rows = np.divmod(key, len(V))
        bounds = np.searchsorted(task_of, np.arange(len(names) + 1))
        has_cost = bool(np.isfinite(costs).any())
        tasks = {}
        for i, name in enumerate(map(str, names)):
            part = slice(bounds[i], bounds[i + 1])
            cost = costs[part] if has_cost else None
            features, own = self.features.get(name) or None, self.directions.get(name)
            tasks[name] = Task(name, rows[part], losses[part], counts[part], cost, features, own)
        return V, tasks


def turned_by_task(
    values: Array, tasks: npt.NDArray[Any], direction: str, directions: Mapping[str, str] = MappingProxyType({})
) -> Array:
    """The same values as losses, or losses as values, where some tasks have a direction of their own."""
    found = turned(values, direction)
    for task, own in directions.items():
        if own != direction:
            found = np.where(tasks == task, -found, found)
    return found
