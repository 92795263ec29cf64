"""Minimise or maximise. Everything inside minimises; `turned` converts values where they enter and leave."""

from __future__ import annotations

from typing import Any, TypeVar

from headstart.errors import ArgumentError

DIRECTIONS = ("minimize", "maximize")
VERBS = {"minimize": "minimises", "maximize": "maximises"}

T = TypeVar("T")


def checked_direction(direction: Any) -> str:
    """The direction itself; an error if it is neither of the two."""
    if direction not in DIRECTIONS:
        raise ArgumentError(f"direction must be 'minimize' or 'maximize', but got {direction!r}")
    return str(direction)


def turned(values: T, direction: str) -> T:
    """The user's values as losses, or losses as the user's values: negated to maximise, unchanged to minimise."""
    return values if direction == "minimize" else -values  # type: ignore[operator]
