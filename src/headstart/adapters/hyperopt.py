"""hyperopt: a space as its tree of expressions. A start goes in as `points_to_evaluate=start.points("hyperopt")`.

hyperopt writes a condition as a choice between branches, so the objective receives nested dictionaries:
`flat` turns what it receives into a configuration. `fmin` runs the points on top of `max_evals`, and takes them
only when it is given no `trials`; otherwise pass `trials=generate_trials_to_calculate(points)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

try:
    from hyperopt import hp
    from hyperopt.pyll import scope
except ImportError as error:
    raise ImportError("hyperopt is not installed: pip install hyperopt") from error

from headstart.errors import ArgumentError
from headstart.space import Categorical, Config, Int, Space, as_space


def search_space(space: Any) -> dict[str, Any]:
    """`fmin(space=…)`: a parameter that depends on a choice stands in the branches in which it is active."""
    space = as_space(space)
    for name, parameter in space.items():
        if len(parameter.conditions) > 1:
            raise ArgumentError(
                f"{name!r} depends on {', '.join(parameter.conditions)}; hyperopt's tree has one parent"
            )
        for parent in parameter.conditions:
            if not isinstance(space[parent], Categorical):
                raise ArgumentError(
                    f"{name!r} depends on the number {parent!r}; in hyperopt only choices have branches"
                )
    nodes: dict[str, Any] = {}
    for name in reversed(space.parents_first):  # children first: a branch is made of finished nodes
        nodes[name] = _node(space, name, nodes)
    return {name: nodes[name] for name in space if not space[name].conditions}


def _node(space: Space, name: str, nodes: Mapping[str, Any]) -> Any:
    parameter = space[name]
    if isinstance(parameter, Categorical):
        children = [child for child in space if name in space[child].conditions]
        if not children:
            return hp.choice(name, list(parameter.choices))
        return hp.choice(
            name,
            [
                {name: choice, **{c: nodes[c] for c in children if choice in space[c].conditions[name]}}
                for choice in parameter.choices
            ],
        )
    if parameter.step is not None:  # hyperopt rounds to multiples of a step; ours start at the lower end
        return hp.choice(name, [parameter.native(v) for v in parameter.options()])
    low, high = parameter.low, parameter.high
    if isinstance(parameter, Int):
        return scope.int(
            hp.qloguniform(name, math.log(low), math.log(high), 1) if parameter.log else hp.quniform(name, low, high, 1)
        )
    return hp.loguniform(name, math.log(low), math.log(high)) if parameter.log else hp.uniform(name, low, high)


def flat(nested: Mapping[str, Any]) -> Config:
    """The configuration that hyperopt hands to the objective, without its branches."""
    config: Config = {}
    for name, value in nested.items():
        config.update(flat(value) if isinstance(value, Mapping) else {name: value})
    return config
