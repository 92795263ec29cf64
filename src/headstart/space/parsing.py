"""Cells of a table or of a list of dictionaries → values of a parameter.

Fast where a column is clean, which is the rule, and careful cell by cell where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from headstart._support.types import Array, Mask
from headstart.errors import SpaceError
from headstart.space.parameters import Categorical, Float, Int, Parameter, as_number, as_scalar, is_missing


def as_columns(configs: Any, names: Sequence[str]) -> tuple[Mapping[str, Any], int]:
    """One column per name, from a data frame, a mapping of columns or a list of dictionaries; and their length."""
    if hasattr(configs, "columns") and hasattr(configs, "iloc"):  # a data frame
        there = list(configs.columns)
        for name in names:
            if there.count(name) != 1:
                found = "no column" if name not in there else "more than one column"
                raise SpaceError(f"{found} for {name!r}; there are {', '.join(map(str, there))}")
        return {name: configs[name] for name in names}, len(configs)
    if isinstance(configs, Mapping):
        columns = {k: v for k, v in configs.items() if hasattr(v, "__len__") and not isinstance(v, str)}
        lengths = {len(column) for column in columns.values()}
        if columns.keys() != set(names) or len(lengths) != 1:
            raise SpaceError(
                "give a list of configurations, a data frame, or columns of equal length for "
                f"{', '.join(names)}, but got {configs!r:.200}"
            )
        return columns, lengths.pop()
    configs = list(configs)
    if not all(issubclass(kind, Mapping) for kind in set(map(type, configs))):
        row = next(i for i, config in enumerate(configs) if not isinstance(config, Mapping))
        raise SpaceError(f"configuration {row} must be a dictionary, but got {configs[row]!r}")
    if unknown := set().union(*configs) - set(names):
        row = next(i for i, config in enumerate(configs) if not unknown.isdisjoint(config))
        name = next(name for name in configs[row] if name in unknown)
        raise SpaceError(f"configuration {row}: unknown parameter {name!r}; there are {', '.join(names)}")
    return {name: [config.get(name) for config in configs] for name in names}, len(configs)


def cell_of(column: Any, row: int) -> Any:
    """One cell of a pandas column or a list, as a Python value."""
    return as_scalar(column.iloc[row] if hasattr(column, "iloc") else column[row])


def parse_column(parameter: Parameter, column: Any) -> tuple[Array, Mask, Mask]:
    """One column of cells → values, which cells are empty, which do not fit."""
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
    """Each cell as a float, NaN where it is none, and which cells are empty."""
    if set(map(type, cells)) <= {int, float, type(None)}:
        with suppress(OverflowError):  # whole numbers beyond all floats
            v = np.array(cells, dtype=float)  # None becomes NaN
            return v, np.isnan(v)
    v = np.array([as_number(cell) for cell in cells], dtype=float)
    return v, np.array([is_missing(cell) for cell in cells], dtype=bool)


def _parse_choices(parameter: Categorical, column: Any) -> tuple[Array, Mask, Mask]:
    cells = _cells(column)
    types = set(map(type, cells))
    mixed = bool in types and types & {int, float}  # True and 1 would be one key of a dictionary
    if types <= {str, int, float, bool, type(None)} and not mixed:
        table: dict[Any, int] = {
            choice: i
            for i, choice in enumerate(parameter.choices)
            if isinstance(choice, str) or isinstance(choice, bool) == (bool in types)
        }
        table |= {None: -2, math.nan: -2, np.nan: -2}
        v = np.array([table.get(cell, -1) for cell in cells], dtype=float)
    else:
        v = np.array([_position(parameter, cell) for cell in cells], dtype=float)
    for row in np.flatnonzero(v == -1):
        if is_missing(cells[row]):
            v[row] = -2
    return v, v == -2, v == -1


def _cells(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _position(parameter: Categorical, cell: Any) -> int:
    if is_missing(cell):
        return -2
    index = parameter.index(cell)
    return -1 if index is None else index
