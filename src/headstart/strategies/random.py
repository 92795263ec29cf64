"""A start that uses no past runs: configurations spread evenly over the space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.history import Features
from headstart.strategies.base import Planned, Run
from headstart.transfer.models import NewTask, TaskModels


@dataclass(frozen=True)
class Random:
    """random: a scrambled Halton sequence, or the allowed configurations in random order.

    seed: of the sequence; None draws one from the run's generator.
    """

    seed: int | None = None

    def begin(
        self, models: TaskModels | NewTask, *, n: int, features: Features | None, rng: np.random.Generator
    ) -> Run:
        seed = int(rng.integers(2**32)) if self.seed is None else self.seed
        return Planned(np.empty((0, len(models.space))), models.space, models.allowed, seed)
