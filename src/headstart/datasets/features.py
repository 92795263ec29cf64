"""The 22 meta-features of Table I, which describe a classification data set by numbers.

Wistuba, Schilling, Schmidt-Thieme, "Learning Hyperparameter Optimization Initializations" (2015), Table I. For the
definitions the paper refers to Michie et al., "Machine Learning, Neural and Statistical Classification" (Statlog, 1994)
and Bardenet et al. (2013). Where these leave a choice, this module follows auto-sklearn, the code that Feurer et al.
(2015) published for the same list:

    symbol      name                           definition
    n, d        number of instances, features  rows and columns of X as given (a categorical column is one)
    d / n       data set dimensionality        its inverse is n / d
    log         logarithm of a number          natural
    p_c         class probability              share of class c among the labels that occur
    H           class cross entropy            -sum_c p_c log2 p_c, in bits
    g1, g2      skewness, kurtosis             m3 / m2^1.5 and m4 / m2^2 - 3 (excess: a normal column has 0),
                                               m_k = central moment of one column, divided by its count
    min … std   summaries                      over the classes or over the columns; std is the population form:
                                               it divides by their number, not by one less

The authors' published values, scaled to [0, 1], show that their std of the class probabilities is the population form
and that categories were one-hot encoded; the scaling hides the base of the logarithms and whether the kurtosis includes
the - 3. There are two differences. The authors counted features after one-hot encoding; to do the same, pass X encoded.
And auto-sklearn uses only the stored cells of a sparse column, while this module counts the zeros too, so that a sparse
and a dense X agree.

A categorical column enters g1 and g2 as the indicator columns of its categories, as in auto-sklearn, so a frame has the
same skewness and kurtosis as its one-hot encoding; d counts it once. Drop columns of unique identifiers: they
have as many indicators as rows. Missing cells are ignored, column by column. A column without two different values has
no skewness or kurtosis and is ignored; if no column has them, the summaries are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Complex, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Mask
from headstart._support.wording import counted
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

Shapes: TypeAlias = Array  # 2 × k: the skewness (row 0) and kurtosis (row 1) of k columns

_BLOCK = 1 << 19  # cells processed at once, so that a large table is never copied as a whole
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # a relative spread below this is rounding error


def metafeatures(X: Any, y: Any) -> dict[str, float]:
    """Describe the classification data set (X, y) by 22 finite numbers, in the order of `FEATURE_NAMES`.

    X: array, nested list, SciPy sparse matrix (cells that are not stored are zeros) or pandas frame, with one row per
        instance. Text, mixed and categorical columns are categories; booleans, numbers and dates are numeric. NaN,
        None, NaT and pd.NA are missing.
    y: one class label per row (text, numbers, booleans, categories), none missing.

    Raises `ArgumentError` if X or y is empty, complex, infinite or not a table, or if their lengths differ.
    """
    if not (is_sparse(X) or is_pandas(X)):
        X = as_array(X, "X")
    n, d = table_size(X)
    counts = np.sort(np.bincount(class_codes(y)))  # sorted: the result must not depend on the order of the rows
    if counts.sum() != n:
        raise ArgumentError(f"X and y must have the same length, but got {n} rows and {counts.sum()} labels")
    p = counts / n
    with np.errstate(over="ignore", under="ignore"):  # tiny values may underflow next to huge ones
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


def _summaries(values: Array) -> tuple[float, float, float, float]:
    """Minimum, maximum, mean and standard deviation; all 0 if there are no values."""
    if not values.size:
        return 0.0, 0.0, 0.0, 0.0
    return float(values.min()), float(values.max()), float(values.mean()), float(values.std())


# --- input ------------------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array; recognised by a method, so that SciPy need not be loaded."""
    return hasattr(X, "tocsc")


def is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """An array that keeps missing cells: NumPy alone would turn the None in ["a", None] into text."""
    if isinstance(values, np.ma.MaskedArray):
        cells: npt.NDArray[Any] = values.data.astype(object)  # a copy
        cells[np.ma.getmaskarray(values)] = None
        return cells
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} must have rows of equal length, but NumPy reports: {error}") from error
    if array.dtype.kind in "SUT":
        array = np.asarray(values, dtype=object)
    return array


def table_size(X: Any) -> tuple[int, int]:
    """The numbers of rows and columns, at least 1 each."""
    shape = tuple(X.shape)
    if len(shape) != 2:
        remedy = "for a single feature use X.reshape(-1, 1)" if len(shape) == 1 else ""
        raise ArgumentError(f"X must have 2 dimensions (rows, columns), but got shape {shape}", remedy)
    if 0 in shape:
        raise ArgumentError(f"X must have at least one row and one column, but got shape {shape}")
    return shape[0], shape[1]


def class_codes(y: Any) -> npt.NDArray[np.int64]:
    """The labels as integers from 0, in the order in which they first occur."""
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
    except (TypeError, NotImplementedError) as error:  # the latter from Arrow
        raise ArgumentError(f"y must hold hashable labels (text, numbers, …), but got: {error}") from error
    missing = int((codes < 0).sum())
    if missing:
        raise ArgumentError(f"y lacks {missing} of {len(codes)} labels", "drop those rows from X and y")
    return np.asarray(codes, dtype=np.int64)


# --- skewness and kurtosis --------------------------------------------------------------------------------


def _column_shapes(X: Any) -> Shapes:
    """The shapes of all columns with two different values; categorical columns as indicators."""
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
        raise ArgumentError(f"{wanted} got: {error}") from error
    return _dense_shapes(values[:, None], [label])


def _as_float(values: npt.NDArray[Any]) -> Array:
    """A copy to work on, with contiguous columns; dates become numbers, NaT becomes NaN."""
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


def _dense_shapes(block: Array, labels: Sequence[object]) -> Shapes:
    """The shapes of a block's columns. Overwrites the block.

    Each column is first mapped to [0, 1]. This changes neither measure and keeps every power in range, whatever the
    units, since then m2 ≥ 1 / (2 n).
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

    block *= 0.5  # exact, and the span of ±1e308 would overflow without it
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
    """As `_dense_shapes`, from each column's stored cells and its number of zeros."""
    if X.dtype.kind not in "biuf":
        raise ArgumentError(f"a sparse X must hold real numbers, but got dtype {X.dtype}")
    n, d = X.shape
    csc = X.tocsc()
    if not csc.has_canonical_format:
        csc = csc.copy()  # summing duplicates works in place, and X belongs to the caller
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

    def mean(of_cells: Array, of_zero: Array) -> Array:
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


def _varies(low: Array, high: Array) -> Mask:
    """Which columns vary by more than rounding error; false for columns without a value (NaN or low > high)."""
    return np.asarray(high / 2 - low / 2 > _ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def _shape(m2: Array, m3: Array, m4: Array) -> Shapes:
    """g1 = m3 / m2^1.5 and g2 = m4 / m2^2 - 3."""
    return np.stack([m3 / m2**1.5, m4 / m2**2 - 3])


def _infinite(label: object, rows: npt.NDArray[Any]) -> ArgumentError:
    return ArgumentError(
        f"column {label!r} of X holds {counted(rows.size, 'infinite value')}, the first in row {rows[0]}",
        "make them missing (NaN) or finite",
    )
