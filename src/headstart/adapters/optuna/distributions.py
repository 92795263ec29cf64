"""Optuna's distributions as our parameters, and back; the union of several parameters; single values."""

from __future__ import annotations

from collections.abc import Sequence
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
from headstart.space import Categorical, Float, Int, Parameter, as_space
from headstart.space.parameters import as_number, choice_key
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
    return _parameter_of(distribution)


@lru_cache(maxsize=4096)
def _parameter_of(distribution: BaseDistribution) -> Parameter | None:
    try:
        return as_space({"it": distribution})["it"]
    except HeadstartError:
        return None


def united(parameters: Sequence[Parameter]) -> Parameter:
    """A parameter with the values of all of these. Conditions are ignored.

    Choices are joined. Ranges are extended to cover each other, on a log scale if one of them has it. Next to a range,
    numeric choices count as points of it, and other choices are dropped.
    """
    kinds = list(dict.fromkeys(parameters))
    if len(kinds) == 1:
        return kinds[0]
    ranges = [p for p in kinds if not isinstance(p, Categorical)]
    choices = [choice for p in kinds if isinstance(p, Categorical) for choice in p.choices]
    if not ranges:
        return Categorical(list({choice_key(choice): choice for choice in choices}.values()))
    numbers = [number for number in map(as_number, choices) if not np.isnan(number)]
    low = min([p.low for p in ranges] + numbers)
    high = max([p.high for p in ranges] + numbers)
    log = low > 0 and any(p.log for p in ranges)
    whole = all(isinstance(p, Int) for p in ranges) and all(number.is_integer() for number in numbers)
    return (Int if whole else Float)(low, high, log=log, step=None if log else _common_step(ranges, numbers))


def _common_step(ranges: Sequence[Float | Int], numbers: Sequence[float]) -> float | None:
    """The step that all ranges share, if they lie on one grid."""
    step = ranges[0].step
    if step is None or numbers or any(p.step != step for p in ranges):
        return None
    offsets = np.array([(p.low - ranges[0].low) / step for p in ranges])
    return step if np.allclose(offsets, np.rint(offsets), atol=1e-6) else None


def fitted(value: Any, distribution: BaseDistribution) -> Any:
    """The value, moved into the distribution's range if necessary; an error if the distribution cannot take it."""
    parameter = parameter_of(distribution)
    v = np.nan if parameter is None else converted(value, parameter)
    if parameter is None or np.isnan(v):
        raise SpaceError(f"{value!r} is not in {distribution}")
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(v)]  # Optuna compares choices, so return its own object
    return parameter.native(v)
