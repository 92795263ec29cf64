"""Maximising the acquisition function: which configuration the surrogate proposes next.

Over a list of candidates the maximum is exact. Over a space, the search begins at points spread over the whole space
and at points near the best trials. The most promising ones are improved by quasi-Newton steps on their numbers and by
changing one choice or whole number at a time. Only valid configurations are compared.

Trials that are chosen at the same time take the first, the second … of several: each expects of those before it what
the posterior predicts for them.
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from headstart._support.rounding import best_first
from headstart._support.types import Array, Mask
from headstart.search.climbing import climb
from headstart.space import Categorical, Space
from headstart.space.quasirandom import halton
from headstart.space.reconciliation import defaults_of
from headstart.space.rows import among, unrepeated
from headstart.strategies.base import LISTABLE, Told, anywhere
from headstart.strategies.candidates import Candidates
from headstart.surrogates.base import Acquisition, Posterior

# Sizes of the search. `benchmarks/speed.py` shows their cost and `benchmarks/cold_search.py` their worth; they were not
# swept one by one.
SPREAD = 512  # points spread over the space
NEAR = 64  # points near each of the best trials
BEST = 3  # how many of the best trials
CLIMBERS = 4  # points of each kind that are improved
CLOSE = 0.05  # points with a smaller root mean square difference count as one
ROUNDS = 2  # rounds of steps on the numbers and changes of the rest
WIDTHS = (-3.0, -0.5)  # decimal logarithms of the smallest and largest jitter near a trial
JITTERED = 0.5  # share of the numbers that are jittered
MOST_CHOICES = 256  # of a parameter that are compared with the present one; each costs a row as wide as their number
POOL = 32  # points of each kind from which the second and later of several are chosen


def best_candidate(posterior: Posterior, candidates: Candidates, told: Told, acquisition: Acquisition) -> Array | None:
    """The untried candidate with the highest acquisition (the first of equals); None if all have been tried."""
    return _first(several_candidates(posterior, candidates, told, acquisition, 1))


def several_candidates(
    posterior: Posterior, candidates: Candidates, told: Told, acquisition: Acquisition, n: int
) -> Array:
    """At most n untried candidates, the best first."""
    free = np.flatnonzero(~among(candidates.V, told.gone))
    if not len(free):
        return candidates.V[:0]
    score = posterior.score(candidates.Z, acquisition)[free]
    best = free[best_first(score)[: 1 if n == 1 else n + POOL]]
    return np.asarray(candidates.V[best[_believing(posterior, candidates.Z[best], acquisition, n)]])


def best_in_space(
    posterior: Posterior, space: Space, told: Told, acquisition: Acquisition, *, rng: np.random.Generator
) -> Array | None:
    """The best untried configuration that was found; None if all have been tried."""
    return _first(several_in_space(posterior, space, told, acquisition, 1, rng=rng))


def several_in_space(
    posterior: Posterior, space: Space, told: Told, acquisition: Acquisition, n: int, *, rng: np.random.Generator
) -> Array:
    """At most n untried configurations, the best first."""
    if space.size <= LISTABLE:
        return several_candidates(posterior, Candidates(space, space.grid()), told, acquisition, n)

    def ranked(*rows: Array) -> Array:
        V = unrepeated(np.vstack(rows))
        V = V[~among(V, told.gone)]
        score = posterior.score(space.encode_values(V), acquisition) if len(V) else np.empty(0)
        return np.asarray(V[best_first(score)])

    far = ranked(space.from_cube(halton(SPREAD, len(space), rng=rng)))
    near = ranked(around(space, _best(told), rng=rng))
    top = ranked(apart(space, far), apart(space, near))
    for _ in range(ROUNDS):
        moved = _climbed(posterior, space, top, acquisition)
        top = ranked(moved, top, neighbours(space, top[:1]), neighbours(space, moved[:1]))[:CLIMBERS]
    if not len(top):  # nearly all of a finite space has been tried
        rest = anywhere(space, int(rng.integers(2**32)))
        top = np.array(list(islice((v for v in rest if v not in told), 1))).reshape(-1, len(space))
    if n == 1:
        return top[:1]
    top = unrepeated(np.vstack([top, far[:POOL], near[:POOL]]))
    return np.asarray(top[_believing(posterior, space.encode_values(top), acquisition, n)])


def _believing(posterior: Posterior, Z: Array, acquisition: Acquisition, n: int) -> list[int]:
    """Positions of at most n rows of Z: the first, then the best in turn if all before it turn out as expected."""
    chosen = [0][: len(Z)]
    left = np.arange(len(Z)) > 0
    while len(chosen) < n and left.any():
        z = Z[chosen[-1]]
        posterior = posterior.extend(z, float(posterior.predict(z[None])[0][0]))
        chosen.append(next(int(i) for i in best_first(posterior.score(Z, acquisition)) if left[i]))
        left[chosen[-1]] = False
    return chosen


def _first(V: Array) -> Array | None:
    return np.asarray(V[0]) if len(V) else None


def apart(space: Space, V: Array) -> Array:
    """The first few rows of V that are not close to each other, so that they climb different hills."""
    Z = space.encode_values(V)
    left = np.ones(len(V), dtype=bool)
    chosen: list[int] = []
    while left.any() and len(chosen) < CLIMBERS:
        chosen.append(int(left.argmax()))
        left &= ((Z - Z[chosen[-1]]) ** 2).mean(axis=1) > CLOSE**2
    return np.asarray(V[chosen])


def _best(told: Told) -> Array:
    known = told.known
    return np.asarray(known.V[np.argsort(known.losses, kind="stable")[:BEST]])


# -- numbers ---------------------------------------------------------------------------------------------


def around(space: Space, V: Array, *, rng: np.random.Generator) -> Array:
    """NEAR copies of each row with about half of the numbers jittered, at scales from coarse to fine."""
    Z = np.repeat(space.encode_values(V), NEAR, axis=0)
    movable = np.repeat(_movable(space, V), NEAR, axis=0) & (rng.random(Z.shape) < JITTERED)
    scale = 10.0 ** rng.uniform(*WIDTHS, (len(Z), 1))
    return space.decode_values(np.clip(Z + movable * scale * rng.normal(size=Z.shape), 0.0, 1.0))


def _movable(space: Space, V: Array) -> Mask:
    """Which entries of the encoding are active numbers, for each row of V."""
    mask = np.zeros((len(V), space.width), dtype=bool)
    for j, name in enumerate(space):
        if not isinstance(space[name], Categorical):
            mask[:, space.columns(name).start] = ~np.isnan(V[:, j])
    return mask


def _climbed(posterior: Posterior, space: Space, V: Array, acquisition: Acquisition) -> Array:
    """The rows with their active numbers moved uphill, if the posterior has gradients. Choices stay."""
    movable = _movable(space, V)
    if not movable.any():
        return V
    top = climb(lambda at: posterior.climb(at, acquisition), space.encode_values(V), movable)
    return V if top is None else space.decode_values(top)


# -- choices and whole numbers ---------------------------------------------------------------------------


def neighbours(space: Space, V: Array) -> Array:
    """All rows that differ from a row of V in one choice, or by one step in a number that has steps.

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
        every = max(1, parameter.width // MOST_CHOICES)  # of very many choices some, at equal distances from this one
        return sorted((value + k) % parameter.width for k in range(every, parameter.width, every))
    if not math.isfinite(parameter.size):
        return []
    step = parameter.step or 1.0
    moved = parameter.snap(np.array([value - step, value + step]))
    return [float(other) for other in moved if other != value]


def completed(space: Space, V: Array) -> Array:
    """Valid rows after a change: inactive parameters are removed, newly active ones take the middle of their range."""
    V, defaults = V.copy(), defaults_of(space)
    for name in space.parents_first:
        j, active = space.names.index(name), space.active(V, name)
        V[:, j] = np.where(active, np.where(np.isnan(V[:, j]), defaults[name], V[:, j]), np.nan)
    return V
