"""The 22 meta-features of Table I: a data set as a point among data sets.

Wistuba, Schilling, Schmidt-Thieme, "Learning Hyperparameter Optimization Initializations" (2015), Table I.
The paper refers for the definitions to Michie et al., "Machine Learning, Neural and Statistical
Classification" (Statlog, 1994) and Bardenet et al. (2013); Feurer et al. (2015) published code for the same
list, auto-sklearn, and where the older texts leave a choice this module takes theirs:

    symbol      name                           definition
    n, d        number of instances, features  rows and columns of X as given (a categorical column is one)
    d / n       data set dimensionality        its inverse is n / d
    log         every logarithm of a number    natural
    p_c         class probability              share of class c among the labels that occur
    H           class cross entropy            -sum_c p_c log2 p_c, in bits
    g1, g2      skewness, kurtosis             m3 / m2^1.5 and m4 / m2^2 - 3 (excess: a normal column has 0),
                                               m_k = central moment of one column, divided by its count
    min … std   summaries                      over the classes or over the columns; std divides by the number
                                               of them, not by one less

The authors' published values, scaled to [0, 1], show that std is the population form (of the class
probabilities) and that categories were one-hot encoded; scaling hides the base of a logarithm and Statlog's
kurtosis without the - 3. Two differences: the authors also counted features after one-hot encoding (to do so,
pass X encoded), and auto-sklearn takes only the stored cells of a sparse column where this module counts its
zeros, so that a sparse and a dense X agree.

A categorical column enters g1 and g2 as the indicator columns of its categories, as in auto-sklearn, so a
frame has the same skewness and kurtosis as its one-hot encoding; d counts it once. A column of unique
identifiers has as many indicators as rows: leave it out. Missing cells are ignored column by column. A column
without two different values has no shape and is ignored; where no column has one, the summaries are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Complex, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headstart.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEATURE_NAMES", "metafeatures"]

FEATURE_NAMES: tuple[str, ...] = (
    "number_of_classes",
    "number_of_instances",
    "log_number_of_instances",
    "number_of_features",
    "log_number_of_features",
    "dataset_dimensionality",
    "log_dataset_dimensionality",
    "inverse_dataset_dimensionality",
    "log_inverse_dataset_dimensionality",
    "class_cross_entropy",
    "class_probability_min",
    "class_probability_max",
    "class_probability_mean",
    "class_probability_std",
    "kurtosis_min",
    "kurtosis_max",
    "kurtosis_mean",
    "kurtosis_std",
    "skewness_min",
    "skewness_max",
    "skewness_mean",
    "skewness_std",
)

FloatArray = npt.NDArray[np.float64]
Shapes = FloatArray  # 2 × k: the skewness (row 0) and kurtosis (row 1) of k columns

_BLOCK = 1 << 19  # cells worked on at once, so that a large table is never copied as a whole
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # a relative spread below this is rounding, not data


def metafeatures(X: Any, y: Any) -> dict[str, float]:
    """Describe the classification data set (X, y) by 22 finite numbers, in the order of `FEATURE_NAMES`.

    X: array or nested list, SciPy sparse matrix (cells that are not stored are zeros), or pandas frame, with
        one row per instance. Text, mixed and categorical columns are categories; truth values, numbers and
        dates are numeric. NaN, None, NaT and pd.NA are missing.
    y: one class label per row (text, numbers, truth values, categories), none missing.

    Raises ValueError for input that is empty, complex, infinite, not a table, or of different lengths.
    """
    if not (is_sparse(X) or is_pandas(X)):
        X = as_array(X, "X")
    n, d = table_size(X)
    counts = np.sort(np.bincount(class_codes(y)))  # neither the names nor the rows' order matter
    if counts.sum() != n:
        raise ArgumentError(f"X and y must have the same length, but got {n} rows and {counts.sum()} labels")
    p = counts / n
    with np.errstate(over="ignore", under="ignore"):  # a tiny value may vanish beside a huge one
        skewness, kurtosis = _column_shapes(X)
    values = (
        float(len(p)),
        float(n),
        math.log(n),
        float(d),
        math.log(d),
        d / n,
        math.log(d / n),
        n / d,
        math.log(n / d),
        abs(float(p @ np.log2(p))),
        *_summaries(p),
        *_summaries(kurtosis),
        *_summaries(skewness),
    )
    return dict(zip(FEATURE_NAMES, values, strict=True))


def _summaries(values: FloatArray) -> tuple[float, float, float, float]:
    """Min, max, mean and standard deviation; of nothing, 0."""
    if not values.size:
        return 0.0, 0.0, 0.0, 0.0
    return float(values.min()), float(values.max()), float(values.mean()), float(values.std())


# --- what was given ---------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """SciPy's sparse matrices and arrays, known by what they can do, so that SciPy need not be loaded."""
    return hasattr(X, "tocsc")


