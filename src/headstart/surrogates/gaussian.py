"""The independent Gaussian process: it learns from the run's own trials; past runs only give it its kernel.

Wistuba et al. (2015a), section V-A, "Independent Gaussian Process". With a history, the hyperparameters maximise the
marginal likelihood of the past runs. Without one, they maximise the posterior given the run's trials and weak priors.

In the second case, the process sees the losses through a monotone map that makes them look normal (`warp.py`). Losses
are often skewed, with a few very bad or very good ones far from the rest, and a stationary process is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from headstart._support.types import Array
from headstart.gp import GP, Bounds, Fit, Kernel, Prior, fit_kernel, likely_mean
from headstart.gp.linalg import cholesky
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, standardise
from headstart.surrogates.warp import Warp
from headstart.transfer.models import TaskModels

PRIOR = Prior(noise=(1e-4, 3.0))
BOUNDS = Bounds(noise=(1e-8, 1.0))
"""Little noise is likely, but much is possible. Many objectives are exact, and the search must be able to follow them
to the bottom; with the noise of `Prior()`, 1% of the variance, it stops slightly above it."""
HOW = Fit(restarts=0, prior=PRIOR, bounds=BOUNDS, free_mean=True, max_rows=200)
ALWAYS = 10  # trials up to which every one refits the hyperparameters; a guess
CROWDED = 20  # trials from which on the warp takes them as correlated: they lie around the best; a guess
LEAST_NOISE = 1e-6  # of a kernel from past runs, relative to its amplitude; a guess


@dataclass(frozen=True)
class Gaussian:
    """gp: a Gaussian process on the run's own trials.

    own: fit the hyperparameters to the run even if there is a history.
    """

    own: bool = False

    needs_history = False

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> GaussianModel:
        kernel = None if models is None or self.own else models.kernel
        return GaussianModel(kernel, int(rng.integers(2**32)))


@dataclass(frozen=True)
class _Answer:
    """The last fit of a model, kept to be extended. known: trials behind its hyperparameters."""

    Z: Array
    losses: Array
    known: int
    posterior: GaussianPosterior

    def begins(self, Z: Array, losses: Array) -> bool:
        """Whether these trials begin with those of the last fit."""
        n = len(self.losses)
        return np.array_equal(self.losses, losses[:n]) and np.array_equal(self.Z, Z[:n])


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """kernel: from the past runs; None: fitted to the run."""

    kernel: Kernel | None
    seed: int
    _last: list[_Answer] = field(default_factory=list, repr=False)

    def fit(self, Z: Array, losses: Array) -> GaussianPosterior:
        """Refits hyperparameters and warp at certain numbers of trials; trials in between only extend the process.

        The result depends on nothing but the arguments. The last one is kept, since most calls add one trial.
        """
        known = refit_at(len(losses))
        last = next((a for a in self._last if a.known == known and a.begins(Z, losses)), None)
        posterior = self._fitted(Z[:known], losses[:known]) if last is None else last.posterior
        n = len(posterior.gp.X)
        for z, loss in zip(Z[n:], losses[n:], strict=True):
            posterior = posterior.extend(z, loss)
        self._last[:] = [_Answer(Z.copy(), losses.copy(), known, posterior)]
        return posterior

    def _fitted(self, Z: Array, losses: Array) -> GaussianPosterior:
        if self.kernel is not None:  # only its shape: the amplitude is that of standardised losses
            y, mean, scale = standardise(losses)
            noise = max(self.kernel.noise / self.kernel.amplitude, LEAST_NOISE)
            kernel = replace(self.kernel, amplitude=1.0, noise=noise)
            return GaussianPosterior(GP.fit(kernel, Z, y), Warp(mean, scale))
        warp = Warp.fit(losses)
        y = warp(losses)
        kernel = fit_kernel([(Z, y)], HOW, rng=np.random.default_rng([self.seed, len(y)]))
        L = cholesky(kernel.gram(Z))[0]
        if len(y) >= CROWDED:
            warp = Warp.fit(losses, L)
            y = warp(losses)
            kernel = fit_kernel([(Z, y)], HOW, rng=np.random.default_rng([self.seed, len(y)]), start=kernel)
            L = cholesky(kernel.gram(Z))[0]
        return GaussianPosterior(GP.fit(kernel, Z, y, mean=float(likely_mean(L, y))), warp)


def refit_at(n: int) -> int:
    """How many of n trials the hyperparameters are fitted to: all up to ALWAYS, then in steps of about a tenth."""
    if n <= ALWAYS:
        return n
    known = ALWAYS
    while (further := int(1.1 * known) + 1) <= n:
        known = further
    return known


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """A Gaussian process on warped losses."""

    gp: GP
    warp: Warp

    @cached_property
    def best(self) -> float:
        """The lowest prediction at the trials, on the warped scale; a loss that is low only by noise does not count."""
        return float(self.gp.predict_mean(self.gp.X).min())

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Median and half the width of the central 68%: mean and standard deviation if the warp is linear."""
        mean, std = self.gp.predict(Z)
        return self.warp.inverse(mean), 0.5 * (self.warp.inverse(mean + std) - self.warp.inverse(mean - std))

    def extend(self, z: Array, loss: float) -> GaussianPosterior:
        return replace(self, gp=self.gp.extend(z, float(self.warp(np.array([loss]))[0])))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.gp.predict(Z), self.best)

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        return acquisition.climb(self.gp.predict_with_gradients(Z), self.best)
