"""Tables as people have them: results of failed trials, cells that cannot be used, columns that are no parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.types import Array, Mask
from headstart.space import Space
from headstart.space.scalars import as_scalar, is_missing

# What people write instead of the result of a failed trial.
FAILED = {
    "", "-", "--", "?", "aborted", "crash", "crashed", "diverged", "err", "error", "fail", "failed", "inf", "infinity",
    "killed", "n/a", "na", "nan", "none", "null", "oom", "timeout",
}  # fmt: skip
FEW = 0.05  # share of the rows in which text among numbers is taken for a mistake
EMPTY = 0.01  # share of the rows in which an empty cell is taken for a mistake, not for an inactive parameter
ENOUGH = 10  # rows from which on a column can be seen to hold ids
SHOWN = 5  # cells that a message lists

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?|\d\d?[./]\d\d?[./]\d{4}( .*)?")


@dataclass
class BadCells:
    """Cells that cannot be used: whether each row has one, and the first few of them in words."""

    rows: Mask
    texts: list[str] = field(default_factory=list)

    def add(self, bad: Mask, where: str, column: str, cells: Any, what: str, first: int) -> None:
        """where: the word for a row, and `first` the number of the first one. what: what is wrong."""
        self.rows |= bad
        for row in np.flatnonzero(bad)[: SHOWN + 1 - len(self.texts)]:
            cell = as_scalar(cells.iloc[row])
            said = what if is_missing(cell) else f"{cell!r} {what}"
            self.texts.append(f"{where} {first + row}, column {column!r}: {said}")

    @property
    def count(self) -> int:
        return int(self.rows.sum())

    def __str__(self) -> str:
        text = f"{self.count:,} of {len(self.rows):,} rows cannot be used: " + "; ".join(self.texts[:SHOWN])
        return text + (" …" if len(self.texts) > SHOWN or self.count > SHOWN else "")


def results(cells: pd.Series[Any]) -> tuple[Array, Mask]:
    """The results as floats, NaN for a failed trial; and which cells are neither a number nor say that it failed."""
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if pd.api.types.is_numeric_dtype(cells.dtype) and cells.dtype != bool:
        return np.where(np.isinf(numbers), np.nan, numbers), np.zeros(len(cells), dtype=bool)
    text = np.array([isinstance(cell, str) for cell in cells])
    truth = np.array([isinstance(cell, (bool, np.bool_)) for cell in cells])
    failed = np.array([isinstance(cell, str) and cell.strip().lower().lstrip("+-") in FAILED for cell in cells])
    bad = (np.isnan(numbers) & cells.notna().to_numpy() & ~failed) | truth | (text & ~failed)
    return np.where(bad | failed | np.isinf(numbers), np.nan, numbers), bad


def stray(column: pd.Series[Any]) -> tuple[Mask, Mask]:
    """Text among numbers, and empty cells, where they are so rare that they must be mistakes."""
    empty = column.isna().to_numpy()
    number = np.array([isinstance(c, (int, float, np.number)) and not isinstance(c, (bool, np.bool_)) for c in column])
    text = ~number & ~empty
    nothing = np.zeros(len(column), dtype=bool)
    if not is_rare(int(text.sum()), int((~empty).sum())):
        text = nothing
    if not empty.any() or len(column) < ENOUGH or empty.sum() > max(1, EMPTY * len(column)):
        empty = nothing
    return text, empty


def is_rare(texts: int, filled: int) -> bool:
    """Whether so few of a column's filled cells are texts among numbers that they must be mistakes."""
    return 0 < texts <= max(1, FEW * filled) and filled >= ENOUGH


def misfits(column: pd.Series[Any], name: str, space: Space) -> Mask:
    """The cells that are no values of a parameter; an empty cell is one, if the parameter is inactive."""
    known = {cell: space[name].contains(cell) for cell in column.dropna().unique()}
    return np.array([not is_missing(cell) and not known.get(cell, True) for cell in column], dtype=bool)


def not_parameters(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, str]:
    """The columns that hold no parameter, each with the reason: constants, dates, ids and row numbers."""
    found = {}
    for name in columns:
        known = frame[name].dropna()
        if known.nunique() < 2:
            found[name] = "the same in every row" if len(known) else "empty"
        elif _are_dates(known):
            found[name] = "dates"
        elif known.nunique() == len(known) == len(frame) and _are_ids(known, name):
            found[name] = "different in every row, like an id"
    return found


def _are_dates(known: pd.Series[Any]) -> bool:
    if pd.api.types.is_datetime64_any_dtype(known.dtype):
        return True
    return all(isinstance(cell, str) and _DATE.fullmatch(cell.strip()) for cell in known.unique())


def _are_ids(known: pd.Series[Any], name: str) -> bool:
    """Texts, or numbers that count the rows or are called an id; in few rows, only what is called an id."""
    named = re.search(r"(^|[_\W])(id|uuid|index|timestamp|trial|run|number|no)$", name.lower()) is not None
    if len(known) < ENOUGH and not named:
        return False
    if all(isinstance(cell, str) for cell in known):
        return True
    numbers = pd.to_numeric(known, errors="coerce").to_numpy(dtype=float)
    counting = bool((np.diff(numbers) == 1).all()) and numbers[0] in (0, 1)
    return counting or (named and len(known) >= ENOUGH and bool((numbers == np.rint(numbers)).all()))
