"""FLAML: a search space for `flaml.tune.run(config=…)`. Pass a start as `points_to_evaluate=start.points("flaml")`."""

from __future__ import annotations

from typing import Any

from headstart.adapters.spaces import domains
from headstart.errors import MissingPackageError

try:
    from flaml import tune
except ImportError as error:
    raise MissingPackageError("the FLAML adapter needs FLAML", "pip install flaml", name="flaml") from error


def search_space(space: Any) -> dict[str, Any]:
    """The space without its conditions: every parameter always has a value."""
    return domains(space, tune, inclusive=False)
