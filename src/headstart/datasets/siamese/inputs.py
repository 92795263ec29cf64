"""Data sets in the form that the networks take: points, images, or tables as cells.

A cell combines a feature value with its label, without names or units:

| symbol | name     | meaning                                                                              |
| ------ | -------- | ------------------------------------------------------------------------------------ |
| x_ij   | `values` | value of row i in column j, minus the column's mean, divided by its standard deviation |
| m_cj   | `means`  | mean of column j over the rows of class c: a class is identified by its position      |
| p_c    | `shares` | share of class c among the rows                                                      |

The cell of row i with class c is (x_ij, m_cj, p_c), whatever the name of the class and the number of classes. A
categorical column becomes the indicators of its categories. Missing cells are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Rows
from headstart.datasets.features import as_array, class_codes, is_pandas, is_sparse, table_size
from headstart.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

Floats: TypeAlias = npt.NDArray[np.float32]

MOST_CATEGORIES = 50  # of a column; rarer categories get no indicator
FARTHEST = 5.0  # standardised values are clipped to ±this


@dataclass(frozen=True, eq=False)
class Points:
    """A set of n points (n, d) or images (n, channels, height, width)."""

    values: Floats

    @classmethod
    def of(cls, X: npt.ArrayLike, dimensions: int) -> Points:
        """dimensions: 2 for points, 4 for images; (n, height, width) are images with one channel."""
        values = np.asarray(X, dtype=np.float32)
        if dimensions == 4 and values.ndim == 3:
            values = values[:, None]
        if values.ndim != dimensions or 0 in values.shape:
            wanted = "(n, d)" if dimensions == 2 else "(n, channels, height, width) or (n, height, width)"
            raise ArgumentError(f"X must have the shape {wanted} with n ≥ 1, but got {np.shape(X)}")
        if not np.isfinite(values).all():
            raise ArgumentError("X must hold finite numbers, but some are NaN or infinite")
        return cls(values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point or image."""
        return self.values.shape[1:]

    def rows(self, kept: Rows | slice) -> Points:
        """Some of the points."""
        return Points(self.values[kept])

    def draw(self, size: int, *, rng: np.random.Generator) -> Points:
        """`size` random points, without repetition if there are enough."""
        return self.rows(draw_rows(len(self), size, rng=rng))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a table with class labels; symbols as in the module's docstring."""

    values: Floats  # (n, d), NaN where missing
    codes: Rows  # (n,), the class of each row
    means: Floats  # (classes, d)
    shares: Floats  # (classes,)
    sizes: Floats  # (3,): logarithms of the numbers of rows, columns and classes of the whole table

    @classmethod
    def of(cls, X: Any, y: Any) -> Table:
        if y is None:
            raise ArgumentError("y is missing: this model is for tables with class labels", "pass the labels with {y}")
        raw = numeric_columns(X)
        codes = class_codes(y)
        if len(codes) != len(raw):
            raise ArgumentError(f"X and y must have the same length, but got {len(raw)} rows and {len(codes)} labels")
        values = standardised(raw)
        counts = np.bincount(codes)
        present = np.isfinite(values)
        sums, known = (np.zeros((len(counts), values.shape[1])) for _ in range(2))
        np.add.at(sums, codes, np.where(present, values, 0.0))
        np.add.at(known, codes, present)
        means = sums / np.maximum(known, 1)
        shares = counts / len(values)
        sizes = np.log([len(values), values.shape[1], len(counts)])
        return cls(_single(values), codes, _single(means), _single(shares), _single(sizes))

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, kept: Rows | slice) -> Table:
        """Some of the rows; means, shares and sizes stay those of the whole table."""
        return Table(self.values[kept], self.codes[kept], self.means, self.shares, self.sizes)

    def draw(self, size: int, *, rng: np.random.Generator, most_columns: int = 32) -> Table:
        """`size` random rows, and at most `most_columns` random columns."""
        some = self.rows(draw_rows(len(self), size, rng=rng))
        if self.values.shape[1] <= most_columns:
            return some
        kept = rng.choice(self.values.shape[1], most_columns, replace=False)
        return Table(some.values[:, kept], some.codes, self.means[:, kept], self.shares, self.sizes)

    def cells(self) -> tuple[Floats, Rows]:
        """The cells that are not missing, (N, 3), and the row of each, (N,)."""
        row, column = np.nonzero(np.isfinite(self.values))
        c = self.codes[row]
        return np.stack([self.values[row, column], self.means[c, column], self.shares[c]], axis=1), row


DataSet: TypeAlias = Points | Table


def draw_rows(n: int, size: int, *, rng: np.random.Generator) -> Rows:
    return rng.choice(n, size, replace=n < size)


def _single(numbers: Array) -> Floats:
    return numbers.astype(np.float32)


def standardised(raw: Array) -> Array:
    """Columns with mean 0 and standard deviation 1, clipped to ±5; constant columns are dropped.

    If all columns are constant, the result is one column of zeros.
    """
    low, high = np.fmin.reduce(raw, axis=0) / 2, np.fmax.reduce(raw, axis=0) / 2
    varies = high > low
    if not varies.any():
        return np.zeros((len(raw), 1))
    unit = (raw[:, varies] / 2 - low[varies]) / (high - low)[varies]  # halves: the span of ±1e308 would overflow
    spread = np.nanstd(unit, axis=0)
    values = (unit - np.nanmean(unit, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.clip(values, -FARTHEST, FARTHEST))


def numeric_columns(X: Any) -> Array:
    """X as numbers, NaN where a cell is missing; a categorical column becomes indicators of its categories."""
    import pandas as pd

    if is_sparse(X):
        X = X.toarray()
    if not is_pandas(X):
        X = as_array(X, "X")
    n, d = table_size(X)
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    columns = [_column(frame.iloc[:, j]) for j in range(d)]
    table = np.concatenate(columns, axis=1).reshape(n, -1)
    if np.isinf(table).any():
        raise ArgumentError("X must not hold infinite numbers", "use NaN for missing cells")
    return table


def _column(column: pd.Series[Any]) -> Array:
    """One column as (n, 1) numbers, or as (n, k) indicators of its k most common categories."""
    import pandas as pd

    if not isinstance(column.dtype, pd.CategoricalDtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind == "complex":
            raise ArgumentError(
                f"column {column.name!r} of X must hold real numbers or categories, but got complex numbers"
            )
        if kind in ("datetime64", "datetime", "timedelta64", "timedelta"):
            column = pd.Series(np.where(column.isna(), np.nan, column.astype("int64")))
        if kind not in ("string", "mixed", "mixed-integer", "bytes", "categorical"):
            return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))[:, None]
    codes, _ = pd.factorize(column.astype(object) if column.dtype.kind != "O" else column)
    common = np.argsort(-np.bincount(codes[codes >= 0], minlength=1), kind="stable")[:MOST_CATEGORIES]
    return np.where(codes[:, None] < 0, np.nan, codes[:, None] == common[None, :])
