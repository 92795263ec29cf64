"""Conditions between parameters, and the number of configurations that they leave."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given

from headstart.space import Categorical, Float, Int, Space
from headstart.space.rows import among, unrepeated
from random_spaces import examples, spaces

some = examples(30)


def test_a_longer_cycle_is_named() -> None:
    chain = {name: Categorical([1], when={parent: 1}) for name, parent in ("ab", "bc", "ca")}
    with pytest.raises(ValueError, match="conditions form a cycle: ") as caught:
        Space(chain)
    named = str(caught.value).split(": ")[1].split(" -> ")
    assert named[0] == named[-1]
    assert set(named) == {"a", "b", "c"}


@some
@given(spaces(finite=True, most=5))
def test_size_is_the_number_of_rows_of_the_grid(space: Space) -> None:
    assume(space.size <= 5000)
    grid = space.grid()
    assert len(grid) == space.size
    assert len(unrepeated(grid)) == len(grid)
    space.checked(grid)
    assert among(space.sample_values(200, rng=np.random.default_rng(0)), grid).all()


def test_sizes_worked_out_by_hand(svm_space: Space) -> None:
    assert svm_space.size == math.inf
    with pytest.raises(ValueError, match="the space has inf configurations"):
        svm_space.grid()
    finite = Space(
        {"k": Categorical(list("abc")), "n": Int(1, 10, when={"k": ["a", "b"]}), "m": Int(1, 4, when={"n": 3})}
    )
    assert finite.size == 1 + 2 * (9 + 4)
    never = Space(
        {
            "k": Categorical(list("ab")),
            "x": Float(0, 1, when={"k": "a", "l": 1}),
            "l": Categorical([1], when={"k": "b"}),
        }
    )
    assert never.size == 2  # x is never active


def test_large_finite_spaces_are_counted_not_listed() -> None:
    wide = {f"p{i}": Categorical([0, 1]) for i in range(40)} | {
        f"c{i}": Int(1, 5, when={f"p{i}": 1}) for i in range(40)
    }
    assert Space(wide).size == 6.0**40
    deep = Space({"n": Int(1, 10**9), "x": Int(1, 3, when={"n": [5, 7]})})
    assert deep.size == 10**9 - 2 + 2 * 3
    with pytest.raises(ValueError, match="at most 1,000,000 can be listed"):
        deep.grid()
