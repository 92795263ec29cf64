"""Checks of a data set before a model of the library is fitted to it.

What the model itself would reject is rejected at once, with the problem and what to do about it, instead of after many
failed fits. After a step that may change X, other than scaling it, only the target is checked. Columns that are not
scaled are a warning, and a data set unlike all past ones is a line in the log: both can be right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from headstart._support.log import announce
from headstart._support.types import Array
from headstart._support.wording import counted, printable, some
from headstart.adapters.known import Known
from headstart.adapters.steps import steps
from headstart.datasets.features import is_sparse
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.library.models import CLASSIFICATION

# Columns count as scaled if their standard deviations are within these limits; guesses. Columns in [0, 1] pass.
LARGEST = 10.0
WIDEST = 100.0  # ratio of the largest to the smallest
SAMPLED = 5000  # rows from which they are estimated

SCALERS = ("Scaler", "QuantileTransformer", "PowerTransformer", "Normalizer", "Whitening", "SplineTransformer")


def check_data(known: Known, estimator: Any, X: Any, y: Any) -> None:
    """An error if the model cannot be fitted to the data; a warning if its columns or its target should be scaled."""
    if y is not None:
        check_consistent_length(X, y)  # scikit-learn's own error
        check_target(known, y)
    if not is_sparse(X) and _arrives_as_it_is(estimator):
        check_columns(known, X)
    if known.model.standardised and not _has_scaler(estimator):
        warn_of_scales(known, X)
    if known.model.scaled_target and y is not None and not _scales_target(estimator):
        warn_of_target(known, y)


# -- the target ------------------------------------------------------------------------------------------------


def check_target(known: Known, y: Any) -> None:
    """An error if y lacks values, is continuous or has one class for a classifier, or holds text for a regressor."""
    name = known.model.class_name
    if not np.shape(y)[0]:
        raise ArgumentError("X and y have no rows")
    absent = 0 if is_sparse(y) else int(_as_frame(y).isna().to_numpy().sum())
    if absent:
        raise ArgumentError(f"y lacks {counted(absent, 'value')} of {len(y)}", "drop those rows from X and y")
    if known.model.kind != CLASSIFICATION:
        text = next(_texts(_as_frame(y)), None)
        if text is not None:
            raise ArgumentError(
                f"y holds the text {_shown(text[1])}, but {name} predicts numbers", "use a classifier, or encode y"
            )
        return
    check_classification_targets(y)  # scikit-learn's own error
    labels = pd.unique(np.empty(0) if is_sparse(y) else np.asarray(y).ravel())
    if len(labels) == 1:
        raise ArgumentError(
            f"y has only one class, {_shown(labels[0])}, so {name} has nothing to learn", "pass rows of two classes"
        )


# -- the columns -----------------------------------------------------------------------------------------------


def check_columns(known: Known, X: Any) -> None:
    """An error if X holds text, infinite or missing values that the model, which gets X as it is, does not take."""
    name, frame = known.model.class_name, _as_frame(X)
    if not known.model.categories:
        found = list(_texts(frame))
        if found:
            column, text = found[0]
            columns = f"[{', '.join(_shown(label) for label, _ in found[:3])}{', …' * (len(found) > 3)}]"
            encoder = f"(OneHotEncoder(handle_unknown='ignore'), {columns}), remainder='passthrough'"
            raise ArgumentError(
                f"column {_shown(column)} of X holds the text {_shown(text)}, but {name} takes only numbers",
                f"encode such columns first, as in make_pipeline(make_column_transformer({encoder}), {name}())",
            )
        endless = [label for label, column in frame.items() if column.dtype.kind == "f" and np.isinf(column).any()]
        if endless:
            raise ArgumentError(
                f"column {_shown(endless[0])} of X holds infinite values, but {name} takes only finite ones",
                "drop those rows from X and y, or make the values NaN and fill them in",
            )
    if not _takes_missing(known):
        missing = frame.isna().sum()
        if missing.any():
            there = [str(column) for column in frame.columns[missing > 0]]
            raise ArgumentError(
                f"X lacks {counted(int(missing.sum()), 'value')}, in {counted(len(there), 'column')} "
                f"({some(there)}), but {name} takes no NaN",
                f"fill them in first, as in make_pipeline(SimpleImputer(), {name}())",
            )


def _takes_missing(known: Known) -> bool:
    """Whether the model takes NaN, by the library's record or by scikit-learn's own tags."""
    if known.model.missing:
        return True
    try:
        from sklearn.utils import get_tags
    except ImportError:  # before 1.6
        return False
    return bool(get_tags(known.step).input_tags.allow_nan)


def _texts(frame: pd.DataFrame) -> Iterator[tuple[object, str]]:
    """The columns that hold text, each with its first one. Numbers in text are numbers to scikit-learn, too."""
    for j, label in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "biufmM":
            texts = (value for value in column if isinstance(value, str) and not _is_number(value))
            first = next(texts, None)
            if first is not None:
                yield label, first


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_frame(X: Any) -> pd.DataFrame:
    """X as a frame, without its columns if it is no table: the model will say so itself."""
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, pd.Series):
        return X.to_frame()
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different lengths
        return pd.DataFrame()
    return pd.DataFrame(cells) if cells.ndim in (1, 2) else pd.DataFrame()


def _shown(value: Any) -> str:
    return printable(f"{value.item() if isinstance(value, np.generic) else value!r:.40}")


# -- scales ----------------------------------------------------------------------------------------------------


def warn_of_scales(known: Known, X: Any) -> None:
    """A warning if the columns of X differ so much in scale that the past runs say little about it."""
    spreads = _spreads(X)
    if not len(spreads) or (spreads.max() <= LARGEST and spreads.max() <= WIDEST * spreads.min()):
        return
    name = known.model.class_name
    add = f"make_pipeline(StandardScaler(), {name}())"
    if known.prefix:
        add = f"StandardScaler() before {known.prefix.removesuffix('__')}"
    warnings.warn(
        f"the columns of X are not scaled: their standard deviations go from {spreads.min():.2g} to "
        f"{spreads.max():.2g}. The past runs of {name} had standardised columns; use {add}",
        UserWarning,
        stacklevel=4,
    )


def warn_of_target(known: Known, y: Any) -> None:
    """A warning if the target of a model that needs it scaled is not."""
    spreads = _spreads(np.asarray(y).reshape(len(y), -1))
    if not len(spreads) or 1 / LARGEST <= spreads.min() <= spreads.max() <= LARGEST:
        return
    name = known.model.class_name
    warnings.warn(
        f"y is not scaled: its standard deviation is {spreads.max():.2g}. The past runs of {name} had a standardised "
        f"target; use TransformedTargetRegressor({name}(), transformer=StandardScaler())",
        UserWarning,
        stacklevel=4,
    )


def _spreads(X: Any) -> Array:
    """The standard deviations of the numeric columns that vary."""
    if is_sparse(X):
        return np.empty(0)
    frame = _as_frame(X)
    frame = frame.iloc[:: max(1, len(frame) // SAMPLED)]
    plain = [dtype.kind in "iuf" for dtype in frame.dtypes]
    numeric: npt.NDArray[Any] = frame.loc[:, plain].to_numpy(dtype=float, na_value=np.nan)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without a value
        spreads = np.nanstd(numeric, axis=0) if numeric.size else np.empty(0)
    return np.asarray(spreads[np.isfinite(spreads) & (spreads > 0)])


def _has_scaler(estimator: Any) -> bool:
    return any(_is_scaler(step) for step in steps(estimator).values())


def _is_scaler(step: Any) -> bool:
    return type(step).__name__.endswith(SCALERS)


def _arrives_as_it_is(estimator: Any) -> bool:
    """Whether nothing but scalers stands between X and the model: they keep missing values, and take no text either."""
    before = [step for step in steps(estimator).values() if hasattr(step, "transform") and not hasattr(step, "predict")]
    return all(map(_is_scaler, before))


def _scales_target(estimator: Any) -> bool:
    return any(type(step).__name__ == "TransformedTargetRegressor" for step in steps(estimator).values())


# -- what the past runs cover ----------------------------------------------------------------------------------

COUNTED = {"number_of_instances": "row", "number_of_features": "column", "number_of_classes": "class"}


def say_if_unlike(past: Iterable[Features | None], features: Features | None) -> None:
    """A line in the log if the data set has more or fewer rows, columns or classes than any of the past ones.

    past: their meta-features.
    """
    found, tasks = [], [known for known in past if known]
    for name, thing in COUNTED.items():
        known = [task[name] for task in tasks if name in task]
        value = (features or {}).get(name)
        if value is None or not known or min(known) <= value <= max(known):
            continue
        limit = f"at most {max(known):,.0f}" if value > max(known) else f"at least {min(known):,.0f}"
        found.append(f"{counted(int(value), thing, 'classes' if thing == 'class' else None)} ({limit} there)")
    if found:
        announce(f"this data set is unlike all that the past runs had: {', '.join(found)}; expect less from the start")
