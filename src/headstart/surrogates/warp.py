"""A monotone map that makes a run's losses look normal: the power transform of Yeo and Johnson (2000).

    ψ(t) = ((1 + t)^a − 1) / a                  for t ≥ 0
    ψ(t) = −((1 − t)^(2 − a) − 1) / (2 − a)     for t < 0

with logarithms as the limits at a = 0 and a = 2. a = 1 is the identity; a smaller power compresses the bad side, a
larger one the good side.

| symbol | name    | shape | meaning                                                                       |
| ------ | ------- | ----- | ----------------------------------------------------------------------------- |
| t      | `t`     | (n,)  | losses relative to their median, in units of their quartile distance, clipped |
| a      | `power` |       | the power (λ in their paper), by maximum likelihood                           |
| L      | `L`     | (n,n) | factor of the covariance of the losses under a Gaussian process, if known     |
| y      | `y`     | (n,)  | ψ(t), standardised                                                            |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array
from headstart.gp.linalg import solve_lower
from headstart.surrogates.base import ROUNDING

# Guesses, backed only by the tests.
POWERS = (-1.0, 3.0)  # range of the power, symmetric about the identity
POWER_STEP = 0.05
FAR = 1e6  # t is clipped here, so that penalties of any size leave the ordinary losses distinct
BEYOND = 1e12  # −t is clipped here, so that very low losses stay distinct and their powers finite
HUGE = 1e300  # losses are clipped here, so that differences stay finite
FLAT = 1e-6  # a quartile distance below this share of the best loss's gain on the median counts as 0


@dataclass(frozen=True)
class Warp:
    """A monotone map of losses: shift, scale and clip to t, apply ψ, then standardise to y."""

    shift: float = 0.0
    scale: float = 1.0
    power: float = 1.0
    mean: float = 0.0
    spread: float = 1.0

    @classmethod
    def fit(cls, losses: Array, L: Array | None = None) -> Warp:
        """The warp with the power in POWERS under which the losses are most likely normal.

        Without L, they count as independent. Late in a search they are not: most lie close together around the best,
        and as independent results they would bend the scale towards their own small differences.
        """
        ordinary = _without_penalties(np.clip(losses, -HUGE, HUGE))
        low, shift, high = np.quantile(ordinary, [0.25, 0.5, 0.75])
        scale, gain = float(high - low), float(shift - ordinary[0])
        if not scale > max(FLAT * gain, ROUNDING * max(abs(low), abs(high))):  # most losses are equal, or nearly so
            unit = max(float(np.abs(ordinary).max()), 1e-300)
            scale = unit * float(np.std(ordinary / unit))
        if not scale > ROUNDING * max(abs(shift), 1e-300):
            return cls(shift=float(shift))
        t = _relative(losses, float(shift), scale)
        # log likelihood (Yeo and Johnson, section 3): −n/2 log var ψ(t) + (a − 1) Σ sign(t) log(1 + |t|)
        slope = float((np.sign(t) * np.log1p(np.abs(t))).sum())
        powers = np.arange(POWERS[0], POWERS[1] + POWER_STEP / 2, POWER_STEP)
        bent = yeo_johnson(t, powers[:, None])
        variance = bent.var(axis=1) if L is None else generalised_variance(bent, L)
        i = int(np.argmax(settled(-0.5 * np.log(variance) + (powers - 1.0) * slope / len(t), DIGITS)))
        return cls(float(shift), scale, float(powers[i]), float(bent[i].mean()), float(bent[i].std()))

    def __call__(self, losses: Array) -> Array:
        """Losses → y."""
        bent = yeo_johnson(_relative(losses, self.shift, self.scale), self.power)
        return np.asarray((bent - self.mean) / self.spread)

    def inverse(self, y: Array) -> Array:
        """y → losses."""
        t = inverse_yeo_johnson(y * self.spread + self.mean, self.power)
        return np.asarray(t * self.scale + self.shift)


def generalised_variance(Y: Array, L: Array) -> Array:
    """(y − m)ᵀ K⁻¹ (y − m) / n of the rows y of Y (p, n), with the most likely mean m of each and K = L Lᵀ: (p,).

    It is the most likely amplitude of a Gaussian process with the covariance K times an amplitude.
    """
    white = solve_lower(L, np.column_stack([np.ones(len(L)), Y.T]))
    one, rest = white[:, :1], white[:, 1:]
    rest = rest - one * ((one * rest).sum(axis=0) / float((one**2).sum()))
    return np.asarray((rest**2).mean(axis=0))


def _without_penalties(losses: Array) -> Array:
    """Sorted losses up to the first gap of FAR times the range below it; those beyond it are penalties.

    At least a quarter of the losses count as ordinary.
    """
    x = np.sort(losses)
    with np.errstate(over="ignore"):
        gaps = np.flatnonzero((np.diff(x) > FAR * (x[:-1] - x[0])) & (x[:-1] > x[0])) + 1
    return x[: next((int(i) for i in gaps if 4 * i >= len(x)), len(x))]


def _relative(losses: Array, shift: float, scale: float) -> Array:
    """Losses → t."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip((np.clip(losses, -HUGE, HUGE) - shift) / scale, -BEYOND, FAR))


def yeo_johnson(t: Array, power: float | Array) -> Array:
    """ψ(t); a column of powers gives a row of values for each."""
    up, down = np.maximum(t, 0.0), np.maximum(-t, 0.0)
    return _box_cox(up, power) - _box_cox(down, 2.0 - power)


def inverse_yeo_johnson(bent: Array, power: float) -> Array:
    """ψ⁻¹; where ψ is bounded, values beyond 99.9% of the bound count as 99.9% of it."""
    up, down = np.maximum(bent, 0.0), np.maximum(-bent, 0.0)
    return _inverse_box_cox(up, power) - _inverse_box_cox(down, 2.0 - power)


def _box_cox(t: Array, power: float | Array) -> Array:
    """((1 + t)^power − 1) / power for t ≥ 0, with its limit at 0."""
    logs = np.log1p(t)
    vanishes = np.abs(power) < 1e-9
    return np.where(vanishes, logs, np.expm1(power * logs) / np.where(vanishes, 1.0, power))


def _inverse_box_cox(bent: Array, power: float) -> Array:
    if abs(power) < 1e-9:
        return np.expm1(np.minimum(bent, 700.0))  # e^710 overflows
    return np.expm1(np.log1p(np.maximum(power * bent, -0.999)) / power)
