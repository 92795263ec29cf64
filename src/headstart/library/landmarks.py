"""What a linear model, two kernel models and the nearest neighbours make of a data set, in milliseconds.

Such landmarks tell what simple meta-features do not: how noisy the target is, how much regularisation it wants, and
whether it is linear, smooth or local. The choice of a configuration without a search uses them beside the meta-features
(`unsearched.py`); those of the histories' data sets are in `landmarks.json`, written by `tools/landmarks.py`.

Columns are standardised, missing numbers are medians, and a categorical column becomes indicators. Classes are
indicators, too, so that all models are least squares. Their errors are those of leaving one row out, in closed form:
with penalty α, K = U diag(λ) Uᵀ (of centred rows) and H = U diag(λ / (λ + α)) Uᵀ,

    error(α) = Σᵢ [(yᵢ − (H y)ᵢ) / (1 − Hᵢᵢ − 1/n)]² / Σᵢ yᵢ².

| name                       | meaning                                                                           |
| -------------------------- | --------------------------------------------------------------------------------- |
| linear_error, …_penalty    | the lowest error over the penalties, and log10 of that penalty; K = X Xᵀ          |
| linear_more, linear_less   | log(error(10) / error(1)) and log(error(0.1) / error(1))                          |
| smooth_…, local_…          | the same with K = exp(−γ ‖x − x'‖²), γ = 0.1 and 1 over the number of columns     |
| neighbour_error, …s_error  | the error of the nearest row, and of the mean of the nearest five                 |
| encoded_columns            | columns with indicators counted                                                   |
| effective_columns          | (Σ λ)² / Σ λ² of the eigenvalues of the correlation matrix                        |
| missing, categorical       | the share of cells that are missing, and of columns that are categorical          |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.rounding import settled
from headstart._support.threads import one_thread
from headstart._support.types import Array, Rows
from headstart.datasets.features import as_array, class_codes, is_sparse
from headstart.history.shipped import LIBRARY
from headstart.library.models import CLASSIFICATION

ROWS = 1000  # as in the histories
KERNEL_ROWS = 300  # of the models with a kernel, and of the neighbours, whose cost is cubic
COLUMNS = 300  # before and after encoding; of more, as many are taken at even distances
CATEGORIES = 20  # indicators of one column; rare ones share the last
CLASSES = 10  # indicators of the target; rare ones share the last
PENALTIES = 10.0 ** np.arange(-3, 5)
ONE = 3  # the position of the penalty 1
WIDTHS = {"smooth": 0.1, "local": 1.0}
NEAREST = (1, 5)
FILE = "landmarks.json"


@one_thread
def landmarks(kind: str, X: Any, y: Any) -> dict[str, float]:
    """The landmarks of a data set for which there are meta-features; empty if there is nothing to learn in it."""
    rows = np.random.default_rng(0).permutation(len(Y := _target(kind, y)))[:ROWS]
    frame, Y = _part(X, rows), Y[rows]
    Z, shares = _encoded(frame)
    if not Z.shape[1] or not np.isfinite(Y).all():
        return {}
    found = {"encoded_columns": float(Z.shape[1] * np.shape(X)[1] / frame.shape[1]), **shares}
    Z = Z[:, _spread(Z.shape[1])]
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    found["effective_columns"] = float((s**2).sum() ** 2 / (s**4).sum())
    found |= _penalised("linear", U, s**2, _centred(Y))
    return {**found, **_local(Z[:KERNEL_ROWS], _centred(Y[:KERNEL_ROWS]))}


def _part(X: Any, rows: Rows) -> pd.DataFrame:
    """Some of the rows, of at most `COLUMNS` columns."""
    if is_sparse(X):
        return pd.DataFrame(X.tocsr()[rows][:, _spread(X.shape[1])].toarray())
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(as_array(X, "X"))
    return frame.iloc[rows, _spread(frame.shape[1])]


def _spread(columns: int) -> Rows:
    """The positions of at most `COLUMNS` columns at even distances."""
    return np.linspace(0, columns - 1, min(COLUMNS, columns)).round().astype(int)


def _target(kind: str, y: Any) -> Array:
    """The target's columns: indicators of the classes, or numbers between 0 and 1."""
    if kind == CLASSIFICATION:
        return _indicators(class_codes(y), CLASSES)
    values = np.asarray(y, dtype=float)
    return _unit(values.reshape(len(values), -1))


