"""Tasks evaluated on the same configurations share one design, and so one factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError
from headstart.gp.arrays import as_columns, as_matrix
from headstart.space.rows import distinct


class SharedDesign(NamedTuple):
    """One design and the tasks that were evaluated on it."""

    rows: Rows  # (n,) which of the distinct rows form the design, in ascending order
    Y: Array  # (n, t)
    tasks: Rows  # (t,) positions of the tasks in the history


def share_designs(designs: Sequence[Array], losses: Sequence[Array]) -> tuple[Array, list[SharedDesign]]:
    """The distinct rows (u, d) of all designs in lexicographic order, and the tasks grouped by design.

    The order in which a task evaluated its configurations does not matter.
    """
    if len(designs) != len(losses):
        raise ArgumentError(
            f"every design needs losses, but got {len(designs)} designs and {len(losses)} sets of losses"
        )
    if not designs:
        raise ArgumentError("there are no tasks", "give at least one design")
    width = np.shape(designs[0])[-1]
    checked = [as_matrix(X, f"design {i}", width) for i, X in enumerate(designs)]
    rows, identity = distinct(np.concatenate(checked))
    ends = np.cumsum([len(X) for X in checked])
    members: dict[bytes, list[tuple[int, Array]]] = {}
    for task, (places, y) in enumerate(zip(np.split(identity, ends[:-1]), losses, strict=True)):
        column = as_columns(y, f"losses of task {task}", len(places))
        if column.shape[1] != 1:
            raise ArgumentError(f"losses of task {task} must be a vector, but have shape {np.shape(y)}")
        order = np.argsort(places, kind="stable")
        members.setdefault(places[order].tobytes(), []).append((task, column[order, 0]))
    groups = [
        SharedDesign(
            np.frombuffer(key, dtype=np.intp),
            np.stack([y for _, y in tasks], axis=1),
            np.array([task for task, _ in tasks]),
        )
        for key, tasks in members.items()
    ]
    return rows, groups
