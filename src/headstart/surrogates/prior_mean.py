"""A Gaussian process with a given prior mean.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Fig. 1 and the
paper's supplement: the process learns what the losses deviate from a mean function that is known beforehand,

    f = m + g,    g ~ GP(0, s² κ).

The mean is taken as it is, without an offset or a slope. With a history, κ has the lengthscales and the noise of the
past tasks; without one, they are fitted to the deviations. s² is the mean square of the deviations.

| symbol | name   | shape | meaning                                      |
| ------ | ------ | ----- | -------------------------------------------- |
| m      | `mean` | (n,)  | prior mean, in the units of the losses       |
| r      | `r`    | (n,)  | deviations: losses minus m                   |
| s      | `s`    |       | their size                                   |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp import GP, Fit, Kernel, fit_kernel
from headstart.history import Features
from headstart.space import Config, Space
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import BOUNDS, LEAST_NOISE, PRIOR
from headstart.transfer.models import TaskModels

HOW = Fit(restarts=0, prior=PRIOR, bounds=BOUNDS, mean=0.0, max_rows=200)
MeanOf = Callable[[Array], Array]
"""The prior mean at encoded configurations (n, d): (n,)."""


@dataclass(frozen=True)
class PriorMean:
    """A Gaussian process with a prior mean of your own.

    mean: from a configuration to the loss that you expect, in the units of the objective; for direction="maximize",
    its negative.
    """

    mean: Callable[[Config], float]

    needs_history = False

    def __post_init__(self) -> None:
        if not callable(self.mean):
            raise ArgumentError(f"mean must be a function of a configuration, but got {self.mean!r}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> MeanModel:
        def mean_of(Z: Array) -> Array:
            values = np.array([self.mean(config) for config in space.from_values(space.decode_values(Z))], dtype=float)
            if not np.isfinite(values).all():
                raise ArgumentError("the prior mean must be a finite number for every configuration")
            return values

        return MeanModel(mean_of, shape_of(models), int(rng.integers(2**32)))


def shape_of(models: TaskModels | None) -> Kernel | None:
    """The kernel of the past tasks with amplitude 1; None without a history."""
    if models is None:
        return None
    kernel = models.kernel
    return replace(kernel, amplitude=1.0, noise=max(kernel.noise / kernel.amplitude, LEAST_NOISE))


@dataclass(frozen=True)
class MeanModel:
    """kernel: that of the deviations in units of their size; None: fitted to them."""

    mean_of: MeanOf
    kernel: Kernel | None
    seed: int

    from_nothing = True

    def fit(self, Z: Array, losses: Array) -> MeanPosterior:
        r = losses - self.mean_of(Z)
        s = float(np.sqrt(np.mean(r**2))) if len(r) and r.any() else 1.0
        kernel = self.kernel
        if kernel is None:
            kernel = fit_kernel([(Z, r / s)], HOW, rng=np.random.default_rng([self.seed, len(r)]))
        return MeanPosterior(self.mean_of, GP.fit(kernel, Z, r / s, mean=0.0), s)


@dataclass(frozen=True)
class MeanPosterior:
    """The process of the deviations in units of s, on top of the prior mean."""

    mean_of: MeanOf
    gp: GP
    s: float

    @cached_property
    def best(self) -> float:
        """μ(θ†): the lowest prediction at the trials."""
        return float(self.predict(self.gp.X)[0].min())

    def predict(self, Z: Array) -> tuple[Array, Array]:
        mean, std = self.gp.predict(Z)
        return self.mean_of(Z) + self.s * mean, self.s * std

    def extend(self, z: Array, loss: float) -> MeanPosterior:
        return replace(self, gp=self.gp.extend(z, (loss - float(self.mean_of(z[None])[0])) / self.s))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        if not len(self.gp.X):  # nothing to improve on yet: the lowest prior mean
            return -self.mean_of(Z)
        return acquisition(*self.predict(Z), self.best)

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None