def is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """An array that keeps missing cells apart from text: NumPy alone would turn ["a", None] into text."""
    if isinstance(values, np.ma.MaskedArray):
        cells: npt.NDArray[Any] = values.data.astype(object)  # a copy
        cells[np.ma.getmaskarray(values)] = None
        return cells
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} must have rows of one length, but NumPy says: {error}") from error
    if array.dtype.kind in "SUT":
        array = np.asarray(values, dtype=object)
    return array


def table_size(X: Any) -> tuple[int, int]:
    shape = tuple(X.shape)
    if len(shape) != 2:
        remedy = "; for a single feature use X.reshape(-1, 1)" if len(shape) == 1 else ""
        raise ArgumentError(f"X must have 2 dimensions (rows, columns), but got shape {shape}{remedy}")
    if 0 in shape:
        raise ArgumentError(f"X must have at least one row and one column, but got shape {shape}")
    return shape[0], shape[1]


def class_codes(y: Any) -> npt.NDArray[np.int64]:
    """The labels as whole numbers from 0, in the order in which they first occur."""
    import pandas as pd

    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    labels: Any = y if isinstance(y, (pd.Series, pd.Index, pd.Categorical)) else as_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ArgumentError(f"y must be one label per row, but got shape {labels.shape}")
    if labels.dtype.kind == "c":
        raise ArgumentError("y must hold class labels, but got complex numbers")
    try:
        codes = pd.factorize(labels)[0]
    except (TypeError, NotImplementedError) as error:  # lists and the like; the latter from Arrow
        raise ArgumentError(f"y must hold hashable labels (text, numbers, …), but: {error}") from error
    missing = int((codes < 0).sum())
    if missing:
        raise ArgumentError(f"y lacks {missing} of {len(codes)} labels; leave those rows out of X and y")
    return np.asarray(codes, dtype=np.int64)


# --- skewness and kurtosis --------------------------------------------------------------------------------


def _column_shapes(X: Any) -> Shapes:
    """The shapes of all columns with two different values, indicators in place of categorical columns."""
    if is_sparse(X):
        return _sparse_shapes(X)
    parts = _frame_shapes(X) if is_pandas(X) else _array_shapes(X)
    return np.concatenate(list(parts), axis=1)


def _array_shapes(X: npt.NDArray[Any]) -> Iterator[Shapes]:
    numeric = X.dtype.kind in "biufmM"
    for columns in _column_blocks(X.shape):
        labels = range(X.shape[1])[columns]
        if numeric:
            yield _dense_shapes(_as_float(X[:, columns]), labels)
        else:
            yield from (_value_shapes(X[:, j], j) for j in labels)


def _frame_shapes(X: pd.DataFrame) -> Iterator[Shapes]:
    for columns in _column_blocks(X.shape):
        part = X.iloc[:, columns]
        if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in part.dtypes):
            yield _dense_shapes(_as_float(part.to_numpy(dtype=np.float64)), list(part.columns))
        else:
            yield from (_series_shapes(part.iloc[:, j]) for j in range(part.shape[1]))


def _column_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    width = max(1, _BLOCK // shape[0])
    for start in range(0, shape[1], width):
        yield slice(start, min(start + width, shape[1]))


def _series_shapes(column: pd.Series[Any]) -> Shapes:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):  # also when the categories are numbers
        return _category_shapes(column.cat.codes.to_numpy())
    kind = column.dtype.kind
    if kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif kind == "M":  # with or without a time zone, NumPy's or Arrow's
        values = pd.to_datetime(column, utc=True).to_numpy(dtype="datetime64[us]")
    elif kind == "m":
        values = column.to_numpy()
    else:
        return _value_shapes(column.to_numpy(), column.name)
    return _dense_shapes(_as_float(values[:, None]), [column.name])


def _value_shapes(column: npt.NDArray[Any], label: object) -> Shapes:
    """A column of Python objects or text: numeric if every value is a real number, else categories."""
    import pandas as pd

    wanted = f"column {label!r} of X must hold real numbers or categories, but"
    if column.dtype.kind in "cV":
        raise ArgumentError(f"{wanted} got {column.dtype}")
    column = column.astype(object)
    missing = np.asarray(pd.isna(column))
    types = set(map(type, column[~missing]))
    if any(issubclass(kind, Complex) and not issubclass(kind, Real) for kind in types):
        raise ArgumentError(f"{wanted} got complex numbers")
    try:
        if not all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in types):
            return _category_shapes(pd.factorize(column)[0])
        values = np.where(missing, np.nan, column).astype(np.float64)
    except (TypeError, OverflowError) as error:  # an unhashable value; an integer beyond 1e308
        raise ArgumentError(f"{wanted}: {error}") from error
    return _dense_shapes(values[:, None], [label])


