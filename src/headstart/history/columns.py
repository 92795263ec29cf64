"""A history from plain columns, for benchmarks and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.history.evaluations import Evaluations
from headstart.history.history import History
from headstart.history.task import Features
from headstart.space import Space


def build(
    space: Space,
    *,
    tasks: Sequence[str] | npt.NDArray[Any],
    V: Array,
    losses: Array,
    counts: npt.NDArray[np.int64] | None = None,
    costs: Array | None = None,
    features: Mapping[str, Features] | None = None,
    direction: str = "minimize",
    info: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> History:
    """A history from columns with one entry per evaluation; see `Evaluations`."""
    n = len(losses)
    return History.from_evaluations(
        Evaluations(
            space,
            np.asarray(tasks, dtype=object),
            np.asarray(V, dtype=float),
            np.asarray(losses, dtype=float),
            np.ones(n, dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64),
            costs=None if costs is None else np.asarray(costs, dtype=float),
            features=features or {},
            direction=direction,
            info=info or {},
            notes=notes,
        )
    )
