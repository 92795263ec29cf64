"""The common part of all parameters: the condition under which one is active, its form in JSON, and equality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headstart._support.types import Scalar
from headstart.errors import SpaceError
from headstart.space.scalars import as_scalar, choice_key, is_scalar

When: TypeAlias = Mapping[str, Any]


def _normalise_when(when: When | None) -> dict[str, tuple[Scalar, ...]]:
    if when is None:
        return {}
    if not isinstance(when, Mapping):
        raise SpaceError(f"when must map a parent's name to its value or list of values, but got {when!r}")
    normal: dict[str, tuple[Scalar, ...]] = {}
    for parent, values in when.items():
        if isinstance(values, (set, frozenset)):
            values = sorted(values, key=repr)  # a set's own order depends on the hash seed
        listed = [as_scalar(v) for v in values] if isinstance(values, (list, tuple)) else [as_scalar(values)]
        if not listed:
            raise SpaceError(f"when lists no value for {parent!r}; the parameter could never be active")
        for value in listed:
            if not is_scalar(value):
                raise SpaceError(f"when must list single values for {parent!r}, but got {value!r}")
        normal[parent] = tuple({choice_key(value): value for value in listed}.values())
    return normal


@dataclass(frozen=True, eq=False, repr=False)
class Conditional:
    """The common part of all parameters: the condition. Parameters are equal if their JSON is, so True is not 1."""

    when: When | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _normalise_when(self.when))

    @property
    def conditions(self) -> dict[str, tuple[Scalar, ...]]:
        """Each parent with the values under which this parameter is active."""
        return dict(self.when or {})

    def to_json(self) -> dict[str, Any]:
        entry = {"type": type(self).__name__.lower(), **self._arguments()}
        if self.when:
            entry["when"] = {parent: list(values) for parent, values in self.conditions.items()}
        return entry

    def _arguments(self) -> dict[str, Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        arguments = [f"{key}={value!r}" for key, value in self.to_json().items() if key != "type"]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
