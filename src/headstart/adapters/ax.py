"""Ax: a space as its parameter configurations, and a start attached to a client as trials to run.

client = Client()
client.configure_experiment(parameters=parameters(space))
client.configure_optimization(objective="-error")
for index, config in attach(client, start).items():
    client.complete_trial(index, raw_data={"error": objective(config)})
"""

from __future__ import annotations

from typing import Any

try:
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
except ImportError as error:
    raise ImportError("Ax is not installed: pip install ax-platform") from error

from headstart.errors import ArgumentError
from headstart.space import Categorical, Config, Int, Space, as_space
from headstart.starts.start import Start

KINDS = {bool: "bool", int: "int", float: "float", str: "str"}


def parameters(space: Any) -> list[Any]:
    """`Client.configure_experiment(parameters=…)`, conditions on choices included."""
    space = as_space(space)
    return [_parameter(space, name) for name in space]


def _parameter(space: Space, name: str) -> Any:
    parameter = space[name]
    children = [child for child in space if name in space[child].conditions]
    if isinstance(parameter, Categorical):
        kinds = {type(choice) for choice in parameter.choices}
        if len(kinds) > 1 or not kinds <= set(KINDS):
            raise ArgumentError(f"Ax wants choices of one type, but {name!r} has {parameter.describe()}")
        dependents = {
            choice: active
            for choice in parameter.choices
            if (active := [child for child in children if choice in space[child].conditions[name]])
        }
        kind: Any = KINDS[kinds.pop()]
        return ChoiceParameterConfig(
            name=name,
            values=list(parameter.choices),
            parameter_type=kind,
            is_ordered=False,
            dependent_parameters=dependents or None,
        )
    if children:
        raise ArgumentError(f"{children[0]!r} depends on the number {name!r}; in Ax only choices have dependents")
    if parameter.step is not None:
        kind = "int" if isinstance(parameter, Int) else "float"
        values = [parameter.native(v) for v in parameter.options()]
        return ChoiceParameterConfig(name=name, values=values, parameter_type=kind, is_ordered=True)
    return RangeParameterConfig(
        name=name,
        bounds=(parameter.low, parameter.high),
        parameter_type="int" if isinstance(parameter, Int) else "float",
        scaling="log" if parameter.log else "linear",
    )


def attach(client: Client, start: Start) -> dict[int, Config]:
    """Attach the start's configurations as running trials: their indices, and what to evaluate for each."""
    return {client.attach_trial(parameters=point): point for point in start.points("ax")}
