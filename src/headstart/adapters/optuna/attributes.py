"""The attributes that headstart writes to Optuna's studies and trials. Studies on disk hold them: no key may change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headstart.history import Features

# of a trial
RESERVATION = "headstart:claim"  # system: the configuration that is reserved for it
WAITING = "headstart:waiting"  # system: the process that waits for the trial's turn to reserve one
ENDED = "headstart:ended"  # system: it failed while its worker was alive
START = "headstart:start"  # user: which configuration of the start it tries, from 0
CHANGED = "headstart:changed"  # user: learned values that it could not use
ORIGIN = "headstart:origin"  # user: where its configuration came from, as in `headstart.search.trials.Trial`
WHY = "headstart:why"  # user: what its configuration was chosen for, and which past tasks spoke for it, in words

# of a study
STARTS = "headstart:starts"  # system: how many configurations its start has
FEATURES = "headstart:features"  # user: the meta-features of its data set
TASK = "headstart:task"  # user: the task of a run in a store; several runs may have one task
METRIC = "headstart:metric"  # user: the metric of a run in a store; results of different metrics are never averaged
RUN = "headstart:run"  # user: a unique name of a run in a store

# User attributes by which people name the model or the metric of a study.
MODELS = ("model", "model_name", "estimator")
METRICS = ("metric", "metric_name")


def named_in(attributes: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of these attributes that is a text, in lower case."""
    return next((attributes[key].lower() for key in keys if isinstance(attributes.get(key), str)), None)


def features_in(attributes: Mapping[str, Any], study: str, skip: Callable[[str], None]) -> Features | None:
    """The meta-features among a study's user attributes; skip: called with a description if they are unusable."""
    features = attributes.get(FEATURES)
    if features is None:
        return None
    if not isinstance(features, Mapping) or not all(_is_number(x) for x in features.values()):
        skip(f"the attribute {FEATURES} of {study!r}, which is not a dict of finite numbers")
        return None
    return {str(name): float(x) for name, x in features.items()}


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)
