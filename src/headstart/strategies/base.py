"""The protocol of a strategy: it learns from past tasks and proposes one configuration after another.

A run holds only what was learned beforehand, and `ask` depends on nothing but the trials so far. So a run can be
continued, repeated or moved to another process at any point, and it proposes the same configurations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Protocol, TypeAlias

import numpy as np

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history import Features
from headstart.space import Space
from headstart.space.quasirandom import halton
from headstart.space.rows import keys
from headstart.transfer.models import TaskModels

Seed: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True)
class Told:
    """The trials of the new task: configurations V (k, p) in the order of the trials, and their losses (k,).

    The loss is NaN if the trial failed or is still running. costs (k,): NaN where unknown; None: all are unknown.
    taken: V of others that must not be proposed: proposals off a list of candidates, in whose place a candidate was
        tried, and trials of another search.
    """

    V: Array
    losses: Array
    costs: Array | None = None
    taken: Array | None = None

    def __post_init__(self) -> None:
        if len(self.V) != len(self.losses):
            raise ArgumentError(
                f"there must be one loss per configuration, but got {len(self.losses)} for {len(self.V)}"
            )

    @classmethod
    def nothing(cls, space: Space) -> Told:
        return cls(np.empty((0, len(space))), np.empty(0))

    def and_(self, v: Array, loss: float = np.nan) -> Told:
        """The same trials and one more."""
        costs = None if self.costs is None else np.append(self.costs, np.nan)
        return Told(np.vstack([self.V, v]), np.append(self.losses, loss), costs, self.taken)

    def moving(self, v: Array) -> Told:
        """The same trials; for one of them, the proposal v was moved to a candidate."""
        return replace(self, taken=v[None] if self.taken is None else np.vstack([self.taken, v]))

    @property
    def gone(self) -> Array:
        """V of everything that must not be proposed again."""
        return self.V if self.taken is None else np.vstack([self.V, self.taken])

    @property
    def known(self) -> Told:
        """The trials that have a loss."""
        there = np.isfinite(self.losses)
        return Told(self.V[there], self.losses[there], None if self.costs is None else self.costs[there])

    def __contains__(self, v: object) -> bool:
        return keys(np.asarray(v, dtype=float)[None])[0] in self._keys

    @cached_property
    def _keys(self) -> set[bytes]:
        return set(keys(self.gone))

    def __len__(self) -> int:
        return len(self.losses)


class Run(Protocol):
    """A start in progress."""

    def ask(self, told: Told) -> Array:
        """The next configuration to try, a row of V; never one that was tried before."""
        ...


class Strategy(Protocol):
    """A way to choose the first configurations; its fields are its parameters."""

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        """Learn everything that does not depend on the new task's results.

        n: how many configurations the start will have. features: the new task's meta-features.
        """
        ...


@dataclass(frozen=True)
class Planned:
    """A run that follows a plan V (k, p).

    seed: of the filler that follows the plan; None for no filler. allowed: the only configurations it may propose.
    """

    plan: Array
    space: Space
    allowed: Array | None = None
    seed: Seed | None = None

    def ask(self, told: Told) -> Array:
        rest = iter(()) if self.seed is None else anywhere(self.space, self.seed, self.allowed)
        return fresh(chain(iter(self.plan), rest), told, self.space)


def fresh(proposals: Iterator[Array], told: Told, space: Space) -> Array:
    """The first proposal that was not tried yet."""
    for v in proposals:
        if v not in told:
            return v
    raise ExhaustedError(f"all {configurations(space)} have been tried")


def configurations(space: Space) -> str:
    """The number of configurations in words, for messages."""
    count = f"{space.size:,.0f} " if np.isfinite(space.size) else ""
    return f"{count}configurations of the space"


def best_of(models: TaskModels, order: Rows) -> Iterator[Array]:
    """The best configuration of each past task in this order, then the second best of each, and so on."""
    ranked = [models.ranked_rows[i] for i in order]
    for place in range(max(len(rows) for rows in ranked)):
        for rows in ranked:
            if place < len(rows):
                yield models.history.V[rows[place]]


# -- the filler ------------------------------------------------------------------------------------------------

# All of these are guesses.
LISTABLE = 1024  # spaces up to this size are listed at once
FINITE = 1e5  # larger spaces are never listed
ROUND = 256  # points of one scrambled Halton sequence
EVENLY = 16  # sequences before the rest of a finite space is listed
ROUNDS = 256  # sequences after which an infinite space counts as exhausted: a narrow range holds only a few numbers


def anywhere(space: Space, seed: Seed, allowed: Array | None = None) -> Iterator[Array]:
    """The filler: the allowed configurations in random order, or others spread evenly over the space.

    It is used wherever no model proposes anything. It covers spaces of up to 100,000 configurations completely, and
    stops after 65,536 draws from larger ones. Configurations may repeat. The same seed gives the same sequence.
    """
    if allowed is not None:
        yield from allowed[np.random.default_rng(seed).permutation(len(allowed))]
        return
    finite = space.size <= FINITE
    if space.size > LISTABLE:
        rng = np.random.default_rng(seed)
        for _ in range(EVENLY if finite else ROUNDS):
            yield from space.from_cube(halton(ROUND, len(space), rng=rng))
    if finite:
        V = space.grid()
        yield from V[np.random.default_rng(seed).permutation(len(V))]
