"""Trials that will stay "running" forever because their worker died, and how to free them."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy
from optuna import Study
from optuna.storages import BaseStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from headstart.adapters.optuna.reservations import Reservation, is_dead
from headstart.adapters.optuna.storages import place
from headstart.adapters.optuna.trials import backend

QUIET = timedelta(minutes=10)  # without a heartbeat for so long, a worker is presumably dead
LONG = timedelta(minutes=1)  # no trial that began later is suspected
TELL = "optuna tell --storage {} --study-name {} --trial-number {} --state fail"
TIMES = 10  # how many times longer than a complete trial a suspected one runs


@dataclass(frozen=True)
class Stuck:
    """A running trial whose worker is dead, or seems to be; why; and the command that marks the trial as failed."""

    trial: int
    why: str
    command: str

    def __str__(self) -> str:
        return f"trial {self.trial} may run forever: {self.why}; if its worker is dead, free it with\n  {self.command}"


def stuck(study: Study, trials: Sequence[FrozenTrial]) -> list[Stuck]:
    """The stuck ones of a study's trials."""
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    if not running:
        return []
    heartbeats, limit = _heartbeats(study._storage, running), max(LONG, TIMES * _usual(trials))
    reasons = {t.number: _reason(t, heartbeats.get(t._trial_id), limit) for t in running}
    return [Stuck(number, why, _command(study, number)) for number, why in reasons.items() if why]


def _reason(trial: FrozenTrial, quiet: timedelta | None, limit: timedelta) -> str:
    """Why a running trial is suspected; empty if it is not. quiet: how long ago its last heartbeat was."""
    reservation = Reservation.of(trial)
    if reservation and reservation.worker and is_dead(trial):
        return f"its worker, process {reservation.worker.pid} on this machine, has ended"
    if quiet is not None:
        return f"its last heartbeat was {_rounded(quiet)} ago" if quiet > QUIET else ""
    since = datetime.now() - trial.datetime_start if trial.datetime_start else timedelta()
    return f"it began {_rounded(since)} ago and nothing says that its worker is alive" if since > limit else ""


def _usual(trials: Sequence[FrozenTrial]) -> timedelta:
    known = [t.duration.total_seconds() for t in trials if t.state == TrialState.COMPLETE and t.duration]
    return timedelta(seconds=statistics.median(known) if known else 0.0)


def _rounded(time: timedelta) -> timedelta:
    return timedelta(seconds=round(time.total_seconds()))


_HEARTBEATS = sqlalchemy.text(
    "SELECT trial_id, heartbeat, CURRENT_TIMESTAMP AS now FROM trial_heartbeats WHERE trial_id IN :trials"
).columns(trial_id=sqlalchemy.Integer, heartbeat=sqlalchemy.DateTime, now=sqlalchemy.DateTime)


def _heartbeats(storage: BaseStorage, trials: Sequence[FrozenTrial]) -> dict[int, timedelta]:
    """How long ago the last heartbeat of each trial was, if there was one, by the clock of the database."""
    inner = backend(storage)
    if not isinstance(inner, RDBStorage):
        return {}
    query = _HEARTBEATS.bindparams(sqlalchemy.bindparam("trials", expanding=True))
    with inner.engine.connect() as connection:
        rows = connection.execute(query, {"trials": [trial._trial_id for trial in trials]})
        return {trial: now.replace(tzinfo=None) - last.replace(tzinfo=None) for trial, last, now in rows}


def _command(study: Study, number: int) -> str:
    inner = backend(study._storage)
    if isinstance(inner, (RDBStorage, JournalFileBackend)) and "/" in (where := place(study._storage)):
        return TELL.format(shlex.quote(where), shlex.quote(study.study_name), number)
    return f"study.tell({number}, state=optuna.trial.TrialState.FAIL)"
