"""Past studies as a History.

Every study is a task. Complete trials count with their value and failed ones as the worst seen. Pruned and unfinished
trials are skipped. If a range or list of choices changed between studies, the history has the union. Conditions are
inferred from which parameters appear together. A parameter that a study lacks takes the middle of its range there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from optuna.trial import TrialState

from headstart._support.direction import DIRECTIONS, checked_direction
from headstart._support.types import Mask
from headstart._support.wording import counted, some
from headstart.adapters.optuna.attributes import features_in
from headstart.adapters.optuna.conditions import inferred, placed, possible_parents, shapes
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.distributions import parameter_of, united
from headstart.adapters.optuna.storages import PastStudy, describe, opened
from headstart.adapters.optuna.trials import PastTrial
from headstart.errors import EmptyHistoryError, HistoryError
from headstart.history import History
from headstart.history.evaluations import Evaluations
from headstart.history.formats import read_and_skipped
from headstart.space import Parameter, Space, as_space

Trials: TypeAlias = dict[str, tuple[PastStudy, list[PastTrial]]]  # by the name of the task


@dataclass
class _Skipped:
    """Everything that does not become part of the history, for its notes."""

    damage: Damage
    studies: dict[str, list[str]] = field(default_factory=dict)  # reason → names of studies
    trials: dict[str, int] = field(default_factory=dict)  # reason → number of trials
    others: list[str] = field(default_factory=list)

    def study(self, study: PastStudy, reason: str) -> None:
        self.studies.setdefault(reason, []).append(study.name)

    def count(self, reason: str, n: int) -> None:
        self.trials[reason] = self.trials.get(reason, 0) + n

    def lines(self) -> list[str]:
        studies = [f"{_studies(len(names))} {why} ({some(names)})" for why, names in self.studies.items()]
        trials = [f"{counted(n, 'trial')} {why}" for why, n in self.trials.items() if n]
        return studies + trials + self.others + self.damage.lines()


def _studies(n: int) -> str:
    return counted(n, "study", "studies")


def read(
    past: Any,
    studies: str | Sequence[str] | None = None,
    *,
    direction: str | None = None,
    space: Any = None,
    skip_damaged: bool = False,
    leave_out: Callable[[PastStudy], bool] = lambda study: False,
) -> History:
    """See `History.from_optuna`. leave_out: studies to skip without a note."""
    if direction is not None:
        checked_direction(direction)
    skipped = _Skipped(Damage(describe(past), skip_damaged))
    with skipped.damage.anywhere():
        return _read(past, studies, direction, space, leave_out, skipped)


def _read(
    past: Any,
    studies: str | Sequence[str] | None,
    direction: str | None,
    space: Any,
    leave_out: Callable[[PastStudy], bool],
    skipped: _Skipped,
) -> History:
    where = skipped.damage.where
    with opened(past, studies, skipped.damage) as found:
        wanted = [study for study in found if not leave_out(study)]
        usable, direction = _of_one_direction(wanted, direction, skipped, where)
        trials: Trials = {}
        for study in usable:
            taken = _finished(study, skipped)
            if taken:
                trials[_free_name(study.name, trials)] = study, taken
    if not trials:
        reasons = "; ".join(skipped.lines())
        raise EmptyHistoryError(f"{where} holds no study with a complete trial" + (f": {reasons}" if reasons else ""))
    space = as_space(space) if space is not None else _space(trials, where)
    return _history(space, trials, direction, skipped, where)


def _of_one_direction(
    studies: Sequence[PastStudy], direction: str | None, skipped: _Skipped, where: str
) -> tuple[list[PastStudy], str]:
    """The studies with a single objective and this direction, and the direction, which None leaves open."""
    by_direction: dict[str, list[PastStudy]] = {way: [] for way in DIRECTIONS}
    for study in studies:
        if len(study.directions) > 1:
            skipped.study(study, "with several objectives")
        else:
            by_direction[study.directions[0]].append(study)
    if direction is None:
        direction = _common_direction(by_direction, where)
    for way, others in by_direction.items():
        if way != direction and others and not by_direction[direction]:
            raise HistoryError(f"{where} holds only studies with direction {way!r}, none with {direction!r}")
        for study in others if way != direction else ():
            skipped.study(study, f"with direction {way!r}")
    return by_direction[direction], direction


def _common_direction(by_direction: Mapping[str, Sequence[PastStudy]], where: str) -> str:
    there = [way for way, group in by_direction.items() if group]
    if len(there) > 1:
        groups = [
            f"{len(group)} with {way!r} ({some([study.name for study in group], 3)})"
            for way, group in by_direction.items()
        ]
        raise HistoryError(f"{where} holds studies of both directions: {', '.join(groups)}", "choose with {direction}")
    return there[0] if there else "minimize"


def _finished(study: PastStudy, skipped: _Skipped) -> list[PastTrial]:
    """The complete and failed trials of a study; none if no trial is complete."""
    trials = study.trials()
    if not any(t.params and math.isfinite(t.loss) for t in trials):
        skipped.study(study, "without a complete trial")
        return []
    skipped.count("pruned", sum(t.state == TrialState.PRUNED for t in trials))
    skipped.count("not finished", sum(not t.state.is_finished() for t in trials))
    ended = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.FAIL)]
    taken = [t for t in _expressible(ended, study, skipped) if t.params]
    return taken if any(math.isfinite(t.loss) for t in taken) else []


def _expressible(trials: list[PastTrial], study: PastStudy, skipped: _Skipped) -> list[PastTrial]:
    """The trials without the parameters that a space cannot express, such as choices that are lists."""
    kinds = {(name, id(kind)): kind for t in trials for name, kind in t.distributions.items()}
    strange = {name: kind for (name, _), kind in kinds.items() if parameter_of(kind) is None}
    if not strange:
        return trials
    for name, kind in sorted(strange.items()):
        skipped.others.append(f"the parameter {name!r} of {study.name}, which a space cannot express: {kind!s:.80}")
    return [
        t._replace(
            params={name: value for name, value in t.params.items() if name not in strange},
            distributions={name: kind for name, kind in t.distributions.items() if name not in strange},
        )
        for t in trials
    ]


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number if a study of another storage has it already."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


# -- the space -----------------------------------------------------------------------------------------------


def _space(trials: Trials, where: str) -> Space:
    """The union of all studies' parameters, with the conditions inferred from the trials."""
    complete = {name: [t for t in those if t.state == TrialState.COMPLETE] for name, (_, those) in trials.items()}
    by_study = {study: _parameters(those) for study, those in complete.items()}
    versions: dict[str, list[Parameter]] = {}
    for found in by_study.values():
        for name, several in found.items():
            versions.setdefault(name, []).extend(several)
    if not versions:
        raise HistoryError(f"{where} has no parameter that headstart can read")
    _check_common(by_study, where)
    order = list(dict.fromkeys(name for those in complete.values() for name in those[0].params if name in versions))
    order += [name for name in sorted(versions) if name not in order]
    parameters = {name: united(versions[name]) for name in order}
    parents = possible_parents(parameters)
    seen = [shapes([t.params for t in those], parameters, parents) for those in complete.values()]
    conditions = inferred(seen, parameters)
    return Space({name: replace(parameter, when=conditions[name]) for name, parameter in parameters.items()})


