"""Parts of search spaces that several libraries write in the same way."""

from __future__ import annotations

from typing import Any

from headstart.errors import SpaceError
from headstart.space import Categorical, Float, Int, Parameter, Space, as_space


def grid(parameter: Float | Int) -> list[Any]:
    """All values of a parameter with a step.

    Other libraries want multiples of the step, but our grids begin at the lower end. So they get the values themselves.
    """
    return [parameter.native(v) for v in parameter.options()]


# -- conditions as branches of a choice, for Ax and hyperopt ---------------------------------------------------


def check_parents(space: Space, library: str) -> None:
    """Raise an error if a parameter depends on a number."""
    for name, parameter in space.items():
        for parent in parameter.conditions:
            if not isinstance(space[parent], Categorical):
                raise SpaceError(
                    f"{name!r} depends on the number {parent!r}, but {library} only has conditions on choices"
                )


def branches(space: Space, name: str, parameter: Categorical) -> list[list[str]]:
    """For each choice of a parameter, the names of those that it activates."""
    return [
        [child for child in space if choice in space[child].conditions.get(name, ())] for choice in parameter.choices
    ]


# -- the domains of Ray Tune, which FLAML and Syne Tune share --------------------------------------------------


def domains(space: Any, module: Any, *, inclusive: bool) -> dict[str, Any]:
    """One domain per parameter. These libraries have no conditions, so every parameter always has a value.

    module: has the functions uniform, loguniform, randint, lograndint and choice. inclusive: whether its integer ranges
    include the upper end.
    """
    return {name: _domain(parameter, module, 0 if inclusive else 1) for name, parameter in as_space(space).items()}


def _domain(parameter: Parameter, module: Any, beyond: int) -> Any:
    if isinstance(parameter, Categorical):
        return module.choice(list(parameter.choices))
    if parameter.step is not None:
        return module.choice(grid(parameter))
    if isinstance(parameter, Int):
        return (module.lograndint if parameter.log else module.randint)(parameter.low, parameter.high + beyond)
    return (module.loguniform if parameter.log else module.uniform)(parameter.low, parameter.high)
