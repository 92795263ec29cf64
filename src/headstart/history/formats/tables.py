"""Histories as tables: data frames and CSV files."""

from __future__ import annotations

import csv
import functools
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstart._support.direction import DIRECTIONS
from headstart._support.files import existing, replacing
from headstart._support.types import Array, Mask
from headstart._support.wording import closest, counted, some
from headstart.errors import HistoryError
from headstart.history.formats import took_and_left
from headstart.history.history import History, build
from headstart.history.task import Features
from headstart.space import Categorical, Int, Space, as_space, infer_space
from headstart.space.parameters import as_scalar

_EMPTY = {"", "nan", "NaN", "NA", "<NA>"}  # cells of a CSV file that hold nothing
_TRUTHS = {"True": True, "False": False, "true": True, "false": False}


@dataclass(frozen=True)
class Columns:
    """Which columns hold the task's name, the result, what it cost, and of how many evaluations it is the mean."""

    task: str = "task"
    value: str = "value"
    cost: str | None = None
    count: str | None = None

    @property
    def named(self) -> list[str]:
        return [name for name in astuple(self) if name is not None]


@dataclass(frozen=True)
class Source:
    """Where a table comes from, for messages: its name, what its rows are called, and the number of the first."""

    name: str = "the table"
    row: str = "row"
    first: int = 0

    def first_cell(self, bad: Mask, column: str) -> tuple[str, str]:
        """Where the first bad cell is, and how many more there are."""
        row, more = int(np.flatnonzero(bad)[0]), int(bad.sum()) - 1
        return f"{self.row} {self.first + row}, column {column!r}", f" (and {more:,} more)" if more else ""


# -- data frames ---------------------------------------------------------------------------------------------


def from_frame(
    frame: pd.DataFrame,
    space: Any,
    columns: Columns,
    *,
    features: pd.DataFrame | None = None,
    direction: str = "minimize",
    info: Mapping[str, Any] | None = None,
    ignore: Collection[str] = (),
    source: Source | None = None,
) -> History:
    """See `History.from_frame`."""
    source = source or Source()
    space = _told(frame, columns, ignore, source) if space is None else as_space(space)
    if direction not in DIRECTIONS:
        raise HistoryError(f"direction must be 'minimize' or 'maximize', but got {direction!r}")
    _check_columns(frame, [*columns.named, *space], source, columns)
    names = _task_names(frame, columns.task, source)
    values = _numbers(frame, columns.value, source)
    V, surplus = space.parse(frame, row_name=source.row, first=source.first)
    by_task, unused = _read_features(features, set(names))
    history = build(
        space,
        tasks=names,
        V=V,
        losses=values if direction == "minimize" else -values,
        counts=_counts(frame, columns.count, source) if columns.count else None,
        costs=_numbers(frame, columns.cost, source) if columns.cost else None,
        features=by_task,
        direction=direction,
        info=info,
    )
    took = f"{counted(len(frame), 'evaluation')} of {counted(len(history.V), 'configuration')}"
    took += f" on {counted(len(history), 'task')} from {source.name}"
    if repeats := len(frame) - sum(len(t) for t in history):
        took += f"; averaged {counted(repeats, 'repeat')}"
    if failed := int(np.isnan(values).sum()):
        took += f"; {counted(failed, 'trial')} without a value taken as failed"
    left = [f"{counted(int(bad.sum()), 'value')} of {name!r} where it is inactive" for name, bad in surplus.items()]
    if others := [str(c) for c in frame.columns if c not in {*columns.named, *space}]:
        left.append(f"the columns {some(others)}")
    if unused:
        left.append(f"the features of {some(unused)}, which are not among the tasks")
    return history.with_notes(*took_and_left(took, left))


def _told(frame: pd.DataFrame, columns: Columns, ignore: Collection[str], source: Source) -> Space:
    """The space of the columns that are left."""
    ignore = [ignore] if isinstance(ignore, str) else ignore
    _check_columns(frame, [*columns.named, *ignore], source, columns)
    if odd := [name for name in frame.columns if not isinstance(name, str)]:
        raise HistoryError(f"a parameter's name is text, but a column is called {odd[0]!r}: frame.rename(columns=str)")
    return infer_space(frame, [*columns.named, *ignore])


def _check_columns(frame: pd.DataFrame, needed: Sequence[str], source: Source, columns: Columns) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise HistoryError(f"a history is made from a pandas DataFrame, but got {type(frame).__name__}")
    there = list(frame.columns)
    if twice := [name for name in there if there.count(name) > 1]:
        raise HistoryError(f"{source.name} has the column {twice[0]!r} more than once")
    if shared := [name for name in needed if needed.count(name) > 1]:
        raise HistoryError(f"the column {shared[0]!r} is asked for twice; task, value and parameters need their own")
    if absent := [name for name in needed if name not in there]:
        labels = list(map(str, there))
        role = next((role for role, name in asdict(columns).items() if name == absent[0]), None)
        remedy = f"; name the one that holds the {role} with {role}=" if role else ""
        raise HistoryError(
            f"{source.name} has no column {absent[0]!r}{closest(absent[0], labels)} "
            f"(columns: {', '.join(labels) or 'none'}){remedy}"
        )
    if not len(frame):
        raise HistoryError(f"{source.name} is empty: there is no row below the header")


