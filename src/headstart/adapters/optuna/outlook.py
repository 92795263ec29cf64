"""One study, running or finished, as `HeadstartSampler` sees it now: its trials, what it believes, what comes next.

Nothing is written, and nothing of the sampler's settings is stored in a study, so the defaults stand in for them: the
past is everything else in the storage.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optuna import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from headstart.adapters.optuna.attributes import METRIC, METRICS, ORIGIN, RESERVATION, START, STARTS, WHY, features_in
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.databases import hidden
from headstart.adapters.optuna.past import Past
from headstart.adapters.optuna.queue import STATES, Account, account
from headstart.adapters.optuna.reservations import NOTHING, Reservation
from headstart.adapters.optuna.search import Known, Search, Settings
from headstart.adapters.optuna.storages import direction_of, no_study, open_storage
from headstart.adapters.optuna.trials import config_of
from headstart.errors import ArgumentError
from headstart.search.optimizer import Optimizer
from headstart.space import Config
from headstart.strategies.base import Told

N_INIT = 10  # trials of a start, if the study does not say
NEXT = 3  # proposals to look ahead


@dataclass(frozen=True)
class Seen:
    """A trial of the study. start: which configuration of the start it tries, from 0; None if none."""

    number: int
    state: str
    config: Config
    value: float | None
    origin: str
    start: int | None
    why: str


@dataclass(frozen=True)
class Outlook:
    """What a study has found, and how its search goes on.

    optimizer, told: the search and the trials that it knows; None as long as the objective's parameters are unknown.
    upcoming: what it would try next, in order, if no running trial ended before.
    """

    study: str
    direction: str
    metric: str
    account: Account
    trials: list[Seen]
    optimizer: Optimizer | None
    told: Told | None
    upcoming: list[Reservation]


def outlook_of(where: str, name: str, *, n: int = NEXT) -> Outlook:
    """The outlook of a study in a storage; where: the storage's URL or file, name: the study's name."""
    with open_storage(where, Damage(hidden(where))) as storage:
        names = [study.study_name for study in storage.get_all_studies()]
        if name not in names:
            raise ArgumentError(no_study(where, name, names))
        return outlook(Study(study_name=name, storage=storage), where, n=n)


def outlook(study: Study, past: Any, *, n: int = NEXT) -> Outlook:
    """The outlook of a study; past: where its past studies are."""
    direction = direction_of(study, "a report")
    trials = study.get_trials(deepcopy=False)
    storage, number = study._storage, study._study_id
    attributes = storage.get_study_user_attrs(number)
    n_init = int(storage.get_study_system_attrs(number).get(STARTS, 0) or N_INIT)
    features = features_in(attributes, study.study_name, lambda text: None)
    known = Known(Past.of(past, None, None).for_study(study), None, None, features)
    settings = Settings(n_init, "auto", "auto", "ei")
    search = Search(settings, known, direction=direction, seed=zlib.crc32(study.study_name.encode()))
    optimizer, told = search.view(trials) or (None, None)
    return Outlook(
        study.study_name,
        direction,
        _metric(study, attributes),
        account(study),
        [_seen(trial) for trial in trials],
        optimizer,
        told,
        _upcoming(search, trials, n),
    )


def _metric(study: Study, attributes: dict[str, Any]) -> str:
    """The name of the objective's value, if the study says it."""
    if study.metric_names:
        return str(study.metric_names[0])
    return next((attributes[key] for key in (METRIC, *METRICS) if isinstance(attributes.get(key), str)), "")


def _seen(trial: FrozenTrial) -> Seen:
    start = trial.user_attrs.get(START)
    value = trial.value if trial.state == TrialState.COMPLETE else None
    reserved = (Reservation.of(trial) or NOTHING).origin  # a trial that was chosen for ahead has no other record
    origin = str(trial.user_attrs.get(ORIGIN, "" if reserved == NOTHING.origin else reserved))
    why = str(trial.user_attrs.get(WHY, ""))
    position = start if isinstance(start, int) else None
    return Seen(trial.number, STATES[trial.state], config_of(trial), value, origin, position, why)


def _upcoming(search: Search, trials: Sequence[FrozenTrial], n: int) -> list[Reservation]:
    """The next n reservations, each made as if those before it were running."""
    found: list[Reservation] = []
    seen = list(trials)
    for _ in range(n):
        number = max((trial.number for trial in seen), default=-1) + 1
        reservation = search.propose(seen, number)
        if reservation.origin == NOTHING.origin:
            break
        found.append(reservation)
        running = create_trial(state=TrialState.RUNNING, system_attrs={RESERVATION: reservation.to_json()})
        running.number = number
        seen.append(running)
    return found
