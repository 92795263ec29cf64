"""Syne Tune: a configuration space. Pass a start as `points_to_evaluate=start.points("syne-tune")`."""

from __future__ import annotations

from typing import Any

from headstart.adapters.spaces import domains
from headstart.errors import MissingPackageError

try:
    from syne_tune import config_space
except ImportError as error:
    raise MissingPackageError(
        "the Syne Tune adapter needs Syne Tune", "pip install syne-tune", name="syne_tune"
    ) from error


def search_space(space: Any) -> dict[str, Any]:
    """The space without its conditions: every parameter always has a value."""
    return domains(space, config_space, inclusive=True)