def _parameters(trials: Sequence[PastTrial]) -> dict[str, list[Parameter]]:
    """Every parameter of one study by name, in all its versions."""
    found: dict[str, list[Parameter]] = {}
    kinds = {pair for trial in trials for pair in trial.distributions.items()}
    for name, distribution in sorted(kinds, key=repr):
        parameter = parameter_of(distribution)
        if parameter is not None:
            found.setdefault(name, []).append(parameter)
    return found


def _check_common(by_study: Mapping[str, Iterable[str]], where: str) -> None:
    """All studies must be linked: each shares a parameter with another one, directly or through a third."""
    groups: list[tuple[set[str], list[str]]] = []
    for study, names in by_study.items():
        touching = [group for group in groups if not group[0].isdisjoint(names)]
        groups = [group for group in groups if group[0].isdisjoint(names)]
        merged = set(names).union(*(group[0] for group in touching))
        groups.append((merged, [*(s for group in touching for s in group[1]), study]))
    if len(groups) > 1:
        groups.sort(key=lambda group: -len(group[1]))
        kinds = [f"{some(studies, 3)} with {some(sorted(names), 4)}" for names, studies in groups[:3]]
        raise HistoryError(
            f"{where} holds studies without a common parameter: {'; '.join(kinds)}", "choose with {studies}"
        )


# -- the history ---------------------------------------------------------------------------------------------


def _history(space: Space, trials: Trials, direction: str, skipped: _Skipped, where: str) -> History:
    every = [trial for _, those in trials.values() for trial in those]
    names = np.repeat(np.array(list(trials), dtype=object), [len(those) for _, those in trials.values()])
    V, fits, filled = placed(space, [trial.params for trial in every])
    losses = np.array([trial.loss for trial in every])
    failed = np.isnan(losses)
    partial = failed & fits & filled.any(axis=1)
    keep = fits & ~partial
    skipped.count("failed before suggesting every parameter", int(partial.sum()))
    skipped.count("with values that the space does not have", int((~fits).sum()))
    _note_filled(space, filled & keep[:, None], skipped)
    lost = set(names.tolist()) - set(names[keep & ~failed].tolist())
    keep &= ~np.isin(names.astype(str), sorted(lost))
    if not keep.any():
        raise HistoryError(f"no trial of {where} fits the space: {'; '.join(skipped.lines())}")
    features = {
        name: features_in(study.attributes, study.name, skipped.others.append)
        for name, (study, _) in trials.items()
        if name not in lost
    }
    history = History.from_evaluations(
        Evaluations(
            space,
            names[keep],
            V[keep],
            losses[keep],
            np.ones(keep.sum(), dtype=np.int64),
            costs=np.array([trial.seconds for trial in every])[keep],
            features={name: found for name, found in features.items() if found},
            direction=direction,
        )
    )
    read = f"{counted(int(keep.sum()), 'trial')} of {_studies(len(history))} from {where}"
    if n := int((keep & failed).sum()):
        read += f"; {counted(n, 'failed trial')} counted as the worst seen"
    return history.with_notes(*read_and_skipped(read, skipped.lines()))


def _note_filled(space: Space, filled: Mask, skipped: _Skipped) -> None:
    for name, n in zip(space, filled.sum(axis=0), strict=True):
        if n:
            trials = counted(int(n), "trial")
            skipped.others.append(f"{name!r}, missing in {trials}, where it takes the middle of its range")
