"""Histories as data frames with one row per evaluation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstart._support.direction import OPPOSITE, direction_in, turned
from headstart._support.log import log
from headstart._support.types import Array, Mask
from headstart._support.wording import closest, counted, some
from headstart.errors import ArgumentError, HistoryError
from headstart.history.evaluations import Evaluations
from headstart.history.formats.tidying import BadCells, misfits, not_parameters, results, stray
from headstart.history.reading import Reading
from headstart.history.task import Features
from headstart.space import Categorical, Int, Space, as_space, infer_space
from headstart.space.scalars import as_scalar


@dataclass(frozen=True)
class Source:
    """How messages speak of a table: its name, the word for a row, and the number of the first row."""

    name: str = "the table"
    row: str = "row"
    first: int = 0

    def first_cell(self, bad: Mask, column: str) -> tuple[str, str]:
        """Where the first bad cell is, and how many more there are."""
        row, more = int(np.flatnonzero(bad)[0]), int(bad.sum()) - 1
        return f"{self.row} {self.first + row}, column {column!r}", f" (and {more:,} more)" if more else ""


TABLE = Source()
WIDEST = 2000  # columns that may become parameters of a space that is inferred; each is looked at several times
MOST = 2**53  # the highest count; beyond it, floats skip whole numbers
NO_NUMBERS = (str, bool, np.bool_, date, timedelta, np.datetime64, np.timedelta64)  # that pandas may take for some
LISTED = 20  # columns that an error message names


# -- reading -------------------------------------------------------------------------------------------------


def read_frame(
    frame: pd.DataFrame,
    how: Reading,
    *,
    features: Any = None,
    info: Mapping[str, Any] | None = None,
    source: Source = TABLE,
    notes: Sequence[str] = (),
) -> Evaluations:
    """See `History.from_frame`; notes: lines to add to those of the history."""
    given = None if how.space is None else as_space(how.space)
    frame = reconciled(frame, how, given)
    check_columns(frame, [*how.columns.values(), *(given if given is not None else how.ignore)], how, source)
    how, more = as_saved(replace(how, space=given), list(frame.columns), frame.get("count", ()))
    notes = [*notes, *more]
    _check_names(frame, given)
    if given is None and (wide := len(_unnamed(frame, how))) > WIDEST:
        raise ArgumentError(
            f"{source.name} has {wide:,} columns that could be parameters; at most {WIDEST:,} are looked at",
            "name the parameters with {space}, or the other columns with {ignore}",
        )
    others = {} if given is not None else not_parameters(frame, _unnamed(frame, how))
    frame, dropped = _without_bad_rows(frame, how, source, given, others)
    space = infer_space(frame, [*how.columns.values(), *how.ignore, *others]) if given is None else given
    tasks = frame[how.task].astype(str).to_numpy(dtype=object)
    values, _ = results(frame[how.value])
    V, surplus = space.parse(frame, row_name=source.row, first=source.first)
    by_task, unused = _read_features(features, set(tasks))
    skipped = [f"{counted(int(bad.sum()), 'value')} of {name!r} where it is inactive" for name, bad in surplus.items()]
    skipped += [f"the column {name!r} ({why})" for name, why in others.items()]
    used = {*how.columns.values(), *space, *others}
    if unused_columns := [str(c) for c in frame.columns if c not in used]:
        skipped.append(f"the columns {some(unused_columns)}")
    if dropped is not None:
        skipped.append(str(dropped).replace(" cannot be used:", ":"))
    if unused:
        skipped.append(f"the features of {some(unused)}, which are not among the tasks")
    direction = _direction(how)
    costs = _costs(frame, how.cost, source) if how.cost else None
    return Evaluations(
        space,
        tasks,
        V,
        turned(values, direction),
        _counts(frame, how.count, source) if how.count else np.ones(len(frame), dtype=np.int64),
        costs=costs,
        features=by_task,
        direction=direction,
        info=info or {},
        notes=[*notes, _summary(values, how, direction), *_about(costs)],
        source=source.name,
        skipped=skipped,
    )


def as_saved(how: Reading, header: Sequence[Any], counts: Iterable[Any]) -> tuple[Reading, list[str]]:
    """The same options with the last columns of `to_frame`, counts and costs, if no option names them; and a note.

    counts: what the column of counts holds, if there is one.
    """
    for extra in (["count"], ["count", "cost"]):
        if list(header[:1]) == [how.task] and list(header[-1 - len(extra) :]) == [how.value, *extra]:
            settled = {*how.ignore, *(how.space or ()), *how.columns, *how.columns.values()}
            free: dict[str, Any] = {name: name for name in extra if name not in settled}
            sure = "cost" in extra or (how.task, how.value) == ("task", "value")  # one column alone may be anything
            if free and sure and all(re.fullmatch("[1-9][0-9]*", str(count)) for count in counts):
                return replace(how, **free), [f"read the last columns as History.save writes them: {', '.join(free)}"]
    return how, []


def reconciled(frame: Any, how: Reading, space: Space | None) -> Any:
    """The table with new names of columns, and with columns for parameters of the space that it lacks."""
    if not isinstance(frame, pd.DataFrame) or not (how.rename or how.fill):
        return frame
    frame = frame.rename(columns=dict(how.rename or {}))
    lacking = {name: value for name, value in (how.fill or {}).items() if name not in frame.columns}
    if unknown := [name for name in lacking if space is None or name not in space]:
        has = ", ".join(space or [str(c) for c in frame.columns])
        raise ArgumentError(f"cannot fill {unknown[0]!r}: the search space has {has}", "describe it with {space}")
    return frame.assign(**lacking)


def _direction(how: Reading) -> str:
    """The direction of the results: as given, or else inferred from the name of their column."""
    found = direction_in(how.value)
    if how.direction is not None:
        if found == OPPOSITE[how.direction]:
            better = "lower" if how.direction == "minimize" else "higher"
            log.warning("%s results in %r count as better, as given, but its name says the opposite", better, how.value)
        return how.direction
    if found == "unclear":
        raise HistoryError(
            f"the column {how.value!r} does not say whether lower or higher results are better",
            "say 'minimize' or 'maximize' with {direction}",
        )
    return found or "minimize"


def _summary(values: Array, how: Reading, direction: str) -> str:
    """What was understood of the results, in a line."""
    known = values[np.isfinite(values)]
    span = f" from {known.min():g} to {known.max():g}" if len(known) else ""
    better = "lower" if direction == "minimize" else "higher"
    inferred = ", as the name of the column says" if how.direction is None and direction_in(how.value) else ""
    return f"the results are {how.value!r}{span}; {better} is better{inferred}"


def _unnamed(frame: pd.DataFrame, how: Reading) -> list[str]:
    """The columns that no option names."""
    named = {*how.columns.values(), *how.ignore}
    return [name for name in frame.columns if name not in named]


def _check_names(frame: pd.DataFrame, space: Space | None) -> None:
    if space is None and (odd := [name for name in frame.columns if not isinstance(name, str)]):
        raise HistoryError(
            f"the name of a parameter must be text, but a column is called {odd[0]!r}",
            "rename the columns: frame.rename(columns=str)",
        )


def _without_bad_rows(
    frame: pd.DataFrame, how: Reading, source: Source, space: Space | None, others: Collection[str]
) -> tuple[pd.DataFrame, BadCells | None]:
    """The table without the rows that cannot be used, if the options allow that; all of them in one error if not."""
    found = BadCells(np.zeros(len(frame), dtype=bool))

    def add(bad: Mask, column: str, what: str) -> None:
        if bad.any():
            found.add(bad, source.row, column, frame[column], what, source.first)

    add(frame[how.task].isna().to_numpy(), how.task, "the task has no name")
    add(results(frame[how.value])[1], how.value, "is not a number")
    if space is None:
        for name in _unnamed(frame, how):
            if name not in others:
                text, empty = stray(frame[name])
                add(text, name, "is not a number, as in the other rows")
                add(empty, name, "the cell is empty, unlike in the other rows")
    elif how.skip_bad_rows:  # else the space itself rejects the first one
        for name in space:
            add(misfits(frame[name], name, space), name, f"is not in {space[name].describe()}")
    if not found.count:
        return frame, None
    if not how.skip_bad_rows:
        remedy = "correct them (leave the cell empty if a trial has no result), or skip them with {skip_bad_rows}"
        raise HistoryError(str(found), remedy)
    if found.rows.all():
        raise HistoryError(f"no row of {source.name} can be used: {found}")
    kept = frame[~found.rows].reset_index(drop=True)
    return kept.infer_objects(), found


def check_columns(frame: pd.DataFrame, needed: Sequence[str], how: Reading, source: Source) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentError(f"a history is made from a pandas DataFrame, but got {type(frame).__name__}")
    there = list(frame.columns)
    if not frame.columns.is_unique:
        twice = there[int(np.argmax(frame.columns.duplicated()))]
        raise HistoryError(f"{source.name} has the column {twice!r} more than once")
    if shared := [name for name in needed if needed.count(name) > 1]:
        raise HistoryError(
            f"the column {shared[0]!r} is used twice",
            "the task, the value and every parameter need a column of their own",
        )
    if absent := [name for name in needed if name not in there]:
        labels = list(map(str, there))
        role = next((role for role, name in how.columns.items() if name == absent[0]), None)
        raise HistoryError(
            f"{source.name} has no column {absent[0]!r}{closest(absent[0], labels)} "
            f"(columns: {some(labels, LISTED) or 'none'})",
            f"name the column that holds the {role} with {{{role}}}" if role else "",
        )
    if not len(frame):
        raise HistoryError(f"{source.name} is empty: there is no row below the header")


def numbers_in(frame: pd.DataFrame, column: str, source: Source) -> Array:
    """A column as floats, NaN where it is empty; rejects text, truth values and infinities."""
    cells = frame[column]
    if cells.dtype.kind in "mM":  # pandas would take dates and durations for nanoseconds
        cells = cells.astype(str).where(cells.notna())
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = np.isnan(numbers) & cells.notna().to_numpy()
    if not pd.api.types.is_numeric_dtype(cells.dtype) or cells.dtype == bool:
        bad |= np.array([isinstance(cell, NO_NUMBERS) for cell in cells])
    if bad.any():
        where, more = source.first_cell(bad, column)
        raise HistoryError(
            f"{where}: {as_scalar(cells[bad].iloc[0])!r} is not a number{more}",
            "leave the cell empty if there is none",
        )
    if (infinite := np.isinf(numbers)).any():
        where, more = source.first_cell(infinite, column)
        raise HistoryError(f"{where}: the value is infinite{more}", "leave the cell empty if there is none")
    return numbers


def _costs(frame: pd.DataFrame, column: str, source: Source) -> Array:
    """A column of costs; durations are turned into seconds."""
    if frame[column].dtype.kind == "m":
        frame = frame.assign(**{column: frame[column].dt.total_seconds()})
    numbers = numbers_in(frame, column, source)
    if (bad := numbers < 0).any():
        where, more = source.first_cell(bad, column)
        problem = f"{where}: a cost must not be negative, but got {numbers[bad][0]:g}{more}"
        raise HistoryError(problem, "leave the cell empty if it is unknown")
    return numbers


def _about(costs: Array | None) -> list[str]:
    """What is to be said about costs that are missing or zero."""
    if costs is None:
        return []
    unknown, zero = int(np.isnan(costs).sum()), int((costs == 0).sum())
    said = [f"{counted(unknown, 'evaluation')} without a cost"] if unknown else []
    if 0 < zero < len(costs) - unknown:
        said.append(f"{counted(zero, 'cost')} of 0: counted as the smallest other one of the task")
    elif zero:
        said.append("no cost above 0, so nothing is known of them")
    return said


def _counts(frame: pd.DataFrame, column: str, source: Source) -> npt.NDArray[np.int64]:
    numbers = numbers_in(frame, column, source)
    bad = ~((numbers >= 1) & (numbers <= MOST) & (numbers == np.rint(numbers)))
    if bad.any():
        where, more = source.first_cell(bad, column)
        raise HistoryError(f"{where}: a count must be a whole number from 1 to 2^53, but got {numbers[bad][0]:g}{more}")
    return numbers.astype(np.int64)


def _read_features(features: Any, tasks: set[Any]) -> tuple[dict[str, Features], list[str]]:
    """The features of the tasks, without the missing ones, and the names that are no task."""
    if features is None:
        return {}, []
    if isinstance(features, Mapping) and all(isinstance(row, Mapping) for row in features.values()):
        features = pd.DataFrame.from_dict(dict(features), orient="index")
    if not isinstance(features, pd.DataFrame):
        raise ArgumentError(
            f"features must be a frame indexed by task, or a dict of dicts, but got {type(features).__name__}"
        )
    names = [str(name) for name in features.index]
    for what, labels in (("task", names), ("feature", list(map(str, features.columns)))):
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise HistoryError(f"features has the {what} {twice[0]!r} more than once")
    if not tasks & set(names):
        raise HistoryError("features must be a frame indexed by task, but no index entry is a task of this history")
    table = {
        name: {str(key): _feature(name, key, x) for key, x in row.items() if not pd.isna(x)}
        for name, row in zip(names, features.to_dict("records"), strict=True)
        if name in tasks
    }
    return dict(table), [name for name in names if name not in tasks]


def _feature(task: str, name: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise HistoryError(f"feature {name!r} of task {task!r} must be a number, but got {value!r}") from None
    if not np.isfinite(number):
        raise HistoryError(f"feature {name!r} of task {task!r} is {value!r}", "leave it empty if it is unknown")
    return number


# -- writing -------------------------------------------------------------------------------------------------


def to_frame(runs: Evaluations) -> pd.DataFrame:
    """See `History.to_frame`. A result that shares its name with a parameter gets an underscore: `value_`."""
    columns: dict[str, Any] = {_free("task", runs.space): runs.tasks}
    for v, (name, parameter) in zip(runs.V.T, runs.space.items(), strict=True):
        inactive = np.isnan(v)
        if isinstance(parameter, Categorical):
            choices = np.array([*parameter.choices, None], dtype=object)  # the last one: inactive
            columns[name] = pd.Series(choices[np.where(inactive, -1, v).astype(int)], dtype=object)
        elif isinstance(parameter, Int):
            columns[name] = pd.array(np.where(inactive, 0, v).astype(np.int64), dtype="Int64")
            columns[name][inactive] = pd.NA
        else:
            columns[name] = v
    columns |= {_free(name, runs.space): column for name, column in result_columns(runs).items()}
    return pd.DataFrame(columns)


def _free(name: str, space: Space) -> str:
    return name if name not in space else _free(f"{name}_", space)


def result_columns(runs: Evaluations) -> dict[str, npt.NDArray[Any]]:
    """The values in the user's direction, the counts, and the costs if there are any."""
    columns: dict[str, npt.NDArray[Any]] = {"value": runs.values, "count": runs.counts}
    return columns if runs.costs is None else {**columns, "cost": runs.costs}
