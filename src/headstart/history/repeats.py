"""Repeated evaluations of one configuration on one task, averaged."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Rows

Whole: TypeAlias = npt.NDArray[np.int64]


def averaged(key: Whole, loss: Array, count: Whole, cost: Array) -> tuple[Whole, Array, Whole, Array]:
    """The same columns with one entry per key, in the order of the keys.

    Loss and cost are the mean over the successful evaluations, or over all of them if none succeeded; the count is the
    number of evaluations that the mean was taken over.
    """
    order = np.lexsort((cost, count, loss, key))  # so that sums do not depend on the order of the rows
    new = np.append(True, key[order][1:] != key[order][:-1])
    failed = np.isnan(loss[order])
    succeeded = ~failed[new][np.cumsum(new) - 1]  # NaN comes last, so the first of a key shows whether any succeeded
    order = order[~(failed & succeeded)]
    key, loss, count, cost = key[order], loss[order], count[order], cost[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    if len(first) < len(key):
        loss, cost = _group_means(loss, count, first), _group_means(cost, count, first)
        key, count = key[first], np.add.reduceat(count, first)
    return key, loss, count, cost


def _group_means(x: Array, count: Whole, first: Rows) -> Array:
    """The weighted mean of each group, as an offset from its smallest entry: the mean of equal entries is exact."""
    sizes = np.diff(np.append(first, len(x)))
    weight = np.where(np.isnan(x), 0.0, count)
    total = np.repeat(np.add.reduceat(weight, first), sizes)
    start = np.repeat(np.fmin.reduceat(x, first), sizes)
    share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    offset = np.where(weight > 0, (x / 2 - start / 2) * share, 0.0)  # halves, because differences may overflow
    half = np.add.reduceat(offset, first)
    return np.where(half == 0, start[first], 2 * (start[first] / 2 + half))
