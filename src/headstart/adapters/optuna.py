"""A Space as Optuna distributions. The way back is `headstart.as_space`."""

from __future__ import annotations

from typing import Any

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
except ImportError as error:
    raise ImportError('Optuna is not installed: pip install "headstart[optuna]"') from error

from headstart.foreign import as_space
from headstart.parameters import Categorical, Int, Parameter


def to_distributions(space: Any) -> dict[str, BaseDistribution]:
    """One distribution per parameter. Optuna's are flat: the conditions stay with the objective's `if`."""
    return {name: _distribution(parameter) for name, parameter in as_space(space).items()}


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    if isinstance(parameter, Int):
        low, high, step = int(parameter.low), int(parameter.high), int(parameter.step or 1)
        return IntDistribution(low, high, log=parameter.log, step=step)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)
