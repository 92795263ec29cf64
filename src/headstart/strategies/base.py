"""What a strategy is: from the past to a run that is asked for one configuration after another.

A run holds what was learned beforehand and nothing else: `ask` is a function of what has been told so far, so
a run can be continued, repeated or moved to another process at any point and answers the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headstart.history import Features
from headstart.parameters import Array
from headstart.past import Past
from headstart.space import Space


@dataclass(frozen=True)
class Told:
    """What is known of the new task: configurations V (k, p) in the order tried, and their losses (k,).

    NaN is a loss that is not there: a trial that failed or still runs.
    """

    V: Array
    losses: Array

    def __post_init__(self) -> None:
        if len(self.V) != len(self.losses):
            raise ValueError(f"{len(self.V)} configurations, but {len(self.losses)} losses")

    @classmethod
    def nothing(cls, space: Space) -> Told:
        return cls(np.empty((0, len(space))), np.empty(0))

    def and_(self, v: Array, loss: float = np.nan) -> Told:
        """One trial more."""
        return Told(np.vstack([self.V, v]), np.append(self.losses, loss))

    @property
    def known(self) -> Told:
        """The trials that have a loss."""
        there = np.isfinite(self.losses)
        return Told(self.V[there], self.losses[there])

    def __contains__(self, v: object) -> bool:
        return (np.asarray(v) + 0.0).tobytes() in self._rows

    @cached_property
    def _rows(self) -> set[bytes]:
        return {row.tobytes() for row in self.V + 0.0}  # −0 and 0 are one value

    def __len__(self) -> int:
        return len(self.losses)


class Run(Protocol):
    """A start under way."""

    def ask(self, told: Told) -> Array:
        """The next configuration to try, a row of V; never one that has been told."""
        ...


class Strategy(Protocol):
    """A way to choose the first configurations; its fields are its own parameters."""

    def begin(self, past: Past, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        """Learn from the past whatever does not depend on results; n: how many will be asked for."""
        ...


ROUNDS = 256  # of 256 configurations, after which a space without a size counts as used up


class ExhaustedError(ValueError):
    """Every configuration of a finite space has been tried."""


def fresh(proposals: Iterator[Array], told: Told, space: Space) -> Array:
    """The first proposal that has not been told yet."""
    for v in proposals:
        if v not in told:
            return v
    raise ExhaustedError(f"all {configurations(space)} have been tried")


def configurations(space: Space) -> str:
    """How many there are, in words."""
    return f"{space.size:,.0f} configurations of the space" if np.isfinite(space.size) else "values of the space"


def best_of(past: Past, order: npt.NDArray[np.intp]) -> Iterator[Array]:
    """The best configuration of each task in this order, then everyone's second best, and so on."""
    ranked = [past.ranked_rows[i] for i in order]
    for place in range(max(len(rows) for rows in ranked)):
        for rows in ranked:
            if place < len(rows):
                yield past.history.V[rows[place]]


def anywhere(space: Space, seed: int) -> Iterator[Array]:
    """Space-filling configurations, or all of them if there are few; the same for the same seed.

    They end, after very many: a range so narrow that it holds only a few numbers is used up as well.
    """
    rng = np.random.default_rng(seed)
    if space.size <= 1e5:
        V = space.grid()
        yield from V[rng.permutation(len(V))]
        return
    for _ in range(ROUNDS):
        yield from space.sample_values(256, rng=rng, method="sobol")
