"""Conditions of define-by-run objectives, inferred from their trials.

Optuna does not know conditions, only which parameters each trial suggested. If some trials lack a parameter, it depends
on others whenever their values determine exactly which trials have it: all trials with certain values, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from headstart._support.types import Array, Mask, Scalar
from headstart.space import Categorical, Int, Parameter, Space
from headstart.space.reconciliation import defaults_of, into
from headstart.space.scalars import as_number, choice_key

Params: TypeAlias = Mapping[str, Any]
Conditions: TypeAlias = dict[str, tuple[Scalar, ...]]
Shape: TypeAlias = dict[str, Any]  # the parameters of one trial, with the values of possible parents only

MOST_VALUES = 20  # an integer parameter with more values cannot be a parent
PRESENT = object()  # replaces a value on which no condition can depend


# -- from trials to conditions -------------------------------------------------------------------------------


def possible_parents(parameters: Mapping[str, Parameter], base: Space | None = None) -> set[str]:
    """The parameters on which others may depend, or do depend in the space `base`."""
    parents = {parent for p in (base or {}).values() for parent in p.conditions}
    return parents | {
        name
        for name, p in parameters.items()
        if (isinstance(p, Categorical) and p.width > 1) or (isinstance(p, Int) and p.size <= MOST_VALUES)
    }


def shapes(configs: Iterable[Params], known: Iterable[str], parents: set[str]) -> list[Shape]:
    """The distinct combinations of the known parameters that are present and of the parents' values."""
    return Shapes().of(list(configs), known, parents)


class Shapes:
    """The distinct shapes of a list of configurations that only grows; each of them is read once."""

    def __init__(self) -> None:
        self._by: tuple[set[str], set[str]] = (set(), set())
        self._read = 0
        self._found: dict[Any, Shape] = {}

    def of(self, configs: Sequence[Params], known: Iterable[str], parents: set[str]) -> list[Shape]:
        by = (set(known), parents)
        if self._by != by:
            self._by, self._read, self._found = by, 0, {}
        for config in configs[self._read :]:
            shape = {name: (value if name in parents else PRESENT) for name, value in config.items() if name in by[0]}
            self._found[tuple((name, choice_key(value)) for name, value in sorted(shape.items()))] = shape
        self._read = len(configs)
        return list(self._found.values())


def inferred(studies: Sequence[Sequence[Shape]], parameters: Mapping[str, Parameter]) -> dict[str, Conditions]:
    """The conditions of each parameter. Studies that never suggest it do not count."""
    return {
        name: _explained(name, [shape for study in studies if any(name in s for s in study) for shape in study])
        for name in parameters
    }


def _explained(name: str, trials: Sequence[Shape]) -> Conditions:
    """The fewest parents whose values determine exactly which trials have a parameter; none if that is impossible."""
    having = [shape for shape in trials if name in shape]
    if len(having) == len(trials):
        return {}
    parents = _parents(having, trials)
    conditions = {parent: _distinct(shape[parent] for shape in having) for parent in parents}
    if not exact(name, conditions, trials):
        return {}
    for parent in reversed(parents):
        fewer = {other: values for other, values in conditions.items() if other != parent}
        if exact(name, fewer, trials):
            conditions = fewer
    return conditions


def _parents(having: Sequence[Shape], trials: Sequence[Shape]) -> list[str]:
    """Parameters that all trials in `having` have, and others too, so that conditions cannot form a cycle."""
    count = {other: sum(other in shape for shape in trials) for other in having[0]}
    return [
        other
        for other in sorted(count, key=lambda other: -count[other])
        if having[0][other] is not PRESENT and count[other] > len(having) and all(other in shape for shape in having)
    ]


def _distinct(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    kept = {choice_key(value): value for value in values}
    return tuple(kept[key] for key in sorted(kept, key=repr))


def exact(name: str, conditions: Conditions, trials: Iterable[Params]) -> bool:
    """Whether the trials that have a parameter are exactly those in which the conditions hold."""
    return all((name in trial) == holds(conditions, trial) for trial in trials)


def holds(conditions: Conditions, trial: Params) -> bool:
    """Whether all conditions hold in a trial."""
    return all(
        parent in trial and choice_key(trial[parent]) in map(choice_key, values)
        for parent, values in conditions.items()
    )


# -- the space of an objective -------------------------------------------------------------------------------


def joined(base: Space | None, seen: Mapping[str, Parameter], trials: Sequence[Shape]) -> Space | None:
    """The objective's space as far as it is known: a first guess, corrected by this study's trials.

    base: the guess, such as the space of past studies. seen: the parameters suggested so far, with their latest ranges.
    """
    found = inferred([trials], seen)
    kept = {} if base is None else _kept(base, seen, found, trials)
    added = {name: replace(seen[name], when=found[name]) for name in seen if base is None or name not in base}
    parameters = {**kept, **added}
    return Space({name: _possible(parameters, name) for name in parameters}) if parameters else None


def _kept(
    base: Space, seen: Mapping[str, Parameter], found: Mapping[str, Conditions], trials: Sequence[Shape]
) -> dict[str, Parameter]:
    """The parameters of the first guess, in its order, without those that the trials refute.

    A parameter stays until a trial lacks it although its conditions hold. Conditions stay until a trial contradicts
    them; then those found in the trials replace them.
    """
    kept: dict[str, Parameter] = {}
    for name in base.parents_first:
        conditions = _still(base[name].conditions, kept)
        if name in seen:
            agrees = conditions is not None and exact(name, conditions, trials)
            kept[name] = replace(seen[name], when=conditions if agrees else found[name])
        elif conditions is not None and not any(holds(conditions, trial) for trial in trials):
            kept[name] = replace(base[name], when=conditions)
    return {name: kept[name] for name in base if name in kept}


def _still(conditions: Conditions, parameters: Mapping[str, Parameter]) -> Conditions | None:
    """The conditions, restricted to values that their parents still have; None if they can no longer hold."""
    kept = {
        parent: tuple(value for value in values if parent in parameters and parameters[parent].contains(value))
        for parent, values in conditions.items()
    }
    return kept if all(kept.values()) else None


def _possible(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    """The parameter, without its conditions if they name a value that a parent no longer has."""
    parameter = parameters[name]
    conditions = parameter.conditions
    return parameter if _still(conditions, parameters) == conditions else replace(parameter, when=None)


# -- configurations in a space -------------------------------------------------------------------------------


def placed(space: Space, configs: Sequence[Params], fill: Params = MappingProxyType({})) -> tuple[Array, Mask, Mask]:
    """Trials' parameters as V of a space, the rows that fit the space, and the cells that were filled in.

    Numbers out of range move to the bound, missing parameters take their value in `fill` or the middle of their range,
    and inactive ones are dropped. A row does not fit if it has a choice that the space lacks.
    """
    V = np.full((len(configs), len(space)), np.nan)
    fits, filled = np.ones(len(configs), dtype=bool), np.zeros(V.shape, dtype=bool)
    defaults = defaults_of(space, fill)
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
