"""The numeric parameters, Float and Int: range, scale and grid, and the map between native values and [0, 1]."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from headstart._support.types import Array, Mask
from headstart.errors import SpaceError
from headstart.space.base import Conditional
from headstart.space.scalars import as_number

# A value that misses a bound by less than this share of the range is taken as the bound, written with fewer digits.
_TOLERANCE = 1e-9
# Significant digits of decoded reals: accurate to 1e-12, and 0.1 still comes back as 0.1.
_DIGITS = 13
# Larger integers are not all floating-point numbers. Those beyond 10^12 may be off by a few after the round trip to
# [0, 1] and back, if the range is that wide.
_LARGEST_INT = 2**53
# A range of at most so many floating-point numbers is the finite set that it is.
_FEW = 4096


@dataclass(frozen=True, eq=False, repr=False)
class _Numeric(Conditional):
    """The common part of Float and Int: a range, a log scale, a step, and the map to [0, 1]."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    width = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))
        if not isinstance(self.log, (bool, np.bool_)):
            raise SpaceError(f"log must be True or False, but got {self.log!r}")
        object.__setattr__(self, "log", bool(self.log))
        if self.log and min(self.low, self.high) <= 0:
            raise SpaceError(f"a log scale needs bounds above 0, but got low={self.low}, high={self.high}")
        if not self.low < self.high or not self._ends[0] < self._ends[1]:
            raise SpaceError(f"low must be below high, but got low={self.low}, high={self.high}")
        if self._wide and self.step is not None:
            raise SpaceError(f"the range from {self.low} to {self.high} is too wide for steps in floating point")
        if self.step is not None:
            self._set_step()

    def _checked(self, name: str, value: Any) -> float:
        """A finite number, of the parameter's own type."""
        number = as_number(value)
        if not math.isfinite(number):
            raise SpaceError(f"{name} must be a finite number, but got {value!r}")
        return number

    def _set_step(self) -> None:
        step = self._checked("step", self.step)
        if self.log:
            raise SpaceError("step and log exclude each other")
        steps = (self.high - self.low + self._slack(step)) / step if step > 0 else 0.0
        if steps < 1:
            raise SpaceError(f"step must be above 0 and at most high - low, but got step={step}")
        if not math.isfinite(steps):
            raise SpaceError(f"step is too small for the range from {self.low} to {self.high}, but got step={step}")
        object.__setattr__(self, "step", step)
        last = float(self._on_grid(np.array([self.low + math.floor(steps) * step]))[0])
        object.__setattr__(self, "high", self._checked("high", last))  # the last value on the grid

    def _slack(self, step: float) -> float:
        """How far off the grid a value may lie and still count as on it, since bounds and step are rounded."""
        return 1e-6 * step + 1e-12 * max(abs(self.low), abs(self.high))

    @property
    def _wide(self) -> bool:
        """Whether the bounds are farther apart than the largest floating-point number."""
        return math.isinf(self.high - self.low)

    @property
    def _ends(self) -> tuple[float, float]:
        """The bounds on the scale that becomes [0, 1]."""
        return (math.log(self.low), math.log(self.high)) if self._by_log else (self.low, self.high)

    @property
    def _by_log(self) -> bool:
        """Whether a logarithm is taken: not within a few floating-point numbers, which may all have the same."""
        return self.log and self._distance is None

    @property
    def size(self) -> float:
        """The number of values."""
        distance = self._distance
        return 1.0 + round((self.high - self.low) / distance) if distance is not None else math.inf

    @property
    def _distance(self) -> float | None:
        """The distance of neighbouring values: the step, or that of floating-point numbers if there are only few."""
        if self.step is not None:
            return self.step
        spacing = math.ulp(max(abs(self.low), abs(self.high)))
        return spacing if self.high - self.low <= _FEW * spacing else None

    def to_unit(self, v: Array) -> Array:
        """Native values → [0, 1]."""
        low, high = self._ends
        if self._wide:
            v, low, high = 0.5 * v, 0.5 * low, 0.5 * high
        return np.clip(((np.log(v) if self._by_log else v) - low) / (high - low), 0.0, 1.0)

    def from_unit(self, u: Array) -> Array:
        """[0, 1] → native values, on the parameter's grid if it has one. 0 and 1 give the bounds."""
        u = np.clip(u, 0.0, 1.0)
        low, high = self._ends
        v = (1.0 - u) * low + u * high if self._wide else low + u * (high - low)
        v = self.snap(np.exp(v) if self._by_log else v)
        return np.where(u == 0.0, self.low, np.where(u == 1.0, self.high, v))

    def draw(self, u: Array) -> Array:
        """[0, 1] → native values; if there are finitely many, each gets its share of the interval."""
        if not math.isfinite(self.size):
            return self.from_unit(u)
        if self._by_log:
            low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
            return np.clip(np.rint(np.exp(low + u * (high - low))), self.low, self.high)
        return self._nth(np.minimum(np.floor(u * self.size), self.size - 1))

    def options(self) -> Array:
        """All values of a parameter with finitely many."""
        assert math.isfinite(self.size)
        return self._nth(np.arange(self.size))

    def _nth(self, k: Array) -> Array:
        return self.snap(self.low + k * (self._distance or 1))

    def snap(self, v: Array) -> Array:
        """The nearest values that the parameter can take."""
        return np.clip(self._on_grid(v), self.low, self.high)

    def _on_grid(self, v: Array) -> Array:
        if self.step is not None:
            v = self.low + np.rint((v - self.low) / self.step) * self.step
        elif self._distance is not None:
            steps = np.rint((np.clip(v, self.low, self.high) - self.low) / self._distance)
            return np.asarray(self.low + steps * self._distance)
        # With low < 0 the sum low + … cancels, and the result is only as accurate as `low`.
        finest = math.floor(math.log10(-self.low)) - _DIGITS - 1 if self.low < 0 else -math.inf
        return _rounded(v, finest)

    def admit(self, v: Array) -> tuple[Array, Mask]:
        """The values, moved to a bound or to the grid if rounding explains the gap, and which do not fit."""
        width = min(self.high - self.low, sys.float_info.max)
        below = self.low - _TOLERANCE * (self.low if self.log else width)
        above = self.high + _TOLERANCE * (self.high if self.log else width)
        outside = ~((v >= below) & (v <= above))  # true for NaN
        v = np.clip(np.where(outside, self.low, v), self.low, self.high)
        if self.step is not None:
            on_grid = self._on_grid(v)
            outside |= np.abs(v - on_grid) > self._slack(self.step)
            v = on_grid
        return v, outside

    def contains(self, value: Any) -> bool:
        """Whether the parameter can take a value."""
        return not self.admit(np.array([as_number(value)]))[1][0]

    def _arguments(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.log:
            entry["log"] = True
        if self.step is not None:
            entry["step"] = self.step
        return entry


class Float(_Numeric):
    """A real number in [low, high].

    log: search on a logarithmic scale. step: only low, low + step, … when: active only for these values of other
    parameters, as in `when={"kernel": "rbf"}` or `when={"kernel": ["rbf", "poly"]}`.
    """

    def native(self, value: float) -> float:
        return float(value)

    def describe(self) -> str:
        notes = (" log" if self.log else "") + (f" step {self.step:.12g}" if self.step is not None else "")
        return f"[{self.low:.12g}, {self.high:.12g}]{notes}"


class Int(_Numeric):
    """An integer in {low, …, high}; log, step and when as for `Float`."""

    def _checked(self, name: str, value: Any) -> int:
        number = super()._checked(name, value)
        if number != int(number):
            raise SpaceError(f"{name} of an Int must be a whole number, but got {value!r}")
        whole = int(value) if isinstance(value, Integral) else int(number)  # 2^53 + 1 as a float is 2^53
        if abs(whole) > _LARGEST_INT:
            raise SpaceError(f"{name} of an Int must be within ±2^53, but got {value!r}")
        return int(number)

    @property
    def size(self) -> float:
        return 1.0 + (self.high - self.low) // (self.step or 1)

    @property
    def _distance(self) -> float:
        return self.step or 1

    @property
    def _by_log(self) -> bool:
        return self.log

    def native(self, value: float) -> int:
        return int(value)

    def _on_grid(self, v: Array) -> Array:
        if self.step is None:
            return np.rint(v)
        return np.asarray(self.low + np.rint((v - self.low) / self.step) * self.step)

    def admit(self, v: Array) -> tuple[Array, Mask]:
        v, outside = super().admit(v)
        return np.rint(v), outside | (np.abs(v - np.rint(v)) > 1e-6)

    def describe(self) -> str:
        notes = (" log" if self.log else "") + (f" step {self.step}" if self.step is not None else "")
        return f"{{{self.low}, …, {self.high}}}{notes}"


def _rounded(v: Array, finest: float) -> Array:
    """Rounds to 13 significant digits, or to 10^finest where that is coarser. Each result is the double nearest to
    its decimal form."""
    out = v + 0.0  # a copy without −0
    nonzero = (v != 0) & np.isfinite(v)
    exponent = np.floor(np.log10(np.abs(v, where=nonzero, out=np.ones_like(v))))
    places = _DIGITS - 1 - np.maximum(exponent, finest + _DIGITS - 1)
    exact = nonzero & (np.abs(places) <= 22)  # powers of ten up to 10^22 are exact doubles
    up, down = exact & (places >= 0), exact & (places < 0)
    out[up] = np.rint(v[up] * 10.0 ** places[up]) / 10.0 ** places[up]
    out[down] = np.rint(v[down] / 10.0 ** -places[down]) * 10.0 ** -places[down]
    for i in np.flatnonzero(nonzero & ~exact):
        out[i] = float(f"{v[i]:.{_DIGITS - 1}e}")
    return out + 0.0
