"""hyperopt: a search space as its tree of expressions. Pass a start as `points_to_evaluate=start.points("hyperopt")`.

hyperopt writes a condition as a choice between branches, so the objective receives nested dictionaries. `flat` turns
them into a configuration. `fmin` runs the points on top of `max_evals`, and only accepts them without `trials`. With
trials, pass `trials=generate_trials_to_calculate(points)` instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from headstart.adapters.spaces import branches, check_parents, grid
from headstart.errors import MissingPackageError, SpaceError
from headstart.space import Categorical, Config, Int, Space, as_space

try:
    from hyperopt import hp
    from hyperopt.pyll import scope
except ImportError as error:
    raise MissingPackageError("the hyperopt adapter needs hyperopt", "pip install hyperopt", name="hyperopt") from error


def search_space(space: Any) -> dict[str, Any]:
    """The space for `fmin(space=…)`. A conditional parameter appears in the branches in which it is active."""
    space = as_space(space)
    for name, parameter in space.items():
        if len(parameter.conditions) > 1:
            parents = ", ".join(parameter.conditions)
            raise SpaceError(f"{name!r} depends on {parents}, but in hyperopt a parameter can only have one parent")
    check_parents(space, "hyperopt")
    nodes: dict[str, Any] = {}
    for name in reversed(space.parents_first):  # children first: branches contain finished nodes
        nodes[name] = _node(space, name, nodes)
    return {name: nodes[name] for name in space if not space[name].conditions}


def _node(space: Space, name: str, nodes: Mapping[str, Any]) -> Any:
    parameter = space[name]
    if isinstance(parameter, Categorical):
        return hp.choice(name, _options(name, parameter, branches(space, name, parameter), nodes))
    if parameter.step is not None:
        return hp.choice(name, grid(parameter))
    low, high = parameter.low, parameter.high
    if isinstance(parameter, Int):
        return scope.int(
            hp.qloguniform(name, math.log(low), math.log(high), 1) if parameter.log else hp.quniform(name, low, high, 1)
        )
    return hp.loguniform(name, math.log(low), math.log(high)) if parameter.log else hp.uniform(name, low, high)


def _options(name: str, parameter: Categorical, active: list[list[str]], nodes: Mapping[str, Any]) -> list[Any]:
    """The choices, each with the nodes of the parameters that it activates; plain values if it activates none."""
    if not any(active):
        return list(parameter.choices)
    pairs = zip(parameter.choices, active, strict=True)
    return [{name: choice, **{child: nodes[child] for child in children}} for choice, children in pairs]


def flat(nested: Mapping[str, Any]) -> Config:
    """The configuration that hyperopt passes to the objective, without its branches."""
    config: Config = {}
    for name, value in nested.items():
        config.update(flat(value) if isinstance(value, Mapping) else {name: value})
    return config
