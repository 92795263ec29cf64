"""The independent Gaussian process: it knows the run's own trials and, of the past, only the kernel.

Wistuba et al. (2015a), section V-A, "Independent Gaussian Process". Hyperparameters maximise the marginal
likelihood on the history if there is one, and the posterior under weak priors on the run itself if not.

On its own, the process sees losses through a monotone map that makes them look normal (`Warp`): losses are
often skewed, a few disasters or a few successes far from the rest, and no stationary process is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from headstart._support.types import Array
from headstart.gp import GP, Bounds, Fit, Kernel, Prior, fit_kernel, likely_mean
from headstart.gp.linalg import cholesky
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Posterior, standardise
from headstart.transfer.models import TaskModels

PRIOR = Prior(noise=(1e-4, 3.0))
BOUNDS = Bounds(noise=(1e-8, 1.0))
"""Little noise is likely, but much is possible: many objectives are exact, and the search must be able to follow
them to the bottom (with the noise of `Prior()`, 1 % of the variance, it ends a little above)."""
HOW = Fit(restarts=0, prior=PRIOR, bounds=BOUNDS, free_mean=True, max_rows=200)
ALWAYS = 10  # trials up to which the hyperparameters are fitted anew to every trial
POWERS = (-1.0, 3.0)  # of the warp
FAR = 1e6  # quartile distances above the median beyond which one disaster is as bad as another
BEYOND = 1e12  # and below it, where no record is like another, so that powers of them are finite
HUGE = 1e300  # losses beyond it count as this one, so that differences are finite


@dataclass(frozen=True)
class Gaussian:
    """gp: a Gaussian process on the run's own trials.

    own: fit the hyperparameters to the run even where there is a history.
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
    """What was asked of a model and answered, to be continued."""

    Z: Array
    losses: Array
    known: int
    posterior: GaussianPosterior

    def begins(self, Z: Array, losses: Array) -> bool:
        n = len(self.losses)
        return np.array_equal(self.losses, losses[:n]) and np.array_equal(self.Z, Z[:n])


