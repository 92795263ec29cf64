"""Trials of past studies, reduced to what a history needs.

From databases they are read in three queries a study, past Optuna's objects: those take ten times as long, which is
felt with hundreds of studies. The tables are the same since Optuna 3.
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


class PastTrial(NamedTuple):
    """One trial; value: NaN unless it is complete with a finite one; seconds: NaN if they are not known."""

    state: TrialState
    value: float
    params: dict[str, Any]
    distributions: dict[str, BaseDistribution]
    seconds: float


def read_trials(storage: BaseStorage, study: int) -> list[PastTrial]:
    """All trials of the study with this id."""
    inner = getattr(storage, "_backend", storage)  # behind the cache that Optuna puts before a database
    if isinstance(inner, RDBStorage):
        return _from_database(inner.engine, study)
    return [_reduced(trial) for trial in storage.get_all_trials(study, deepcopy=False)]


def _reduced(trial: FrozenTrial) -> PastTrial:
    value = math.nan if trial.values is None else trial.values[0]
    seconds = _seconds(trial.datetime_start, trial.datetime_complete)
    return PastTrial(trial.state, _finite(trial.state, value), trial.params, trial.distributions, seconds)


def _from_database(engine: sqlalchemy.Engine, study: int) -> list[PastTrial]:
    def rows(query: sqlalchemy.Executable) -> Iterable[Any]:
        return connection.execute(query, {"study": study})

    # Others may write between the queries. A trial's parameters and value are there before it is said to be complete,
    # so the states come first, and what belongs to a later trial is passed over.
    with engine.connect() as connection:
        trials = sorted(rows(_TRIALS))
        values = {trial: value for trial, value, kind in rows(_VALUES) if kind == "FINITE"}
        found: dict[int, PastTrial] = {}
        for trial, name, start, end in trials:
            state = TrialState[name]
            found[trial] = PastTrial(state, _finite(state, values.get(trial, math.nan)), {}, {}, _seconds(start, end))
        for trial, name, value, text in rows(_PARAMS):
            if trial in found:
                distribution = _distribution(text)
                found[trial].params[name] = distribution.to_external_repr(value)
                found[trial].distributions[name] = distribution
    return list(found.values())


@lru_cache(maxsize=4096)
def _distribution(text: str) -> BaseDistribution:
    return json_to_distribution(text)


def _finite(state: TrialState, value: float) -> float:
    return value if state == TrialState.COMPLETE and math.isfinite(value) else math.nan


def _seconds(start: Any, end: Any) -> float:
    return (end - start).total_seconds() if start is not None and end is not None else math.nan
