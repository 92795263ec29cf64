"""What arguments must be, and words for when they are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int, *, or_none: bool = False) -> int:
    """A whole number from `least` on, NumPy's included; True and False are none."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    none = ", or None" if or_none else ""
    raise ValueError(f"{name} must be a whole number of at least {least}{none}, but got {value!r}")


def closest(name: str, names: Sequence[str]) -> str:
    """'; did you mean …?' for an error message, or nothing."""
    from difflib import get_close_matches

    matches = get_close_matches(str(name), list(names), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""
