"""Ray Tune: a search space as its domains. Pass a start as `points_to_evaluate=start.points("ray")`.

For a space with conditions, or to use headstart's own search, put the sampler inside Ray's Optuna searcher:

    OptunaSearch(ask_for, sampler=hs.optuna.HeadstartSampler(history), metric=…, mode=…)

where `ask_for(trial)` suggests the parameters as an Optuna objective does. docs/others.md has an example.
"""

from __future__ import annotations

from typing import Any

from headstart.adapters.spaces import domains
from headstart.errors import MissingPackageError

try:
    from ray import tune
except ImportError as error:
    raise MissingPackageError("the Ray Tune adapter needs Ray Tune", "pip install 'ray[tune]'", name="ray") from error


def search_space(space: Any) -> dict[str, Any]:
    """The space for `tune.Tuner(param_space=…)`, without its conditions: every parameter always has a value."""
    return domains(space, tune, inclusive=False)
