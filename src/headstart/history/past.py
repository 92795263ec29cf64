"""One door for past runs. Whatever names them is read here, for Python and for the command line:

| what                                                        | read by                              |
| ----------------------------------------------------------- | ------------------------------------ |
| a `History`                                                 | nothing to do                        |
| a shipped name, a file, a folder                            | `sources.read_history`               |
| a storage URL, file or object, a study                      | the Optuna adapter, all of them at once |
| a `Store`                                                   | the Optuna adapter; may be empty     |
| a data frame                                                | `formats/frames.py`                  |
| a list of any of these                                      | each by itself, then put together    |
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from headstart._support.log import log
from headstart._support.wording import closest, some
from headstart.errors import ArgumentError, EmptyHistoryError, HeadstartError, HistoryError
from headstart.history.history import History
from headstart.history.reading import Reading
from headstart.history.sources import (
    applicable,
    check_options,
    is_storage,
    kind_of,
    read_history,
    read_space,
    tables_in,
)
from headstart.history.store import Store
from headstart.space import Space, as_space
from headstart.space.reconciliation import report
from headstart.space.unions import families, related, shared, union

KINDS = (
    "a History, the name of a shipped one, a file, a folder, a storage URL or object, a study, a data frame, a Store "
    "or a list of these"
)
OPTIONS = {"task", "value", "cost", "count", "step", "ignore", "direction", "studies"}  # only of functions that read


def read_past(
    past: Any,
    how: Reading | None = None,
    *,
    into: Space | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> History | None:
    """The past runs as one history; None if they are in a store that holds nothing suitable yet.

    how: the options for reading. into: the search space of the new run. Of a storage, only the studies that share its
    parameters are read, and the history is converted to it. attributes: of the new run, such as its model.
    """
    how = how or Reading()
    how = replace(how, space=read_space(how.space))
    found = sorted_out(past)
    check_options(how, {_name(part): _kind(part) for part in found.every})
    each = how if how.space is not None else replace(how, fill=None)  # else filled when they are put together
    histories = [_one(part, applicable(each, _kind(part))) for part in found.others]
    if found.storages:
        histories.append(_from_optuna(found.storages, how, into, attributes or {}))
    stored = [store.history(into if into is not None else how.space, how, attributes or {}) for store in found.stores]
    histories += [history for history in stored if history is not None]
    _check_renames(how.rename or {}, histories)
    return together(histories, into if into is not None else how.space, how.fill) if histories else None


def past_runs(
    past: Any,
    into: Any = None,
    *,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> History | None:
    """`read_past` for functions that take no options for reading but these: remedies say where the others are."""
    space = None if into is None else as_space(into)
    try:
        return read_past(past, Reading(rename=rename, fill=fill), into=space, attributes=attributes)
    except HeadstartError as error:
        if OPTIONS.isdisjoint(error.remedy.arguments):
            raise
        reader = "from_optuna" if "studies" in error.remedy.arguments else "from_csv or from_frame"
        raise type(error)(error.problem, f"{error.remedy} in hs.History.{reader}") from error


def required(history: History | None) -> History:
    """The history itself, where nothing can be done without past runs."""
    if history is None:
        raise EmptyHistoryError("there are no past runs yet: the store holds none")
    return history


# -- what it is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """A past, sorted by who reads it."""

    storages: list[Any] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)

    @property
    def every(self) -> list[Any]:
        return [*self.others, *self.storages, *self.stores]


def sorted_out(past: Any) -> Parts:
    """The parts of a past; an error if one of them is something else."""
    found = Parts()
    for part in _listed(past):
        if isinstance(part, Store):
            found.stores.append(part)
        elif _is_optuna(part) or (isinstance(part, (str, os.PathLike)) and is_storage(os.fspath(part))):
            found.storages.append(part)
        elif isinstance(part, (History, str, os.PathLike)) or _is_frame(part):
            found.others.append(part)
        else:
            start = " (a Start has no runs to learn from)" if type(part).__name__ == "Start" else ""
            raise ArgumentError(f"past runs must be {KINDS}, but got {type(part).__name__}: {part!r:.80}{start}")
    return found


def _listed(past: Any) -> list[Any]:
    if not isinstance(past, (list, tuple)):
        return [past]
    if not past:
        raise ArgumentError("the list of past runs is empty", "name at least one source")
    return [one for part in past for one in _listed(part)]


def _is_optuna(part: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "optuna" for kind in type(part).__mro__)


def _kind(part: Any) -> str:
    """The kind of a part, in the words of `sources.OPEN_IN`."""
    if isinstance(part, (str, os.PathLike)):
        return "tables" if tables_in(part) else kind_of(os.fspath(part))
    if isinstance(part, History):
        return "histories"
    return "tables" if _is_frame(part) else "Optuna storages"


def _name(part: Any) -> str:
    return os.fspath(part) if isinstance(part, (str, os.PathLike)) else f"the {type(part).__name__}"


def _is_frame(part: Any) -> bool:
    names = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(part).__mro__]
    return ("pandas", "DataFrame") in names


# -- reading ---------------------------------------------------------------------------------------------------


def _one(part: Any, how: Reading) -> History:
    """A history, a file or a frame, with the new names of its parameters."""
    if isinstance(part, History):
        return _renamed(part, how)
    if not isinstance(part, (str, os.PathLike)):
        from headstart.history.formats.steps import read_table

        return History.from_evaluations(read_table(part, how))
    tables = tables_in(part)
    if not tables:
        return read_history(os.fspath(part), how)
    try:
        histories = [read_history(os.fspath(path), applicable(how, kind_of(path.name))) for path in tables]
        return together(histories, how.space, how.fill)
    except HeadstartError as error:
        problem = f"{os.fspath(part)} was taken for a folder of tables, but {error.problem}"
        raise type(error)(problem, error.remedy.text) from error


def _renamed(history: History, how: Reading) -> History:
    return history.renamed({old: new for old, new in (how.rename or {}).items() if old in history.space})


def _from_optuna(parts: Sequence[Any], how: Reading, into: Space | None, attributes: Mapping[str, Any]) -> History:
    adapter = import_module("headstart.adapters.optuna.reading")  # by name, because adapters may import histories
    history: History = adapter.read_as(parts[0] if len(parts) == 1 else list(parts), how, into, attributes)
    return history


def _check_renames(rename: Mapping[str, str], histories: Sequence[History]) -> None:
    """Every new name must be that of a parameter now, or the renaming did nothing."""
    there = sorted({name for history in histories for name in history.space})
    for old, new in rename.items():
        if histories and new not in there:
            hint = closest(old, there) or f" (the parameters are {some(there)})"
            raise ArgumentError(f"cannot rename {old!r} to {new!r}: the past runs have no parameter {old!r}{hint}")


# -- putting together ------------------------------------------------------------------------------------------


def together(histories: Sequence[History], into: Space | None, fill: Mapping[str, Any] | None = None) -> History:
    """One history of all tasks, in the space `into` or else in the union of their spaces."""
    if into is None:
        _check_related(histories)
        into = union([history.space for history in histories])
    merged, *others = (fitting(history, into, fill) for history in histories)
    for history in others:
        clash = [
            name
            for name in history.tasks
            if name in merged.by_name and merged.direction_of(name) != history.direction_of(name)
        ]
        merged = merged.merge(history.with_task_names({name: f"{name} (2)" for name in clash}))
    return merged


def _check_related(histories: Sequence[History]) -> None:
    groups = families({str(i): history.space for i, history in enumerate(histories)})
    if len(groups) > 1:
        kinds = "; ".join(some(list(histories[int(group[0])].space), 4) for group in groups[:3])
        raise HistoryError(
            f"the past runs are of different models, with these parameters: {kinds}",
            "read them one by one, or pass the parameters that count with {space}",
        )


def fitting(history: History, space: Space, fill: Mapping[str, Any] | None = None) -> History:
    """The history converted to a space; the changes are logged."""
    if history.space == space and not fill:
        return history
    if not shared(space, history.space):
        raise HistoryError(
            f"the history shares no parameter with the search space (it has {some(list(history.space))}; the space has "
            f"{some(list(space))})",
            "if only the names differ, pass {rename}",
        )
    converted, changes = history.moved_to(space, fill=fill)
    if any(change.altered for change in changes):
        little = "" if related(space, history.space) else " and little in common with it"
        log.warning("the history has another search space%s; converted:\n%s", little, report(changes))
    return converted
