"""For studies with another sampler: a start in the study's queue, and an account of how it ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt
from optuna import Study
from optuna.trial import FrozenTrial, TrialState

from headstart._support.direction import turned
from headstart._support.wording import text_table
from headstart.adapters.optuna.attributes import CHANGED, FEATURES, START, STARTS
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.databases import hidden
from headstart.adapters.optuna.objective import Objective, nothing_shared
from headstart.adapters.optuna.storages import direction_of, no_study, open_storage
from headstart.adapters.optuna.stuck import Stuck, stuck
from headstart.adapters.optuna.trials import config_of, read_studies, whole_trials
from headstart.datasets.features import metafeatures
from headstart.errors import ArgumentError, SpaceError
from headstart.space import Change, Config, Space, as_space
from headstart.space.reconciliation import report
from headstart.starts.start import Start


def describe(study: Study, X: npt.ArrayLike, y: npt.ArrayLike) -> dict[str, float]:
    """Write a data set's meta-features to the study's user attributes, where histories and samplers find them."""
    features = {name: float(x) for name, x in metafeatures(X, y).items() if math.isfinite(x)}
    study.set_user_attr(FEATURES, features)
    return features


# -- queueing a start ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Queued:
    """The result of `enqueue`; print it for a summary.

    queued: positions in the start of the configurations that are now queued. skipped: the other positions, with the
    reason. changes: how each parameter was converted to the objective's space; None if the space is unknown.
    random_left: how many random trials the study's sampler will still run on its own.
    """

    queued: list[int]
    skipped: dict[int, str]
    changes: list[Change] | None
    sampler: str
    startup: int
    random_left: int

    def __str__(self) -> str:
        total = len(self.queued) + len(self.skipped)
        lines = [f"{len(self.queued)} of {total} configurations of the start are queued"]
        lines += [f"  skipped {i}: {reason}" for i, reason in self.skipped.items()]
        if self.changes is None:
            lines.append("not checked against the objective, which has not run yet; to check them, pass space=")
        elif any(change.altered for change in self.changes):
            lines.append(report(self.changes))
        lines.append(self._about_sampler())
        return "\n".join(lines)

    def _about_sampler(self) -> str:
        if not self.startup:
            return f"{self.sampler} runs no random trials at startup"
        text = f"{self.sampler} runs {self.startup} random trials at startup; the queue replaces "
        if not self.random_left:
            return text + "all of them"
        replaced = self.startup - self.random_left
        return text + f"{replaced} of them; to skip the other {self.random_left}, set n_startup_trials={replaced}"


def enqueue(study: Study, start: Start, *, space: Any = None) -> Queued:
    """Queue a start's configurations in a study with another sampler, such as TPE or CMA-ES.

    They are checked against the objective's space: the given one, or else the one inferred from the study's trials.
    Values out of range move to the bound, and configurations that do not fit are skipped. So are those that were tried
    or are already queued. Each queued trial has `headstart:start` in its user attributes.
    """
    if not isinstance(start, Start):
        raise ArgumentError(
            f"enqueue takes a Start, but got {type(start).__name__}", "make one with hs.learn(history) or hs.Start.load"
        )
    direction_of(study, "a start")
    trials = study.get_trials(deepcopy=False)
    known = as_space(space) if space is not None else _inferred_space(start, trials)
    configs, changes, skipped = _fitting(start, known)
    tried: list[Mapping[str, Any]] = [config_of(trial) for trial in trials]
    queued = []
    for i, config in configs.items():
        if any(_is_part(config, other) for other in tried):
            skipped[i] = "tried or queued already"
            continue
        study.enqueue_trial(config, user_attrs={START: i})
        tried.append(config)
        queued.append(i)
    study._storage.set_study_system_attr(study._study_id, STARTS, len(start))  # Study has no public setter
    startup, left = _startup(study, trials, len(queued))
    return Queued(queued, dict(sorted(skipped.items())), changes, type(study.sampler).__name__, startup, left)


def _inferred_space(start: Start, trials: Sequence[FrozenTrial]) -> Space | None:
    """The objective's space, inferred from its trials; None until one is complete."""
    objective = Objective()
    objective.read(trials)
    return objective.space(start.space) if objective.complete else None


def _fitting(start: Start, space: Space | None) -> tuple[dict[int, Config], list[Change] | None, dict[int, str]]:
    """The configurations that fit the space, by position; what changed; and why the others do not fit."""
    if space is None:
        return dict(enumerate(start.configs)), None, {}
    if problem := nothing_shared("start", start.space, space):
        raise SpaceError(problem)
    there, result = start.reconciled(space)
    configs = {
        i: {name: value for name, value in config.items() if name in start.space}  # leave the rest to the sampler
        for i, config in zip(result.rows, there.configs, strict=True)
    }
    return configs, result.changes, dict(result.dropped)


