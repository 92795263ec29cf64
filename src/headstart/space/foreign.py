"""Reads the search spaces of other libraries: ConfigSpace and Optuna.

Nothing is imported for this: a caller who has such an object has loaded its library already. The adapters write these
spaces (`headstart.adapters.configspace`, `headstart.adapters.optuna`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from headstart.errors import SpaceError
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.scalars import as_number
from headstart.space.space import Space

When: TypeAlias = dict[str, list[Any]]


def as_space(space: Any) -> Space:
    """A Space from a Space, a ConfigurationSpace, or a dict.

    The entries of a dict are parameters, Optuna's distributions, or short forms: (0.0, 1.0) and (1, 20) are ranges,
    (1e-4, 1.0, "log") is one on a logarithmic scale, a list is one of choices, and SciPy's uniform, loguniform and
    randint are ranges, too.
    """
    if isinstance(space, Space):
        return space
    if type(space).__name__ == "ConfigurationSpace":
        return _from_configspace(space)
    if isinstance(space, Mapping) and space:
        return Space({n: _named(n, _from_optuna, entry) if _is_optuna(entry) else entry for n, entry in space.items()})
    raise SpaceError(
        "a space is a headstart.Space, a dict of its parameters, a ConfigSpace.ConfigurationSpace "
        f"or a dict of Optuna distributions, but got {space!r}"
    )


# -- Optuna ----------------------------------------------------------------------------------------------


def _is_optuna(entry: Any) -> bool:
    return type(entry).__module__.startswith("optuna.")


def _named(name: str, read: Callable[[Any], Parameter], entry: Any) -> Parameter:
    try:
        return read(entry)
    except SpaceError as error:
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


# -- ConfigSpace -----------------------------------------------------------------------------------------


def _from_configspace(space: Any) -> Space:
    if forbidden := list(space.forbidden_clauses):
        raise SpaceError(f"a headstart.Space cannot express forbidden clauses, but got {forbidden[0]}")
    when = dict(_read_condition(condition) for condition in space.conditions)
    parents = {parent for condition in when.values() for parent in condition}
    return Space({name: _from_hyperparameter(space[name], when.get(name), name in parents) for name in space})


def _read_condition(condition: Any) -> tuple[str, When]:
    """A child's name and, for each of its parents, the values for which the child is active."""
    kind = type(condition).__name__
    if kind in ("AndConjunction", "OrConjunction"):
        return _read_conjunction(condition, either=kind == "OrConjunction")
    if kind == "EqualsCondition":
        return condition.child.name, {condition.parent.name: [condition.value]}
    if kind == "InCondition":
        return condition.child.name, {condition.parent.name: list(condition.values)}
    parent = condition.parent.name
    values = [v for v in _values_of(condition) if condition.satisfied_by_value({parent: v})]
    return condition.child.name, {parent: values}


def _read_conjunction(conjunction: Any, *, either: bool) -> tuple[str, When]:
    """As `_read_condition`, for several conditions of one child; either: any of them suffices."""
    parts = [_read_condition(part) for part in conjunction.components]
    when: When = {}
    for _, parents in parts:
        for parent, values in parents.items():
            known = when.get(parent, values)
            if either:
                when[parent] = known + [value for value in values if value not in known]
            else:
                when[parent] = [value for value in known if value in values]
    if either and (len(when) > 1 or any(len(parents) > 1 for _, parents in parts)):
        raise SpaceError(f"`when` cannot express an or over several parents, but got the condition {conjunction}")
    return parts[0][0], when


def _values_of(condition: Any) -> list[Any]:
    """All values of a condition's parent, so that "not equal" and "greater than" become lists."""
    parent = condition.parent
    for attribute in ("choices", "sequence"):
        if hasattr(parent, attribute):
            return list(getattr(parent, attribute))
    if type(parent).__name__.endswith("IntegerHyperparameter") and parent.upper - parent.lower < 10_000:
        return list(range(parent.lower, parent.upper + 1))
    raise SpaceError(f"`when` cannot express the condition {condition} as a list of the parent's values")


def _from_hyperparameter(parameter: Any, when: When | None, is_parent: bool) -> Parameter:
    kind = type(parameter).__name__
    if kind == "CategoricalHyperparameter":
        return Categorical(parameter.choices, when=when)
    if kind == "OrdinalHyperparameter":
        return from_ordinal(list(parameter.sequence), when, is_parent)
    if kind == "Constant":
        return Categorical([parameter.value], when=when)
    if kind.endswith("IntegerHyperparameter"):
        return Int(parameter.lower, parameter.upper, log=bool(parameter.log), when=when)
    if kind.endswith("FloatHyperparameter"):
        return Float(parameter.lower, parameter.upper, log=bool(parameter.log), when=when)
    raise SpaceError(f"parameter {parameter.name!r}: cannot read a {kind}")


def from_ordinal(sequence: list[Any], when: When | None, is_parent: bool) -> Parameter:
    """Equally spaced numbers become an Int, or a Float that is no parent; anything else becomes a Categorical."""
    values = np.array([as_number(value) for value in sequence])
    steps = np.diff(values)
    if len(steps) and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        low, high, step = values[0], values[-1], float(f"{steps.mean():.12g}")
        if all(isinstance(value, (int, np.integer)) for value in sequence):
            return Int(low, high, step=None if step == 1 else step, when=when)
        if not is_parent:
            return Float(low, high, step=step, when=when)
    return Categorical(sequence, when=when)
