"""Syne Tune: a configuration space. A start goes in as `points_to_evaluate=start.points("syne-tune")`."""

from __future__ import annotations

from typing import Any

try:
    from syne_tune import config_space
except ImportError as error:
    raise ImportError("Syne Tune is not installed: pip install syne-tune") from error

from headstart.adapters.domains import domains


def search_space(space: Any) -> dict[str, Any]:
    """Parameters that depend on others stand beside them and always have a value."""
    return domains(space, config_space, inclusive=True)
