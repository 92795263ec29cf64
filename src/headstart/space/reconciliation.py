"""Converts configurations from one space to another.

Ranges change, choices come and go, parameters are renamed. `reconcile` converts the values that have a place in the new
space, reports what happened to each parameter, and lists the configurations that could not be converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.errors import ArgumentError
from headstart.space.foreign import as_space
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.scalars import as_number
from headstart.space.space import Config, Space


@dataclass(frozen=True)
class Change:
    """The fate of one parameter: kept, clipped, renamed, filled or dropped, with details."""

    name: str
    action: str
    detail: str = ""

    @property
    def altered(self) -> bool:
        """Whether anything happened to the parameter at all."""
        return self.action != "kept" or bool(self.detail)


@dataclass(frozen=True)
class Reconciled:
    """The converted configurations, the old row of each, all changes, and why other rows were dropped.

    `print` shows this as a table.
    """

    configs: list[Config]
    rows: list[int]
    changes: list[Change]
    dropped: list[tuple[int, str]]

    @property
    def unchanged(self) -> bool:
        """Whether every value was kept unchanged."""
        return not self.dropped and not any(change.altered for change in self.changes)

    def __str__(self) -> str:
        total, shown = len(self.rows) + len(self.dropped), 5
        lines = [report(self.changes)]
        if total:
            lines.append(f"{len(self.rows)} of {total} configurations converted")
        lines += [f"  dropped configuration {row}: {reason}" for row, reason in self.dropped[:shown]]
        if len(self.dropped) > shown:
            lines.append(f"  … and {len(self.dropped) - shown} more")
        return "\n".join(lines)


def report(changes: Sequence[Change]) -> str:
    """The changes as a small table."""
    rows = [("parameter", "action", "details"), *((c.name, c.action, c.detail) for c in changes)]
    width = max(len(name) for name, *_ in rows)
    return "\n".join(f"{name:<{width}}  {action:<9}  {detail}".rstrip() for name, action, detail in rows)


def reconcile(
    old: Any,
    new: Any,
    configs: Sequence[Mapping[str, Any]] = (),
    *,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
) -> Reconciled:
    """Converts configurations of the space `old` to the space `new`.

    rename: old name → new name. fill: values for parameters that `old` does not have; the default is the middle of the
    range, or the first choice.
    """
    old, new = as_space(old), as_space(new)
    V, keep, changes, reasons = reconcile_values(old, new, old.to_values(configs), rename=rename, fill=fill)
    rows = [int(row) for row in np.flatnonzero(keep)]
    return Reconciled(new.from_values(V[keep]), rows, changes, sorted(reasons.items()))


def reconcile_values(
    old: Space,
    new: Space,
    V: Array,
    *,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
) -> tuple[Array, Mask, list[Change], dict[int, str]]:
    """The same on a matrix V: new values, which rows were converted, changes, and for each other row the reason."""
    rename = dict(rename or {})
    _check_renames(old, new, rename)
    defaults = defaults_of(new, fill or {})
    source = {name: name for name in old if name in new and name not in rename}  # new name → old name
    source |= {there: here for here, there in rename.items()}
    out = np.full((len(V), len(new)), np.nan)
    keep = np.ones(len(V), dtype=bool)
    changes: dict[str, Change] = {}
    reasons: dict[int, str] = {}
    for name in new.parents_first:
        active = new.active(out, name) & keep
        column = out[:, new.names.index(name)]  # a view
        column[active] = defaults[name]
        filler = repr(new[name].native(defaults[name]))
        if name not in source:
            changes[name] = Change(name, "filled", f"with {filler}")
            continue
        before = V[:, old.names.index(source[name])]
        known = ~np.isnan(before)
        both = active & known
        column[both], clipped, rounded = _convert(old[source[name]], new[name], before[both])
        lost = both & np.isnan(column)
        for row in np.flatnonzero(lost):
            value = old[source[name]].native(before[row])
            reasons[int(row)] = f"{name}={value!r} is not in {new[name].describe()}"
        keep &= ~lost
        notes = [
            (clipped, f"clipped to {new[name].describe()}"),
            (rounded, "rounded"),
            (int(lost.sum()), f"not in {new[name].describe()}: configuration dropped"),
            (int((active & ~known).sum()), f"filled with {filler}, inactive in the old space"),
            (int((known & keep & ~active).sum()), "dropped, inactive in the new space"),
        ]
        changes[name] = _change(name, source[name], notes)
    gone = [_gone(name, new) for name in old if name not in source.values()]
    return out, keep, [changes[name] for name in new] + gone, reasons


def _check_renames(old: Space, new: Space, rename: Mapping[str, str]) -> None:
    for here, there in rename.items():
        if here not in old:
            raise ArgumentError(f"cannot rename {here!r}: the old space has {', '.join(old)}")
        if there not in new:
            raise ArgumentError(f"cannot rename {here!r} to {there!r}: the new space has {', '.join(new)}")
    if len(set(rename.values())) < len(rename):
        raise ArgumentError(f"rename gives two parameters the same name: {dict(rename)}")


def defaults_of(new: Space, fill: Mapping[str, Any] = MappingProxyType({})) -> dict[str, float]:
    """The value of each parameter that has none: from `fill`, else the middle of the range or the first choice."""
    defaults = {}
    for name, parameter in new.items():
        middle = parameter.from_unit(np.array([0.5])) if not isinstance(parameter, Categorical) else [0.0]
        defaults[name] = float(middle[0])
    for name, value in fill.items():
        if name not in new:
            raise ArgumentError(f"cannot fill {name!r}: the new space has {', '.join(new)}")
        if not new[name].contains(value):
            raise ArgumentError(f"cannot fill {name!r} with {value!r}: it takes {new[name].describe()}")
        defaults[name] = converted(value, new[name])
    return defaults


def _convert(old: Parameter, new: Parameter, before: Array) -> tuple[Array, int, int]:
    """Old values as values of the new parameter, NaN where it has none; how many were clipped, how many rounded."""
    if isinstance(old, Categorical):
        table = np.array([converted(choice, new) for choice in old.choices])
        after = table[before.astype(int)]
        if isinstance(new, Categorical):
            return after, 0, 0
        before = np.array([as_number(choice) for choice in old.choices])[before.astype(int)]
    elif isinstance(new, Categorical):
        values, which = np.unique(before, return_inverse=True)
        return np.array([converted(old.native(v), new) for v in values])[which.reshape(-1)], 0, 0
    else:
        after = into(new, before)
    inside = np.clip(before, new.low, new.high)
    clipped = np.abs(before - inside) > 1e-9 * np.abs(inside)
    rounded = ~clipped & (np.abs(after - inside) > 1e-9 * np.abs(inside))
    return after, int(clipped.sum()), int(rounded.sum())


def converted(value: Any, new: Parameter) -> float:
    """One native value as a value of another parameter; NaN if the parameter cannot take it."""
    if isinstance(new, Categorical):
        index = new.index(value)
        return np.nan if index is None else float(index)
    return float(into(new, np.array([as_number(value)]))[0])


def into(new: Float | Int, v: Array) -> Array:
    """Numbers clipped to the range and moved to the grid; those on the grid stay exactly as they are."""
    inside = np.clip(v, new.low, new.high)
    exact, off_grid = new.admit(inside)
    return np.where(np.isnan(v), np.nan, np.where(off_grid, new.snap(inside), exact))


def _change(name: str, source: str, notes: Sequence[tuple[int, str]]) -> Change:
    details = [f"{counted(count, 'value')} {text}" for count, text in notes if count]
    if source != name:
        return Change(name, "renamed", "; ".join([f"from {source}", *details]))
    clipped, _, _, filled, _ = (count for count, _ in notes)
    return Change(name, "clipped" if clipped else "filled" if filled else "kept", "; ".join(details))


def _gone(name: str, new: Space) -> Change:
    return Change(name, "dropped", "another parameter now has its name" if name in new else "not in the new space")
