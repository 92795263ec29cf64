"""From configurations in any form (data frame, columns, list of dictionaries) to the values of a parameter.

Clean columns, the usual case, take a fast path; all others are read cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from headstart._support.types import Array, Mask
from headstart._support.wording import closest
from headstart.errors import SpaceError
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.scalars import as_number, as_scalar, is_missing

Columns: TypeAlias = Mapping[str, Any]

# These stand in for the index of a choice.
_UNKNOWN, _MISSING = -1, -2


def as_columns(configs: Any, names: Sequence[str]) -> tuple[Columns, int]:
    """One column per name, and their length; `configs` is a data frame, a mapping of columns or dictionaries."""
    if hasattr(configs, "columns") and hasattr(configs, "iloc"):
        return _frame_columns(configs, names)
    if isinstance(configs, Mapping):
        return _mapped_columns(configs, names)
    return _listed_columns(list(configs), names)


def _frame_columns(frame: Any, names: Sequence[str]) -> tuple[Columns, int]:
    present = list(frame.columns)
    for name in names:
        if present.count(name) != 1:
            found = "more than one column" if name in present else "no column"
            raise SpaceError(f"{found} for {name!r}; the columns are {', '.join(map(str, present))}")
    return {name: frame[name] for name in names}, len(frame)


def _mapped_columns(configs: Mapping[str, Any], names: Sequence[str]) -> tuple[Columns, int]:
    columns = {k: cells for k, cells in configs.items() if hasattr(cells, "__len__") and not isinstance(cells, str)}
    lengths = {len(column) for column in columns.values()}
    if columns.keys() != set(names) or len(lengths) != 1:
        raise SpaceError(
            "give a list of configurations, a data frame, or columns of equal length for "
            f"{', '.join(names)}, but got {configs!r:.200}"
        )
    return columns, lengths.pop()


def row_label(name: str, row: int, n: int) -> str:
    """How an error names one of n rows; a single configuration needs no number."""
    return "the configuration" if n == 1 and name == "configuration" else f"{name} {row}"


def _listed_columns(configs: list[Any], names: Sequence[str]) -> tuple[Columns, int]:
    if not all(issubclass(kind, Mapping) for kind in set(map(type, configs))):
        row = next(i for i, config in enumerate(configs) if not isinstance(config, Mapping))
        where = row_label("configuration", row, len(configs))
        raise SpaceError(f"{where} must be a dictionary, but got {configs[row]!r}")
    if unknown := set().union(*configs) - set(names):
        row = next(i for i, config in enumerate(configs) if not unknown.isdisjoint(config))
        name = next(name for name in configs[row] if name in unknown)
        hint = closest(name, names) or f"; the parameters are {', '.join(names)}"
        raise SpaceError(f"{row_label('configuration', row, len(configs))}: unknown parameter {name!r}{hint}")
    return {name: [config.get(name) for config in configs] for name in names}, len(configs)


def cell_of(column: Any, row: int) -> Any:
    """One cell of a pandas column or a list, as a Python value."""
    return as_scalar(column.iloc[row] if hasattr(column, "iloc") else column[row])


def parse_column(parameter: Parameter, column: Any) -> tuple[Array, Mask, Mask]:
    """The values of a column of cells, which cells are empty, and which do not fit the parameter."""
    if isinstance(parameter, Categorical):
        return _parse_choices(parameter, column)
    return _parse_numbers(parameter, column)


def _parse_numbers(parameter: Float | Int, column: Any) -> tuple[Array, Mask, Mask]:
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        v = np.array(column, dtype=float)
        missing = np.isnan(v)
    else:
        v, missing = _numbers(_cells(column))
    v, outside = parameter.admit(v)
    return v, missing, outside & ~missing


def _numbers(cells: list[Any]) -> tuple[Array, Mask]:
    """Each cell as a float, NaN where it is not a number, and which cells are empty."""
    if set(map(type, cells)) <= {int, float, type(None)}:
        with suppress(OverflowError):  # an integer beyond 1e308
            v = np.array(cells, dtype=float)  # None becomes NaN
            return v, np.isnan(v)
    v = np.array([as_number(cell) for cell in cells], dtype=float)
    return v, np.array([is_missing(cell) for cell in cells], dtype=bool)


def _parse_choices(parameter: Categorical, column: Any) -> tuple[Array, Mask, Mask]:
    cells = _cells(column)
    types = set(map(type, cells))
    mixed = bool in types and types & {int, float}  # True and 1 would be the same key of a dictionary
    if types <= {str, int, float, bool, type(None)} and not mixed:
        table: dict[Any, int] = {
            choice: i
            for i, choice in enumerate(parameter.choices)
            if isinstance(choice, str) or isinstance(choice, bool) == (bool in types)
        }
        table |= {None: _MISSING, math.nan: _MISSING, np.nan: _MISSING}
        v = np.array([table.get(cell, _UNKNOWN) for cell in cells], dtype=float)
    else:
        v = np.array([_index(parameter, cell) for cell in cells], dtype=float)
    for row in np.flatnonzero(v == _UNKNOWN):
        if is_missing(cells[row]):  # a NaN other than math.nan and np.nan
            v[row] = _MISSING
    return v, v == _MISSING, v == _UNKNOWN


def _cells(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _index(parameter: Categorical, cell: Any) -> int:
    if is_missing(cell):
        return _MISSING
    index = parameter.index(cell)
    return _UNKNOWN if index is None else index
