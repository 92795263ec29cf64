"""A data set as the Siamese networks see it, and its embedding as named numbers among the meta-features.

Nothing here needs torch, so a history that was described by a model is of use wherever headstart is.

A table is seen as cells. A cell is the pair (feature value, label) in a form that knows neither names nor units:

| symbol | name     | meaning                                                                              |
| ------ | -------- | ------------------------------------------------------------------------------------ |
| z_ij   | `Z`      | value of row i in column j, minus the column's mean, divided by its spread            |
| m_cj   | `means`  | mean of column j over the rows of class c: a class is known by where it lies          |
| p_c    | `shares` | share of class c among the rows                                                      |

The cell of row i with class c is (z_ij, m_cj, p_c), whatever the class is called and however many there are. A
categorical column becomes the indicators of its categories. A missing cell is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headstart.datasets.features import as_array, class_codes, is_pandas, is_sparse, table_size
from headstart.errors import ArgumentError
from headstart.history import Features

if TYPE_CHECKING:
    import pandas as pd

    from headstart.datasets.siamese import Model

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]

MOST_CATEGORIES = 50  # of a column; rarer ones get no indicator of their own
FARTHEST = 5.0  # |z| is cut off there


def embed(model: Model | str | os.PathLike[str], X: Any, y: Any = None) -> dict[str, float]:
    """The embedding of a data set by a trained Siamese network, as named numbers: the `features` of a new task.

    model: a `headstart.datasets.siamese.Model`, or the file of one. X, y: as for `metafeatures`; a model for points or
    images takes X (n, d) or (n, channels, height, width) and no y.
    """
    from headstart.datasets.siamese import Model

    trained = model if isinstance(model, Model) else Model.load(model)
    return trained.features(X, y)


# -- names ---------------------------------------------------------------------------------------------------

_NAME = re.compile(r"metric ([0-9a-f]+) (\d+)")


def named(vector: npt.ArrayLike, fingerprint: str) -> dict[str, float]:
    """An embedding as features; the fingerprint keeps those of different models apart."""
    return {f"metric {fingerprint} {i}": float(x) for i, x in enumerate(np.asarray(vector, dtype=float))}


def embedding_names(names: Iterable[str]) -> dict[str, list[str]]:
    """The names that `named` gave, in their order, by fingerprint."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _NAME.fullmatch(name):
            found.setdefault(match[1], []).append((int(match[2]), name))
    return {fingerprint: [name for _, name in sorted(pairs)] for fingerprint, pairs in found.items()}


def described(features: Features, embedding: Mapping[str, float]) -> dict[str, float]:
    """Meta-features with this embedding in place of those they may have had."""
    old = {name for names in embedding_names(features).values() for name in names}
    return {**{name: x for name, x in features.items() if name not in old}, **embedding}


