"""Trials: their losses and configurations, and those of past studies, reduced to the parts that a history needs.

Past trials come from databases in four queries per study. Optuna's own objects take ten times as long, which is
noticeable with hundreds of studies. The tables have not changed since Optuna 3. A row that cannot be understood is
damage of its trial or study; the rest can still be read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy
from optuna.distributions import BaseDistribution, json_to_distribution
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from headstart._support.direction import turned
from headstart.adapters.optuna.damage import Damage
from headstart.history.curves import check_steps, is_step
from headstart.space import Config

# -- one trial -----------------------------------------------------------------------------------------------


def loss_of(trial: FrozenTrial, direction: str) -> float:
    """The trial's value as a loss; NaN unless the trial is complete with a finite value."""
    return _loss(trial.state, math.nan if trial.values is None else trial.values[0], direction)


def _loss(state: TrialState, value: float, direction: str) -> float:
    return turned(value, direction) if state == TrialState.COMPLETE and math.isfinite(value) else math.nan


def seconds_of(trial: FrozenTrial) -> float:
    """How long a trial ran; NaN if that is unknown."""
    return _seconds(trial.datetime_start, trial.datetime_complete)


def curve_of(trial: FrozenTrial, direction: str) -> dict[int, float]:
    """The finite values that a trial reported, as losses by step."""
    reports = trial.intermediate_values
    check_steps(reports)
    return {step: turned(value, direction) for step, value in sorted(reports.items()) if math.isfinite(value)}


def is_queued(trial: FrozenTrial) -> bool:
    """Whether a trial was queued with its parameters."""
    return "fixed_params" in trial.system_attrs  # Optuna's own key; it has no public function for this


def is_retry(trial: FrozenTrial) -> bool:
    """Whether Optuna repeats another trial with this one, whose attributes it has copied."""
    return "failed_trial" in trial.system_attrs


def config_of(trial: FrozenTrial) -> Config:
    """The parameters that a trial was queued with or has suggested so far."""
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


# -- past studies and their trials ---------------------------------------------------------------------------


class Found(NamedTuple):
    """One study of a storage, without its trials."""

    id: int
    name: str
    directions: tuple[StudyDirection, ...]
    attributes: Mapping[str, Any]


class PastTrial(NamedTuple):
    """One trial. loss: as in `loss_of`. seconds: NaN if unknown. curve: the losses that it reported, by step."""

    state: TrialState
    loss: float
    params: dict[str, Any]
    distributions: dict[str, BaseDistribution]
    seconds: float
    curve: dict[int, float]


def backend(storage: BaseStorage) -> Any:
    """The database behind Optuna's cache, or the log behind a journal; any other storage itself."""
    return getattr(storage, "_backend", storage)  # both classes keep it there and offer no public access


def read_studies(storage: BaseStorage, damage: Damage) -> list[Found]:
    """All studies of a storage."""
    inner = backend(storage)
    if isinstance(inner, RDBStorage):
        return _studies_in_database(inner.engine, damage)
    return [Found(s._study_id, s.study_name, tuple(s.directions), s.user_attrs) for s in storage.get_all_studies()]


def read_trials(storage: BaseStorage, study: int, name: str, direction: str, damage: Damage) -> list[PastTrial]:
    """All trials of the study with this id."""
    inner = backend(storage)
    try:
        if isinstance(inner, RDBStorage):  # other storages have no tables to query
            return _from_database(inner.engine, study, name, direction, damage)
        trials = storage.get_all_trials(study, deepcopy=False)
    except sqlalchemy.exc.OperationalError as error:  # locked, or no connection: nothing is wrong with the study
        if "locked" in str(error.orig) or not isinstance(inner, RDBStorage) or not _is_sqlite(inner):
            raise
        damage.study(name, error)
        return []
    except (sqlalchemy.exc.SQLAlchemyError, LookupError) as error:
        damage.study(name, error)
        return []
    skipped = getattr(inner, "damaged", ())
    reduced = [_reduced(trial, direction, name, damage) for trial in trials if trial._trial_id not in skipped]
    return [trial for trial in reduced if trial is not None]


def whole_trials(storage: BaseStorage, study: int, name: str, damage: Damage) -> list[FrozenTrial]:
    """All trials of the study with this id, as Optuna's own objects; if damage is skipped, those that can be read."""
    inner = backend(storage)
    if not damage.skip:
        return storage.get_all_trials(study, deepcopy=False)
    if not isinstance(inner, RDBStorage):
        skipped = getattr(inner, "damaged", ())
        return [t for t in storage.get_all_trials(study, deepcopy=False) if t._trial_id not in skipped]
    with inner.engine.connect() as connection:
        numbers = [(row[0], row[1]) for row in connection.execute(_TRIALS, {"study": study})]
    found = [_whole(storage, trial, number, name, damage) for trial, number in numbers]
    return sorted((trial for trial in found if trial is not None), key=lambda trial: trial.number)


def _whole(storage: BaseStorage, trial: int, number: Any, study: str, damage: Damage) -> FrozenTrial | None:
    try:
        return storage.get_trial(trial)
    except Exception as error:
        damage.trial(study, number, error)
        return None


def _is_sqlite(storage: RDBStorage) -> bool:
    return bool(storage.engine.url.get_backend_name() == "sqlite")


def _reduced(trial: FrozenTrial, direction: str, study: str, damage: Damage) -> PastTrial | None:
    try:
        loss = loss_of(trial, direction)
        curve = curve_of(trial, direction)
        return PastTrial(trial.state, loss, _checked(trial.params), trial.distributions, seconds_of(trial), curve)
    except Exception as error:
        damage.trial(study, trial.number, error)
        return None


