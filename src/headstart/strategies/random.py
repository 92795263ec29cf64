"""A start without past runs: configurations spread evenly over the space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array
from headstart.history import Features
from headstart.strategies.base import Planned, Run, Seed
from headstart.transfer.models import NewTask, TaskModels


@dataclass(frozen=True)
class Random:
    """random: a scrambled Halton sequence, or the allowed configurations in random order.

    seed: of the sequence; None draws one from the run's generator.
    """

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None:
            whole("seed", self.seed, 0, or_none=True)

    def begin(
        self, models: TaskModels | NewTask, *, n: int, features: Features | None, rng: np.random.Generator
    ) -> Run:
        seed = int(rng.integers(2**32)) if self.seed is None else self.seed
        return Planned(np.empty((0, len(models.space))), models.space, models.allowed, stream(seed, models.allowed))


def stream(seed: int, allowed: Array | None) -> Seed:
    """The seed of a random start's filler. A list of candidates is shuffled by its own random stream."""
    return seed if allowed is None else (seed, 4)
