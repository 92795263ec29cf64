"""Past runs: which configurations were tried on which tasks, and how well each did.

| symbol | name     | shape    | meaning                                                                         |
| ------ | -------- | -------- | ------------------------------------------------------------------------------- |
| V, Z   | V, Z     | (m, ·)   | the distinct configurations of all tasks, as values and encoded (`space.space`) |
|        | rows     | (n_D,)   | which of them were tried on task D                                              |
| f_D    | losses   | (n_D,)   | their losses; NaN for a failed trial                                            |
|        | counts   | (n_D,)   | how many evaluations each loss is the mean of                                   |
| M_D    | features | name → x | the meta-features of the task                                                   |

Tasks are sorted by name and configurations by value, so nothing learned from a history depends on the order in which it
was recorded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.direction import checked_direction
from headstart._support.display import draw
from headstart._support.log import log
from headstart._support.types import Array, Mask
from headstart._support.wording import closest, counted
from headstart.errors import ArgumentError, HistoryError
from headstart.history.conversion import merged, moved, rebuilt
from headstart.history.curves import Curves
from headstart.history.evaluations import Evaluations
from headstart.history.formats import read_and_skipped
from headstart.history.other_tools import ReadsOtherTools
from headstart.history.reading import Reading
from headstart.history.shown import as_html, picture_of
from headstart.history.task import Task, frozen
from headstart.space import Change, Config, Space, as_space

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class History(ReadsOtherTools):
    """Past runs on one search space; immutable. Make one with `from_frame`, `from_csv`, `load`, `from_optuna` …

    direction: whether lower or higher results are better; a task may have a direction of its own. curves: what runs
    reported on their way, if that is known.
    """

    space: Space
    V: Array
    by_name: Mapping[str, Task]
    direction: str = "minimize"
    info: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    curves: Curves | None = None

    def __post_init__(self) -> None:
        checked_direction(self.direction)
        if not self.by_name:
            raise HistoryError("a history needs at least one task")
        tasks = {name: self.by_name[name] for name in sorted(self.by_name)}
        object.__setattr__(self, "by_name", MappingProxyType(tasks))
        object.__setattr__(self, "info", MappingProxyType(dict(self.info)))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "V", frozen(self.V))

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (
            *(self.space, self.V, dict(self.by_name), self.direction, dict(self.info), self.notes, self.curves),
        )

    # -- looking in --------------------------------------------------------------------------------------

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return list(self.by_name)

    def __getitem__(self, name: str) -> Task:
        if name not in self.by_name:
            raise KeyError(f"no task {name!r}{closest(name, self.tasks)}")
        return self.by_name[name]

    def __iter__(self) -> Iterator[Task]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def __repr__(self) -> str:
        evaluations = sum(len(task) for task in self)
        return f"History({len(self)} tasks, {len(self.V):,} configurations, {evaluations:,} evaluations)"

    def _repr_html_(self) -> str:
        return as_html(self)

    def plot(self) -> Any:
        """How the losses of each task are spread: a figure of Plotly, or of matplotlib without it."""
        return draw(picture_of(self))

    @cached_property
    def Z(self) -> Array:
        """The encoding of all configurations."""
        return frozen(self.space.encode_values(self.V))

    def design(self, name: str) -> Array:
        """The encoded configurations of one task."""
        return self.Z[self[name].rows]

    def configs(self, name: str) -> list[Config]:
        """The configurations of one task, in the order of its losses."""
        return self.space.from_values(self.V[self[name].rows])

    def direction_of(self, name: str) -> str:
        """The direction of one task's results."""
        return self[name].direction or self.direction

    def best(self, name: str) -> Config:
        """The best configuration of one task."""
        task = self[name]
        return self.space.from_values(self.V[task.rows[[task.best]]])[0]

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of all meta-features that any task has."""
        return sorted({name for task in self for name in (task.features or {})})

    def feature_matrix(self) -> Array:
        """M, (tasks, features), with NaN where a feature is missing."""
        rows = [[(task.features or {}).get(name, math.nan) for name in self.feature_names] for task in self]
        return np.array(rows, dtype=float).reshape(len(self), len(self.feature_names))

    # -- new histories from old --------------------------------------------------------------------------

    def only(self, names: str | Iterable[str]) -> History:
        """A history of these tasks alone."""
        return self._with_tasks({name: self[name] for name in _listed(names)})

    def drop(self, *names: str | Iterable[str]) -> History:
        """A history without these tasks."""
        gone = {self[name].name for group in names for name in _listed(group)}
        if len(gone) == len(self):
            raise HistoryError("cannot drop every task of a history")
        return self._with_tasks({name: task for name, task in self.by_name.items() if name not in gone})

    def _with_tasks(self, tasks: Mapping[str, Task]) -> History:
        if not tasks:
            raise HistoryError("a history needs at least one task")
        used = np.zeros(len(self.V), dtype=bool)
        for task in tasks.values():
            used[task.rows] = True
        moved = np.cumsum(used) - 1  # old row → new row
        kept = {name: replace(task, rows=moved[task.rows]) for name, task in tasks.items()}
        curves = None if self.curves is None else self.curves.of_tasks(kept)
        return replace(self, V=self.V[used], by_name=kept, curves=curves)

    def only_configs(self, keep: Mask) -> History:
        """Only the configurations (rows of V) that a mask marks; every task must have tried one of them."""
        if len(keep) != len(self.V):
            raise ArgumentError(f"the mask has {len(keep)} entries for {len(self.V)} configurations")
        return History.from_evaluations(rebuilt(self, self.V, np.asarray(keep, dtype=bool), self.space))

    def renamed(self, names: Mapping[str, str]) -> History:
        """The same history with other names of parameters: old name → new name."""
        if not names:
            return self
        if absent := [old for old in names if old not in self.space]:
            hint = closest(absent[0], self.space.names)
            raise ArgumentError(f"cannot rename {absent[0]!r}: the history has {', '.join(self.space)}{hint}")
        return replace(self, space=self.space.renamed(names))

    def with_task_names(self, names: Mapping[str, str]) -> History:
        """The same history with other names of tasks: old name → new name."""
        tasks = [replace(task, name=names.get(task.name, task.name)) for task in self]
        curves = None if self.curves is None else self.curves.renamed(names)
        return replace(self, by_name={task.name: task for task in tasks}, curves=curves) if names else self

    def merge(self, other: History) -> History:
        """Both histories in one: their evaluations together. Where both have a feature, that of `self` counts."""
        return History.from_evaluations(merged(self, other))

    def moved_to(
        self, space: Any, *, rename: Mapping[str, str] | None = None, fill: Mapping[str, Any] | None = None
    ) -> tuple[History, list[Change]]:
        """This history converted to another space (see `reconcile`), and the changes of each parameter."""
        return moved(self, as_space(space), rename=rename, fill=fill)

    def with_info(self, info: Mapping[str, Any]) -> History:
        """The same history with more information about its origin."""
        return replace(self, info={**self.info, **info})

    def with_notes(self, *notes: str) -> History:
        """The same history with more notes on what was read and skipped. The notes are logged, too."""
        for note in notes:
            log.info("%s", note)
        return replace(self, notes=(*self.notes, *notes))

    # -- in and out --------------------------------------------------------------------------------------

    @classmethod
    def from_evaluations(cls, runs: Evaluations) -> History:
        """A history from columns. Repeats of a configuration on a task are averaged."""
        V, tasks = runs.gathered()
        history = cls(runs.space, V, tasks, runs.direction, runs.info, curves=runs.curves)
        if not runs.source:
            return replace(history, notes=tuple(runs.notes))
        return history.with_notes(*history._account(runs), *runs.notes)

    def _account(self, runs: Evaluations) -> tuple[str, str]:
        """The notes on what was read from a source, and what was skipped."""
        read = f"{counted(len(runs), 'evaluation')} of {counted(len(self.V), 'configuration')}"
        read += f" on {counted(len(self), 'task')} from {runs.source}"
        if repeats := len(runs) - sum(map(len, self)):
            read += f"; averaged {counted(repeats, 'repeat')}"
        if failed := int(np.isnan(runs.losses).sum()):
            read += f"; {counted(failed, 'trial')} without a value counted as failed"
        return read_and_skipped(read, runs.skipped)

    def evaluations(self) -> Evaluations:
        """The history in columns, one entry per task and configuration."""
        tasks = list(self)
        blank = [np.full(len(task), np.nan) if task.costs is None else task.costs for task in tasks]
        return Evaluations(
            self.space,
            np.repeat(np.array(self.tasks, dtype=object), [len(task) for task in tasks]),
            self.V[np.concatenate([task.rows for task in tasks])],
            np.concatenate([task.losses for task in tasks]),
            np.concatenate([task.counts for task in tasks]),
            costs=None if all(task.costs is None for task in tasks) else np.concatenate(blank),
            features={task.name: task.features for task in tasks if task.features},
            direction=self.direction,
            info=self.info,
            notes=self.notes,
            directions={t.name: t.direction for t in tasks if t.direction not in (None, self.direction)},
            curves=self.curves,
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        space: Any = None,
        task: str = "task",
        value: str = "value",
        features: pd.DataFrame | None = None,
        direction: str | None = None,
        *,
        cost: str | None = None,
        count: str | None = None,
        step: str | None = None,
        ignore: Collection[str] = (),
        skip_bad_rows: bool = False,
        info: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from a table with one row per evaluation.

        space: the search space; None infers it from the columns that no other argument names (see
            `headstart.space.infer_space`).
        task, value: the columns that hold the name of the task and the result.
        features: the meta-features of the tasks, as a frame indexed by task or a dict of dicts.
        direction: "minimize" or "maximize" the result; None infers it from the name of the column ("accuracy" is
            maximised) and says so, and minimises if the name says nothing.
        cost, count: the columns that hold the cost, and the number of evaluations that the result is the mean of.
        step: the column that holds the step of a learning curve; the table then has one row per step. A run's result is
            that of its last step; of a run that ends before the longest of its task, which was stopped, it is no better
            than the best of the task's whole runs.
        ignore: columns that are not parameters. Constants, dates and ids are recognised.
        skip_bad_rows: leave out the rows that cannot be used, instead of an error that lists them.
        info: the origin of the runs; any dict that JSON can hold.

        An empty parameter is inactive. A result that is empty, infinite or a word such as "failed" or "N/A" is a failed
        trial. Repeats of a configuration on a task are averaged.
        """
        from headstart.history.formats.steps import read_table

        how = Reading(task, value, cost, ignore, space, direction, count=count, step=step, skip_bad_rows=skip_bad_rows)
        return cls.from_evaluations(read_table(frame, how, features=features, info=info))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        space: Any = None,
        task: str = "task",
        value: str = "value",
        features: pd.DataFrame | None = None,
        direction: str | None = None,
        *,
        cost: str | None = None,
        count: str | None = None,
        step: str | None = None,
        ignore: Collection[str] = (),
        skip_bad_rows: bool = False,
        info: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from a CSV file; the arguments are those of `from_frame`.

        In a file that `save` wrote, the columns `count` and `cost` are recognised.
        """
        from headstart.history.formats.csv_files import read_csv

        how = Reading(task, value, cost, ignore, space, direction, count=count, step=step, skip_bad_rows=skip_bad_rows)
        return cls.from_evaluations(read_csv(path, how, features=features, info=info))

    @classmethod
    def from_optuna(
        cls,
        past: Any,
        studies: str | Sequence[str] | None = None,
        *,
        direction: str | None = None,
        space: Any = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        skip_damaged: bool = False,
    ) -> History:
        """A history from Optuna studies, one task each, in the direction of its study.

        past: a storage URL, file or object, a study, or a list of studies. studies: names, or patterns such as
        "svm-*"; needed if the storage has studies of different models. direction: reads only the studies of this
        direction. space: replaces the space inferred from the trials; only studies that share its parameters are read.
        rename: new names of parameters. fill: values for parameters that a study does not have.
        skip_damaged: leave out studies and trials that cannot be read, and count them in the notes.

        Complete trials count with their value, failed ones as the worst seen, and pruned ones with the last value that
        they reported, within the range of the complete ones. Unfinished trials are skipped.
        If ranges or choices differ between studies, the space has all of them. A parameter that a study does not have
        takes its value in `fill` or the middle of its range. Features are those that `hs.optuna.describe` wrote.
        """
        adapter = import_module("headstart.adapters.optuna")  # by name, because adapters may import histories
        history: History = adapter.read(
            past, studies, direction=direction, space=space, rename=rename, fill=fill, skip_damaged=skip_damaged
        )
        return history

    def to_frame(self) -> pd.DataFrame:
        """One row per task and configuration, in the user's units and direction."""
        from headstart.history.formats.frames import to_frame

        return to_frame(self.evaluations())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, the space included, to one Parquet file, or a plain table to *.csv."""
        if str(path).endswith(".csv"):
            from headstart.history.formats.csv_files import write_csv as write
        else:
            from headstart.history.formats.parquet import write

        write(self.evaluations(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], metric: str | None = None) -> History:
        """Read a Parquet file that `save` wrote. metric: one of several in the file, instead of the first."""
        from headstart.history.formats.parquet import read

        return cls.from_evaluations(read(path, metric))


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
