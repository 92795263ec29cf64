"""CSV files: read in one pass, each column parsed once."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstart._support.files import existing, replacing
from headstart._support.types import Array
from headstart._support.wording import counted, some
from headstart.errors import FormatError, HistoryError
from headstart.history.evaluations import Evaluations
from headstart.history.formats.frames import Source, as_saved, to_frame
from headstart.history.formats.numbers import has_decimal_commas, without_decimal_commas, without_thousands
from headstart.history.formats.steps import read_table
from headstart.history.formats.tidying import is_rare
from headstart.history.reading import Reading
from headstart.space import Categorical, as_space

EMPTY = {"", "nan", "NaN", "NA", "<NA>"}  # cells that count as empty
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SNIFFED = 50  # lines from which the separator is inferred
TRUTHS = {"True": True, "False": False, "true": True, "false": False}


# -- writing -------------------------------------------------------------------------------------------------


def write_csv(runs: Evaluations, path: str | os.PathLike[str]) -> None:
    """The table of `to_frame`. Rejects choices that look the same as text, or like an empty cell."""
    if runs.directions:
        raise HistoryError("a CSV file cannot hold tasks of both directions", "save as .parquet")
    for name, parameter in runs.space.items():
        if isinstance(parameter, Categorical):
            texts = [str(choice) for choice in parameter.choices if choice is not None]
            if odd := [text for text in texts if text == "" or texts.count(text) > 1]:
                raise HistoryError(
                    f"the choice {odd[0]!r} of {name!r} would be ambiguous in a CSV file", "save as .parquet"
                )
    with replacing(path) as temporary:
        to_frame(runs).to_csv(temporary, index=False)


# -- reading -------------------------------------------------------------------------------------------------


def read_csv(
    path: str | os.PathLike[str], how: Reading, *, features: Any = None, info: Mapping[str, Any] | None = None
) -> Evaluations:
    """See `History.from_csv`."""
    text = _renamed(_read_text(existing(path)), how.rename or {})
    how = replace(how, rename=None)
    space = None if how.space is None else as_space(how.space)
    counts = text.columns["count"].cells if "count" in text.columns else ()
    how, saved = as_saved(replace(how, space=space), list(text.columns), counts)
    notes = [*text.notes, *saved]
    if text.nameless:
        notes.append(f"skipped {counted(text.nameless, 'column')} without a name")
    if not text.complete:
        notes.append(f"the last line of {text.source.name} has no line end; check that it is complete")
    text, more = _plain(text, how)
    notes += more
    frame = pd.DataFrame({name: column.parsed(_kind(name, how)) for name, column in text.columns.items()})
    return read_table(frame, how, features=features, info=info, source=text.source, notes=notes)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of text: its distinct cells, and for each row which of them it holds."""

    cells: Sequence[str]
    codes: npt.NDArray[np.int64]

    def parsed(self, kind: Kind) -> Array | pd.Series[Any]:
        """The column with every distinct cell parsed once: floats if all cells are numbers, objects otherwise."""
        values = _inferred(self.cells, np.bincount(self.codes)) if kind is _inferred else kind(self.cells)
        if all(value is None or type(value) is float for value in values):
            return np.array(values, dtype=float)[self.codes]
        return pd.Series(np.array(values, dtype=object)[self.codes], dtype=object)


@dataclass(frozen=True, eq=False)
class Text:
    """A CSV file as text: its columns by name, how many have no name, and whether the last line has an end."""

    source: Source
    columns: Mapping[str, Column]
    nameless: int
    complete: bool
    notes: Sequence[str] = ()
    separator: str = ","


def _read_text(path: Path) -> Text:
    """The file in one pass; rejects duplicate columns and incomplete rows."""
    content, encoding = _decoded(path)
    with io.StringIO(content, newline="") as file:
        separator = _separator(list(islice(file, SNIFFED)), path)
        file.seek(0)
        lines = _Lines(file)
        reader = csv.reader(lines, strict=True, delimiter=separator)
        try:
            header = next((row for row in reader if row), None)
            if header is None:
                raise FormatError(f"{path.name} is empty")
            _check_header(header, path.name)
            seen: list[dict[str, int]] = [{} for _ in header]
            codes = [array("q") for _ in header]
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise FormatError(
                        f"{path.name}, line {reader.line_num}: {len(row)} fields instead of {len(header)}; "
                        "the file is damaged or was cut off"
                    )
                for cells, column, cell in zip(seen, codes, row, strict=True):
                    column.append(cells.setdefault(cell, len(cells)))
        except csv.Error as error:
            raise FormatError(f"{path.name} is not a readable CSV file or was cut off: {error}") from error
    row_per_line = 1 + len(codes[0]) == reader.line_num
    source = Source(path.name, *((f"{path.name}, line", 2) if row_per_line else (f"{path.name}, row", 1)))
    columns = {
        name: Column(list(cells), np.array(column, dtype=np.int64))
        for name, cells, column in zip(header, seen, codes, strict=True)
        if name
    }
    notes = [] if separator == "," else [f"the columns are separated by {SEPARATORS[separator]}"]
    if encoding == "Windows-1252":
        notes.append(f"read {path.name} as {encoding}, since it is not UTF-8")
    return Text(source, columns, header.count(""), lines.last.endswith(("\n", "\r")), notes, separator)


