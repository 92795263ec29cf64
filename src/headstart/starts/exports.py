"""A start in the formats of other optimisers: a list of dictionaries, as for `points_to_evaluate`.

The targets differ in two ways:

| target                           | a parameter that is inactive | a choice is     |
| -------------------------------- | ---------------------------- | --------------- |
| json, csv, optuna, ray, smac, ax | absent                       | the value       |
| hyperopt                         | absent                       | its index       |
| flaml, syne-tune                 | the middle of its range      | the value       |

In FLAML and Syne Tune, search spaces are flat: every parameter always has a value. A value that the objective ignores
does no harm, and a constant one keeps their models from learning noise.

The search spaces for these targets need the target's package. They are in `headstart.adapters`.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.space import Categorical, Config, Parameter, Space
from headstart.space.reconciliation import defaults_of

if TYPE_CHECKING:
    from headstart.starts.start import Start

FLAT = ("flaml", "syne-tune")
TARGETS = ("json", "csv", "optuna", "ray", "smac", "hyperopt", "flaml", "syne-tune", "ax")


def points(start: Start, to: str = "json") -> list[Config]:
    """The start's configurations in the format of the target, in their order.

    >>> points(start, to="hyperopt")  # doctest: +SKIP
    [{'kernel': 0, 'C': 10.6, 'gamma': 0.015}, ...]
    """
    if to not in TARGETS:
        raise ArgumentError(f"there is no export to {to!r}{closest(to, TARGETS)} (choose from: {', '.join(TARGETS)})")
    space, configs = start.space, [dict(config) for config in start.configs]
    if to in FLAT:
        return [filled(space, config) for config in configs]
    if to == "hyperopt":
        return [_with_indices(space, config) for config in configs]
    return configs


def filled(space: Space, config: Config) -> Config:
    """The configuration with a value for every parameter: inactive ones get mid-range, or the first choice."""
    defaults = defaults_of(space)
    return {name: config[name] if name in config else space[name].native(defaults[name]) for name in space}


def _with_indices(space: Space, config: Config) -> Config:
    """The format of hyperopt: the index of each choice, and of each number with steps."""
    return {name: _index(space[name], value) for name, value in config.items()}


def _index(parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter, Categorical):
        return parameter.index(value)
    if parameter.step is not None:
        return int(np.abs(parameter.options() - value).argmin())
    return value


def exported(start: Start, to: str = "json") -> str:
    """`points` as text: a JSON list of objects, or for "csv" one row per configuration."""
    rows = points(start, to)
    if to != "csv":
        return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(start.space), lineterminator="\n")  # an empty cell is inactive
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