def _task_names(frame: pd.DataFrame, column: str, source: Source) -> npt.NDArray[Any]:
    missing = frame[column].isna().to_numpy()
    if missing.any():
        where, more = source.first_cell(missing, column)
        raise HistoryError(f"{where}: the task has no name{more}")
    return frame[column].astype(str).to_numpy(dtype=object)


def _numbers(frame: pd.DataFrame, column: str, source: Source) -> Array:
    """A column as floats, NaN where it is empty; text, truth values and infinities are refused."""
    cells = frame[column]
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = np.isnan(numbers) & cells.notna().to_numpy()
    if not pd.api.types.is_numeric_dtype(cells.dtype) or cells.dtype == bool:
        bad |= np.array([isinstance(cell, (str, bool, np.bool_)) for cell in cells])
    if bad.any():
        where, more = source.first_cell(bad, column)
        raise HistoryError(
            f"{where}: {as_scalar(cells[bad].iloc[0])!r} is not a number{more}; leave the cell empty if there is none"
        )
    if (infinite := np.isinf(numbers)).any():
        where, more = source.first_cell(infinite, column)
        raise HistoryError(f"{where}: the value is infinite{more}; leave the cell empty if the trial failed")
    return numbers


def _counts(frame: pd.DataFrame, column: str, source: Source) -> npt.NDArray[np.int64]:
    numbers = _numbers(frame, column, source)
    bad = ~((numbers >= 1) & (numbers == np.rint(numbers)))
    if bad.any():
        where, more = source.first_cell(bad, column)
        raise HistoryError(f"{where}: a count is a whole number from 1, but got {numbers[bad][0]:g}{more}")
    return numbers.astype(np.int64)