def _as_float(values: npt.NDArray[Any]) -> FloatArray:
    """A copy to work on, column after column in memory; dates become numbers, NaT becomes NaN."""
    if values.dtype.kind in "mM":
        return np.where(np.isnat(values), np.nan, values.astype(np.int64))
    return np.array(values, dtype=np.float64, order="F")


def _category_shapes(codes: npt.NDArray[Any]) -> Shapes:
    """Skewness and kurtosis of the 0/1 indicator of each category, in closed form from its share p."""
    counts = np.bincount(codes[codes >= 0])  # -1 marks a missing cell
    p = counts[counts > 0] / max(counts.sum(), 1)
    p = p[p < 1]  # the only category of a column has a constant indicator
    variance = p * (1 - p)
    return np.stack([(1 - 2 * p) / np.sqrt(variance), 1 / variance - 6])


def _dense_shapes(block: FloatArray, labels: Sequence[object]) -> Shapes:
    """The shapes of a block's columns. Overwrites the block.

    Each column is first mapped to [0, 1], which changes neither measure and keeps every power in range,
    whatever the units: then m2 ≥ 1 / (2 n).
    """
    low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
    infinite = np.isinf(low) | np.isinf(high)
    if infinite.any():
        j = int(infinite.argmax())
        raise _infinite(labels[j], np.flatnonzero(np.isinf(block[:, j])))
    varies = _varies(low, high)
    if not varies.all():
        block, low, high = block[:, varies], low[varies], high[varies]
    missing = np.isnan(block)
    count = len(block) - missing.sum(axis=0)
    any_missing = bool(missing.any())

    block *= 0.5  # exact; the span of ±1e308 would overflow without it
    block -= low / 2
    block /= high / 2 - low / 2
    if any_missing:
        block[missing] = 0
    block -= block.sum(axis=0) / count
    if any_missing:
        block[missing] = 0
    square = block * block
    m2 = square.sum(axis=0) / count
    block *= square
    m3 = block.sum(axis=0) / count
    square *= square
    m4 = square.sum(axis=0) / count
    return _shape(m2, m3, m4)


def _sparse_shapes(X: Any) -> Shapes:
    """As `_dense_shapes`, from the stored cells and the number of zeros of each column."""
    if X.dtype.kind not in "biuf":
        raise ArgumentError(f"a sparse X must hold real numbers, but got dtype {X.dtype}")
    n, d = X.shape
    csc = X.tocsc()
    if not csc.has_canonical_format:
        csc = csc.copy()  # summing duplicates works in place, and X is the caller's
        csc.sum_duplicates()
    cells, column = csc.data.astype(np.float64), np.repeat(np.arange(d), np.diff(csc.indptr))
    infinite = np.isinf(cells)
    if infinite.any():
        j = int(column[infinite.argmax()])
        raise _infinite(j, np.sort(csc.indices[infinite & (column == j)]))
    missing = np.isnan(cells)
    count = n - np.bincount(column[missing], minlength=d)
    cells, column = cells[~missing], column[~missing]
    zeros = count - np.bincount(column, minlength=d)

    low, high = np.where(zeros > 0, 0.0, np.inf), np.where(zeros > 0, 0.0, -np.inf)
    np.minimum.at(low, column, cells)
    np.maximum.at(high, column, cells)
    varies = _varies(low, high)
    inside = varies[column]
    cells, column = cells[inside], (np.cumsum(varies) - 1)[column[inside]]
    low, high, count, zeros = low[varies], high[varies], count[varies], zeros[varies]

    def mean(of_cells: FloatArray, of_zero: FloatArray) -> FloatArray:
        return np.asarray((np.bincount(column, of_cells, minlength=len(count)) + zeros * of_zero) / count)

    span = high / 2 - low / 2
    cells, zero = (cells / 2 - low[column] / 2) / span[column], -low / 2 / span
    centre = mean(cells, zero)
    cells, zero = cells - centre[column], zero - centre
    square, zero_square = cells * cells, zero * zero
    return _shape(
        mean(square, zero_square),
        mean(square * cells, zero_square * zero),
        mean(square * square, zero_square * zero_square),
    )


def _varies(low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    """Columns whose values differ by more than rounding; not those without a value (NaN or low > high)."""
    return np.asarray(high / 2 - low / 2 > _ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def _shape(m2: FloatArray, m3: FloatArray, m4: FloatArray) -> Shapes:
    """g1 = m3 / m2^1.5 and g2 = m4 / m2^2 - 3."""
    return np.stack([m3 / m2**1.5, m4 / m2**2 - 3])


def _infinite(label: object, rows: npt.NDArray[Any]) -> ValueError:
    return ValueError(
        f"column {label!r} of X holds {rows.size} infinite values, the first in row {rows[0]}; "
        "make them missing (NaN) or finite"
    )
