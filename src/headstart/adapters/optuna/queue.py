"""For those who keep their sampler: a start queued in a study, and the account of which starts ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from optuna import Study
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from headstart._support.wording import closest, some
from headstart.adapters.optuna.conditions import joined, shapes, telling
from headstart.adapters.optuna.reading import FEATURES
from headstart.adapters.optuna.reservations import CHANGED, START, STARTS
from headstart.adapters.optuna.search import Seen
from headstart.adapters.optuna.storages import open_storage
from headstart.datasets.features import metafeatures
from headstart.errors import ArgumentError
from headstart.space import Change, Config, Space, as_space
from headstart.space.reconciliation import report
from headstart.starts.start import Start


def describe(study: Study, X: npt.ArrayLike, y: npt.ArrayLike) -> dict[str, float]:
    """Write the meta-features of a study's data set to its user attributes, where histories and samplers find them."""
    features = {name: float(x) for name, x in metafeatures(X, y).items() if math.isfinite(x)}
    study.set_user_attr(FEATURES, features)
    return features


# -- queueing a start ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Queued:
    """What `enqueue` did: `print` says it in words.

    queued: the numbers of the configurations that wait in the study. skipped: the others, with the reason.
    changes: what became of the parameters in the objective's space, if that is known.
    random_left: trials that the study's sampler still draws at random of its own accord.
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
        lines += [f"  not {i}: {reason}" for i, reason in self.skipped.items()]
        if self.changes is None:
            lines.append("not checked against the objective, which has not run yet: pass space= to have it checked")
        elif any(change.action != "kept" or change.detail for change in self.changes):
            lines.append(report(self.changes))
        lines.append(self._about_sampler())
        return "\n".join(lines)

    def _about_sampler(self) -> str:
        if not self.startup:
            return f"{self.sampler} has no random start-up of its own"
        text = f"{self.sampler} draws its first {self.startup} trials at random; the queue stands for "
        if not self.random_left:
            return text + "all of them"
        enough = self.startup - self.random_left
        return text + f"{enough}, and {self.random_left} random ones follow unless n_startup_trials={enough} is set"


def enqueue(study: Study, start: Start, *, space: Any = None) -> Queued:
    """Queue a start's configurations in a study that has another sampler, as TPE or CMA-ES.

    They are checked against the objective's space: the one given, or what the study's trials have shown of it. What
    does not fit is moved into the range or left out; what has been tried or is queued already is not queued again.
    Each trial carries `headstart:start` in its user attributes.
    """
    if not isinstance(start, Start):
        raise ArgumentError(
            f"enqueue takes a Start, as hs.learn(history) and hs.Start.load(path) give, but got {type(start).__name__}"
        )
    if len(study.directions) > 1:
        raise ArgumentError(
            f"a start is for one objective, but the study {study.study_name!r} has {len(study.directions)}"
        )
    trials = study.get_trials(deepcopy=False)
    known = as_space(space) if space is not None else _seen_space(start, trials)
    configs, changes, skipped = _fitting(start, known)
    tried: list[Mapping[str, Any]] = [{**t.system_attrs.get("fixed_params", {}), **t.params} for t in trials]
    queued = []
    for i, config in configs.items():
        if any(_is_part(config, other) for other in tried):
            skipped[i] = "tried or queued already"
            continue
        study.enqueue_trial(config, user_attrs={START: i})
        tried.append(config)
        queued.append(i)
    study._storage.set_study_system_attr(study._study_id, STARTS, len(start))
    startup = int(getattr(study.sampler, "_n_startup_trials", 0))
    counted = sum(t.state in (TrialState.COMPLETE, TrialState.PRUNED) for t in trials) + len(queued)
    name = type(study.sampler).__name__
    return Queued(queued, dict(sorted(skipped.items())), changes, name, startup, max(0, startup - counted))


def _seen_space(start: Start, trials: Sequence[FrozenTrial]) -> Space | None:
    """The objective's space as its trials show it; None before the first is complete."""
    seen = Seen()
    seen.read(trials)
    if not seen.complete:
        return None
    parents = telling(seen.parameters, start.space)
    return joined(start.space, seen.parameters, shapes(seen.complete, {*seen.parameters, *start.space}, parents))


def _fitting(start: Start, space: Space | None) -> tuple[dict[int, Config], list[Change] | None, dict[int, str]]:
    """The configurations in this space by number, what changed, and which have no place there."""
    if space is None:
        return dict(enumerate(start.configs)), None, {}
    if not set(start.space) & set(space):
        raise ArgumentError(
            f"the objective never asks for a parameter of the start: it asks for {', '.join(space)}, "
            f"and the start knows {', '.join(start.space)}"
        )
    there, result = start.reconciled(space)
    configs = {
        i: {name: value for name, value in config.items() if name in start.space}  # the rest is up to the sampler
        for i, config in zip(result.rows, there.configs, strict=True)
    }
    return configs, result.changes, dict(result.dropped)


