"""Who tries what: how any number of workers on one study share a start without trying any of it twice.

The storage is all that workers have in common, and the one thing it hands out atomically is a trial's number. So the
trials take their turns by number, as customers with tickets do (Lamport's bakery): a trial learns what it needs, waits
until every running trial with a lower number has claimed a configuration, and then claims its own, knowing all the
others. A claim is an attribute of the trial, so it outlives the worker.

A worker that dies while it chooses is waited for only so long, and so is a trial of another sampler that has not asked
for a parameter yet. If a worker dies later, its trial stays "running" until Optuna's heartbeat declares it failed; then
what it had claimed is free again, once.
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

from headstart.space import Config

CLAIM = "headstart:claim"  # system attribute of a trial: what its sampler proposed
ENDED = "headstart:ended"  # system attribute of a trial that failed while its worker was alive
START = "headstart:start"  # user attribute of a trial: which configuration of the start it tries, from 0
CHANGED = "headstart:changed"  # user attribute of such a trial: parameters that could not be used as learned
STARTS = "headstart:starts"  # system attribute of a study: how many configurations its start has

PATIENCE = 60.0  # seconds to wait for one trial; a busy SQLite alone takes several to write an attribute
PAUSES = (0.02, 0.5)  # seconds between looks, first and at most


@dataclass(frozen=True)
class Claim:
    """What a trial is to try; origin as in `headstart.search.optimizer.Trial`, or "none" where nothing is proposed."""

    config: Config
    origin: str
    start: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"config": self.config, "origin": self.origin, "start": self.start}

    @classmethod
    def of(cls, trial: FrozenTrial) -> Claim | None:
        """The claim of a trial; None if it has made none (yet)."""
        entry = trial.system_attrs.get(CLAIM)
        return cls(dict(entry["config"]), entry["origin"], entry["start"]) if entry else None


NOTHING = Claim({}, "none")


# -- turns ---------------------------------------------------------------------------------------------------


@dataclass
class Turns:
    """Waits for those with lower numbers; remembers when it first saw each of them choosing.

    A look at a database is not one moment: attributes may be read before parameters. So parameters without a claim are
    those of another sampler only at the second look.
    """

    seen: dict[int, float] = field(default_factory=dict)  # trial id → when
    asked: set[int] = field(default_factory=set)  # ids of trials with parameters and without a claim

    def wait(self, storage: BaseStorage, study: int, number: int) -> list[FrozenTrial]:
        """All trials of the study, as soon as it is this one's turn."""
        pause, longest = PAUSES
        while True:
            trials = storage.get_all_trials(study, deepcopy=False)
            if not [t for t in trials if t.number < number and self._must_wait(t)]:
                return trials
            time.sleep(pause)
            pause = min(1.5 * pause, longest)

    def _must_wait(self, trial: FrozenTrial) -> bool:
        if trial.state != TrialState.RUNNING or Claim.of(trial) or is_given(trial) or trial._trial_id in self.asked:
            return False
        if trial.params:
            self.asked.add(trial._trial_id)
        since = self.seen.setdefault(trial._trial_id, time.monotonic())
        return time.monotonic() - since < PATIENCE


def is_given(trial: FrozenTrial) -> bool:
    """Whether a trial was queued with its parameters."""
    return "fixed_params" in trial.system_attrs


# -- what the others do --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """Another trial as a search sees it. loss: minimised; NaN if there is none."""

    config: Config
    loss: float
    failed: bool
    claim: Claim | None


def others(trials: Sequence[FrozenTrial], number: int, sign: float) -> list[Other]:
    """All trials but this one that count.

    Complete trials have a loss. Running, queued and pruned ones are tried without one. Of failed ones, those whose
    worker died do not count the first time, so that what they had claimed is tried again.
    """
    found: list[Other] = []
    died: set[str] = set()
    for trial in trials:
        claim = Claim.of(trial)
        config = {**(claim.config if claim and not trial.state.is_finished() else {}), **_params(trial)}
        if trial.number == number or not config:
            continue
        failed = trial.state == TrialState.FAIL
        if failed and claim and ENDED not in trial.system_attrs:
            key = json.dumps(claim.config, sort_keys=True)
            if key not in died:
                died.add(key)
                continue
        value = trial.value if trial.state == TrialState.COMPLETE and trial.value is not None else math.nan
        failed |= trial.state == TrialState.COMPLETE and not math.isfinite(value)
        found.append(Other(config, sign * value if math.isfinite(value) else math.nan, failed, claim))
    return found


def _params(trial: FrozenTrial) -> Config:
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


def losses(found: Sequence[Other]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Their losses; a failed trial counts as the worst seen."""
    known = np.array([other.loss for other in found], dtype=float)
    failed = np.array([other.failed for other in found], dtype=bool)
    worst = np.max(known[np.isfinite(known)], initial=-math.inf)
    return np.where(failed & math.isfinite(worst), worst, known)
