"""Past studies as a History.

Every study is a task. Complete trials count with their value, failed ones as the worst seen, pruned and unfinished
ones not at all. Ranges and choices that changed between studies are united, conditions are told from which parameters
appear together, and a parameter that a study does not have takes the middle of its range there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from optuna.trial import TrialState

from headstart._support.direction import DIRECTIONS
from headstart._support.types import Mask
from headstart._support.wording import counted, some
from headstart.adapters.optuna.conditions import inferred, placed, shapes, telling
from headstart.adapters.optuna.distributions import parameter_of, united
from headstart.adapters.optuna.storages import PastStudy, describe, opened
from headstart.adapters.optuna.trials import PastTrial
from headstart.errors import HistoryError
from headstart.history import Features, History
from headstart.history.formats import took_and_left
from headstart.history.history import build
from headstart.space import Parameter, Space, as_space

Trials: TypeAlias = dict[str, tuple[PastStudy, list[PastTrial]]]  # by the name of the task

FEATURES = "headstart:features"  # the user attribute of a study that describes its data set


class NoPastError(ValueError):
    """There are studies, but none that has finished a trial."""


@dataclass
class _Tally:
    """What was taken and what was left out."""

    left: dict[str, list[str]] = field(default_factory=dict)  # reason → names of studies
    trials: dict[str, int] = field(default_factory=dict)  # reason → how many trials
    odd: list[str] = field(default_factory=list)

    def leave(self, study: PastStudy, reason: str) -> None:
        self.left.setdefault(reason, []).append(study.name)

    def count(self, reason: str, n: int) -> None:
        self.trials[reason] = self.trials.get(reason, 0) + n

    def lines(self) -> list[str]:
        studies = [f"{_studies(len(names))} {why} ({some(names)})" for why, names in self.left.items()]
        trials = [f"{counted(n, 'trial')} {why}" for why, n in self.trials.items() if n]
        return studies + trials + self.odd


def _studies(n: int) -> str:
    return f"{n:,} {'study' if n == 1 else 'studies'}"


def read(
    past: Any,
    studies: str | Sequence[str] | None = None,
    *,
    direction: str | None = None,
    space: Any = None,
    leave_out: Callable[[PastStudy], bool] = lambda study: False,
) -> History:
    """See `History.from_optuna`; leave_out: studies to pass over without a word."""
    if direction is not None and direction not in DIRECTIONS:
        raise HistoryError(f"direction must be 'minimize' or 'maximize', but got {direction!r}")
    tally = _Tally()
    with opened(past, studies) as found:
        wanted = [study for study in found if not leave_out(study)]
        usable, direction = _of_one_direction(wanted, direction, tally, describe(past))
        trials: Trials = {}
        for study in usable:
            taken = _finished(study, tally)
            if taken:
                trials[_free_name(study.name, trials)] = study, taken
    if not trials:
        raise NoPastError(
            f"{describe(past)} holds no study with a complete trial: {'; '.join(tally.lines()) or 'none'}"
        )
    space = as_space(space) if space is not None else _space(trials, describe(past))
    return _history(space, trials, direction, tally, describe(past))


def _of_one_direction(
    studies: Sequence[PastStudy], direction: str | None, tally: _Tally, where: str
) -> tuple[list[PastStudy], str]:
    single = [study for study in studies if len(study.directions) == 1]
    for study in studies:
        if len(study.directions) > 1:
            tally.leave(study, "with several objectives")
    by_direction = {way: [s for s in single if s.directions[0] == way] for way in DIRECTIONS}
    if direction is None:
        both = [
            f"{len(group)} to {way} ({some([s.name for s in group], 3)})"
            for way, group in by_direction.items()
            if group
        ]
        if len(both) > 1:
            raise HistoryError(
                f"{where} holds studies of both directions: {' and '.join(both)}; choose with direction="
            )
        direction = "maximize" if by_direction["maximize"] else "minimize"
    chosen = by_direction[direction]
    others = by_direction["minimize" if direction == "maximize" else "maximize"]
    for study in others:
        tally.leave(study, f"to {study.directions[0]}")
    if others and not chosen:
        raise HistoryError(f"{where} holds only studies to {others[0].directions[0]}, none to {direction}")
    return chosen, direction


def _finished(study: PastStudy, tally: _Tally) -> list[PastTrial]:
    """The complete and failed trials of a study; none if no trial is complete."""
    trials = study.trials()
    if not any(t.params and math.isfinite(t.value) for t in trials):
        tally.leave(study, "without a complete trial")
        return []
    tally.count("pruned", sum(t.state == TrialState.PRUNED for t in trials))
    tally.count("not finished", sum(not t.state.is_finished() for t in trials))
    taken = _expressible([t for t in trials if t.state in (TrialState.COMPLETE, TrialState.FAIL)], study, tally)
    return [t for t in taken if t.params]


def _expressible(trials: list[PastTrial], study: PastStudy, tally: _Tally) -> list[PastTrial]:
    """The trials without the parameters that have no place in a space, such as choices that are lists."""
    kinds = {(name, id(kind)): kind for t in trials for name, kind in t.distributions.items()}
    strange = {name: kind for (name, _), kind in kinds.items() if parameter_of(kind) is None}
    if not strange:
        return trials
    for name, kind in sorted(strange.items()):
        tally.odd.append(f"the parameter {name!r} of {study.name}, which has no place in a space: {kind!s:.80}")
    return [
        t._replace(
            params={name: value for name, value in t.params.items() if name not in strange},
            distributions={name: kind for name, kind in t.distributions.items() if name not in strange},
        )
        for t in trials
    ]


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Studies of different storages may have one name."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


# -- the space -----------------------------------------------------------------------------------------------


def _space(trials: Trials, where: str) -> Space:
    """All parameters of all studies, united, with the conditions that the trials show."""
    complete = {name: [t for t in all if t.state == TrialState.COMPLETE] for name, (_, all) in trials.items()}
    versions: dict[str, dict[Parameter, None]] = {}
    asked: dict[str, set[str]] = {}
    for study, those in complete.items():
        kinds = {pair for trial in those for pair in trial.distributions.items()}
        for name, distribution in sorted(kinds, key=repr):
            parameter = parameter_of(distribution)
            if parameter is not None:
                versions.setdefault(name, {})[parameter] = None
                asked.setdefault(study, set()).add(name)
    if not versions:
        raise HistoryError(f"{where} has no parameter that headstart can read")
    _check_common(asked, where)
    order = list(dict.fromkeys(name for those in complete.values() for name in those[0].params if name in versions))
    order += [name for name in sorted(versions) if name not in order]
    parameters = {name: united(list(versions[name])) for name in order}
    parents = telling(parameters)
    told = inferred([shapes([t.params for t in those], parameters, parents) for those in complete.values()], parameters)
    return Space({name: replace(parameter, when=told[name]) for name, parameter in parameters.items()})


def _check_common(asked: Mapping[str, set[str]], where: str) -> None:
    """Studies must hang together: each shares a parameter with some other, directly or through a third."""
    groups: list[tuple[set[str], list[str]]] = []
    for study, names in asked.items():
        touching = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = names.union(*(group[0] for group in touching))
        groups.append((merged, [*(s for group in touching for s in group[1]), study]))
    if len(groups) > 1:
        groups.sort(key=lambda group: -len(group[1]))
        kinds = [f"{some(studies, 3)} with {some(sorted(names), 4)}" for names, studies in groups[:3]]
        raise HistoryError(
            f"{where} holds studies without a common parameter: {'; '.join(kinds)}; choose with studies="
        )


# -- the history ---------------------------------------------------------------------------------------------


def _history(
    space: Space,
    trials: Trials,
    direction: str,
    tally: _Tally,
    where: str,
) -> History:
    every = [trial for _, those in trials.values() for trial in those]
    names = np.repeat(np.array(list(trials), dtype=object), [len(those) for _, those in trials.values()])
    V, fits, filled = placed(space, [trial.params for trial in every])
    values = np.array([trial.value for trial in every])
    failed = np.isnan(values)
    partial = failed & fits & filled.any(axis=1)
    keep = fits & ~partial
    tally.count("failed before asking for every parameter", int(partial.sum()))
    tally.count("with values that the space does not have", int((~fits).sum()))
    _note_filled(space, filled & keep[:, None], tally)
    lost = set(names.tolist()) - set(names[keep & ~failed].tolist())
    keep &= ~np.isin(names.astype(str), sorted(lost))
    if not keep.any():
        raise HistoryError(f"no trial of {where} fits the space: {'; '.join(tally.lines())}")
    features = {name: _features(study, tally) for name, (study, _) in trials.items() if name not in lost}
    history = build(
        space,
        tasks=names[keep],
        V=V[keep],
        losses=(values if direction == "minimize" else -values)[keep],
        costs=np.array([trial.seconds for trial in every])[keep],
        features={name: found for name, found in features.items() if found},
        direction=direction,
    )
    took = f"{counted(int(keep.sum()), 'trial')} of {_studies(len(history))} from {where}"
    if n := int((keep & failed).sum()):
        took += f"; {counted(n, 'failed trial')} counted as the worst seen"
    return history.with_notes(*took_and_left(took, tally.lines()))


def _note_filled(space: Space, filled: Mask, tally: _Tally) -> None:
    for name, n in zip(space, filled.sum(axis=0), strict=True):
        if n:
            tally.odd.append(f"{name!r}, missing in {counted(int(n), 'trial')}, where it took the middle of its range")


def _features(study: PastStudy, tally: _Tally) -> Features | None:
    return read_features(study.attributes.get(FEATURES), study.name, tally.odd)


def read_features(features: Any, study: str, odd: list[str]) -> Features | None:
    """Numbers by name, or nothing and a word on why."""
    if features is None:
        return None
    if not isinstance(features, Mapping) or not all(_is_number(x) for x in features.values()):
        odd.append(f"the attribute {FEATURES} of {study!r}, which is not a set of named numbers")
        return None
    return {str(name): float(x) for name, x in features.items()}


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)
