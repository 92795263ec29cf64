"""Checks of the arrays that are passed to the processes."""

from __future__ import annotations

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError


def as_matrix(values: Array, name: str, width: int) -> Array:
    """A finite matrix of floats with `width` columns; no copy if `values` is one already."""
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise ArgumentError(f"{name} must have shape (rows, {width}), but has {matrix.shape}")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise ArgumentError(f"{name} must be finite, but row {row} is {matrix[row]}", "encode or drop it first")
    return matrix


def as_columns(values: Array, name: str, rows: int) -> Array:
    """A vector (n,) or matrix (n, t) as a finite matrix of columns."""
    columns = np.asarray(values, dtype=float)
    if columns.ndim not in (1, 2) or len(columns) != rows:
        raise ArgumentError(f"{name} must have {rows} rows, like the design, but has shape {columns.shape}")
    if columns.ndim == 1:
        columns = columns[:, None]
    if not np.isfinite(columns).all():
        row = int(np.flatnonzero(~np.isfinite(columns).all(axis=1))[0])
        raise ArgumentError(f"{name} must be finite, but row {row} is {columns[row]}", "give failed trials a loss")
    return columns


def as_row(values: float | Array, name: str, columns: int) -> Array:
    """One finite value for each column, (1, t); a single value is repeated for all columns."""
    row = as_columns(np.reshape(values, (1, -1)), name, 1)
    if row.shape[1] not in (1, columns):
        raise ArgumentError(f"{name} must be one value or {columns}, one for each column, but got {row}")
    return np.broadcast_to(row, (1, columns))