# -- data sets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Points:
    """A set of n points or images: (n, d) or (n, channels, height, width)."""

    array: Floats

    @classmethod
    def of(cls, X: npt.ArrayLike, dimensions: int) -> Points:
        """dimensions: 2 for points, 4 for images; (n, height, width) are images of one channel."""
        array = np.asarray(X, dtype=np.float32)
        if dimensions == 4 and array.ndim == 3:
            array = array[:, None]
        if array.ndim != dimensions or 0 in array.shape:
            wanted = "(n, d)" if dimensions == 2 else "(n, channels, height, width) or (n, height, width)"
            raise ArgumentError(f"X must have the shape {wanted} with n ≥ 1, but got {np.shape(X)}")
        if not np.isfinite(array).all():
            raise ArgumentError("X must hold finite numbers, but some are NaN or infinite")
        return cls(array)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one point or image."""
        return self.array.shape[1:]

    def rows(self, kept: Indices | slice) -> Points:
        """Some of them."""
        return Points(self.array[kept])

    def draw(self, size: int, *, rng: np.random.Generator) -> Points:
        """That many of them, at random; none twice if there are enough."""
        return self.rows(draw_rows(len(self), size, rng=rng))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a table with classes, ready for a network; see the head of the module."""

    Z: Floats  # (n, d), NaN is missing
    codes: Indices  # (n,), the class of each row
    means: Floats  # (classes, d)
    shares: Floats  # (classes,)
    sizes: Floats  # (3,): logarithms of the numbers of rows, columns and classes of the whole table

    @classmethod
    def of(cls, X: Any, y: Any) -> Table:
        if y is None:
            raise ArgumentError("this model was made for tables with classes: pass the labels as y")
        raw = numeric_columns(X)
        codes = class_codes(y)
        if len(codes) != len(raw):
            raise ArgumentError(f"X and y must have the same length, but got {len(raw)} rows and {len(codes)} labels")
        Z = standardised(raw)
        counts = np.bincount(codes)
        there = np.isfinite(Z)
        sums, known = (np.zeros((len(counts), Z.shape[1])) for _ in range(2))
        np.add.at(sums, codes, np.where(there, Z, 0.0))
        np.add.at(known, codes, there)
        means = sums / np.maximum(known, 1)
        sizes = np.log([len(Z), Z.shape[1], len(counts)])
        arrays = (a.astype(np.float32) for a in (Z, means, counts / len(Z), sizes))
        Z32, means32, shares32, sizes32 = arrays
        return cls(Z32, codes, means32, shares32, sizes32)

    def __len__(self) -> int:
        return len(self.Z)

    def rows(self, kept: Indices | slice) -> Table:
        """Some of the rows; what is known of columns and classes stays."""
        return Table(self.Z[kept], self.codes[kept], self.means, self.shares, self.sizes)

    def draw(self, size: int, *, rng: np.random.Generator, most_columns: int = 32) -> Table:
        """That many rows and at most so many columns, at random."""
        some = self.rows(draw_rows(len(self), size, rng=rng))
        if self.Z.shape[1] <= most_columns:
            return some
        kept = rng.choice(self.Z.shape[1], most_columns, replace=False)
        return Table(some.Z[:, kept], some.codes, self.means[:, kept], self.shares, self.sizes)

    def cells(self) -> tuple[Floats, Indices]:
        """The cells that are there, (N, 3), and the row of each, (N,)."""
        row, column = np.nonzero(np.isfinite(self.Z))
        c = self.codes[row]
        return np.stack([self.Z[row, column], self.means[c, column], self.shares[c]], axis=1), row


def draw_rows(n: int, size: int, *, rng: np.random.Generator) -> Indices:
    return rng.choice(n, size, replace=n < size)


def standardised(raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Columns with mean 0 and spread 1, cut off at ±5; those without two different values are left out.

    At least one column stays, as zeros, so that a table without any information is still a table.
    """
    low, high = np.fmin.reduce(raw, axis=0) / 2, np.fmax.reduce(raw, axis=0) / 2
    varies = high > low
    if not varies.any():
        return np.zeros((len(raw), 1))
    unit = (raw[:, varies] / 2 - low[varies]) / (high - low)[varies]  # halves: the span of ±1e308 would overflow
    spread = np.nanstd(unit, axis=0)
    z = (unit - np.nanmean(unit, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.clip(z, -FARTHEST, FARTHEST))


def numeric_columns(X: Any) -> npt.NDArray[np.float64]:
    """X as numbers, NaN where a cell is missing: numeric columns as they are, then indicators of categories."""
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
        raise ArgumentError("X must not hold infinite numbers; use NaN for what is missing")
    return table


def _column(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    """One column as (n, 1) numbers, or (n, k) indicators of its k commonest categories."""
    import pandas as pd

    if not isinstance(column.dtype, pd.CategoricalDtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind == "complex":
            raise ArgumentError(
                f"column {column.name!r} of X must hold real numbers or categories, but got complex ones"
            )
        if kind in ("datetime64", "datetime", "timedelta64", "timedelta"):
            column = pd.Series(np.where(column.isna(), np.nan, column.astype("int64")))
        if kind not in ("string", "mixed", "mixed-integer", "bytes", "categorical"):
            return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))[:, None]
    codes, _ = pd.factorize(column.astype(object) if column.dtype.kind != "O" else column)
    common = np.argsort(-np.bincount(codes[codes >= 0], minlength=1), kind="stable")[:MOST_CATEGORIES]
    return np.where(codes[:, None] < 0, np.nan, codes[:, None] == common[None, :])
