"""The studies of a past that can be used, and those that belong to the new search.

Studies of different models in one storage are the rule. Once the parameters of the new search are known, the studies
that share them are its past (`space/unions.py` has the rule) and the others are left out and counted. A study's user
attribute `model` or `metric` separates further. Studies that the user named are all used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna import Study
from optuna.trial import TrialState

from headstart._support.direction import DIRECTIONS
from headstart._support.wording import closest, counted, some
from headstart.adapters.optuna.attributes import METRICS, MODELS, named_in
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.distributions import parameter_of
from headstart.adapters.optuna.storages import PastStudy, describe, opened
from headstart.adapters.optuna.trials import PastTrial
from headstart.errors import ArgumentError, HistoryError
from headstart.space import Parameter
from headstart.space.unions import families, related, united


@dataclass
class Skipped:
    """Everything that does not become part of the history, for its notes."""

    studies: dict[str, list[str]] = field(default_factory=dict)  # reason → names of studies
    trials: dict[str, int] = field(default_factory=dict)  # reason → number of trials
    others: list[str] = field(default_factory=list)

    def study(self, name: str, reason: str) -> None:
        self.studies.setdefault(reason, []).append(name)

    def count(self, reason: str, n: int) -> None:
        self.trials[reason] = self.trials.get(reason, 0) + n

    def add(self, more: Skipped) -> None:
        for reason, names in more.studies.items():
            self.studies.setdefault(reason, []).extend(names)
        for reason, n in more.trials.items():
            self.count(reason, n)
        self.others += more.others

    def lines(self) -> list[str]:
        studies = [f"{count_studies(len(names))} {why} ({some(names)})" for why, names in self.studies.items()]
        trials = [f"{counted(n, 'trial')} {why}" for why, n in self.trials.items() if n]
        return studies + trials + self.others


def count_studies(n: int) -> str:
    return counted(n, "study", "studies")


@dataclass(frozen=True)
class Usable:
    """A study with a complete trial: its finished trials, its parameters, and what was skipped of it."""

    study: PastStudy
    trials: list[PastTrial]
    parameters: Mapping[str, Parameter]
    skipped: Skipped


@dataclass(frozen=True)
class Gathered:
    """The usable studies of a past. named: whether the user named them. total: how many studies there are."""

    where: str
    usable: Sequence[Usable]
    skipped: Skipped
    named: bool
    total: int

    def families(self) -> list[list[Usable]]:
        """The studies in groups that belong together, the largest group first."""
        if self.named or not self.usable:
            return [list(self.usable)] if self.usable else []
        by_number = {str(i): one.parameters for i, one in enumerate(self.usable)}
        groups = [[self.usable[int(i)] for i in group] for group in families(by_number)]
        found = [part for group in groups for part in _by_model(group)]
        return sorted(found, key=len, reverse=True)

    def like(self, parameters: Mapping[str, Parameter], attributes: Mapping[str, Any]) -> list[Usable]:
        """The studies that share the parameters of the new search, and its model and metric if it names them."""
        if self.named:
            return list(self.usable)
        return [
            one
            for one in self.usable
            if related(parameters, one.parameters)
            and all(_agree(attributes, one.study.attributes, keys) for keys in (MODELS, METRICS))
        ]


def _agree(ours: Mapping[str, Any], theirs: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Whether two studies name the same model or metric, or at most one of them names any."""
    a, b = named_in(ours, keys), named_in(theirs, keys)
    return a is None or b is None or a == b


def _by_model(group: list[Usable]) -> list[list[Usable]]:
    """A family in parts of one model each; studies that name none belong to the largest part."""
    parts: dict[str | None, list[Usable]] = {}
    for one in group:
        parts.setdefault(named_in(one.study.attributes, MODELS), []).append(one)
    nameless = parts.pop(None, [])
    ordered = sorted(parts.values(), key=len, reverse=True)
    return [[*ordered[0], *nameless], *ordered[1:]] if ordered else [nameless]


# -- gathering -------------------------------------------------------------------------------------------------


def gather(
    past: Any,
    studies: str | Sequence[str] | None = None,
    *,
    direction: str | None = None,
    rename: Mapping[str, str] | None = None,
    damage: Damage | None = None,
    leave_out: Callable[[PastStudy], bool] = lambda study: False,
) -> Gathered:
    """The usable studies of a past. leave_out: studies to skip without a note. The rest is as for `read`."""
    where, skipped = describe(past), Skipped()
    damage = damage or Damage(where)
    with opened(past, studies, damage) as found:
        wanted = [study for study in found if not leave_out(study)]
        usable = [_usable(study, rename or {}) for study in _of_direction(wanted, direction, skipped, where)]
    skipped.others += damage.lines()
    for one in usable:
        if not one.trials:
            skipped.add(one.skipped)
    usable = [one for one in usable if one.trials]
    _check_renames(rename or {}, usable, where)
    named = studies is not None or isinstance(past, Study) or _all_studies(past)
    return Gathered(where, usable, skipped, named, len(wanted))