def _encoded(frame: pd.DataFrame) -> tuple[Array, dict[str, float]]:
    """Standardised columns (n, p), without those that are constant, and the shares of missing and categorical ones."""
    numbers = [_numbers(frame.iloc[:, j]) for j in range(frame.shape[1])]
    parts = [
        _indicators(pd.factorize(frame.iloc[:, j].astype(object))[0], CATEGORIES) if column is None else _filled(column)
        for j, column in enumerate(numbers)
    ]
    Z = np.concatenate(parts, axis=1)
    Z = Z - Z.mean(axis=0)
    spread = Z.std(axis=0)
    varies = spread > 1e-9
    shares = {
        "missing": float(frame.isna().to_numpy().mean()),
        "categorical": sum(column is None for column in numbers) / frame.shape[1],
    }
    return np.asarray(Z[:, varies] / spread[varies]), shares


def _numbers(column: pd.Series[Any]) -> Array | None:
    """The column as numbers; None if it is categorical."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    if column.dtype.kind in "mM":
        return np.where(column.isna(), np.nan, column.astype("int64", errors="ignore").to_numpy(dtype=float))
    try:
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        return None


def _filled(column: Array) -> Array:
    """One column (n, 1) between 0 and 1, its missing cells at the median."""
    column = column / 2  # the mean of the two middle ones must not overflow
    known = column[~np.isnan(column)]
    return _unit(np.where(np.isnan(column), np.median(known) if len(known) else 0.0, column)[:, None])


def _unit(columns: Array) -> Array:
    """Columns mapped to [0, 1], whatever their units; halves, because the span of ±1e308 would overflow."""
    low, high = columns.min(axis=0) / 2, columns.max(axis=0) / 2
    span = np.where(high > low, high - low, 1.0)
    return np.asarray((columns / 2 - low) / span)


def _indicators(codes: Any, most: int) -> Array:
    """One column for each code, the most frequent ones first; missing cells have the code −1."""
    _, codes, counts = np.unique(codes, return_inverse=True, return_counts=True)
    place = np.empty(len(counts), dtype=int)
    place[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), most - 1)
    return np.asarray(np.eye(min(most, len(counts)))[place[codes]])


def _centred(Y: Array) -> Array:
    return np.asarray(Y - Y.mean(axis=0))


def _penalised(name: str, U: Array, eigenvalues: Array, Y: Array) -> dict[str, float]:
    """Error and penalty of one model, by the eigenvectors U (n, k) of its kernel."""
    total = (Y**2).sum()
    if total <= 0:
        return {}
    share = eigenvalues[:, None] / (eigenvalues[:, None] + PENALTIES)
    own = U**2 @ share + 1 / len(U)
    inner = U.T @ Y
    errors = np.array(
        [
            (((Y - U @ (share[:, [i]] * inner)) / np.maximum(1 - own[:, [i]], 1e-6)) ** 2).sum() / total
            for i in range(len(PENALTIES))
        ]
    )
    errors = np.maximum(settled(errors), 1e-9)
    best = int(errors.argmin())
    return {
        f"{name}_error": float(errors[best]),
        f"{name}_penalty": float(np.log10(PENALTIES[best])),
        f"{name}_more": float(np.log(errors[ONE + 1] / errors[ONE])),
        f"{name}_less": float(np.log(errors[ONE - 1] / errors[ONE])),
    }


def _local(Z: Array, Y: Array) -> dict[str, float]:
    """The landmarks that depend on the distances of rows."""
    total = (Y**2).sum()
    if total <= 0:
        return {}
    squares = (Z**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0)
    centre = np.eye(len(Z)) - 1 / len(Z)
    found: dict[str, float] = {}
    for name, width in WIDTHS.items():
        eigenvalues, U = np.linalg.eigh(centre @ np.exp(-width * distances / Z.shape[1]) @ centre)
        found |= _penalised(name, U, np.maximum(eigenvalues, 0.0), Y)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(settled(distances), axis=1, kind="stable")[:, : max(NEAREST)]
    for name, k in zip(("neighbour_error", "neighbours_error"), NEAREST, strict=True):
        found[name] = float(((Y - Y[nearest[:, :k]].mean(axis=1)) ** 2).sum() / total)
    return found


# -- of the histories' data sets -------------------------------------------------------------------------------


@cache
def of_past() -> Mapping[str, Mapping[str, float]]:
    """The stored landmarks of the histories' data sets, by name."""
    path = files(LIBRARY) / FILE
    return MappingProxyType(json.loads(path.read_text(encoding="utf-8")))


def with_landmarks(tasks: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Tasks' meta-features and, where they are stored, their landmarks."""
    return {name: {**features, **of_past().get(name, {})} for name, features in tasks.items()}


def measured(names: Iterable[str], kind: str) -> dict[str, dict[str, float]]:
    """The landmarks of data sets as the histories have them, short enough for a file."""
    from headstart.library import folds, problems

    found = {}
    for name in names:
        data = folds.sample(problems.load(name), kind)
        found[name] = {key: float(f"{x:.4g}") for key, x in landmarks(kind, data.X, data.y).items()}
    return found
