"""Past studies as a History.

Every study is a task, and so are all runs of one task in a `Store`. Complete trials count with their value and failed
ones as the worst seen. Pruned trials count with the last value that they reported, within the range of the complete
ones. Unfinished trials, and pruned ones without a report, are skipped. What trials reported is kept as learning curves.
Each task keeps the direction of its study. If a range or list of choices changed between studies, the history has the
union. Conditions are inferred from which parameters appear together. A parameter that a study lacks takes the middle of
its range there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from optuna.trial import TrialState

from headstart._support.direction import checked_direction
from headstart._support.types import Array, Mask
from headstart._support.wording import counted, some
from headstart.adapters.optuna.attributes import METRIC, TASK, features_in
from headstart.adapters.optuna.conditions import inferred, placed, possible_parents, shapes
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.gathering import Gathered, Skipped, Usable, count_studies, gather
from headstart.adapters.optuna.storages import describe
from headstart.adapters.optuna.trials import PastTrial
from headstart.errors import EmptyHistoryError, HistoryError
from headstart.history import Features, History, Reading
from headstart.history.curves import Curves
from headstart.history.evaluations import Evaluations
from headstart.history.formats import read_and_skipped
from headstart.space import Parameter, Space, as_space
from headstart.space.unions import united

OTHER = "with other parameters"  # why a study is left out
Tasks: TypeAlias = dict[str, list[Usable]]  # the studies of each task, by its name


def read(
    past: Any,
    studies: str | Sequence[str] | None = None,
    *,
    direction: str | None = None,
    space: Any = None,
    like: Mapping[str, Parameter] | None = None,
    attributes: Mapping[str, Any] | None = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    skip_damaged: bool = False,
) -> History:
    """See `History.from_optuna`. like, attributes: as for `selected`."""
    if direction is not None:
        checked_direction(direction)
    space = None if space is None else as_space(space)
    damage = Damage(describe(past), skip_damaged)
    with damage.anywhere():
        found = gather(past, studies, direction=direction, rename=rename, damage=damage)
        chosen = selected(found, space if like is None else like, attributes or {})
        if isinstance(like, Space) and space is None and _lies_in(like, chosen):
            space = like
        # In a space of their own the studies keep what they lack; the caller fills it when it converts them to `like`.
        return history_of(found, chosen, space=space, fill=fill if like is None or space is not None else None)


def read_as(past: Any, how: Reading, like: Mapping[str, Parameter] | None, attributes: Mapping[str, Any]) -> History:
    """`read` with the options of a `Reading`."""
    return read(
        past,
        how.studies,
        direction=how.direction,
        space=how.space,
        like=like,
        attributes=attributes,
        rename=how.rename,
        fill=how.fill,
        skip_damaged=how.skip_damaged,
    )


def _lies_in(space: Space, chosen: Sequence[Usable]) -> bool:
    """Whether all parameters of the studies are those of a space, so that nothing has to be inferred or converted."""
    plain = {name: replace(parameter, when=None) for name, parameter in space.items()}
    return all(plain.get(name) == parameter for one in chosen for name, parameter in one.parameters.items())


def selected(found: Gathered, like: Mapping[str, Parameter] | None, attributes: Mapping[str, Any]) -> list[Usable]:
    """The studies that a history is made of.

    like: the parameters of the new search; None if they are unknown, and then all studies must belong together.
    attributes: the user attributes of the new study.
    """
    if not found.usable:
        reasons = "; ".join(found.skipped.lines())
        raise EmptyHistoryError(
            f"{found.where} holds no study with a complete trial" + (f": {reasons}" if reasons else "")
        )
    if like is not None:
        chosen = found.like(like, attributes)
        if not chosen:
            seen = some(sorted({name for one in found.usable for name in one.parameters}))
            raise EmptyHistoryError(
                f"none of the {count_studies(len(found.usable))} of {found.where} has the parameters of the search "
                f"(it has {some(list(like))}; they have {seen})"
            )
        return chosen
    groups = found.families()
    if len(groups) > 1:
        kinds = [
            f"{some([one.study.name for one in group], 3)} with {some(sorted(group[0].parameters), 4)}"
            for group in groups[:3]
        ]
        more = f"; and {len(groups) - 3} more" if len(groups) > 3 else ""
        raise HistoryError(
            f"{found.where} holds studies of different models: {'; '.join(kinds)}{more}", "choose with {studies}"
        )
    return groups[0]


def history_of(
    found: Gathered,
    chosen: Sequence[Usable],
    *,
    space: Space | None = None,
    fill: Mapping[str, Any] | None = None,
) -> History:
    """The chosen studies as a history."""
    skipped = Skipped()
    skipped.add(found.skipped)
    for one in found.usable:
        if one in chosen:
            skipped.add(one.skipped)
        else:
            skipped.study(one.study.name, OTHER)
    tasks = _tasks(chosen)
    space = space if space is not None else _space(tasks, found.where)
    return _history(space, tasks, found, skipped, fill or {})


def _tasks(chosen: Sequence[Usable]) -> Tasks:
    """The studies by task: those of one task in a store together, each other study by itself."""
    groups: dict[Any, list[Usable]] = {}
    for one in chosen:
        attributes = one.study.attributes
        if isinstance(attributes.get(TASK), str):
            key: Any = (attributes[TASK], one.study.directions, str(attributes.get(METRIC)))
        else:
            key = (one.study.place, one.study.name, id(one))
        groups.setdefault(key, []).append(one)
    tasks: Tasks = {}
    for group in groups.values():
        attributes = group[0].study.attributes
        name = attributes[TASK] if isinstance(attributes.get(TASK), str) else group[0].study.name
        tasks[_free_name(name, tasks)] = group
    return tasks


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number if another task has it already."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


# -- the space -----------------------------------------------------------------------------------------------


def _space(tasks: Tasks, where: str) -> Space:
    """The union of all studies' parameters, with the conditions inferred from the trials."""
    studies = [one for group in tasks.values() for one in group]
    versions: dict[str, list[Parameter]] = {}
    for one in studies:
        for name, parameter in one.parameters.items():
            versions.setdefault(name, []).append(parameter)
    if not versions:
        raise HistoryError(f"{where} has no parameter that headstart can read")
    complete = [[t for t in one.trials if t.state == TrialState.COMPLETE] for one in studies]
    order = list(dict.fromkeys(name for those in complete for name in those[0].params if name in versions))
    order += [name for name in sorted(versions) if name not in order]
    parameters = {name: united(versions[name]) for name in order}
    parents = possible_parents(parameters)
    seen = [shapes([t.params for t in those], parameters, parents) for those in complete]
    conditions = inferred(seen, parameters)
    return Space({name: replace(parameter, when=conditions[name]) for name, parameter in parameters.items()})


