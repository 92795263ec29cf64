"""Ax: a search space as its parameter configurations, and a start attached to a client as trials to run.

`attach` returns the trials, which the caller runs first:

    client = Client()
    client.configure_experiment(parameters=parameters(space))
    client.configure_optimization(objective="-error")
    for index, config in attach(client, start).items():
        client.complete_trial(index, raw_data={"error": objective(config)})
"""

from __future__ import annotations

from typing import Any

from headstart.adapters.spaces import branches, check_parents, grid
from headstart.errors import MissingPackageError, SpaceError
from headstart.space import Categorical, Config, Int, Space, as_space
from headstart.starts.start import Start

try:
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
except ImportError as error:
    raise MissingPackageError("the Ax adapter needs Ax", "pip install ax-platform", name="ax") from error

KINDS = {bool: "bool", int: "int", float: "float", str: "str"}


def parameters(space: Any) -> list[Any]:
    """The space for `Client.configure_experiment(parameters=…)`, with its conditions."""
    space = as_space(space)
    check_parents(space, "Ax")
    return [_parameter(space, name) for name in space]


def _parameter(space: Space, name: str) -> Any:
    parameter = space[name]
    if isinstance(parameter, Categorical):
        return _choice(space, name, parameter)
    kind: Any = "int" if isinstance(parameter, Int) else "float"
    if parameter.step is not None:
        return ChoiceParameterConfig(name=name, values=grid(parameter), parameter_type=kind, is_ordered=True)
    return RangeParameterConfig(
        name=name,
        bounds=(parameter.low, parameter.high),
        parameter_type=kind,
        scaling="log" if parameter.log else "linear",
    )


def _choice(space: Space, name: str, parameter: Categorical) -> Any:
    kinds = {type(choice) for choice in parameter.choices}
    if len(kinds) > 1 or not kinds <= set(KINDS):
        raise SpaceError(f"Ax needs choices of one type, but {name!r} has {parameter.describe()}")
    kind: Any = KINDS[kinds.pop()]
    active = zip(parameter.choices, branches(space, name, parameter), strict=True)
    return ChoiceParameterConfig(
        name=name,
        values=list(parameter.choices),
        parameter_type=kind,
        is_ordered=False,
        dependent_parameters={choice: children for choice, children in active if children} or None,
    )


def attach(client: Client, start: Start) -> dict[int, Config]:
    """Attach the start's configurations as running trials; returns trial index → configuration to evaluate."""
    return {client.attach_trial(parameters=point): point for point in start.points("ax")}
