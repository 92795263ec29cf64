"""How any number of workers on one study share a start without trying a configuration twice.

Workers have only the storage in common, and the only thing it assigns atomically is a trial's number. So trials take
turns by number, like customers with tickets (Lamport's bakery algorithm). A trial learns from the history, waits until
every running trial with a lower number has reserved a configuration, and then reserves its own, knowing all others. A
reservation is an attribute of the trial, so it survives the worker.

If a worker dies before it has reserved a configuration, the others wait for its trial only for a limited time. The same
holds for a trial of another sampler that has not suggested a parameter yet. If a worker dies later, its trial stays
"running" until Optuna's heartbeat marks it as failed. Then its configuration may be tried once more.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from headstart._support.types import Array
from headstart.adapters.optuna.attributes import ENDED, RESERVATION
from headstart.adapters.optuna.trials import config_of, is_queued, loss_of
from headstart.space import Config

PATIENCE = 60.0  # seconds to wait for one trial; a busy SQLite alone takes several to write an attribute
PAUSES = (0.02, 0.5)  # seconds between two checks: the first and the longest pause


@dataclass(frozen=True)
class Reservation:
    """The configuration that a trial will try.

    origin: as in `headstart.search.trials.Trial`, or "none" if nothing is proposed. start: which configuration of
    the start it is, from 0; None if it is not part of the start.
    """

    config: Config
    origin: str
    start: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The form in which storages keep it. Studies on disk hold it, so it must not change."""
        return {"config": self.config, "origin": self.origin, "start": self.start}

    @classmethod
    def of(cls, trial: FrozenTrial) -> Reservation | None:
        """The reservation of a trial; None if it has none (yet)."""
        entry = trial.system_attrs.get(RESERVATION)
        return cls(dict(entry["config"]), entry["origin"], entry["start"]) if entry else None


NOTHING = Reservation({}, "none")


# -- turns ---------------------------------------------------------------------------------------------------


@dataclass
class Turns:
    """Waits for trials with lower numbers, and remembers since when.

    Reading from a database is not atomic: it may return attributes from before parameters were written. So only at the
    second look does a trial with parameters but without a reservation count as another sampler's.
    """

    since: dict[int, float] = field(default_factory=dict)  # trial id → when we first waited for it
    unreserved: set[int] = field(default_factory=set)  # ids of trials with parameters but without a reservation

    def wait(self, storage: BaseStorage, study: int, number: int) -> list[FrozenTrial]:
        """All trials of the study, as soon as it is the turn of the trial with this number."""
        pause, longest = PAUSES
        while True:
            trials = storage.get_all_trials(study, deepcopy=False)
            if not [t for t in trials if t.number < number and self._must_wait(t)]:
                return trials
            time.sleep(pause)
            pause = min(1.5 * pause, longest)

    def _must_wait(self, trial: FrozenTrial) -> bool:
        if trial.state != TrialState.RUNNING or Reservation.of(trial) or is_queued(trial):
            return False
        if trial._trial_id in self.unreserved:
            return False
        if trial.params:
            self.unreserved.add(trial._trial_id)
        since = self.since.setdefault(trial._trial_id, time.monotonic())
        return time.monotonic() - since < PATIENCE


# -- the other trials ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """Another trial as a search sees it. loss: NaN if there is none."""

    config: Config
    loss: float
    failed: bool
    reservation: Reservation | None

    @classmethod
    def of(cls, trial: FrozenTrial, direction: str) -> Other:
        """An unfinished trial counts with the reserved values of the parameters that it has not suggested yet."""
        reservation = Reservation.of(trial)
        reserved = reservation.config if reservation and not trial.state.is_finished() else {}
        loss = loss_of(trial, direction)
        failed = trial.state == TrialState.FAIL or (trial.state == TrialState.COMPLETE and math.isnan(loss))
        return cls({**reserved, **config_of(trial)}, loss, failed, reservation)


def others(trials: Sequence[FrozenTrial], number: int, direction: str) -> list[Other]:
    """All trials that count, except the one with this number.

    Complete trials have a loss. Running, queued and pruned ones were tried, but have none. Failed trials count, too. If
    the worker died, however, the first such trial of a configuration does not count, so that it is tried again.
    """
    found: list[Other] = []
    died: set[str] = set()
    for trial in trials:
        other = Other.of(trial, direction)
        if trial.number == number or not other.config:
            continue
        if other.reservation and trial.state == TrialState.FAIL and ENDED not in trial.system_attrs:
            key = json.dumps(other.reservation.config, sort_keys=True)
            if key not in died:
                died.add(key)
                continue
        found.append(other)
    return found


def losses(found: Sequence[Other]) -> Array:
    """Their losses (n,). A failed trial counts as the worst seen."""
    known = np.array([other.loss for other in found], dtype=float)
    failed = np.array([other.failed for other in found], dtype=bool)
    worst = np.max(known[np.isfinite(known)], initial=-math.inf)
    return np.where(failed & math.isfinite(worst), worst, known)
