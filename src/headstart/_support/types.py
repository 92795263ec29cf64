"""Types that every folder uses."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = str | int | float | bool | None
Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.intp]
"""Indices of rows in a matrix."""
