"""One past run: the configurations tried on one task, and their losses, scaled so that tasks can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError, HistoryError

Features: TypeAlias = Mapping[str, float]
"""The meta-features of a task, by name."""


@dataclass(frozen=True, eq=False)
class Task:
    """One past run: losses of configurations, which are rows of the history's V. The arrays are read-only.

    direction: the direction of the values from which the losses were made; None is that of the history.
    """

    name: str
    rows: Rows
    losses: Array
    counts: npt.NDArray[np.int64]
    costs: Array | None = None
    features: Features | None = None
    direction: str | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "losses", "counts", "costs"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.rows):
                raise HistoryError(f"task {self.name!r}: {name} and rows differ in length")
            object.__setattr__(self, name, column if column is None else frozen(column))
        if self.features is not None:
            object.__setattr__(self, "features", MappingProxyType(dict(self.features)))
        if np.isinf(self.losses).any():
            raise HistoryError(f"task {self.name!r} has an infinite loss", "use NaN for a failed trial")
        if not np.isfinite(self.losses).any():
            raise HistoryError(f"task {self.name!r} has no usable evaluation: all of its trials failed")

    def __reduce__(self) -> tuple[Any, ...]:  # a plain pickle would forget that the arrays are read-only
        features = None if self.features is None else dict(self.features)
        return Task, (self.name, self.rows, self.losses, self.counts, self.costs, features, self.direction)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def best(self) -> int:
        """The index of the best evaluation, the first one among equals."""
        return int(np.nanargmin(self.losses))

    def scaled(self, how: str = "value") -> Array:
        """The losses scaled to [0, 1], from the best of the task to its worst; see `scale`."""
        return scale(self.losses, how)


def scale(losses: npt.ArrayLike, how: str = "value") -> Array:
    """The losses of one task scaled to [0, 1], by value (eq. 9) or by rank (equal losses share a rank).

    Failed trials get 1, like the worst loss seen. If all losses are equal, each gets 0.
    """
    values: Array = np.asarray(losses, dtype=float)
    finite = np.isfinite(values)
    if not finite.any():
        raise HistoryError("cannot scale a task without a finite loss")
    if how == "rank":
        from scipy.stats import rankdata

        values = rankdata(np.where(finite, values, np.inf))
    elif how != "value":
        raise ArgumentError(f"how must be 'value' or 'rank', but got {how!r}")
    low, high = float(values[finite].min()), float(values[finite].max())
    if not math.isfinite(high - low):  # the range itself overflows
        values, low, high = values / 4, low / 4, high / 4
    if not high > low:
        return np.where(finite, 0.0, 1.0)
    return np.where(finite, np.clip((values - low) / (high - low), 0.0, 1.0), 1.0)


def moderate(losses: Array) -> Array:
    """The losses, in another unit if they are so large or small that squares and differences would not be finite.

    Surrogates scale losses themselves, so the unit makes no difference to them. It is a power of two, so no digit is
    lost.
    """
    largest = float(np.abs(losses).max(initial=0.0))
    if 1e-100 < largest < 1e100 or largest == 0.0:
        return losses
    return np.ldexp(losses, -math.frexp(largest)[1])


def checked_features(features: Any) -> Features | None:
    """The meta-features themselves: None, or a number for every name."""
    if features is not None and not isinstance(features, Mapping):
        raise ArgumentError(
            f"features must be a dict such as hs.metafeatures(X, y) returns, but got {type(features).__name__}"
        )
    return features


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is read-only, otherwise a read-only copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
