"""Ray Tune: a space as its domains. A start goes in as `points_to_evaluate=start.points("ray")`.

For a space with conditions, or to keep headstart's own search, put the sampler inside Ray's Optuna searcher:

    OptunaSearch(ask_for, sampler=hs.optuna.HeadstartSampler(history), metric=…, mode=…)

where `ask_for(trial)` asks for the parameters as an objective of Optuna's does (docs/others.md has one).
"""

from __future__ import annotations

from typing import Any

try:
    from ray import tune
except ImportError as error:
    raise ImportError('Ray Tune is not installed: pip install "ray[tune]"') from error

from headstart.adapters.domains import domains


def search_space(space: Any) -> dict[str, Any]:
    """`tune.Tuner(param_space=…)`; parameters that depend on others stand beside them and always have a value."""
    return domains(space, tune, inclusive=False)
