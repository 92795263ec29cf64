"""Single values as they come from users and tables: choices, cells and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headstart._support.types import Scalar


def as_scalar(value: Any) -> Any:
    """A NumPy scalar as a Python one; anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def choice_key(value: Any) -> tuple[bool, Scalar]:
    """Two values are the same choice if their keys are equal. True and 1 differ, as they do in JSON."""
    value = as_scalar(value)
    return isinstance(value, bool), value


def is_scalar(value: Any) -> bool:
    """Whether a value can be a choice: None, text, a number, True or False."""
    return value is None or isinstance(value, (str, int, float, np.generic))


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or one of pandas' markers for missing values."""
    value = as_scalar(value)
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def as_number(cell: Any) -> float:
    """A cell as a float; NaN if it is not a number. True and False are not numbers."""
    cell = as_scalar(cell)
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