def _checked(params: dict[str, Any]) -> dict[str, Any]:
    if any(isinstance(value, float) and not math.isfinite(value) for value in params.values()):
        raise ValueError("a parameter is not a finite number")
    return params


# -- databases -----------------------------------------------------------------------------------------------

_STUDIES = sqlalchemy.text("SELECT study_id, study_name FROM studies ORDER BY study_id")
_DIRECTIONS = sqlalchemy.text("SELECT study_id, objective, direction FROM study_directions")
_ATTRIBUTES = sqlalchemy.text("SELECT study_id, key, value_json FROM study_user_attributes")
_TRIALS = sqlalchemy.text(
    "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE study_id = :study"
)
_PARAMS = sqlalchemy.text(
    """SELECT p.trial_id, p.param_name, p.param_value, p.distribution_json
    FROM trial_params p JOIN trials t ON p.trial_id = t.trial_id WHERE t.study_id = :study ORDER BY p.param_id"""
)
_VALUES = sqlalchemy.text(
    """SELECT v.trial_id, v.value, v.value_type
    FROM trial_values v JOIN trials t ON v.trial_id = t.trial_id WHERE t.study_id = :study AND v.objective = 0"""
)
_REPORTS = sqlalchemy.text(
    """SELECT i.trial_id, i.step, i.intermediate_value, i.intermediate_value_type
    FROM trial_intermediate_values i JOIN trials t ON i.trial_id = t.trial_id
    WHERE t.study_id = :study ORDER BY i.trial_id, i.step"""
)


def _studies_in_database(engine: sqlalchemy.Engine, damage: Damage) -> list[Found]:
    directions: dict[Any, dict[Any, Any]] = {}
    attributes: dict[Any, dict[Any, Any]] = {}
    with engine.connect() as connection:
        studies = [tuple(row) for row in connection.execute(_STUDIES)]
        for study, objective, direction in connection.execute(_DIRECTIONS):
            directions.setdefault(study, {})[objective] = direction
        for study, key, text in connection.execute(_ATTRIBUTES):
            attributes.setdefault(study, {})[key] = text
    found = [_study(i, name, directions.get(i, {}), attributes.get(i, {}), damage) for i, name in studies]
    return [study for study in found if study is not None]


def _study(
    i: Any, name: Any, directions: Mapping[Any, Any], attributes: Mapping[Any, Any], damage: Damage
) -> Found | None:
    try:
        if not isinstance(name, str) or not directions:
            raise ValueError("it has no name" if directions else "it has no direction")
        ways = tuple(StudyDirection[directions[objective]] for objective in sorted(directions))
        return Found(i, name, ways, {key: json.loads(text) for key, text in attributes.items()})
    except Exception as error:
        damage.study(name, error)
        return None


def _from_database(
    engine: sqlalchemy.Engine, study: int, study_name: str, direction: str, damage: Damage
) -> list[PastTrial]:
    def rows(query: sqlalchemy.Executable) -> Iterable[Any]:
        return connection.execute(query, {"study": study})

    # Other processes may write between the queries. Optuna stores a trial's parameters and value before it marks the
    # trial complete, so reading the states first is safe. Rows of trials that began later are skipped.
    found: dict[int, PastTrial] = {}
    numbers: dict[int, Any] = {}
    with engine.connect() as connection:
        trials = sorted(rows(_TRIALS), key=lambda row: row[0])
        values = {trial: value for trial, value, kind in rows(_VALUES) if kind == "FINITE"}
        for trial, number, *fields in trials:
            numbers[trial] = number
            if (past := _past_trial(fields, values.get(trial), direction, (study_name, number), damage)) is not None:
                found[trial] = past
        for trial, *fields in rows(_PARAMS):
            if trial in found and not _add_parameter(found[trial], fields, (study_name, numbers[trial]), damage):
                del found[trial]
        for trial, step, value, kind in rows(_REPORTS):
            if trial not in found or kind != "FINITE":
                continue
            if isinstance(step, int) and isinstance(value, (int, float)) and is_step(step):
                found[trial].curve[step] = turned(float(value), direction)
            else:
                damage.trial(study_name, numbers[trial], ValueError(f"it reported {value!r:.50} at step {step!r:.50}"))
                del found[trial]
    return list(found.values())


def _past_trial(
    fields: Sequence[Any], value: Any, direction: str, where: tuple[str, Any], damage: Damage
) -> PastTrial | None:
    try:
        name, start, end = fields
        state = TrialState[name]
        loss = _loss(state, math.nan if value is None else value, direction)
        return PastTrial(state, loss, {}, {}, _seconds(_time(start), _time(end)), {})
    except Exception as error:
        damage.trial(*where, error)
        return None


def _add_parameter(trial: PastTrial, fields: Sequence[Any], where: tuple[str, Any], damage: Damage) -> bool:
    """Add a parameter to a trial; whether it can be read."""
    try:
        name, value, text = fields
        distribution = _distribution(text)
        trial.params.update(_checked({name: distribution.to_external_repr(value)}))
        trial.distributions[name] = distribution
    except Exception as error:
        damage.trial(*where, error)
        return False
    return True


@lru_cache(maxsize=4096)
def _distribution(text: str) -> BaseDistribution:
    return json_to_distribution(text)


def _time(moment: Any) -> datetime | None:
    """A time of a database. SQLite keeps it as text."""
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment


def _seconds(start: datetime | None, end: datetime | None) -> float:
    """How long a trial ran; NaN if that is unknown, as after a change of the clock."""
    if start is None or end is None or end < start:
        return math.nan
    return (end - start).total_seconds()
