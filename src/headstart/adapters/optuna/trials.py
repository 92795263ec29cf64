"""Trials: their losses and configurations, and those of past studies, reduced to the parts that a history needs.

Past trials come from databases in three queries per study. Optuna's own objects take ten times as long, which is
noticeable with hundreds of studies. The tables have not changed since Optuna 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy
from optuna.distributions import BaseDistribution, json_to_distribution
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState

from headstart._support.direction import turned
from headstart.space import Config

# -- one trial -----------------------------------------------------------------------------------------------


def loss_of(trial: FrozenTrial, direction: str) -> float:
    """The trial's value as a loss; NaN unless the trial is complete with a finite value."""
    return _loss(trial.state, math.nan if trial.values is None else trial.values[0], direction)


def _loss(state: TrialState, value: float, direction: str) -> float:
    return turned(value, direction) if state == TrialState.COMPLETE and math.isfinite(value) else math.nan


def is_queued(trial: FrozenTrial) -> bool:
    """Whether a trial was queued with its parameters."""
    return "fixed_params" in trial.system_attrs  # Optuna's own key; it has no public function for this


def is_retry(trial: FrozenTrial) -> bool:
    """Whether Optuna repeats another trial with this one, whose attributes it has copied."""
    return "failed_trial" in trial.system_attrs


def config_of(trial: FrozenTrial) -> Config:
    """The parameters that a trial was queued with or has suggested so far."""
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


# -- the trials of a past study ------------------------------------------------------------------------------


class PastTrial(NamedTuple):
    """One trial. loss: as in `loss_of`. seconds: NaN if unknown."""

    state: TrialState
    loss: float
    params: dict[str, Any]
    distributions: dict[str, BaseDistribution]
    seconds: float


def read_trials(storage: BaseStorage, study: int, direction: str) -> list[PastTrial]:
    """All trials of the study with this id."""
    inner = backend(storage)
    if isinstance(inner, RDBStorage):  # other storages have no tables to query
        return _from_database(inner.engine, study, direction)
    return [_reduced(trial, direction) for trial in storage.get_all_trials(study, deepcopy=False)]


def backend(storage: BaseStorage) -> Any:
    """The database behind Optuna's cache, or the log behind a journal; any other storage itself."""
    return getattr(storage, "_backend", storage)  # both classes keep it there and offer no public access


def _reduced(trial: FrozenTrial, direction: str) -> PastTrial:
    seconds = _seconds(trial.datetime_start, trial.datetime_complete)
    return PastTrial(trial.state, loss_of(trial, direction), trial.params, trial.distributions, seconds)


_TIME = sqlalchemy.DateTime  # SQLite keeps times as text
_TRIALS = sqlalchemy.text(
    "SELECT trial_id, state, datetime_start, datetime_complete FROM trials WHERE study_id = :study"
).columns(trial_id=sqlalchemy.Integer, state=sqlalchemy.String, datetime_start=_TIME, datetime_complete=_TIME)
_PARAMS = sqlalchemy.text(
    """SELECT p.trial_id, p.param_name, p.param_value, p.distribution_json
    FROM trial_params p JOIN trials t ON p.trial_id = t.trial_id WHERE t.study_id = :study ORDER BY p.param_id"""
)
_VALUES = sqlalchemy.text(
    """SELECT v.trial_id, v.value, v.value_type
    FROM trial_values v JOIN trials t ON v.trial_id = t.trial_id WHERE t.study_id = :study AND v.objective = 0"""
)


def _from_database(engine: sqlalchemy.Engine, study: int, direction: str) -> list[PastTrial]:
    def rows(query: sqlalchemy.Executable) -> Iterable[Any]:
        return connection.execute(query, {"study": study})

    # Other processes may write between the queries. Optuna stores a trial's parameters and value before it marks the
    # trial complete, so reading the states first is safe. Rows of trials that began later are skipped.
    with engine.connect() as connection:
        trials = sorted(rows(_TRIALS))
        values = {trial: value for trial, value, kind in rows(_VALUES) if kind == "FINITE"}
        found: dict[int, PastTrial] = {}
        for trial, name, start, end in trials:
            state = TrialState[name]
            loss = _loss(state, values.get(trial, math.nan), direction)
            found[trial] = PastTrial(state, loss, {}, {}, _seconds(start, end))
        for trial, name, value, text in rows(_PARAMS):
            if trial in found:
                distribution = _distribution(text)
                found[trial].params[name] = distribution.to_external_repr(value)
                found[trial].distributions[name] = distribution
    return list(found.values())


@lru_cache(maxsize=4096)
def _distribution(text: str) -> BaseDistribution:
    return json_to_distribution(text)


def _seconds(start: Any, end: Any) -> float:
    return (end - start).total_seconds() if start is not None and end is not None else math.nan
