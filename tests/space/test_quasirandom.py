"""The scrambled Halton sequence."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.space.quasirandom import halton, primes


def test_primes() -> None:
    assert primes(0) == []
    assert primes(10) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_points_of_every_base_are_one_per_interval(seed: int) -> None:
    for j, base in enumerate(primes(4)):
        for power in (1, 2):
            n = base**power
            column = halton(n, 4, rng=np.random.default_rng(seed))[:, j]
            assert sorted(np.floor(column * n).astype(int).tolist()) == list(range(n))


def test_points_lie_in_the_cube_and_repeat_with_the_seed() -> None:
    points = halton(500, 6, rng=np.random.default_rng(0))
    assert points.shape == (500, 6)
    assert points.min() >= 0
    assert points.max() < 1
    np.testing.assert_array_equal(points, halton(500, 6, rng=np.random.default_rng(0)))
    assert not np.array_equal(points, halton(500, 6, rng=np.random.default_rng(1)))


def test_no_points() -> None:
    assert halton(0, 3, rng=np.random.default_rng(0)).shape == (0, 3)
