"""Optuna's distributions as our parameters, and back; single values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from headstart.errors import HeadstartError, SpaceError
from headstart.space import Categorical, Int, Parameter, as_space
from headstart.space.reconciliation import converted


def to_distributions(space: Any) -> dict[str, BaseDistribution]:
    """One distribution per parameter. Optuna has no conditions: the objective expresses them with `if`."""
    return {name: _distribution(parameter) for name, parameter in as_space(space).items()}


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    if isinstance(parameter, Int):
        low, high, step = int(parameter.low), int(parameter.high), int(parameter.step or 1)
        return IntDistribution(low, high, log=parameter.log, step=step)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)


def parameter_of(distribution: BaseDistribution) -> Parameter | None:
    """The distribution as our parameter; None if we cannot express it, such as choices that are lists."""
    try:
        hash(distribution)
    except TypeError:  # choices that are lists: storages turn tuples into them
        return None
    choices = distribution.choices if isinstance(distribution, CategoricalDistribution) else ()
    return _parameter_of(distribution, tuple(map(type, choices)))


@lru_cache(maxsize=4096)
def _parameter_of(distribution: BaseDistribution, kinds: tuple[type, ...]) -> Parameter | None:
    """kinds: of the choices, since [False, True] and [0, 1] are equal to Python, and to a cache, but not to us."""
    try:
        return as_space({"it": distribution})["it"]
    except HeadstartError:
        return None


def fitted(value: Any, distribution: BaseDistribution) -> Any:
    """The value, moved into the distribution's range if necessary; an error if the distribution cannot take it."""
    parameter = parameter_of(distribution)
    v = np.nan if parameter is None else converted(value, parameter)
    if parameter is None or np.isnan(v):
        raise SpaceError(f"{value!r} is not in {distribution}")
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(v)]  # Optuna compares choices, so return its own object
    return parameter.native(v)
