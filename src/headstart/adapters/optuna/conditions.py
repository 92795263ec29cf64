"""Define-by-run spaces: which parameters an objective asks for under which conditions, told from its trials.

Optuna does not know conditions, only which parameters each trial asked for. A parameter that some trials lack is
taken to depend on others if these explain exactly which: it was asked for in all trials in which they had certain
values, and in no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from headstart._support.types import Array, Mask, Scalar
from headstart.space import Categorical, Int, Parameter, Space
from headstart.space.parameters import as_number
from headstart.space.reconciliation import defaults_of, into

Params: TypeAlias = Mapping[str, Any]
Conditions: TypeAlias = dict[str, tuple[Scalar, ...]]
Shape: TypeAlias = dict[str, Any]  # what one trial asked for, with the values of possible parents only

MOST_VALUES = 20  # whole-number parameters with more values are no parents
ASKED = object()  # stands for a value that tells nothing about conditions


# -- from trials to conditions -------------------------------------------------------------------------------


def telling(parameters: Mapping[str, Parameter], base: Space | None = None) -> set[str]:
    """The parameters on whose values others may depend, or do so in the past."""
    parents = {parent for p in (base or {}).values() for parent in p.conditions}
    return parents | {
        name
        for name, p in parameters.items()
        if (isinstance(p, Categorical) and p.width > 1) or (isinstance(p, Int) and p.size <= MOST_VALUES)
    }


def shapes(configs: Iterable[Params], known: Iterable[str], parents: set[str]) -> list[Shape]:
    """The distinct combinations of parameters asked for (of the known ones) and values of possible parents."""
    known = set(known)
    found = {}
    for config in configs:
        shape = {name: (value if name in parents else ASKED) for name, value in config.items() if name in known}
        found[tuple((name, isinstance(value, bool), value) for name, value in sorted(shape.items()))] = shape
    return list(found.values())


def inferred(studies: Sequence[Sequence[Shape]], parameters: Mapping[str, Parameter]) -> dict[str, Conditions]:
    """The conditions of each parameter, judged by the studies that asked for it at all."""
    return {
        name: _explained(name, [shape for study in studies if any(name in s for s in study) for shape in study])
        for name in parameters
    }


def _explained(name: str, trials: Sequence[Shape]) -> Conditions:
    """Parents whose values tell exactly which of these trials asked for a parameter; none if nothing does."""
    having = [shape for shape in trials if name in shape]
    if len(having) == len(trials):
        return {}
    # Parents were asked for wherever the parameter was, and elsewhere: so conditions cannot form a cycle.
    count = {other: sum(other in shape for shape in trials) for other in having[0]}
    parents = [
        other
        for other in sorted(count, key=lambda other: -count[other])
        if having[0][other] is not ASKED and count[other] > len(having) and all(other in shape for shape in having)
    ]
    conditions = {parent: _distinct(shape[parent] for shape in having) for parent in parents}
    if not exact(name, conditions, trials):
        return {}
    for parent in reversed(parents):
        fewer = {other: values for other, values in conditions.items() if other != parent}
        if exact(name, fewer, trials):
            conditions = fewer
    return conditions


def _distinct(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    kept = {(isinstance(value, bool), value): value for value in values}
    return tuple(kept[key] for key in sorted(kept, key=repr))


def exact(name: str, conditions: Conditions, trials: Iterable[Params]) -> bool:
    """Whether a parameter was asked for in just those trials in which the conditions hold."""
    return all((name in trial) == holds(conditions, trial) for trial in trials)


def holds(conditions: Conditions, trial: Params) -> bool:
    return all(
        parent in trial and any(_same(trial[parent], value) for value in values)
        for parent, values in conditions.items()
    )


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


# -- the space of an objective -------------------------------------------------------------------------------


def joined(base: Space | None, seen: Mapping[str, Parameter], trials: Sequence[Shape]) -> Space | None:
    """What is known of an objective's space: what the past says, corrected by what this study's trials show.

    seen: the parameters asked for so far, as they are now. A parameter of the past stays until a trial shows that it
    is not asked for; conditions of the past hold until a trial contradicts them.
    """
    told = inferred([trials], seen)
    new: dict[str, Parameter] = {}
    for name in [*(base.parents_first if base else ()), *(n for n in seen if not base or n not in base)]:
        before = _still(base[name].conditions, new) if base and name in base else None
        if name in seen:
            agrees = before is not None and exact(name, before, trials)
            new[name] = replace(seen[name], when=before if agrees else told[name])
        elif base and before is not None and not any(holds(before, trial) for trial in trials):
            new[name] = replace(base[name], when=before)
    order = [*(n for n in (base or ()) if n in new), *(n for n in new if not base or n not in base)]
    return Space({name: _possible(new, name) for name in order}) if order else None


def _still(conditions: Conditions, new: Mapping[str, Parameter]) -> Conditions | None:
    """Conditions restricted to the values that their parents still have; None if they can no longer hold."""
    kept = {
        parent: tuple(value for value in values if parent in new and new[parent].contains(value))
        for parent, values in conditions.items()
    }
    return kept if all(kept.values()) else None


def _possible(new: Mapping[str, Parameter], name: str) -> Parameter:
    """The parameter; without its conditions if they name a value that its parent has no more."""
    conditions = new[name].conditions
    return new[name] if _still(conditions, new) == conditions else replace(new[name], when=None)


# -- configurations in a space -------------------------------------------------------------------------------


def placed(space: Space, configs: Sequence[Params]) -> tuple[Array, Mask, Mask]:
    """Parameters of trials as V of a space; which rows have a place there; and in which cells were filled in.

    Numbers out of range move to the bound, parameters that a trial lacks take the middle, and what is inactive is
    left out. A row with a choice that the space does not have has no place.
    """
    V = np.full((len(configs), len(space)), np.nan)
    fits, filled = np.ones(len(configs), dtype=bool), np.zeros(V.shape, dtype=bool)
    defaults = defaults_of(space)
    for name in space.parents_first:
        parameter, j = space[name], space.names.index(name)
        active = space.active(V, name)
        given = np.array([name in config for config in configs], dtype=bool)
        column = _column(parameter, [config.get(name) for config in configs])
        fits &= ~(active & given & np.isnan(column))
        filled[:, j] = active & ~given
        V[active, j] = np.where(given, column, defaults[name])[active]
    V[~fits] = np.nan
    return V, fits, filled


def _column(parameter: Parameter, cells: Sequence[Any]) -> Array:
    if isinstance(parameter, Categorical):
        found = [parameter.index(cell) for cell in cells]
        return np.array([np.nan if index is None else index for index in found], dtype=float)
    return into(parameter, np.array([as_number(cell) for cell in cells], dtype=float))