# -- the history ---------------------------------------------------------------------------------------------


def _history(space: Space, tasks: Tasks, found: Gathered, skipped: Skipped, fill: Mapping[str, Any]) -> History:
    by_task = {name: [trial for one in group for trial in one.trials] for name, group in tasks.items()}
    every: list[PastTrial] = [trial for those in by_task.values() for trial in those]
    names = np.repeat(np.array(list(by_task), dtype=object), [len(those) for those in by_task.values()])
    V, fits, filled = placed(space, [trial.params for trial in every], fill)
    losses = np.array([trial.loss for trial in every])
    failed = np.isnan(losses)
    partial = failed & fits & filled.any(axis=1)
    keep = fits & ~partial
    skipped.count("failed before suggesting every parameter", int(partial.sum()))
    skipped.count("with values that the space does not have", int((~fits).sum()))
    _note_filled(space, filled & keep[:, None], skipped, fill)
    lost = set(names.tolist()) - set(names[keep & ~failed].tolist())
    keep &= ~np.isin(names.astype(str), sorted(lost))
    if not keep.any():
        raise HistoryError(f"no trial of {found.where} fits the space: {'; '.join(skipped.lines())}")
    left = {name: group for name, group in tasks.items() if name not in lost}
    ways = {name: group[0].study.directions[0] for name, group in left.items()}
    direction = "maximize" if set(ways.values()) == {"maximize"} else "minimize"
    used = sum(map(len, left.values()))
    history = History.from_evaluations(
        Evaluations(
            space,
            names[keep],
            V[keep],
            losses[keep],
            np.ones(keep.sum(), dtype=np.int64),
            costs=np.array([trial.seconds for trial in every])[keep],
            features={name: features for name, group in left.items() if (features := _features(group, skipped))},
            direction=direction,
            directions={name: way for name, way in ways.items() if way != direction},
            curves=_curves(names[keep], V[keep], [trial for trial, kept in zip(every, keep, strict=True) if kept]),
            info={"studies": found.total, "studies_of_other_models": len(skipped.studies.get(OTHER, []))},
        )
    )
    read = f"{counted(int(keep.sum()), 'trial')} of {count_studies(used)} from {found.where}"
    if n := int((keep & failed).sum()):
        read += f"; {counted(n, 'failed trial')} counted as the worst seen"
    if n := sum(trial.state == TrialState.PRUNED for trial, kept in zip(every, keep, strict=True) if kept):
        read += f"; {counted(n, 'pruned trial')} counted with the last value reported"
    return history.with_notes(*read_and_skipped(read, skipped.lines()))


def _curves(names: Any, V: Array, trials: Sequence[PastTrial]) -> Curves | None:
    ended = [trial.state == TrialState.COMPLETE for trial in trials]
    return Curves.of(names.tolist(), V, ended, [trial.curve for trial in trials])


def _features(group: Sequence[Usable], skipped: Skipped) -> Features | None:
    """The meta-features of a task: those of its last study that has some."""
    found = [features_in(one.study.attributes, one.study.name, skipped.others.append) for one in group]
    return next((features for features in reversed(found) if features), None)


def _note_filled(space: Space, filled: Mask, skipped: Skipped, fill: Mapping[str, Any]) -> None:
    for name, n in zip(space, filled.sum(axis=0), strict=True):
        if n:
            value = repr(fill[name]) if name in fill else "the middle of its range"
            skipped.others.append(f"{name!r}, missing in {counted(int(n), 'trial')}, where it takes {value}")
