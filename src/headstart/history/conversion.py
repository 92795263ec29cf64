"""Two histories in one, and a history in another search space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.direction import VERBS
from headstart._support.types import Array, Mask
from headstart._support.wording import some
from headstart.errors import HistoryError
from headstart.history.evaluations import Evaluations
from headstart.space import Change, Space
from headstart.space.reconciliation import reconcile_values

if TYPE_CHECKING:
    from headstart.history.history import History


def merged(ours: History, theirs: History) -> Evaluations:
    """The evaluations of both; where both have a feature, ours counts."""
    if ours.space != theirs.space:
        raise HistoryError("the histories have different spaces", "convert one first: other.moved_to(space)[0]")
    for name in ours.by_name.keys() & theirs.by_name.keys():
        here, there = ours.direction_of(name), theirs.direction_of(name)
        if here != there:
            raise HistoryError(f"one history {VERBS[here]} the results of {name!r}, the other {VERBS[there]} them")
    features: dict[str, dict[str, float]] = {}
    for task in (*theirs, *ours):
        features.setdefault(task.name, {}).update(task.features or {})
    own = {name: history.direction_of(name) for history in (theirs, ours) for name in history.tasks}
    return replace(
        ours.evaluations().and_those_of(theirs.evaluations()),
        features=features,
        directions={name: direction for name, direction in own.items() if direction != ours.direction},
        info={**theirs.info, **ours.info},
        notes=tuple(dict.fromkeys((*ours.notes, *theirs.notes))),
        curves=theirs.curves if ours.curves is None else ours.curves.and_(theirs.curves),
    )


def moved(
    history: History, space: Space, *, rename: Mapping[str, str] | None, fill: Mapping[str, Any] | None
) -> tuple[History, list[Change]]:
    """The history converted to another space, and the changes of each parameter."""
    V, keep, changes, reasons = reconcile_values(history.space, space, history.V, rename=rename, fill=fill)
    left = {task.name for task in history if np.isfinite(task.losses[keep[task.rows]]).any()}
    if not left:
        raise HistoryError(f"no configuration can be converted: {next(iter(reasons.values()))}")
    notes = []
    if reasons:
        notes.append(f"skipped {len(reasons):,} of {len(V):,} configurations, which do not fit the new space")
    if lost := [name for name in history.tasks if name not in left]:
        notes.append(f"skipped {len(lost)} of {len(history)} tasks, which lost all their evaluations: {some(lost)}")
    kept = replace(history, by_name={name: history[name] for name in left}, notes=(*history.notes, *notes))
    found, curves = history.from_evaluations(rebuilt(kept, V, keep, space)), history.curves
    if curves is not None:
        V, fits, _, _ = reconcile_values(history.space, space, curves.V, rename=rename, fill=fill)
        there = replace(curves, V=V).where(fits & np.isin(curves.tasks.astype(str), found.tasks))
        found = replace(found, curves=there)
    return found, changes


def rebuilt(history: History, V: Array, keep: Mask, space: Space) -> Evaluations:
    """The evaluations of the kept configurations, with the values V instead of their old ones."""
    rows = np.concatenate([task.rows for task in history])
    every, kept = history.evaluations(), keep[rows]
    if missing := set(history.tasks) - set(every.tasks[kept].tolist()):
        raise HistoryError(f"task {min(missing)!r} has tried none of these configurations")
    return replace(every, space=space, V=V[rows]).where(kept)
