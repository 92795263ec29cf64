"""The next configuration: where a posterior's acquisition is greatest.

Over a list of candidates the maximum is exact. Over a space it is sought from many starts: points all over
the space and the surroundings of the best trials. The most promising ones are improved by quasi-Newton steps
on their numbers and by changing one choice or whole number at a time, always judged on valid configurations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt

from headstart.parameters import Array, Categorical, Mask
from headstart.quasirandom import halton
from headstart.space import Space
from headstart.strategies.base import Told, anywhere
from headstart.surrogates.base import Acquisition, Climbable, Posterior

SPREAD = 512  # starts all over the space
NEAR = 64  # starts around each of the best trials
BEST = 3  # trials whose surroundings are searched
CLIMBERS = 4  # starts of either kind that are improved
CLOSE = 0.05  # root mean square difference below which two starts count as one
ROUNDS = 2  # of steps on the numbers and changes of the rest
STEPS = 30  # on the numbers, in each round
LISTABLE = 2 * SPREAD  # spaces up to this size are searched completely


def best_candidate(posterior: Posterior, pool: Array, Z: Array, told: Told, acquisition: Acquisition) -> Array | None:
    """The untried candidate with the greatest acquisition (the first of equals), or None."""
    free = ~tried(pool, told)
    if not free.any():
        return None
    score = np.where(free, posterior.score(Z, acquisition), -math.inf)
    return np.asarray(pool[int(np.argmax(score))])


def best_in_space(
    posterior: Posterior, space: Space, told: Told, acquisition: Acquisition, *, rng: np.random.Generator
) -> Array | None:
    """The untried configuration with the greatest acquisition that was found, or None if all were tried."""
    if space.size <= LISTABLE:
        grid = space.grid()
        return best_candidate(posterior, grid, space.encode_values(grid), told, acquisition)

    def ranked(*rows: Array) -> Array:
        V = _untried(np.vstack(rows), told)
        score = posterior.score(space.encode_values(V), acquisition) if len(V) else np.empty(0)
        return np.asarray(V[np.argsort(-score, kind="stable")])

    far = ranked(space.from_cube(halton(SPREAD, len(space), rng=rng)))
    near = ranked(around(space, _best(told), rng=rng))
    top = ranked(apart(space, far), apart(space, near))
    for _ in range(ROUNDS):
        moved = _climbed(posterior, space, top, acquisition)
        top = ranked(top, moved, neighbours(space, top[:1]), neighbours(space, moved[:1]))[:CLIMBERS]
    if len(top):
        return np.asarray(top[0])
    rest = anywhere(space, int(rng.integers(2**32)))  # a finite space that is nearly used up
    return next((v for v in rest if v not in told), None)


def apart(space: Space, V: Array) -> Array:
    """The first few rows of V that are not close to each other, so that they climb different hills."""
    Z = space.encode_values(V)
    left = np.ones(len(V), dtype=bool)
    chosen: list[int] = []
    while left.any() and len(chosen) < CLIMBERS:
        chosen.append(int(left.argmax()))
        left &= ((Z - Z[chosen[-1]]) ** 2).mean(axis=1) > CLOSE**2
    return np.asarray(V[chosen])


def tried(V: Array, told: Told) -> Mask:
    """Which rows of V have been told or are running."""
    known = set(_keys(told.V))
    return np.array([key in known for key in _keys(V)], dtype=bool)


def distinct(V: Array) -> Array:
    """Each different row of V where it comes first."""
    return np.asarray(V[sorted({key: i for i, key in reversed(list(enumerate(_keys(V))))}.values())])


def _untried(V: Array, told: Told) -> Array:
    """The distinct rows of V that have not been tried."""
    known = set(_keys(told.V))
    first = {key: i for i, key in reversed(list(enumerate(_keys(V)))) if key not in known}
    return np.asarray(V[sorted(first.values())])


def _keys(V: Array) -> list[bytes]:
    """Equal rows have equal keys: −0 is 0, and every NaN the same."""
    V = np.where(np.isnan(V), np.nan, V) + 0.0
    return [row.tobytes() for row in V]


def _best(told: Told) -> Array:
    known = told.known
    return np.asarray(known.V[np.argsort(known.losses, kind="stable")[:BEST]])


# -- numbers ---------------------------------------------------------------------------------------------


def around(space: Space, V: Array, *, rng: np.random.Generator) -> Array:
    """Each row NEAR times with about half of its numbers jittered, at scales from coarse to fine."""
    Z = np.repeat(space.encode_values(V), NEAR, axis=0)
    movable = np.repeat(_movable(space, V), NEAR, axis=0) & (rng.random(Z.shape) < 0.5)
    scale = 10.0 ** rng.uniform(-3, -0.5, (len(Z), 1))
    return space.decode_values(np.clip(Z + movable * scale * rng.normal(size=Z.shape), 0.0, 1.0))


def _movable(space: Space, V: Array) -> Mask:
    """Where the encoding holds the active numbers of each configuration."""
    mask = np.zeros((len(V), space.width), dtype=bool)
    for j, name in enumerate(space):
        if not isinstance(space[name], Categorical):
            mask[:, space.columns(name).start] = ~np.isnan(V[:, j])
    return mask


def _climbed(posterior: Posterior, space: Space, V: Array, acquisition: Acquisition) -> Array:
    """Every row with its active numbers moved uphill, if the posterior has gradients; choices stay."""
    movable = _movable(space, V)
    if not hasattr(posterior, "climb") or not movable.any():
        return V
    climbable = cast(Climbable, posterior)
    return space.decode_values(climb(lambda at: climbable.climb(at, acquisition), space.encode_values(V), movable))


def climb(
    scored: Callable[[Array], tuple[Array, Array]], Z: Array, movable: npt.NDArray[np.bool_], steps: int = STEPS
) -> Array:
    """Local maxima in the unit cube, uphill from all rows of Z at once.

    scored: the values (m,) and gradients (m, d) at m points. Quasi-Newton steps (BFGS) with a projection onto
    the cube; a step that does not rise enough (Armijo) is shortened in the next round, so that every round
    costs one call for all rows.
    """
    x = Z.copy()
    value, slope = scored(x)
    m, d = x.shape
    H = np.repeat(np.eye(d)[None], m, axis=0)  # of each row, the inverse of its curvature
    known = np.zeros(m, dtype=bool)  # whether H has seen any curvature
    length = np.ones(m)
    for _ in range(steps):
        free = movable & ~((x <= 0.0) & (slope < 0)) & ~((x >= 1.0) & (slope > 0))
        uphill = np.where(free, slope, 0.0)
        step = np.where(free, np.einsum("ijk,ik->ij", H, uphill), 0.0)
        lost = np.einsum("ij,ij->i", step, slope) <= 0
        step[lost] = uphill[lost]
        size = np.abs(step).max(axis=1)
        limit = np.where(known & ~lost, 0.5, 0.05)
        step *= (length * np.minimum(1.0, limit / np.maximum(size, 1e-300)))[:, None]
        there = np.clip(x + step, 0.0, 1.0)
        moved = there - x
        rise = np.einsum("ij,ij->i", slope, moved)
        if np.abs(moved).max() < 1e-7 or rise.max() < 1e-7:
            break
        new_value, new_slope = scored(there)
        good = np.isfinite(new_value) & (new_value >= value + 1e-4 * rise) & (rise > 0)
        H, known = _curved(H, known, moved, slope - new_slope, good)
        x[good], value[good], slope[good] = there[good], new_value[good], new_slope[good]
        length = np.where(good, 1.0, 0.25 * length)
    return x


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


# -- choices and whole numbers ---------------------------------------------------------------------------


def neighbours(space: Space, V: Array) -> Array:
    """Every row with one choice changed, or one number that has steps moved by a step.

    Parameters that become active take the middle of their range.
    """
    rows = []
    for v in V:
        for j, name in enumerate(space):
            if np.isnan(v[j]):
                continue
            for value in _others(space, name, v[j]):
                row = v.copy()
                row[j] = value
                rows.append(row)
    return completed(space, np.array(rows)) if rows else V[:0]


def _others(space: Space, name: str, value: float) -> list[float]:
    parameter = space[name]
    if isinstance(parameter, Categorical):
        return [float(choice) for choice in range(parameter.width) if choice != value]
    if not math.isfinite(parameter.size):
        return []
    step = parameter.step or 1.0
    moved = parameter.snap(np.array([value - step, value + step]))
    return [float(other) for other in moved if other != value]


def completed(space: Space, V: Array) -> Array:
    """Rows made valid after a change: inactive parameters out, newly active ones in the middle."""
    V = V.copy()
    for name in space.parents_first:
        j, parameter = space.names.index(name), space[name]
        active = space.active(V, name)
        middle = 0.0 if isinstance(parameter, Categorical) else parameter.from_unit(np.array([0.5]))[0]
        V[:, j] = np.where(active, np.where(np.isnan(V[:, j]), middle, V[:, j]), np.nan)
    return V
