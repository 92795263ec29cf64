"""What a surrogate is: from the past and a run's own trials to a prediction of the loss anywhere.

As with strategies, nothing is remembered between calls: a model holds what was learned before the run, and a
posterior is a function of what has been told, so that a run can be stopped and continued identically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates import acquisition
from headstart.transfer.models import TaskModels


@dataclass(frozen=True)
class Acquisition:
    """Which acquisition function, after how many trials and in how many dimensions (for κ).

    "auto" leaves the choice to the surrogate. Only `Experts` has a criterion of its own; for all others it is EI.
    """

    name: str = "auto"
    trials: int = 0
    width: int = 1

    NAMES = ("auto", "ei", "log_ei", "pi", "lcb")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise ArgumentError(f"acquisition must be one of {', '.join(self.NAMES)}, but got {self.name!r}")

    def __call__(self, mean: Array, std: Array, best: float | Array) -> Array:
        """To be maximised. EI is taken as its logarithm, which has the same maximum and never underflows."""
        if self.name == "lcb":
            return acquisition.lcb(mean, std, self.kappa)
        if self.name == "pi":
            return acquisition.pi(mean, std, best)
        return acquisition.log_ei(mean, std, best)

    @property
    def kappa(self) -> float:
        return acquisition.growing_kappa(self.trials, self.width)

    def slopes(self, mean: Array, std: Array, best: float) -> tuple[Array, Array, Array]:
        """The value with its derivatives by mean and std. PI climbs as log EI does: towards likely improvement."""
        if self.name == "lcb":
            return self(mean, std, best), np.full_like(mean, -1.0), np.full_like(mean, self.kappa)
        return acquisition.log_ei_slopes(mean, std, best)


class Posterior(Protocol):
    """A surrogate that has seen a run's trials."""

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the loss at the rows of Z, in the units of what was told."""
        ...

    def extend(self, z: Array, loss: float) -> Posterior:
        """The same with one trial more; no dearer than O(n²)."""
        ...

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        """How promising the rows of Z are."""
        ...

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array] | None:
        """Scores (m,) of the rows of Z and their gradients (m, d); None if this posterior has no gradients."""
        ...


class Model(Protocol):
    """A surrogate before a run."""

    def fit(self, Z: Array, losses: Array) -> Posterior:
        """Learn from the run's own trials: encoded configurations (n, d) and finite losses (n,), n ≥ 1."""
        ...


class Surrogate(Protocol):
    """A kind of surrogate; its fields are its own parameters."""

    @property
    def needs_history(self) -> bool:
        """Whether it cannot work without past runs."""
        ...

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> Model:
        """Learn from the past, if there is one."""
        ...


def standardise(losses: Array) -> tuple[Array, float, float]:
    """Losses with mean 0 and variance 1, and the mean and scale to turn predictions back."""
    mean = float(np.mean(losses))
    scale = float(np.std(losses))
    scale = scale if scale > 1e-12 * max(abs(mean), 1e-300) else 1.0
    return (losses - mean) / scale, mean, scale
