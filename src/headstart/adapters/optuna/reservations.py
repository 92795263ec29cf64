"""How any number of workers on one study share a start without trying a configuration twice.

Workers have only the storage in common, and the only thing it assigns atomically is a trial's number. So trials that
may try a configuration of the start take turns by number, like customers with tickets (Lamport's bakery algorithm). A
trial learns from the history, waits until every running trial with a lower number has reserved a configuration, and
then reserves its own, knowing all others. A reservation is an attribute of the trial, so it survives the worker. Once
all configurations of the start are reserved, nobody waits any more: trials that choose at the same time are told apart
by their numbers, and the surrogate has a proposal for each.

A worker may die, or be slow, before it has reserved anything: Optuna creates a trial before it asks the sampler. So the
others wait for a trial only for a moment, unless they know that its process is alive, and none waits for a trial that
somebody has passed already. Therefore every trial looks once more after it has reserved: if another one has reserved
the same configuration in the meantime, one of the two proposes again. So no configuration is tried twice, however long
anything takes.

If a worker dies later, its trial is marked as failed: by Optuna's heartbeat or, without one, by the next worker that
sees that the process has ended. Then its configuration is tried again.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from headstart._support.types import Array
from headstart.adapters.optuna.attributes import ENDED, RESERVATION, START, WAITING
from headstart.adapters.optuna.gathering import bounded
from headstart.adapters.optuna.trials import config_of, curve_of, is_queued, is_retry, loss_of, seconds_of
from headstart.adapters.optuna.workers import Worker, has_heartbeat, this_process
from headstart.space import Config

PATIENCE = 0.7  # seconds to wait for the trial whose turn it is
LONGER = 10.0  # the same, if its process is known to be alive
PASSED = 2  # trials to wait for in vain before passing all others, too
PAUSES = (0.01, 0.1)  # seconds between two checks: the first and the longest pause
DEATHS = 5  # a configuration that so many workers died of counts as tried


@dataclass(frozen=True)
class Reservation:
    """The configuration that a trial will try.

    origin: as in `headstart.search.trials.Trial`, or "none" if nothing is proposed. start: which configuration of
    the start it is, from 0; None if it is not part of the start. worker: the process that runs the trial, if known.
    why: what it was chosen for, in words; ahead: it was chosen together with an earlier trial's. Neither is stored with
    the reservation.
    """

    config: Config
    origin: str
    start: int | None = None
    worker: Worker | None = None
    why: str = ""
    ahead: bool = False

    def to_json(self) -> dict[str, Any]:
        """The form in which storages keep it. Studies on disk hold it, so keys may be added, but not changed."""
        entry = {"config": self.config, "origin": self.origin, "start": self.start}
        return {**entry, "worker": self.worker.to_json()} if self.worker else entry

    @classmethod
    def of(cls, trial: FrozenTrial) -> Reservation | None:
        """The reservation of a trial; None if it has none (yet)."""
        config = _config(trial)
        if config is None:
            return None
        entry = trial.system_attrs[RESERVATION]
        start = entry.get("start")
        position = start if isinstance(start, int) else None
        worker = None if is_retry(trial) else Worker.of(entry.get("worker"))
        return cls(dict(config), str(entry.get("origin")), position, worker)


NOTHING = Reservation({}, "none")


# -- turns ---------------------------------------------------------------------------------------------------


def wait_for_turn(
    storage: BaseStorage,
    study: int,
    number: int,
    needed: Callable[[Sequence[FrozenTrial]], bool] = lambda trials: True,
) -> list[FrozenTrial]:
    """All trials of the study, as soon as it is the turn of the trial with this number.

    needed: whether a trial has to take its turn, given all trials.

    Reading from a database is not atomic: it may return attributes from before parameters were written. So only at the
    second look does a trial with parameters but without a reservation count as another sampler's.
    """
    pause, longest = PAUSES
    since: dict[int, float] = {}  # trial → when its turn came, as far as we know
    passed: set[int] = set()
    others: set[int] = set()  # trials with parameters but without a reservation
    while True:
        trials = storage.get_all_trials(study, deepcopy=False)
        if not needed(trials):
            return trials
        before = [t for t in _without_reservation(trials, number) if t.number not in passed | others]
        others.update(t.number for t in before if t.params)
        if not before or len(passed) >= PASSED:
            return trials
        if not since:
            _announce(storage, next((t for t in trials if t.number == number), None))
        first, now = before[0].number, time.monotonic()
        if now - since.setdefault(first, now) >= _patience(before[0]):
            passed.add(first)
        else:
            time.sleep(pause)
            pause = min(1.5 * pause, longest)


def _announce(storage: BaseStorage, trial: FrozenTrial | None) -> None:
    """Say which process waits, so that those behind it know whether it is alive when its turn comes."""
    process = this_process()
    if trial is not None and process is not None:
        storage.set_trial_system_attr(trial._trial_id, WAITING, process.to_json())


def _patience(trial: FrozenTrial) -> float:
    """How long to wait for a trial: not at all for a dead process, longer for a living one."""
    process = Worker.of(trial.system_attrs.get(WAITING))
    if process is None or not process.is_here():
        return PATIENCE
    return 0.0 if process.has_ended() else LONGER


def _without_reservation(trials: Sequence[FrozenTrial], number: int) -> list[FrozenTrial]:
    """The running trials before this one that have not reserved anything and that nobody has passed yet."""
    reserved = max((t.number for t in trials if _config(t) is not None and not is_retry(t)), default=-1)
    running = [t for t in trials if t.state == TrialState.RUNNING and not is_queued(t) and not is_retry(t)]
    return [t for t in running if reserved < t.number < number]


def choosing_before(trials: Sequence[FrozenTrial], number: int) -> int:
    """How many trials with a lower number are presumably choosing a configuration at this moment."""
    found = [t for t in _recent(trials) if t.number < number and _config(t) is None]
    return sum(not (t.params or is_queued(t) or is_retry(t)) for t in found)


def running_beside(trials: Sequence[FrozenTrial], number: int) -> int:
    """How many other trials have begun a moment ago and are running: a sign of other workers with short trials."""
    return sum(t.number != number for t in _recent(trials))


def _recent(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    now, running = datetime.now(), [t for t in trials if t.state == TrialState.RUNNING]
    return [t for t in running if abs((now - (t.datetime_start or now)).total_seconds()) < LONGER]


def is_lost(
    storage: BaseStorage, study: int, number: int, reservation: Reservation, known: Sequence[FrozenTrial]
) -> bool:
    """Whether another trial has reserved the same configuration at the same time, and keeps it.

    known: the trials that the reservation took into account; one that held the configuration already is no rival, nor
    is one that was finished, since it does not change any more. The trial with the lower number keeps the configuration
    if it can, that is if the other one looks once more, too, and gives it up.
    """
    seen = {t.number for t in known if t.state.is_finished() or _holds(t, reservation)}
    until = time.monotonic() + PATIENCE
    while reservation.config:
        trials = storage.get_all_trials(study, deepcopy=False)
        if free(storage, trials):  # or see that they were finished just before their workers died
            trials = storage.get_all_trials(study, deepcopy=False)
        rivals = [t for t in trials if t.number != number and t.number not in seen and _holds(t, reservation)]
        if not rivals:
            return False
        if time.monotonic() > until or any(t.number < number or t.state.is_finished() for t in rivals):
            return True
        time.sleep(PAUSES[1])
    return False


def _holds(trial: FrozenTrial, reservation: Reservation) -> bool:
    """Whether a trial tries or has tried what is reserved; one whose worker died on the way does not."""
    return _config(trial) == reservation.config and not _died(trial)


def _config(trial: FrozenTrial) -> Mapping[str, Any] | None:
    """The reserved configuration; None if there is none (yet)."""
    entry = trial.system_attrs.get(RESERVATION)
    config = entry.get("config") if isinstance(entry, Mapping) else None
    return config if isinstance(config, Mapping) else None


def _died(trial: FrozenTrial) -> bool:
    """Whether a failed trial was ended by the death of its worker."""
    return trial.state == TrialState.FAIL and ENDED not in trial.system_attrs


def free(storage: BaseStorage, trials: Sequence[FrozenTrial]) -> bool:
    """Mark trials as failed whose process on this machine has ended; whether there were any.

    Where Optuna has a heartbeat, it does so itself, and calls what the user wants to be called then.
    """
    dead = [] if has_heartbeat(storage) else [t for t in trials if is_dead(t)]
    for trial in dead:
        with suppress(RuntimeError):  # another worker was faster
            storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    return bool(dead)


def is_dead(trial: FrozenTrial) -> bool:
    """Whether a running trial has a worker that certainly died."""
    if trial.state != TrialState.RUNNING:
        return False
    reservation = Reservation.of(trial)
    return reservation is not None and reservation.worker is not None and reservation.worker.has_ended()


# -- the other trials ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """Another trial as a search sees it.

    loss: NaN if there is none. extra: it uses up no configuration of the start, since it was queued by the user, or ran
    before the objective's parameters were known. died: its worker died; begun: not before the objective had begun.
    order: finished trials come in the order in which they finished, so that those known before stay first. seconds: NaN
    unless it has ended. curve: the losses that it reported by step, if it was pruned.
    """

    config: Config
    loss: float
    failed: bool
    reservation: Reservation | None
    extra: bool
    died: bool
    begun: bool
    order: tuple[Any, ...]
    seconds: float = math.nan
    curve: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, trial: FrozenTrial, direction: str) -> Other:
        """An unfinished trial counts with the reserved values of the parameters that it has not suggested yet."""
        reservation, finished = Reservation.of(trial), trial.state.is_finished()
        reserved = reservation.config if reservation and not finished else {}
        loss = loss_of(trial, direction)
        failed = trial.state == TrialState.FAIL or (trial.state == TrialState.COMPLETE and math.isnan(loss))
        queued = is_queued(trial) and START not in trial.user_attrs
        return cls(
            {**reserved, **config_of(trial)},
            loss,
            failed,
            reservation,
            extra=queued or (reservation is not None and reservation.origin == NOTHING.origin),
            died=reservation is not None and _died(trial),
            begun=bool(trial.params),
            order=(not finished, (finished and trial.datetime_complete) or datetime.min, trial.number),
            seconds=seconds_of(trial),
            curve=curve_of(trial, direction) if trial.state == TrialState.PRUNED else {},
        )


class Others:
    """The other trials of a study. Finished ones are read once, since they do not change any more."""

    def __init__(self, direction: str) -> None:
        self._direction = direction
        self._finished: dict[int, Other] = {}

    def of(self, trials: Sequence[FrozenTrial], number: int) -> list[Other]:
        """All trials but the one with this number."""
        return sorted((self._read(trial) for trial in trials if trial.number != number), key=lambda o: o.order)

    def _read(self, trial: FrozenTrial) -> Other:
        other = self._finished.get(trial.number)
        if other is None:
            other = Other.of(trial, self._direction)
            if trial.state.is_finished():
                self._finished[trial.number] = other
        return other


def counting(others: Sequence[Other]) -> list[Other]:
    """The trials that count.

    Complete trials have a loss. Running and queued ones were tried, but have none. Failed and pruned ones count, too.
    If the worker died, however, the trial does not count, so that its configuration is tried again, unless the
    objective had begun and so many workers died of it that it may be the reason.
    """
    found: list[Other] = []
    died: Counter[str] = Counter()
    for other in others:
        if not other.config:
            continue
        if other.reservation and other.died:
            key = json.dumps(other.reservation.config, sort_keys=True)
            died[key] += other.begun
            if died[key] < DEATHS:
                continue
        found.append(other)
    return found


def losses(found: Sequence[Other]) -> Array:
    """Their losses (n,). A failed trial counts as the worst seen, a pruned one as in `bounded`."""
    known = np.array([other.loss for other in found], dtype=float)
    failed = np.array([other.failed for other in found], dtype=bool)
    finite = known[np.isfinite(known)]
    if not len(finite):
        return known
    best, worst = float(finite.min()), float(finite.max())
    pruned = [bounded(other.curve, best, worst) if other.curve else math.nan for other in found]
    return np.where(failed, worst, np.where(np.isnan(pruned), known, pruned))
