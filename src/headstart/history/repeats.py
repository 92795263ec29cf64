"""Repeated evaluations of one configuration on one task, averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Rows

Counts: TypeAlias = npt.NDArray[np.int64]


def averaged(
    key: npt.NDArray[np.int64], long: Mapping[str, npt.NDArray[Any]]
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
    """Repeats as one evaluation: the mean of those that succeeded (of all, if none did), and their number."""
    loss, count, cost = long["loss"], long["count"], long["cost"]
    order = np.lexsort((cost, count, loss, key))  # so that sums do not depend on the order of the rows
    new = np.append(True, key[order][1:] != key[order][:-1])
    failed = np.isnan(loss[order])
    succeeded = ~failed[new][np.cumsum(new) - 1]  # that of its key: NaN comes last within one
    order = order[~(failed & succeeded)]
    key, loss, count, cost = key[order], loss[order], count[order], cost[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    if len(first) < len(key):
        loss, cost = _group_means(loss, count, first), _group_means(cost, count, first)
        key, count = key[first], np.add.reduceat(count, first)
    return key, {"loss": loss, "count": count, "cost": cost}


def _group_means(x: Array, count: npt.NDArray[np.int64], first: Rows) -> Array:
    """The weighted mean of each group; as an offset to its first entry, so that equal entries stay as they are."""
    sizes = np.diff(np.append(first, len(x)))
    weight = np.where(np.isnan(x), 0.0, count)
    total = np.repeat(np.add.reduceat(weight, first), sizes)
    start = np.repeat(np.fmin.reduceat(x, first), sizes)
    share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    offset = np.where(weight > 0, (x / 2 - start / 2) * share, 0.0)  # halves: differences may overflow
    return np.asarray(start[first] + 2 * np.add.reduceat(offset, first))
