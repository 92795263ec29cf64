"""What a strategy is: from past tasks to a run that proposes one configuration after another.

A run holds what was learned beforehand and nothing else. `ask` is a function of the trials so far, so a run can be
continued, repeated or moved to another process at any point and proposes the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Protocol

import numpy as np

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history import Features
from headstart.space import Space
from headstart.space.quasirandom import halton
from headstart.space.rows import keys
from headstart.transfer.models import TaskModels


@dataclass(frozen=True)
class Told:
    """The trials of the new task: configurations V (k, p) in the order tried, and their losses (k,).

    A loss is NaN where there is none: the trial failed or is still running.
    """

    V: Array
    losses: Array

    def __post_init__(self) -> None:
        if len(self.V) != len(self.losses):
            raise ArgumentError(f"{len(self.V)} configurations, but {len(self.losses)} losses")

    @classmethod
    def nothing(cls, space: Space) -> Told:
        return cls(np.empty((0, len(space))), np.empty(0))

    def and_(self, v: Array, loss: float = np.nan) -> Told:
        """These trials and one more."""
        return Told(np.vstack([self.V, v]), np.append(self.losses, loss))

    @property
    def known(self) -> Told:
        """The trials that have a loss."""
        there = np.isfinite(self.losses)
        return Told(self.V[there], self.losses[there])

    def __contains__(self, v: object) -> bool:
        return keys(np.asarray(v, dtype=float)[None])[0] in self._keys

    @cached_property
    def _keys(self) -> set[bytes]:
        return set(keys(self.V))

    def __len__(self) -> int:
        return len(self.losses)


class Run(Protocol):
    """A start under way."""

    def ask(self, told: Told) -> Array:
        """The next configuration to try, a row of V; never one that has been tried."""
        ...


class Strategy(Protocol):
    """A way to choose the first configurations; its fields are its own parameters."""

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        """Learn whatever does not depend on results; n: how many configurations will be asked for."""
        ...


@dataclass(frozen=True)
class Planned:
    """A run that follows a plan.

    seed: of the configurations that follow once the plan is used up; None: there are none.
    """

    plan: Array
    space: Space
    allowed: Array | None = None
    seed: int | None = None

    def ask(self, told: Told) -> Array:
        rest = iter(()) if self.seed is None else anywhere(self.space, self.seed, self.allowed)
        return fresh(chain(iter(self.plan), rest), told, self.space)


def fresh(proposals: Iterator[Array], told: Told, space: Space) -> Array:
    """The first proposal that has not been tried yet."""
    for v in proposals:
        if v not in told:
            return v
    raise ExhaustedError(f"all {configurations(space)} have been tried")


def configurations(space: Space) -> str:
    """How many there are, in words."""
    return f"{space.size:,.0f} configurations of the space" if np.isfinite(space.size) else "values of the space"


def best_of(models: TaskModels, order: Rows) -> Iterator[Array]:
    """The best configuration of each task in this order, then every task's second best, and so on."""
    ranked = [models.ranked_rows[i] for i in order]
    for place in range(max(len(rows) for rows in ranked)):
        for rows in ranked:
            if place < len(rows):
                yield models.history.V[rows[place]]


# -- the filler ------------------------------------------------------------------------------------------------

LISTABLE = 1024  # spaces up to this size are listed at once
EVENLY = 16  # rounds of Halton points before what is left of a finite space is listed
ROUNDS = 256  # rounds after which an infinite space counts as used up: a narrow range holds only a few numbers
ROUND = 256  # points in a round


def anywhere(space: Space, seed: int, allowed: Array | None = None) -> Iterator[Array]:
    """Configurations for when nothing better is known: the allowed ones in random order, or others spread evenly.

    Every filler of the package is this one. It lists a finite space completely and stops after 65,536 draws from an
    infinite one. The same seed gives the same configurations.
    """
    if allowed is not None:
        yield from allowed[np.random.default_rng([seed, 4]).permutation(len(allowed))]
        return
    finite = space.size <= 1e5
    if space.size > LISTABLE:
        rng = np.random.default_rng(seed)
        for _ in range(EVENLY if finite else ROUNDS):
            yield from space.from_cube(halton(ROUND, len(space), rng=rng))
    if finite:
        V = space.grid()
        yield from V[np.random.default_rng(seed).permutation(len(V))]