def _is_part(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(name in other and _equal(value, other[name]) for name, value in config.items())


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def _startup(study: Study, trials: Sequence[FrozenTrial], queued: int) -> tuple[int, int]:
    """How many random trials the study's sampler begins with, and how many of them are left."""
    startup = int(getattr(study.sampler, "_n_startup_trials", 0))  # samplers that have it do not make it public
    counting = sum(t.state in (TrialState.COMPLETE, TrialState.PRUNED) for t in trials) + queued
    return startup, max(0, startup - counting)


# -- the account ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """One configuration of a start: the trial that tried it, its state and its value."""

    start: int
    trial: int
    state: str
    value: float | None
    changed: tuple[str, ...]  # parameters whose learned value could not be used


@dataclass(frozen=True)
class Account:
    """How many configurations of a study's start ran and how good they were; print it for a summary."""

    study: str
    direction: str
    planned: int
    tried: list[Tried]
    best: tuple[int, float] | None  # number and value of the study's best trial
    trials: int  # complete ones
    better: int  # complete trials that beat the whole start
    stuck: list[Stuck] = field(default_factory=list)  # running trials whose worker seems to be dead
    skipped: list[str] = field(default_factory=list)  # what could not be read, such as "2 damaged trials"

    @property
    def ran(self) -> int:
        """How many configurations of the start have finished."""
        return sum(entry.state in ("complete", "failed", "pruned") for entry in self.tried)

    @property
    def best_start(self) -> Tried | None:
        """The best configuration of the start; the first of them if several are equally good."""
        known = [entry for entry in self.tried if entry.value is not None]
        return min(known, key=lambda entry: turned(entry.value or 0.0, self.direction), default=None)

    def __str__(self) -> str:
        more = [*map(str, self.stuck), *(f"skipped {what}" for what in self.skipped)]
        if not self.planned:
            return "\n\n".join([f"no trial of {self.study!r} comes from a learned start", *more])
        rows = [
            (
                str(entry.start + 1),
                str(entry.trial),
                entry.state,
                "" if entry.value is None else f"{entry.value:.6g}",
                f"changed: {', '.join(entry.changed)}" if entry.changed else "",
            )
            for entry in self.tried
        ]
        table = text_table(("start", "trial", "state", "value", ""), rows, left=(4,))
        return "\n\n".join([table, self.verdict, *more])

    @property
    def verdict(self) -> str:
        """The summary in one paragraph."""
        states = [entry.state for entry in self.tried]
        parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states) if state != "complete"]
        text = f"{self.ran} of {self.planned} configurations of the start ran"
        text += f" ({', '.join(parts)})" if parts else ""
        first = self.best_start
        if first is None or self.best is None:
            return text + "; none has a result."
        text += f". The best of them, number {first.start + 1} in trial {first.trial}, gave {first.value:.6g}"
        if not self.better:
            return text + f", the best of all {self.trials} complete trials."
        number, value = self.best
        verb = "was" if self.better == 1 else "were"
        text += f"; {self.better} of {self.trials} complete trials {verb} better"
        return text + f". The best of all is trial {number} with {value:.6g}."

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "planned": self.planned,
            "ran": self.ran,
            "summary": self.verdict if self.planned else str(replace(self, stuck=[], skipped=[])),
            "starts": [{**vars(entry), "changed": list(entry.changed)} for entry in self.tried],
            "stuck": [vars(entry) for entry in self.stuck],
            "skipped": self.skipped,
        }


STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


def account(study: Study, trials: Sequence[FrozenTrial] | None = None) -> Account:
    """Which configurations of its start a study has tried, and with what result. trials: those to look at."""
    direction = direction_of(study, "an account")
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    values = {t.number: t.value for t in trials if t.state == TrialState.COMPLETE and t.value is not None}
    losses = {number: turned(value, direction) for number, value in values.items()}
    tried = [
        Tried(i, t.number, STATES[t.state], values.get(t.number), tuple(t.user_attrs.get(CHANGED, ())))
        for i, t in sorted(_trials_of_start(trials).items())
    ]
    planned = study._storage.get_study_system_attrs(study._study_id).get(STARTS, 0)  # Study has no public getter
    best = min(losses, key=lambda number: losses[number], default=None)
    lowest = min((losses[entry.trial] for entry in tried if entry.trial in losses), default=math.inf)
    return Account(
        study.study_name,
        direction,
        planned=max(planned, len(tried)),
        tried=tried,
        best=None if best is None else (best, values[best]),
        trials=len(values),
        better=sum(loss < lowest for loss in losses.values()),
        stuck=stuck(study, trials),
    )


def _trials_of_start(trials: Sequence[FrozenTrial]) -> dict[int, FrozenTrial]:
    """For each configuration of the start, the first complete trial, or else the last one."""
    found: dict[int, FrozenTrial] = {}
    for trial in trials:
        index = trial.user_attrs.get(START, -1)
        before = found.get(index)
        if index >= 0 and (before is None or before.state != TrialState.COMPLETE):
            found[index] = trial
    return found


def account_of(where: str, name: str, *, skip_damaged: bool = False) -> Account:
    """The account of a study in a storage.

    where: the storage's URL or file. name: the study's name.
    skip_damaged: leave out trials that cannot be read, and count them.
    """
    damage = Damage(hidden(where), skip_damaged)
    with open_storage(where, damage) as storage:
        studies = {study.name: study.id for study in read_studies(storage, damage)}
        if name not in studies:
            raise ArgumentError(no_study(where, name, list(studies)))
        trials = whole_trials(storage, studies[name], name, damage)
        return replace(account(Study(study_name=name, storage=storage), trials), skipped=damage.lines())