def _is_part(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(name in other and _equal(value, other[name]) for name, value in config.items())


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


# -- the account ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """One configuration of a start: the trial that tried it, how it ended, and what it gave."""

    start: int
    trial: int
    state: str
    value: float | None
    changed: tuple[str, ...]  # parameters that were not used as learned


@dataclass(frozen=True)
class Account:
    """How many of a study's starts ran, and what they were worth; `print` says it in words."""

    study: str
    direction: str
    planned: int
    tried: list[Tried]
    best: tuple[int, float] | None  # number and value of the study's best trial
    trials: int  # complete ones
    better: int  # complete trials that beat every start

    @property
    def ran(self) -> int:
        """How many configurations of the start have finished."""
        return sum(entry.state in ("complete", "failed", "pruned") for entry in self.tried)

    @property
    def best_start(self) -> Tried | None:
        """The first of the best."""
        sign = -1.0 if self.direction == "maximize" else 1.0
        known = [entry for entry in self.tried if entry.value is not None]
        return min(known, key=lambda entry: sign * (entry.value or 0.0), default=None)

    def __str__(self) -> str:
        if not self.planned:
            return f"no trial of {self.study!r} comes from a learned start"
        rows = [("start", "trial", "state", "value", "")]
        for e in self.tried:
            note = f"changed: {', '.join(e.changed)}" if e.changed else ""
            rows.append((str(e.start), str(e.trial), e.state, "" if e.value is None else f"{e.value:.6g}", note))
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        table = ["  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows]
        return "\n".join([*table, "", self.verdict])

    @property
    def verdict(self) -> str:
        """One paragraph."""
        states = [entry.state for entry in self.tried]
        parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states) if state != "complete"]
        text = f"{self.ran} of {self.planned} learned starts ran" + (f" ({', '.join(parts)})" if parts else "")
        first = self.best_start
        if first is None or self.best is None:
            return text + "; none has a result."
        text += f". The best of them, start {first.start} in trial {first.trial}, gave {first.value:.6g}"
        if not self.better:
            return text + f", the best of all {self.trials} complete trials."
        number, value = self.best
        text += f"; {self.better} of {self.trials} complete trials were better"
        return text + f", the best of all is trial {number} with {value:.6g}."

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "planned": self.planned,
            "ran": self.ran,
            "summary": self.verdict if self.planned else str(self),
            "starts": [{**vars(entry), "changed": list(entry.changed)} for entry in self.tried],
        }


STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


def account(study: Study) -> Account:
    """Which configurations of its start a study has tried, and what came of them."""
    if len(study.directions) > 1:
        raise ArgumentError(f"the study {study.study_name!r} has several objectives, and so no start")
    trials = study.get_trials(deepcopy=False)
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.value is not None]
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    of_start: dict[int, FrozenTrial] = {}
    for trial in trials:
        index = trial.user_attrs.get(START, -1)
        before = of_start.get(index)
        if index >= 0 and (before is None or before.state != TrialState.COMPLETE):
            of_start[index] = trial
    tried = [
        Tried(
            i,
            t.number,
            STATES[t.state],
            t.value if t.state == TrialState.COMPLETE else None,
            tuple(t.user_attrs.get(CHANGED, ())),
        )
        for i, t in sorted(of_start.items())
    ]
    planned = study._storage.get_study_system_attrs(study._study_id).get(STARTS, 0)
    best = min(complete, key=lambda t: sign * (t.value or 0.0), default=None)
    lowest = min((sign * t.value for t in tried if t.value is not None), default=math.inf)
    better = sum(sign * (t.value or 0.0) < lowest for t in complete)
    known = None if best is None or best.value is None else (best.number, best.value)
    direction = study.direction.name.lower()
    return Account(study.study_name, direction, max(planned, len(tried)), tried, known, len(complete), better)


def account_of(where: str, name: str) -> Account:
    """The account of a study in a storage; where, name: its URL or file, and the study's name."""
    storage = open_storage(where)
    names = [study.study_name for study in storage.get_all_studies()]
    if name not in names:
        there = closest(name, names) or (f"; there are {some(names)}" if names else "; it holds none")
        raise ArgumentError(f"{where} holds no study {name!r}{there}")
    return account(Study(study_name=name, storage=storage))
