"""Past runs: which configurations were tried on which tasks, and how well each did.

| symbol | name       | shape    | meaning                                                                     |
| ------ | ---------- | -------- | --------------------------------------------------------------------------- |
| V, Z   | —          | (u, ·)   | the distinct configurations of all tasks, as values and encoded (space.py)  |
| rows   | rows       | (n_D,)   | which of them were tried on task D                                          |
| f_D    | losses     | (n_D,)   | what came out, minimised; NaN is a failed trial                             |
|        | counts     | (n_D,)   | how many evaluations each loss is the mean of                               |
| m_D    | features   | name → x | what is known about the task itself                                         |

Tasks are kept in the order of their names and configurations in the order of their values, so that nothing
learned from a history depends on the order in which it was written down.
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
import numpy.typing as npt

from headstart._support.direction import DIRECTIONS
from headstart._support.log import log
from headstart._support.types import Array
from headstart._support.wording import closest
from headstart.errors import HistoryError
from headstart.history.repeats import averaged
from headstart.history.task import Features, Task, frozen
from headstart.space import Change, Config, Space, as_space
from headstart.space.reconciliation import reconcile_values
from headstart.space.rows import distinct

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class History:
    """Past runs on one space; immutable. Make one with `from_frame`, `from_csv`, `load`, `from_optuna` …"""

    space: Space
    V: Array
    by_name: Mapping[str, Task]
    direction: str = "minimize"
    info: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise HistoryError(f"direction must be 'minimize' or 'maximize', but got {self.direction!r}")
        if not self.by_name:
            raise HistoryError("a history needs at least one task")
        tasks = {name: self.by_name[name] for name in sorted(self.by_name)}
        object.__setattr__(self, "by_name", MappingProxyType(tasks))
        object.__setattr__(self, "info", MappingProxyType(dict(self.info)))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "V", frozen(self.V))

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (self.space, self.V, dict(self.by_name), self.direction, dict(self.info), self.notes)

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

    def best(self, name: str) -> Config:
        """The best configuration of one task."""
        task = self[name]
        return self.space.from_values(self.V[task.rows[[task.best]]])[0]

    @cached_property
    def feature_names(self) -> list[str]:
        """Every feature that some task has."""
        return sorted({name for task in self for name in (task.features or {})})

    def feature_matrix(self) -> Array:
        """Tasks × features, NaN where one is missing."""
        rows = [[(task.features or {}).get(name, math.nan) for name in self.feature_names] for task in self]
        return np.array(rows, dtype=float).reshape(len(self), len(self.feature_names))

    # -- new histories from old --------------------------------------------------------------------------

    def only(self, names: str | Iterable[str]) -> History:
        """These tasks alone."""
        return self._with_tasks({name: self[name] for name in _listed(names)})

    def drop(self, *names: str | Iterable[str]) -> History:
        """All but these tasks."""
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
        return replace(self, V=self.V[used], by_name=kept)

    def only_configs(self, keep: npt.NDArray[np.bool_]) -> History:
        """Only the configurations (rows of V) that a mask marks; every task must have tried one of them."""
        if len(keep) != len(self.V):
            raise HistoryError(f"the mask has {len(keep)} entries for {len(self.V)} configurations")
        return self._rebuilt(self.V, np.asarray(keep, dtype=bool), self.space)

    def merge(self, other: History) -> History:
        """Both histories; evaluations of a task that is in both are pooled, the features of `self` come first."""
        if self.space != other.space:
            raise HistoryError("the histories have different spaces; bring one over first: other.moved_to(space)[0]")
        if self.direction != other.direction:
            raise HistoryError(f"one history is to {self.direction}, the other to {other.direction}")
        features: dict[str, dict[str, float]] = {}
        for task in (*other, *self):
            features.setdefault(task.name, {}).update(task.features or {})
        parts = [_long(history) for history in (self, other)]
        joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return _build(self.space, joined, features, self.direction, info={**other.info, **self.info}, notes=notes)

    def moved_to(
        self, space: Any, *, rename: Mapping[str, str] | None = None, fill: Mapping[str, Any] | None = None
    ) -> tuple[History, list[Change]]:
        """This history in another space (see `reconcile`), and what became of each parameter."""
        space = as_space(space)
        V, keep, changes, reasons = reconcile_values(self.space, space, self.V, rename=rename, fill=fill)
        left = {name for name, task in self.by_name.items() if np.isfinite(task.losses[keep[task.rows]]).any()}
        if not left:
            raise HistoryError(f"nothing can be carried over: {next(iter(reasons.values()))}")
        notes = []
        if reasons:
            notes.append(f"left out {len(reasons):,} of {len(V):,} configurations, which the new space does not have")
        if lost := [name for name in self.tasks if name not in left]:
            notes.append(f"left out {len(lost)} of {len(self)} tasks, of which nothing is left: {', '.join(lost[:5])}")
        kept = replace(self, by_name={name: self[name] for name in left}, notes=(*self.notes, *notes))
        return kept._rebuilt(V, keep, space), changes

    def _rebuilt(self, V: Array, keep: npt.NDArray[np.bool_], space: Space) -> History:
        """The same evaluations with other values, as far as their configurations are kept."""
        rows = np.concatenate([task.rows for task in self])
        long = {key: column[keep[rows]] for key, column in {**_long(self), "V": V[rows]}.items()}
        if missing := set(self.tasks) - set(long["task"].tolist()):
            raise HistoryError(f"task {min(missing)!r} has tried none of the configurations")
        features = {task.name: task.features for task in self if task.features}
        return _build(space, long, features, self.direction, info=self.info, notes=self.notes)

    def with_info(self, info: Mapping[str, Any]) -> History:
        """The same history with more said about where it comes from."""
        return replace(self, info={**self.info, **info})

    def with_notes(self, *notes: str) -> History:
        """The same history with more lines on what was taken and left out; they are logged, too."""
        for note in notes:
            log.info("%s", note)
        return replace(self, notes=(*self.notes, *notes))

    # -- in and out --------------------------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        space: Any = None,
        task: str = "task",
        value: str = "value",
        features: pd.DataFrame | None = None,
        direction: str = "minimize",
        *,
        cost: str | None = None,
        count: str | None = None,
        ignore: Collection[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from a table with one row per evaluation.

        space: None: told from the columns that are left and not in `ignore` (see `headstart.space.guessing`).
        task, value: the columns with the task's name and the result; cost, count (optional): what it cost, and
        of how many evaluations it is the mean. features: a frame indexed by task, or a dict of dicts. A missing
        parameter is inactive, a missing value a failed trial; repeats of a configuration on a task are averaged.
        """
        from headstart.history.formats.tables import Columns, from_frame

        columns = Columns(task, value, cost, count)
        return from_frame(frame, space, columns, ignore=ignore, features=features, direction=direction, info=info)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        space: Any = None,
        task: str = "task",
        value: str = "value",
        features: pd.DataFrame | None = None,
        direction: str = "minimize",
        *,
        cost: str | None = None,
        count: str | None = None,
        ignore: Collection[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from a CSV file; the arguments are those of `from_frame`.

        Of a file that `save` wrote, the last columns are taken for the counts and costs that they are.
        """
        from headstart.history.formats.tables import Columns, read_csv

        columns = Columns(task, value, cost, count)
        return read_csv(path, space, columns, ignore=ignore, features=features, direction=direction, info=info)

    @classmethod
    def from_optuna(
        cls,
        past: Any,
        studies: str | Sequence[str] | None = None,
        *,
        direction: str | None = None,
        space: Any = None,
    ) -> History:
        """A history from Optuna studies, one task each.

        past: a storage URL, file or object, a study, or a list of studies. studies: names, or patterns such as
        "svm-*". direction: needed if there are studies of both. space: instead of the one told from the trials.

        Complete trials count with their value, failed ones as the worst seen; pruned and unfinished ones are left
        out. Ranges and choices that changed from study to study are united, and a parameter that a study does not
        have takes the middle of its range. Features are those that `hs.optuna.describe` wrote.
        """
        adapter = import_module("headstart.adapters.optuna")  # by name: adapters stand above histories
        history: History = adapter.read(past, studies, direction=direction, space=space)
        return history

    def to_frame(self) -> pd.DataFrame:
        """One row per task and configuration, in the user's units and direction."""
        from headstart.history.formats.tables import to_frame

        return to_frame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """One Parquet file with everything in it, the space included (or a plain table: *.csv)."""
        if str(path).endswith(".csv"):
            from headstart.history.formats.tables import write_csv as write
        else:
            from headstart.history.formats.parquet import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """What `save` wrote to a Parquet file."""
        from headstart.history.formats.parquet import read

        return read(path)


def build(
    space: Space,
    *,
    tasks: Sequence[str] | npt.NDArray[Any],
    V: Array,
    losses: Array,
    counts: npt.NDArray[np.int64] | None = None,
    costs: Array | None = None,
    features: Mapping[str, Features] | None = None,
    direction: str = "minimize",
    info: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> History:
    """A history from columns with one entry per evaluation; losses are already turned to minimise."""
    n = len(losses)
    if not n:
        raise HistoryError("a history needs at least one evaluation")
    long: dict[str, npt.NDArray[Any]] = {
        "task": np.asarray(tasks, dtype=object),
        "V": np.asarray(V, dtype=float),
        "loss": np.where(np.isnan(losses), np.nan, np.asarray(losses, dtype=float) + 0.0),  # one NaN, one zero
        "count": np.ones(n, dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64),
        "cost": np.full(n, np.nan) if costs is None else np.asarray(costs, dtype=float),
    }
    return _build(space, long, features or {}, direction, info=info or {}, notes=tuple(notes))


def _build(
    space: Space,
    long: Mapping[str, npt.NDArray[Any]],
    features: Mapping[str, Features],
    direction: str,
    *,
    info: Mapping[str, Any],
    notes: tuple[str, ...],
) -> History:
    """Distinct configurations, repeats averaged, one Task per name."""
    import pandas as pd

    if np.isinf(long["loss"]).any():
        name = long["task"][np.isinf(long["loss"])][0]
        raise HistoryError(f"task {name!r} has an infinite loss; use NaN for a failed trial")
    if failed_only := _tasks_without_success(long):
        raise HistoryError(f"task {min(failed_only)!r} has no usable evaluation: all of its trials failed")
    V, config = distinct(long["V"])
    codes, names = pd.factorize(long["task"], sort=True)
    key, mean = averaged(codes.astype(np.int64) * len(V) + config, long)
    task_of, rows = np.divmod(key, len(V))
    bounds = np.searchsorted(task_of, np.arange(len(names) + 1))
    has_cost = bool(np.isfinite(mean["cost"]).any())
    tasks = {}
    for i, name in enumerate(map(str, names)):
        part = slice(bounds[i], bounds[i + 1])
        tasks[name] = Task(
            name,
            rows[part],
            mean["loss"][part],
            mean["count"][part],
            mean["cost"][part] if has_cost else None,
            features.get(name) or None,
        )
    return History(space, V, tasks, direction, info, notes)


def _tasks_without_success(long: Mapping[str, npt.NDArray[Any]]) -> set[str]:
    if np.isfinite(long["loss"]).all():
        return set()
    return set(long["task"].tolist()) - set(long["task"][np.isfinite(long["loss"])].tolist())


def _long(history: History) -> dict[str, npt.NDArray[Any]]:
    """A history as columns with one entry per evaluation."""
    tasks = list(history)
    rows = np.concatenate([task.rows for task in tasks])
    long: dict[str, npt.NDArray[Any]] = {
        "task": np.repeat(np.array(history.tasks, dtype=object), [len(task) for task in tasks]),
        "V": history.V[rows],
        "loss": np.concatenate([task.losses for task in tasks]),
        "count": np.concatenate([task.counts for task in tasks]),
        "cost": np.concatenate([np.full(len(task), np.nan) if task.costs is None else task.costs for task in tasks]),
    }
    return long


def checked(history: Any) -> History:
    """The history itself, if it is one."""
    if not isinstance(history, History):
        raise HistoryError(
            f"history must be a headstart.History, but got {type(history).__name__}; make one with History.from_frame, "
            "from_csv, from_optuna or load"
        )
    return history


def checked_features(features: Any) -> Features | None:
    """Meta-features as they are asked for: None, or a number for every name."""
    if features is not None and not isinstance(features, Mapping):
        raise HistoryError(
            f"features must be a dict such as hs.metafeatures(X, y) gives, but got {type(features).__name__}"
        )
    return features


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
