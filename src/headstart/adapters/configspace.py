"""A Space as a ConfigSpace, conditions included. The way back is `headstart.as_space`."""

from __future__ import annotations

from typing import Any

try:
    import ConfigSpace as CS  # noqa: N817 - its documentation's own abbreviation
except ImportError as error:
    raise ImportError('ConfigSpace is not installed: pip install "headstart[configspace]"') from error

from headstart.errors import ArgumentError
from headstart.space import Categorical, Int, Parameter, as_space


def to_configspace(space: Any, *, name: str | None = None, seed: int | None = None) -> CS.ConfigurationSpace:
    """The same space for ConfigSpace, which has no steps: a parameter with one becomes an ordinal.

    ConfigSpace 1.2 may draw configurations that it then calls invalid, if a parameter depends on parents at
    different depths: ask `check_valid_configuration` before using what it draws from such a space.
    """
    space = as_space(space)
    result = CS.ConfigurationSpace(name=name, seed=seed)
    result.add(*(_hyperparameter(name, parameter) for name, parameter in space.items()))
    for child, parameter in space.items():
        parts = [
            CS.EqualsCondition(result[child], result[parent], values[0])
            if len(values) == 1
            else CS.InCondition(result[child], result[parent], list(values))
            for parent, values in parameter.conditions.items()
        ]
        if parts:
            result.add(parts[0] if len(parts) == 1 else CS.AndConjunction(*parts))
    return result


def _hyperparameter(name: str, parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        kinds = {type(choice) for choice in parameter.choices}
        if bool in kinds and kinds & {int, float}:
            raise ArgumentError(
                f"{name!r} has True or False next to numbers, which ConfigSpace would take for 1 or 0: "
                f"{parameter.describe()}"
            )
        return CS.CategoricalHyperparameter(name, list(parameter.choices))
    if parameter.step is not None:
        return CS.OrdinalHyperparameter(name, [parameter.native(v) for v in parameter.options()])
    kind = CS.UniformIntegerHyperparameter if isinstance(parameter, Int) else CS.UniformFloatHyperparameter
    return kind(name, parameter.low, parameter.high, log=parameter.log)
