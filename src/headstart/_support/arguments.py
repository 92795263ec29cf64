"""Checks of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.errors import ArgumentError


def whole(name: str, value: Any, least: int, *, or_none: bool = False) -> int:
    """The value as an int; an error that names the argument unless it is a whole number of at least `least`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    none = ", or None" if or_none else ""
    raise ArgumentError(f"{name} must be a whole number of at least {least}{none}, but got {value!r}")
