"""Local maxima in the unit cube, uphill from many points at once.

Quasi-Newton steps (BFGS), projected onto the cube. A step that does not rise enough (Armijo) is shortened in the next
round, so each round costs one call of the function for all points together.

| symbol | name     | shape     | meaning                                              |
| ------ | -------- | --------- | ---------------------------------------------------- |
| x      | `x`      | (m, d)    | the points                                           |
| g      | `slope`  | (m, d)    | gradients there                                      |
| H      | `H`      | (m, d, d) | of each point, the inverse of the curvature          |
| s, y   | `s`, `y` | (m, d)    | a step, and the change of the downhill slope along it |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from headstart._support.rounding import settled
from headstart._support.types import Array, Mask, Rows

# Usual values for line searches (ENOUGH is that of Nocedal and Wright, section 3.1); the others are guesses.
STEPS = 30
LONGEST = 0.5  # largest change of a coordinate in a step
FIRST = 0.05  # the same while the curvature is unknown
SHORTER = 0.25  # factor for a step that did not rise enough
ENOUGH = 1e-4  # share of the rise predicted by the slope that a step must reach
STILL = 1e-7  # the climb ends when all steps or rises are smaller
FINE, ROUGH = 36, 20  # binary places of values and slopes; rounding errors grow where the posterior is nearly certain
WIDE = 256  # coordinates beyond which those that never move are left out, since H grows with their square


Scored: TypeAlias = Callable[[Array], tuple[Array, Array] | None]
"""From m points to their values (m,) and gradients (m, d); None if there are no gradients."""


def climb(scored: Scored, Z: Array, movable: Mask, steps: int = STEPS) -> Array | None:
    """Local maxima near the rows of Z (m, d), within [0, 1]; None if there are no gradients to follow.

    movable (m, d): the coordinates that may change.
    """
    columns = np.flatnonzero(movable.any(axis=0))
    if Z.shape[1] > max(WIDE, len(columns)):
        top = climb(_within(scored, Z, columns), Z[:, columns], movable[:, columns], steps)
        return None if top is None else _put(Z, columns, top)
    x = Z.copy()
    if (found := _rounded(scored(x))) is None:
        return None
    value, slope = found
    m, d = x.shape
    H = np.repeat(np.eye(d)[None], m, axis=0)
    known = np.zeros(m, dtype=bool)  # whether H has seen any curvature
    length = np.ones(m)
    for _ in range(steps):
        step = _direction(x, slope, H, known, movable)
        there = np.clip(x + length[:, None] * step, 0.0, 1.0)
        moved = there - x
        rise = np.einsum("ij,ij->i", slope, moved)
        if np.abs(moved).max() < STILL or rise.max() < STILL:
            break
        if (found := _rounded(scored(there))) is None:
            return None
        new_value, new_slope = found
        good = np.isfinite(new_value) & (new_value >= value + ENOUGH * rise) & (rise > 0)
        H, known = _curved(H, known, moved, slope - new_slope, good)
        x[good], value[good], slope[good] = there[good], new_value[good], new_slope[good]
        length = np.where(good, 1.0, SHORTER * length)
    return np.where(movable, settled(x), x)


def _rounded(found: tuple[Array, Array] | None) -> tuple[Array, Array] | None:
    return None if found is None else (settled(found[0], FINE), settled(found[1], ROUGH))


def _within(scored: Scored, Z: Array, columns: Rows) -> Scored:
    """The same function of some columns of Z; the others stay as they are."""

    def of_columns(x: Array) -> tuple[Array, Array] | None:
        found = scored(_put(Z, columns, x))
        return None if found is None else (found[0], found[1][:, columns])

    return of_columns


def _put(Z: Array, columns: Rows, x: Array) -> Array:
    Z = Z.copy()
    Z[:, columns] = x
    return Z


def _direction(x: Array, slope: Array, H: Array, known: Mask, movable: Mask) -> Array:
    """H g without the coordinates that are held by a bound; the gradient itself where that does not lead uphill."""
    free = movable & ~((x <= 0.0) & (slope < 0)) & ~((x >= 1.0) & (slope > 0))
    uphill = np.where(free, slope, 0.0)
    step = np.where(free, np.einsum("ijk,ik->ij", H, uphill), 0.0)
    lost = np.einsum("ij,ij->i", step, slope) <= 0
    step[lost] = uphill[lost]
    size = np.abs(step).max(axis=1)
    limit = np.where(known & ~lost, LONGEST, FIRST)
    return np.asarray(step * np.minimum(1.0, limit / np.maximum(size, 1e-300))[:, None])


def _curved(H: Array, known: Mask, s: Array, y: Array, good: Mask) -> tuple[Array, Mask]:
    """BFGS: the inverse curvatures H (m, d, d) after steps s that changed the downhill slopes by y.

    H ← (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ with ρ = 1 / sᵀy, where the curvature sᵀy is positive; the first
    time, H = I is scaled by sᵀy / yᵀy beforehand.
    """
    sy, yy = np.einsum("ij,ij->i", s, y), np.einsum("ij,ij->i", y, y)
    use = good & np.isfinite(sy) & (sy > 1e-12 * np.sqrt(yy * np.einsum("ij,ij->i", s, s)) + 1e-300)
    if not use.any():
        return H, known
    first = use & ~known
    H = H.copy()
    H[first] *= (sy[first] / yy[first])[:, None, None]
    rho, s, y = 1.0 / sy[use], s[use], y[use]
    Hy = np.einsum("ijk,ik->ij", H[use], y)
    factor = rho * (1.0 + rho * np.einsum("ij,ij->i", y, Hy))
    cross = np.einsum("ij,ik->ijk", Hy, s)
    H[use] += factor[:, None, None] * np.einsum("ij,ik->ijk", s, s)
    H[use] -= rho[:, None, None] * (cross + cross.transpose(0, 2, 1))
    return H, known | use
