"""What arguments must be, and words for when they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.errors import ArgumentError


def whole(name: str, value: Any, least: int, *, or_none: bool = False) -> int:
    """A whole number from `least` on, NumPy's included; True and False are none."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    none = ", or None" if or_none else ""
    raise ArgumentError(f"{name} must be a whole number of at least {least}{none}, but got {value!r}")
