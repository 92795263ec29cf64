"""Acquisition functions: how promising a configuration is, given a surrogate's prediction of its loss.

Free functions of (mean, std, best). Losses are minimised, scores are maximised: expected improvement and its
logarithm, the probability of improvement, and the negative lower confidence bound.

| symbol | name          | meaning                                     |
| ------ | ------------- | ------------------------------------------- |
| μ, σ   | `mean`, `std` | the surrogate's prediction, σ ≥ 0           |
| f*     | `best`        | the lowest loss so far                      |
| u      | `u`           | (f* − μ) / σ, the improvement in units of σ |
| h(u)   | `log_h`       | φ(u) + u Φ(u), so that EI = σ h(u)          |
| —      | `kappa`       | weight of σ in the confidence bound         |
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr

from headstart._support.types import Array, Mask
from headstart.errors import ArgumentError

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_LEAST_STD = 1e-300  # a smaller σ counts as 0, since its inverse would overflow
_MOST = 1e150  # |u| is clipped here, since its square would overflow
_SERIES = -1e3  # below this u, 1 − |u| r(u) is all rounding, so its series replaces it
_DELTA = 0.1  # δ of the confidence bound; a guess


def ei(mean: npt.ArrayLike, std: npt.ArrayLike, best: npt.ArrayLike) -> Array:
    """Expected improvement (Jones et al. 1998): σ (φ(u) + u Φ(u)); for σ = 0, max(f* − μ, 0)."""
    mean, std, best = _arrays(mean, std, best)
    spread, u = _standardise(mean, std, best)
    return np.where(_matters(std, u), np.exp(log_h(u)) * spread, _certain(mean, best))


def log_ei(mean: npt.ArrayLike, std: npt.ArrayLike, best: npt.ArrayLike) -> Array:
    """log EI, finite and increasing in u even where EI itself underflows to 0 (Ament et al. 2023)."""
    mean, std, best = _arrays(mean, std, best)
    spread, u = _standardise(mean, std, best)
    with np.errstate(divide="ignore"):
        certain = np.log(_certain(mean, best))
    return np.where(_matters(std, u), log_h(u) + np.log(spread), certain)


def pi(mean: npt.ArrayLike, std: npt.ArrayLike, best: npt.ArrayLike) -> Array:
    """Probability of improvement: Φ(u)."""
    mean, std, best = _arrays(mean, std, best)
    _, u = _standardise(mean, std, best)
    return np.where(_matters(std, u), ndtr(u), (best > mean).astype(float))


def lcb(mean: npt.ArrayLike, std: npt.ArrayLike, kappa: float) -> Array:
    """−(μ − kappa · σ): GP-UCB (Srinivas et al. 2010) for losses."""
    return np.asarray(kappa * np.asarray(std, dtype=float) - np.asarray(mean, dtype=float))


def growing_kappa(t: int, width: int) -> float:
    """kappa after t trials in d = `width` dimensions: √(2 log(t^(d/2 + 2) π² / 3δ) / 5), slowly growing.

    This is the bound of Srinivas et al. with its square divided by 5, as in their experiments.
    """
    return math.sqrt(2 * ((width / 2 + 2) * math.log(max(t, 1)) + math.log(math.pi**2 / (3 * _DELTA))) / 5)


def log_h(u: npt.ArrayLike) -> Array:
    """log(φ(u) + u Φ(u)) without cancellation; below −1 it is log φ(u) + log(1 − |u| r(u)), see `_far_below`."""
    u = np.asarray(u, dtype=float)
    is_near, out = u > -1.0, np.empty(u.shape)
    near, far = u[is_near], u[~is_near]
    out[is_near] = np.log(np.exp(_log_density(near)) + near * ndtr(near))
    out[~is_near] = _log_density(far) + np.log(_far_below(far)[1])
    return out


def log_ei_slopes(mean: npt.ArrayLike, std: npt.ArrayLike, best: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """log EI and its derivatives by the mean and by the standard deviation.

    They are ∂EI/∂μ = −Φ(u) and ∂EI/∂σ = φ(u), divided by EI = σ h(u); below −1, φ(u) cancels from both.
    """
    mean, std, best = _arrays(mean, std, best)
    spread, u = _standardise(mean, std, best)
    near, far = np.maximum(u, -1.0), np.minimum(u, -1.0)
    mills, gap = _far_below(far)
    density, below = np.exp(_log_density(near)), ndtr(near)
    h, is_near = density + near * below, u > -1.0
    value = np.where(is_near, np.log(h), _log_density(far) + np.log(gap))
    with np.errstate(over="ignore"):
        by_mean = -np.where(is_near, below / h, mills / gap) / spread
        by_std = np.where(is_near, density / h, 1.0 / gap) / spread
    return value + np.log(spread), by_mean, by_std


def _far_below(u: Array) -> tuple[Array, Array]:
    """Mills' ratio r(u) = Φ(u) / φ(u) and 1 − |u| r(u) = h(u) / φ(u), for u ≤ −1.

    r(u) = √(π/2) erfcx(|u| / √2). Far out, its series 1/|u| − 1/|u|³ + 3/|u|⁵ − … leaves 1/u² − 3/u⁴ + … of the second.
    """
    mills = math.sqrt(math.pi / 2) * erfcx(-u / math.sqrt(2))
    series = (1.0 - 3.0 / u**2) / u**2
    return mills, np.where(u < _SERIES, series, np.maximum(1.0 + u * mills, np.finfo(float).tiny))


def _matters(std: Array, u: Array) -> Mask:
    """Where σ is not negligible."""
    return np.asarray((std >= _LEAST_STD) & (u < _MOST))


def _certain(mean: Array, best: Array) -> Array:
    """The improvement where σ is negligible."""
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(best - mean, 0.0))


def _arrays(mean: npt.ArrayLike, std: npt.ArrayLike, best: npt.ArrayLike) -> tuple[Array, Array, Array]:
    a, b, c = np.broadcast_arrays(
        np.asarray(mean, dtype=float), np.asarray(std, dtype=float), np.asarray(best, dtype=float)
    )
    if (b < 0).any():
        raise ArgumentError(f"std must not be negative, but got {b.min()}")
    return a, b, c


def _standardise(mean: Array, std: Array, best: Array) -> tuple[Array, Array]:
    spread = np.maximum(std, _LEAST_STD)
    with np.errstate(over="ignore"):
        u = np.clip((best - mean) / spread, -_MOST, _MOST)
    return spread, u


def _log_density(u: Array) -> Array:
    """log φ(u)."""
    return np.asarray(-0.5 * u**2 - _LOG_ROOT_2PI)
