"""A Space as a ConfigSpace, with its conditions. `headstart.as_space` converts the other way."""

from __future__ import annotations

from typing import Any

from headstart.adapters.spaces import grid
from headstart.errors import MissingPackageError, SpaceError
from headstart.space import Categorical, Int, Parameter, as_space

try:
    import ConfigSpace as CS  # noqa: N817 - its documentation's own abbreviation
except ImportError as error:
    raise MissingPackageError.of("the ConfigSpace adapter", "ConfigSpace", "configspace") from error


def to_configspace(space: Any, *, name: str | None = None, seed: int | None = None) -> CS.ConfigurationSpace:
    """The same space for ConfigSpace. ConfigSpace has no steps, so a parameter with a step becomes an ordinal.

    If a parameter depends on parents at different depths, ConfigSpace 1.2 may sample configurations that it then
    considers invalid. Check samples from such a space with `check_valid_configuration`.
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
            raise SpaceError(
                f"{name!r} mixes True or False with numbers, and ConfigSpace would take them for 1 or 0: "
                f"{parameter.describe()}"
            )
        return CS.CategoricalHyperparameter(name, list(parameter.choices))
    if parameter.step is not None:
        return CS.OrdinalHyperparameter(name, grid(parameter))
    kind = CS.UniformIntegerHyperparameter if isinstance(parameter, Int) else CS.UniformFloatHyperparameter
    return kind(name, parameter.low, parameter.high, log=parameter.log)