def _read_features(features: Any, tasks: set[Any]) -> tuple[dict[str, Features], list[str]]:
    """The features of the tasks, without the missing ones, and the names that are no task."""
    if features is None:
        return {}, []
    if isinstance(features, Mapping) and all(isinstance(row, Mapping) for row in features.values()):
        features = pd.DataFrame.from_dict(dict(features), orient="index")
    if not isinstance(features, pd.DataFrame):
        raise HistoryError(
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
        raise HistoryError(f"feature {name!r} of task {task!r} is {value!r}; leave it empty if it is unknown")
    return number


def to_frame(history: History) -> pd.DataFrame:
    """See `History.to_frame`. A result whose name is that of a parameter gets an underscore: `value_`."""
    rows = np.concatenate([task.rows for task in history])
    sizes = [len(task) for task in history]
    columns: dict[str, Any] = {_free("task", history.space): np.repeat(np.array(history.tasks, object), sizes)}
    for j, (name, parameter) in enumerate(history.space.items()):
        v = history.V[rows, j]
        if isinstance(parameter, Categorical):
            choices = np.array([*parameter.choices, None], dtype=object)  # the last one: inactive
            columns[name] = pd.Series(choices[np.where(np.isnan(v), -1, v).astype(int)], dtype=object)
        elif isinstance(parameter, Int):
            columns[name] = pd.array(np.where(np.isnan(v), 0, v).astype(np.int64), dtype="Int64")
            columns[name][np.isnan(v)] = pd.NA
        else:
            columns[name] = v
    columns |= {_free(name, history.space): column for name, column in results(history).items()}
    return pd.DataFrame(columns)


def _free(name: str, space: Space) -> str:
    return name if name not in space else _free(f"{name}_", space)


def results(history: History) -> dict[str, npt.NDArray[Any]]:
    """The values in the user's direction, the counts, and the costs if there are any; one entry per evaluation."""
    losses = np.concatenate([task.losses for task in history])
    columns: dict[str, npt.NDArray[Any]] = {
        "value": losses if history.direction == "minimize" else -losses,
        "count": np.concatenate([task.counts for task in history]),
    }
    if any(task.costs is not None for task in history):
        blank = [np.full(len(task), np.nan) if task.costs is None else task.costs for task in history]
        columns["cost"] = np.concatenate(blank)
    return columns


# -- CSV -----------------------------------------------------------------------------------------------------


def write_csv(history: History, path: str | os.PathLike[str]) -> None:
    """The table of `to_frame`, if every choice can be told from the others and from an empty cell."""
    for name, parameter in history.space.items():
        if isinstance(parameter, Categorical):
            texts = [str(choice) for choice in parameter.choices if choice is not None]
            if odd := [text for text in texts if text == "" or texts.count(text) > 1]:
                raise HistoryError(
                    f"the choice {odd[0]!r} of {name!r} would be ambiguous in a CSV file; save as .parquet"
                )
    with replacing(path) as temporary:
        to_frame(history).to_csv(temporary, index=False)


def read_csv(
    path: str | os.PathLike[str],
    space: Any,
    columns: Columns,
    *,
    ignore: Collection[str] = (),
    features: pd.DataFrame | None = None,
    direction: str = "minimize",
    info: Mapping[str, Any] | None = None,
) -> History:
    """See `History.from_csv`."""
    path = existing(path)
    layout = _check_lines(path)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
    frame.columns = pd.Index(layout.header)
    frame = frame.loc[:, [bool(name) for name in layout.header]]
    source = Source(path.name, *((f"{path.name}, line", 2) if layout.row_per_line else (f"{path.name}, row", 1)))
    space = None if space is None else as_space(space)
    given, columns = columns, _as_saved(frame, columns, {*ignore, *(space or ())})
    space = _told(_typed(frame), columns, ignore, source) if space is None else space
    for name in frame.columns:
        parameter = space.get(name)
        if isinstance(parameter, Categorical):
            frame[name] = _read_text(frame[name], parameter)
        elif parameter is not None or name in (columns.value, columns.cost, columns.count):
            frame[name] = _read_text(frame[name], None)
        elif name == columns.task:
            frame[name] = frame[name].mask(frame[name] == "")
    history = from_frame(frame, space, columns, features=features, direction=direction, info=info, source=source)
    if columns != given:
        history = history.with_notes(
            "took the last columns as History.save writes them: " + ", ".join(columns.named[2:])
        )
    if nameless := layout.header.count(""):
        history = history.with_notes(f"left out {counted(nameless, 'column')} without a name")
    if not layout.complete:
        history = history.with_notes(f"the last line of {path.name} has no line end; check that it is complete")
    return history


class _Layout(NamedTuple):
    """A CSV file's header, whether each of its rows is one line, and whether the last one has an end."""

    header: list[str]
    row_per_line: bool
    complete: bool


def _check_lines(path: Path) -> _Layout:
    """How a CSV file is laid out, after looking for double columns and torn rows."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next((row for row in reader if row), None)
            if header is None:
                raise HistoryError(f"{path.name} is empty")
            _check_separator(header, path)
            rows = 1
            for row in reader:
                rows += bool(row)
                if row and len(row) != len(header):
                    raise HistoryError(
                        f"{path.name}, line {reader.line_num}: {len(row)} fields instead of {len(header)}; "
                        "the file is damaged or was cut off"
                    )
        except (csv.Error, UnicodeDecodeError) as error:
            raise HistoryError(f"{path.name} is not a readable CSV file or was cut off: {error}") from error
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise HistoryError(f"{path.name} has the column {twice[0]!r} more than once")
    with path.open("rb") as binary:
        binary.seek(-1, os.SEEK_END)
        return _Layout(header, rows == reader.line_num, binary.read() in b"\r\n")


def _check_separator(header: Sequence[str], path: Path) -> None:
    found = [mark for mark in (";", "\t", "|") if len(header) == 1 and mark in header[0]]
    if found:
        raise HistoryError(
            f"the columns of {path.name} are separated by {found[0]!r} instead of commas; save it with commas"
        )


def _as_saved(frame: pd.DataFrame, columns: Columns, said: Collection[str]) -> Columns:
    """The columns with those of counts and costs, if `History.save` wrote the file and nothing else is said of them."""
    header = list(frame.columns)
    for extra in (["count"], ["count", "cost"]):
        if header[:1] == ["task"] and header[-1 - len(extra) :] == ["value", *extra]:
            whole = frame["count"].str.fullmatch(r"[1-9][0-9]*").all()
            free = [name for name in extra if name not in said and getattr(columns, name) is None]
            same = (columns.task, columns.value) == ("task", "value")
            return replace(columns, **{name: name for name in free}) if same and whole else columns
    return columns


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of text with numbers, True and False where a whole column has nothing else."""
    return pd.DataFrame({name: _typed_column(frame[name]) for name in frame.columns})


def _typed_column(cells: pd.Series[Any]) -> pd.Series[Any]:
    numbers = _read_text(cells, None)
    if not any(isinstance(cell, str) for cell in numbers):
        return numbers
    truths = cells.map({**_TRUTHS, **dict.fromkeys(_EMPTY)}).astype(object)
    return truths if cells.isin([*_TRUTHS, *_EMPTY]).all() else cells.mask(cells.isin(list(_EMPTY)))


def _read_text(cells: pd.Series[Any], parameter: Categorical | None) -> pd.Series[Any]:
    """Text as the choice or (without choices) the number it stands for; what is neither stays text."""
    read = _as_number if parameter is None else functools.partial(_as_choice, parameter)
    return cells.map({text: read(text) for text in cells.unique()})


def _as_number(text: str) -> float | str | None:
    if text.strip() in _EMPTY:
        return None
    if "_" in text or not text.isascii():  # Python reads 64_32 as a number, people do not
        return text
    try:
        return float(text)
    except ValueError:
        return text


def _as_choice(parameter: Categorical, text: str) -> Any:
    """The choice that a cell stands for: text as it is, anything else as Python or JSON writes it."""
    if text in parameter.choices or text in _EMPTY:
        return text if text in parameter.choices else None
    for choice in parameter.choices:
        if text in (str(choice), json.dumps(choice)):
            return choice
    number = _as_number(text)
    return number if parameter.contains(number) else text
