"""The protocol of a surrogate: it learns from past tasks and a run's trials, and predicts the loss anywhere.

As with strategies, no call changes the result of a later one. A model holds what was learned before the run, and a
posterior depends on nothing but the model and the trials. So a run can be stopped and resumed with the same results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headstart._support.types import Array
from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.gp import Prediction
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates import acquisition
from headstart.transfer.models import TaskModels

ROUNDING = 1e-12  # losses that differ by a smaller share of their size count as equal; a guess


@dataclass(frozen=True)
class Acquisition:
    """An acquisition function by name, with the trials so far and the dimensions of the space, which set kappa."""

    name: str = "ei"
    trials: int = 0
    width: int = 1

    NAMES = ("ei", "log_ei", "pi", "lcb")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            hint = closest(self.name, self.NAMES, 0.6)
            raise ArgumentError(f"acquisition must be one of {', '.join(self.NAMES)}, but got {self.name!r}{hint}")

    def __call__(self, mean: Array, std: Array, best: float | Array) -> Array:
        """The score to maximise. EI is computed as its logarithm, which has the same maximum and never underflows."""
        if self.name == "lcb":
            return acquisition.lcb(mean, std, self.kappa)
        if self.name == "pi":
            return acquisition.pi(mean, std, best)
        return acquisition.log_ei(mean, std, best)

    @property
    def kappa(self) -> float:
        return acquisition.growing_kappa(self.trials, self.width)

    def slopes(self, mean: Array, std: Array, best: float | Array) -> tuple[Array, Array, Array]:
        """The score and its derivatives by mean and std. PI uses those of log EI, which also favour likely gains."""
        if self.name == "lcb":
            return self(mean, std, best), np.full_like(mean, -1.0), np.full_like(mean, self.kappa)
        return acquisition.log_ei_slopes(mean, std, best)

    def climb(self, prediction: Prediction, best: float) -> tuple[Array, Array]:
        """Scores (m,) and their gradients (m, d) at the configurations of a prediction, by the chain rule."""
        mean, std, mean_gradient, std_gradient = prediction
        value, by_mean, by_std = self.slopes(mean, std, best)
        return value, by_mean[:, None] * mean_gradient + by_std[:, None] * std_gradient


class Posterior(Protocol):
    """A model fitted to a run's trials."""

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the loss at the rows of Z, in the units of the run's losses."""
        ...

    def extend(self, z: Array, loss: float) -> Posterior:
        """The posterior with one more trial, in O(n²) or less."""
        ...

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        """How promising the rows of Z are: (m,), more is better."""
        ...

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array] | None:
        """Scores (m,) of the rows of Z and their gradients (m, d); None if this posterior has no gradients."""
        ...


class Model(Protocol):
    """A surrogate before it has seen any trial of the run.

    A model that can propose the very first trial has an attribute `from_nothing = True`.
    """

    def fit(self, Z: Array, losses: Array) -> Posterior:
        """Learn from the run's own trials: encoded configurations (n, d) and finite losses (n,).

        n ≥ 1, or n ≥ 0 if the model is one that can start from nothing.
        """
        ...


class Surrogate(Protocol):
    """A kind of surrogate; its fields are its parameters."""

    @property
    def needs_history(self) -> bool:
        """Whether it cannot work without past runs."""
        ...

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> Model:
        """Learn from the past tasks. models: None without a history. features: meta-features of the new task."""
        ...


def need_history(models: TaskModels | None, name: str) -> TaskModels:
    """The models of the past tasks; an error without a history. name: of the surrogate that needs them."""
    if models is None:
        raise ArgumentError(
            f"surrogate={name!r} learns from past runs", "pass a history with {history}, or use {surrogate}'gp'"
        )
    return models


def standardise(losses: Array) -> tuple[Array, float, float]:
    """Losses with mean 0 and variance 1, and the mean and scale that turn predictions back."""
    mean = float(np.mean(losses))
    scale = float(np.std(losses))
    scale = scale if scale > ROUNDING * max(abs(mean), 1e-300) else 1.0
    return (losses - mean) / scale, mean, scale
