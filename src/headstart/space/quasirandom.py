"""Points that fill the unit cube more evenly than random ones: the Halton sequence with scrambled digits.

The i-th coordinate of point k is k written in the i-th prime base, with its digits permuted at random and mirrored
behind the radix point (Owen 2017, "A randomized Halton algorithm in R"). Any first n points are evenly spread. SciPy
offers the same sequence, but takes half a second to load.
"""

from __future__ import annotations

import math

import numpy as np

from headstart._support.types import Array


def halton(n: int, d: int, *, rng: np.random.Generator) -> Array:
    """The first n points of a scrambled sequence in [0, 1)^d: (n, d)."""
    points = np.zeros((n, d))
    for j, base in enumerate(primes(d)):
        k, weight = np.arange(n), 1.0 / base
        while k.any():
            k, digit = np.divmod(k, base)
            points[:, j] += rng.permutation(base)[digit] * weight
            weight /= base
        points[:, j] += weight * base * rng.random(n)  # stands for all further digits
    return points


def primes(n: int) -> list[int]:
    """The first n prime numbers."""
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        if all(candidate % p for p in found if p <= math.isqrt(candidate)):
            found.append(candidate)
        candidate += 1
    return found