def _renamed(text: Text, rename: Mapping[str, str]) -> Text:
    columns = {rename.get(name, name): column for name, column in text.columns.items()}
    if len(columns) < len(text.columns):
        raise HistoryError(f"after renaming, {text.source.name} has two columns of one name: {dict(rename)}")
    return replace(text, columns=columns)


def _decoded(path: Path) -> tuple[str, str]:
    """The text of a file and its encoding: UTF-8, UTF-16 if the file says so, otherwise that of Windows."""
    raw = path.read_bytes()
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig"), "UTF-16" if wide else "UTF-8"
    except UnicodeDecodeError as error:
        if wide or b"\0" in raw:
            raise FormatError(f"{path.name} is not a readable CSV file or was cut off: {error}") from error
        return raw.decode("windows-1252", errors="replace"), "Windows-1252"


def _separator(lines: Sequence[str], path: Path) -> str:
    """The separator that gives every line as many fields as the header, and the most of them; a comma if none does."""
    best, most = "\t" if path.suffix.lower() == ".tsv" else ",", 1
    for separator in SEPARATORS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=separator, strict=True) if row]
        except csv.Error:
            continue
        if rows and len(rows[0]) > most and all(len(row) == len(rows[0]) for row in rows):
            best, most = separator, len(rows[0])
    return best


class _Lines:
    """The lines of a file; `last` is the latest."""

    def __init__(self, file: Iterable[str]) -> None:
        self._file, self.last = file, ""

    def __iter__(self) -> Iterator[str]:
        for line in self._file:
            self.last = line
            yield line


def _check_header(header: Sequence[str], name: str) -> None:
    if twice := [column for column, times in Counter(header).items() if column and times > 1]:
        raise HistoryError(f"{name} has the column {twice[0]!r} more than once")


def _plain(text: Text, how: Reading) -> tuple[Text, list[str]]:
    """The file with numbers written as Python writes them, and a note if that changed anything."""
    fixed = {name for name in text.columns if name == how.task or name in how.ignore}
    if how.space is not None:
        fixed |= {name for name, parameter in how.space.items() if isinstance(parameter, Categorical)}
    numeric = {name: column for name, column in text.columns.items() if name not in fixed}
    commas = has_decimal_commas([column.cells for column in numeric.values()], text.separator)
    change = without_decimal_commas if commas else without_thousands
    plain = {name: replace(column, cells=change(column.cells)) for name, column in numeric.items()}
    grouped = [name for name, column in plain.items() if column.cells != list(numeric[name].cells)]
    if not grouped:
        return text, []
    what = "a comma is the decimal mark" if commas else f"read thousands such as 1,000 as numbers in {some(grouped)}"
    return replace(text, columns={**text.columns, **plain}), [what]


# -- parsing -------------------------------------------------------------------------------------------------

Kind: TypeAlias = Callable[[Sequence[str]], list[Any]]
"""Turns the distinct cells of a column into values; None stands for an empty cell."""


def _kind(name: str, how: Reading) -> Kind:
    """How to parse a column: by its parameter, by the option that names it, or by what its cells look like."""
    parameter = None if how.space is None else how.space.get(name)
    roles = [role for role, column in how.columns.items() if column == name]
    if isinstance(parameter, Categorical):
        return partial(_choices, parameter)
    if parameter is not None or {"value", "cost", "count", "step"}.intersection(roles):
        return _numbers
    if "task" in roles:
        return _names
    return _inferred if how.space is None and name not in how.ignore else list


def _names(cells: Sequence[str]) -> list[Any]:
    return [cell or None for cell in cells]


def _numbers(cells: Sequence[str]) -> list[Any]:
    return [_as_number(cell) for cell in cells]


def _choices(parameter: Categorical, cells: Sequence[str]) -> list[Any]:
    return [_as_choice(parameter, cell) for cell in cells]


def _inferred(cells: Sequence[str], counts: npt.NDArray[np.int64] | None = None) -> list[Any]:
    """Numbers, or True and False, if the whole column has nothing else; otherwise text.

    counts: how often each cell occurs. Rare texts among numbers leave the numbers as they are; `read_frame` lists them.
    """
    numbers = _numbers(cells)
    text = np.array([isinstance(number, str) for number in numbers], dtype=bool)
    if not text.any():
        return numbers
    if counts is not None and is_rare(int(counts[text].sum()), int(counts[[n is not None for n in numbers]].sum())):
        return numbers
    table = TRUTHS if all(cell in TRUTHS or cell in EMPTY for cell in cells) else {}
    return [None if cell in EMPTY else table.get(cell, cell) for cell in cells]


def _as_number(text: str) -> float | str | None:
    """The number that a cell holds; any other text stays text."""
    if text.strip() in EMPTY:
        return None
    if "_" in text or not text.isascii():  # Python reads 64_32 as a number, but here it is text
        return text
    try:
        return float(text)
    except ValueError:
        return text


def _as_choice(parameter: Categorical, text: str) -> Any:
    """The choice that a cell stands for: text as it is, anything else as Python or JSON writes it."""
    if text in parameter.choices or text in EMPTY:
        return text if text in parameter.choices else None
    for choice in parameter.choices:
        if text in (str(choice), json.dumps(choice)):
            return choice
    number = _as_number(text)
    return number if parameter.contains(number) else text
