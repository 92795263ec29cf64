"""When two configurations are the same. No other module decides this.

Configurations are rows of a matrix V of values (NaN where a parameter is inactive) or of an encoding Z. Two rows are
the same if all their numbers are equal, where −0 equals 0 and NaN equals NaN.
"""

from __future__ import annotations

import numpy as np

from headstart._support.types import Array, Mask, Rows


def keys(V: Array) -> list[bytes]:
    """One key per row; equal rows have equal keys."""
    return [row.tobytes() for row in _canonical(V)]


def distinct(V: Array) -> tuple[Array, Rows]:
    """The distinct rows of V in lexicographic order (NaN last), and for each row of V its position among them."""
    V = _canonical(V)
    order = np.lexsort(V.T[::-1])
    ranked = V[order]
    same = (ranked[1:] == ranked[:-1]) | (np.isnan(ranked[1:]) & np.isnan(ranked[:-1]))
    new = np.append(np.ones(min(len(V), 1), dtype=bool), ~same.all(axis=1))
    which = np.empty(len(V), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return ranked[new], which


def unrepeated(V: Array) -> Array:
    """The distinct rows of V in the order in which they first occur."""
    first = {key: i for i, key in reversed(list(enumerate(keys(V))))}
    return np.asarray(V[sorted(first.values())])


def among(V: Array, others: Array) -> Mask:
    """Which rows of V are also rows of the other matrix."""
    known = set(keys(others))
    return np.array([key in known for key in keys(V)], dtype=bool)


def _canonical(V: Array) -> Array:
    """The same numbers, with a single zero and a single NaN."""
    return np.where(np.isnan(V), np.nan, V) + 0.0
