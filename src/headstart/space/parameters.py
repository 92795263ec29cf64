"""The parameters of a space: Float, Int (`numeric.py`) and Categorical, and how to read one from JSON.

Each knows its range and its form in JSON. Internally a value is a float: the number itself, or the index of the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from headstart._support.types import Array, Scalar
from headstart.errors import SpaceError
from headstart.space.base import Conditional
from headstart.space.numeric import Float, Int
from headstart.space.scalars import as_scalar, choice_key, is_scalar


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Conditional):
    """One of a list of choices, each text, a number, True, False or None; when as for `Float`."""

    choices: Sequence[Scalar]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.choices, (str, Mapping, set, frozenset)) or not isinstance(self.choices, Iterable):
            raise SpaceError(f"choices must be a list, but got {self.choices!r}")
        choices = tuple(as_scalar(choice) for choice in self.choices)
        if not choices:
            raise SpaceError("choices must not be empty")
        seen: set[tuple[bool, Scalar]] = set()
        for choice in choices:
            if not is_scalar(choice):
                raise SpaceError(f"a choice must be text, a number, True, False or None, but got {choice!r}")
            if isinstance(choice, float) and not math.isfinite(choice):
                raise SpaceError(f"a choice must be finite, but got {choice!r}")
            if choice_key(choice) in seen:
                raise SpaceError(f"choices must differ, but {choice!r} is listed twice")
            seen.add(choice_key(choice))
        object.__setattr__(self, "choices", choices)

    @property
    def width(self) -> int:
        return len(self.choices)

    @property
    def size(self) -> float:
        return float(len(self.choices))

    def native(self, value: float) -> Scalar:
        return self.choices[int(value)]

    def index(self, value: Any) -> int | None:
        """The position of a choice, or None if it is not one."""
        return self._positions.get(choice_key(value)) if is_scalar(value) else None

    @cached_property
    def _positions(self) -> dict[tuple[bool, Scalar], int]:
        return {choice_key(choice): i for i, choice in enumerate(self.choices)}

    def contains(self, value: Any) -> bool:
        """Whether a value is one of the choices."""
        return self.index(value) is not None

    def draw(self, u: Array) -> Array:
        """[0, 1] → indices of choices, with equal shares."""
        return np.minimum(np.floor(u * self.size), self.size - 1)

    def options(self) -> Array:
        """The index of every choice."""
        return np.arange(self.size)

    def describe(self) -> str:
        return "{" + ", ".join(map(repr, self.choices)) + "}"

    def _arguments(self) -> dict[str, Any]:
        return {"choices": list(self.choices)}


Parameter: TypeAlias = Float | Int | Categorical


def parameter_from_json(name: str, entry: Any) -> Parameter:
    """The inverse of `to_json`; `name` is for error messages."""
    kinds: dict[Any, tuple[type[Parameter], set[str]]] = {
        "float": (Float, {"low", "high", "log", "step", "when"}),
        "int": (Int, {"low", "high", "log", "step", "when"}),
        "categorical": (Categorical, {"choices", "when"}),
    }
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise SpaceError(f"parameter {name!r} must have a type of float, int or categorical, but got {kind!r}")
    make, known = kinds[kind]
    arguments = {key: value for key, value in entry.items() if key != "type"}
    if surplus := arguments.keys() - known:
        raise SpaceError(f"parameter {name!r}: unknown entry {sorted(surplus)[0]!r}")
    try:
        return make(**arguments)
    except (TypeError, SpaceError) as error:  # TypeError: an entry is missing
        raise SpaceError(f"parameter {name!r}: {error}") from error
