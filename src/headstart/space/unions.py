"""Several spaces at once: the union of their parameters, and which of them belong together.

Past runs of different models share a storage, and some names, such as `learning_rate`, occur in most of them. Two
spaces are related if they have more than half of the smaller one in common and at least a quarter of the larger one. A
parameter is common if name and kind agree and the ranges or lists of choices overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.scalars import as_number, choice_key
from headstart.space.space import Space

# -- unions ----------------------------------------------------------------------------------------------------


def united(parameters: Sequence[Parameter]) -> Parameter:
    """A parameter with the values of all of these. Conditions are ignored.

    Choices are joined. Ranges are extended to cover each other, on a log scale if one of them has it. Next to a range,
    numeric choices count as points of it, and other choices are dropped.
    """
    kinds = list(dict.fromkeys(parameters))
    if len(kinds) == 1:
        return kinds[0]
    ranges = [p for p in kinds if not isinstance(p, Categorical)]
    choices = [choice for p in kinds if isinstance(p, Categorical) for choice in p.choices]
    if not ranges:
        return Categorical(list({choice_key(choice): choice for choice in choices}.values()))
    numbers = [number for number in map(as_number, choices) if not np.isnan(number)]
    low = min([p.low for p in ranges] + numbers)
    high = max([p.high for p in ranges] + numbers)
    log = low > 0 and any(p.log for p in ranges)
    whole = all(isinstance(p, Int) for p in ranges) and all(number.is_integer() for number in numbers)
    return (Int if whole else Float)(low, high, log=log, step=None if log else _common_step(ranges, numbers))


def _common_step(ranges: Sequence[Float | Int], numbers: Sequence[float]) -> float | None:
    """The step that all ranges share, if they lie on one grid."""
    step = ranges[0].step
    if step is None or numbers or any(p.step != step for p in ranges):
        return None
    offsets = np.array([(p.low - ranges[0].low) / step for p in ranges])
    return step if np.allclose(offsets, np.rint(offsets), atol=1e-6) else None


def union(spaces: Sequence[Space]) -> Space:
    """A space with the parameters of all of these. Conditions are kept where all spaces with the parameter agree."""
    distinct = list(dict.fromkeys(spaces))
    if len(distinct) == 1:
        return distinct[0]
    versions: dict[str, list[Parameter]] = {}
    for space in distinct:
        for name, parameter in space.items():
            versions.setdefault(name, []).append(parameter)
    parameters = {}
    for name, several in versions.items():
        conditions = several[0].conditions
        agreed = conditions if all(p.conditions == conditions for p in several) else {}
        parameters[name] = replace(united([replace(p, when=None) for p in several]), when=agreed)
    return Space(parameters)


# -- likeness --------------------------------------------------------------------------------------------------


def shared(ours: Mapping[str, Parameter], theirs: Mapping[str, Parameter]) -> list[str]:
    """The parameters that two spaces have in common."""
    return [name for name, parameter in ours.items() if name in theirs and _overlap(parameter, theirs[name])]


def _overlap(a: Parameter, b: Parameter) -> bool:
    if isinstance(a, Categorical) and isinstance(b, Categorical):
        return any(b.contains(choice) for choice in a.choices)
    if isinstance(a, Categorical) or isinstance(b, Categorical):
        choices, other = (a.choices, b) if isinstance(a, Categorical) else (b.choices, a)  # type: ignore[union-attr]
        low, high = other.low, other.high  # type: ignore[union-attr]
        return any(low <= as_number(choice) <= high for choice in choices)
    return a.low <= b.high and b.low <= a.high


def related(ours: Mapping[str, Parameter], theirs: Mapping[str, Parameter]) -> bool:
    """Whether two spaces are likely to be those of one model; see above for the rule."""
    n = len(shared(ours, theirs))
    return 2 * n > min(len(ours), len(theirs)) and 4 * n >= max(len(ours), len(theirs))


def families(spaces: Mapping[str, Mapping[str, Parameter]]) -> list[list[str]]:
    """The names of spaces that are related, directly or through others; the largest family first."""
    same: dict[frozenset[tuple[str, Parameter]], list[str]] = {}
    for name, space in spaces.items():
        same.setdefault(frozenset(space.items()), []).append(name)
    groups: list[list[list[str]]] = []
    for names in same.values():
        near = [g for g in groups if any(related(spaces[other[0]], spaces[names[0]]) for other in g)]
        groups = [g for g in groups if not any(g is other for other in near)]
        groups.append([*(part for g in near for part in g), names])
    found = [[name for names in group for name in names] for group in groups]
    return sorted(found, key=lambda names: (-len(names), names))
