"""FLAML: a space for `flaml.tune.run(config=…)`. A start goes in as `points_to_evaluate=start.points("flaml")`."""

from __future__ import annotations

from typing import Any

try:
    from flaml import tune
except ImportError as error:
    raise ImportError("FLAML is not installed: pip install flaml") from error

from headstart.adapters.domains import domains


def search_space(space: Any) -> dict[str, Any]:
    """Parameters that depend on others stand beside them and always have a value."""
    return domains(space, tune, inclusive=False)
