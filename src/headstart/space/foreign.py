"""Spaces of other libraries, read as ours.

Reading needs no import of the other library: whoever has such an object has loaded it already. Writing
them lives in the adapters (`headstart.adapters.configspace`, `headstart.adapters.optuna`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headstart.errors import SpaceError
from headstart.space.parameters import Categorical, Float, Int, Parameter, as_number
from headstart.space.space import Space


def as_space(space: Any) -> Space:
    """A Space from a Space, a dict of parameters, a ConfigSpace, or a dict of Optuna distributions."""
    if isinstance(space, Space):
        return space
    if type(space).__name__ == "ConfigurationSpace":
        return _from_configspace(space)
    if isinstance(space, Mapping) and space:
        if all(_is_optuna(entry) for entry in space.values()):
            return Space({name: _named(name, _from_optuna, entry) for name, entry in space.items()})
        return Space(space)
    raise SpaceError(
        "a space is a headstart.Space, a dict of its parameters, a ConfigSpace.ConfigurationSpace "
        f"or a dict of Optuna distributions, but got {space!r}"
    )


# -- Optuna ------------------------------------------------------------------------------------------------


def _is_optuna(entry: Any) -> bool:
    return type(entry).__module__.startswith("optuna.")


def _named(name: str, read: Callable[[Any], Parameter], entry: Any) -> Parameter:
    try:
        return read(entry)
    except ValueError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from error


def _from_optuna(distribution: Any) -> Parameter:
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        return Categorical(distribution.choices)
    if kind not in ("IntDistribution", "FloatDistribution"):
        raise SpaceError(f"cannot read a {kind}")
    low, high, step = distribution.low, distribution.high, distribution.step
    if low == high:
        return Categorical([low])
    if kind == "IntDistribution":
        return Int(low, high, log=distribution.log, step=None if step == 1 else step)
    return Float(low, high, log=distribution.log, step=step)


# -- ConfigSpace -------------------------------------------------------------------------------------------


def _from_configspace(space: Any) -> Space:
    if forbidden := list(space.forbidden_clauses):
        raise SpaceError(f"forbidden clauses cannot be expressed here: {forbidden[0]}")
    when = dict(_read_condition(condition) for condition in space.conditions)
    parents = {parent for condition in when.values() for parent in condition}
    return Space({name: _from_hyperparameter(space[name], when.get(name), name in parents) for name in space})


def _read_condition(condition: Any) -> tuple[str, dict[str, list[Any]]]:
    """A child's name and, for each of its parents, the values under which it is active."""
    kind = type(condition).__name__
    if kind in ("AndConjunction", "OrConjunction"):
        parts = [_read_condition(part) for part in condition.components]
        when: dict[str, list[Any]] = {}
        for _, parents in parts:
            for parent, values in parents.items():
                known = when.get(parent)
                if known is None:
                    when[parent] = values
                elif kind == "OrConjunction":
                    when[parent] = known + [value for value in values if value not in known]
                else:
                    when[parent] = [value for value in known if value in values]
        if kind == "AndConjunction" or (len(when) == 1 and all(len(parents) == 1 for _, parents in parts)):
            return parts[0][0], when
        raise SpaceError(f"the condition {condition} is an or over several parents, which `when` cannot express")
    if kind == "EqualsCondition":
        return condition.child.name, {condition.parent.name: [condition.value]}
    if kind == "InCondition":
        return condition.child.name, {condition.parent.name: list(condition.values)}
    parent = condition.parent.name
    values = [v for v in _values_of(condition) if condition.satisfied_by_value({parent: v})]
    return condition.child.name, {parent: values}


def _values_of(condition: Any) -> list[Any]:
    """Every value of a condition's parent, so that "not equal" and "greater than" become lists."""
    parent = condition.parent
    for attribute in ("choices", "sequence"):
        if hasattr(parent, attribute):
            return list(getattr(parent, attribute))
    if type(parent).__name__.endswith("IntegerHyperparameter") and parent.upper - parent.lower < 10_000:
        return list(range(parent.lower, parent.upper + 1))
    raise SpaceError(f"the condition {condition} cannot be expressed as a list of parent values")


def _from_hyperparameter(parameter: Any, when: dict[str, list[Any]] | None, is_parent: bool) -> Parameter:
    kind = type(parameter).__name__
    if kind == "CategoricalHyperparameter":
        return Categorical(parameter.choices, when=when)
    if kind == "OrdinalHyperparameter":
        return _from_ordinal(list(parameter.sequence), when, is_parent)
    if kind == "Constant":
        return Categorical([parameter.value], when=when)
    if kind.endswith("IntegerHyperparameter"):
        return Int(parameter.lower, parameter.upper, log=bool(parameter.log), when=when)
    if kind.endswith("FloatHyperparameter"):
        return Float(parameter.lower, parameter.upper, log=bool(parameter.log), when=when)
    raise SpaceError(f"parameter {parameter.name!r}: cannot read a {kind}")


def _from_ordinal(sequence: list[Any], when: dict[str, list[Any]] | None, is_parent: bool) -> Parameter:
    """Numbers at equal steps are an Int, or a Float if nothing depends on it; anything else is categorical."""
    values = np.array([as_number(value) for value in sequence])
    steps = np.diff(values)
    if len(steps) and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        low, high, step = values[0], values[-1], float(f"{steps.mean():.12g}")
        if all(isinstance(value, (int, np.integer)) for value in sequence):
            return Int(low, high, step=None if step == 1 else step, when=when)
        if not is_parent:
            return Float(low, high, step=step, when=when)
    return Categorical(sequence, when=when)