@dataclass(frozen=True, eq=False)
class GaussianModel:
    kernel: Kernel | None
    seed: int
    _last: list[_Answer] = field(default_factory=list, repr=False)

    def fit(self, Z: Array, losses: Array) -> Posterior:
        """Hyperparameters and warp are those of the last refit; later trials only extend the process.

        The answer depends on nothing but the arguments. The last one is kept, since most questions differ from
        the one before by one trial.
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
        if self.kernel is not None:  # of the past: its shape; the amplitude is that of standardised losses
            Y, mean, scale = standardise(losses)
            noise = max(self.kernel.noise / self.kernel.amplitude, 1e-6)
            kernel = replace(self.kernel, amplitude=1.0, noise=noise)
            return GaussianPosterior(GP.fit(kernel, Z, Y), Warp(mean, scale))
        warp = Warp.fit(losses)
        Y = warp(losses)
        rng = np.random.default_rng([self.seed, len(Y)])
        data = [(Z, Y)]
        kernel = fit_kernel(data, HOW, rng=rng)
        level = float(likely_mean(cholesky(kernel.gram(Z))[0], Y))
        return GaussianPosterior(GP.fit(kernel, Z, Y, mean=level), warp)


def refit_at(n: int) -> int:
    """How many of n trials the hyperparameters are fitted to: all of them up to 10, then in steps of a tenth."""
    if n <= ALWAYS:
        return n
    known = ALWAYS
    while (further := int(1.1 * known) + 1) <= n:
        known = further
    return known


# -- warp ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Warp:
    """A monotone map of losses: shifted, scaled, bent (Yeo and Johnson 2000), then shifted and scaled again.

    ψ(t) = ((1 + t)^λ − 1) / λ for t ≥ 0 and −((1 − t)^(2 − λ) − 1) / (2 − λ) for t < 0, with its limits, the
    logarithms, at λ = 0 and λ = 2. λ = 1 bends nothing, less compresses the bad side, more the good side. t itself
    ends at FAR, so that a penalty of any size leaves the ordinary losses apart, while these are a quarter at least.
    """

    shift: float = 0.0
    scale: float = 1.0
    power: float = 1.0  # λ
    mean: float = 0.0
    spread: float = 1.0

    @classmethod
    def fit(cls, losses: Array) -> Warp:
        """The λ in POWERS under which the losses are most likely normal."""
        ordinary = _ordinary(np.clip(losses, -HUGE, HUGE))
        low, shift, high = np.quantile(ordinary, [0.25, 0.5, 0.75])
        scale, gain = float(high - low), float(shift - ordinary[0])
        if not scale > max(1e-6 * gain, 1e-12 * max(abs(low), abs(high))):  # most are the same, or as good as
            unit = max(float(np.abs(ordinary).max()), 1e-300)
            scale = unit * float(np.std(ordinary / unit))
        if not scale > 1e-12 * max(abs(shift), 1e-300):
            return cls(shift=float(shift))
        t = _standing(losses, float(shift), scale)
        # log likelihood (Yeo and Johnson, section 3): −n/2 log var ψ(t) + (λ − 1) Σ sign(t) log(1 + |t|)
        slope = float((np.sign(t) * np.log1p(np.abs(t))).sum())
        powers = np.arange(POWERS[0], POWERS[1] + 0.025, 0.05)
        bent = [bend(t, power) for power in powers]
        variance = np.array([np.var(y) for y in bent])
        i = int(np.argmax(-0.5 * len(t) * np.log(variance) + (powers - 1.0) * slope))
        return cls(float(shift), scale, float(powers[i]), float(bent[i].mean()), math.sqrt(variance[i]))

    def __call__(self, losses: Array) -> Array:
        bent = bend(_standing(losses, self.shift, self.scale), self.power)
        return np.asarray((bent - self.mean) / self.spread)

    def back(self, y: Array) -> Array:
        """The losses that are mapped to y."""
        return np.asarray(unbend(y * self.spread + self.mean, self.power) * self.scale + self.shift)


def _ordinary(losses: Array) -> Array:
    """Sorted losses up to a leap of FAR times the range below it: what lies beyond are penalties."""
    x = np.sort(losses)
    with np.errstate(over="ignore"):
        leaps = np.flatnonzero((np.diff(x) > FAR * (x[:-1] - x[0])) & (x[:-1] > x[0])) + 1
    return x[: next((int(i) for i in leaps if 4 * i >= len(x)), len(x))]


def _standing(losses: Array, shift: float, scale: float) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(np.clip((np.clip(losses, -HUGE, HUGE) - shift) / scale, -BEYOND, FAR))


def bend(t: Array, power: float) -> Array:
    """ψ of Yeo and Johnson."""
    up, down = np.maximum(t, 0.0), np.maximum(-t, 0.0)
    return _box_cox(up, power) - _box_cox(down, 2.0 - power)


def unbend(y: Array, power: float) -> Array:
    """ψ⁻¹; where ψ is bounded, what lies beyond the bound counts as 99.9 % of the way to it."""
    up, down = np.maximum(y, 0.0), np.maximum(-y, 0.0)
    return _un_box_cox(up, power) - _un_box_cox(down, 2.0 - power)


def _box_cox(t: Array, power: float) -> Array:
    return np.log1p(t) if abs(power) < 1e-9 else np.expm1(power * np.log1p(t)) / power


def _un_box_cox(y: Array, power: float) -> Array:
    if abs(power) < 1e-9:
        return np.expm1(np.minimum(y, 700.0))
    return np.expm1(np.log1p(np.maximum(power * y, -0.999)) / power)


# -- posterior -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """A GP on warped losses; predictions are turned back."""

    gp: GP
    warp: Warp

    @cached_property
    def best(self) -> float:
        """The lowest predicted loss at the trials themselves: noise must not pass for a record."""
        return float(self.gp.predict_mean(self.gp.X).min())

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Median and half the width of the central 68 %: mean and standard deviation if nothing is bent."""
        mean, std = self.gp.predict(Z)
        return self.warp.back(mean), 0.5 * (self.warp.back(mean + std) - self.warp.back(mean - std))

    def extend(self, z: Array, loss: float) -> GaussianPosterior:
        return replace(self, gp=self.gp.extend(z, float(self.warp(np.array([loss]))[0])))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.gp.predict(Z), self.best)

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        p = self.gp.predict_with_gradients(Z)
        value, by_mean, by_std = acquisition.slopes(p.mean, p.std, self.best)
        return value, by_mean[:, None] * p.mean_gradient + by_std[:, None] * p.std_gradient