def _all_studies(past: Any) -> bool:
    return isinstance(past, Sequence) and not isinstance(past, str) and all(isinstance(one, Study) for one in past)


def _of_direction(studies: Sequence[PastStudy], direction: str | None, skipped: Skipped, where: str) -> list[PastStudy]:
    """The studies with a single objective, and with this direction if one is given."""
    single = [study for study in studies if len(study.directions) == 1]
    for study in studies:
        if len(study.directions) > 1:
            skipped.study(study.name, "with several objectives")
    wanted = [study for study in single if direction in (None, study.directions[0])]
    if single and not wanted:
        (other,) = (way for way in DIRECTIONS if way != direction)
        raise HistoryError(f"{where} holds only studies with direction {other!r}, none with {direction!r}")
    for study in single:
        if study not in wanted:
            skipped.study(study.name, f"with direction {study.directions[0]!r}")
    return wanted


def _usable(study: PastStudy, rename: Mapping[str, str]) -> Usable:
    """The complete and failed trials of a study; none if no trial is complete."""
    skipped = Skipped()
    trials = study.trials()
    if not any(t.params and math.isfinite(t.loss) for t in trials):
        skipped.study(study.name, "without a complete trial")
        return Usable(study, [], {}, skipped)
    trials = with_bounds(trials)
    skipped.count("pruned without a report", sum(t.state == TrialState.PRUNED and not t.curve for t in trials))
    skipped.count("not finished", sum(not t.state.is_finished() for t in trials))
    ended = [t for t in trials if t.state.is_finished() and (t.state != TrialState.PRUNED or t.curve)]
    taken = [_renamed(t, rename) for t in _expressible(ended, study, skipped) if t.params]
    if not any(math.isfinite(t.loss) for t in taken):
        return Usable(study, [], {}, skipped)
    return Usable(study, taken, _parameters(taken), skipped)


def with_bounds(trials: list[PastTrial]) -> list[PastTrial]:
    """The same trials, where those that were pruned have a loss: see `bounded`."""
    known = [t.loss for t in trials if math.isfinite(t.loss)]
    return [
        t._replace(loss=bounded(t.curve, min(known), max(known)))
        if known and t.state == TrialState.PRUNED and t.curve
        else t
        for t in trials
    ]


def bounded(curve: Mapping[int, float], best: float, worst: float) -> float:
    """The loss of a pruned trial: the last that it reported, but within those of the study's complete trials.

    It was stopped because it was not going to be the best, and its end is unlikely to be worse than what it reported.
    """
    return min(max(curve[max(curve)], best), worst)


def _expressible(trials: list[PastTrial], study: PastStudy, skipped: Skipped) -> list[PastTrial]:
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


def _parameters(trials: Sequence[PastTrial]) -> dict[str, Parameter]:
    """Every parameter of one study: the union of its versions in the complete trials."""
    found: dict[str, list[Parameter]] = {}
    kinds = {pair for t in trials if t.state == TrialState.COMPLETE for pair in t.distributions.items()}
    for name, distribution in sorted(kinds, key=repr):
        parameter = parameter_of(distribution)
        if parameter is not None:
            found.setdefault(name, []).append(parameter)
    return {name: united(versions) for name, versions in found.items()}


# -- renaming --------------------------------------------------------------------------------------------------


def _renamed(trial: PastTrial, rename: Mapping[str, str]) -> PastTrial:
    """The trial with new names of parameters; one whose name is given to another is dropped."""
    if not rename:
        return trial
    taken = {new for old, new in rename.items() if old in trial.params}
    kept = [name for name in trial.params if name in rename or name not in taken]
    return trial._replace(
        params={rename.get(name, name): trial.params[name] for name in kept},
        distributions={rename.get(name, name): trial.distributions[name] for name in kept},
    )


def _check_renames(rename: Mapping[str, str], usable: Sequence[Usable], where: str) -> None:
    if len(set(rename.values())) < len(rename):
        raise ArgumentError(f"rename gives two parameters the same name: {dict(rename)}")
    there = sorted({name for one in usable for name in one.parameters})
    for old, new in rename.items():
        if new not in there:
            hint = closest(old, there) or f" (its parameters are {some(there)})"
            raise ArgumentError(f"cannot rename {old!r} to {new!r}: no study of {where} has {old!r}{hint}")
