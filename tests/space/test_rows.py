"""When two configurations are the same: −0 is 0, and NaN is NaN whatever its bits."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headstart._support.types import Array
from headstart.space.rows import among, distinct, keys, unrepeated
from random_spaces import examples

some = examples(50)

NUMBERS = st.sampled_from([-0.0, 0.0, 1.0, -1.0, 0.1 + 0.2, 0.3, 1e-320, np.inf, -np.inf, np.nan, -np.nan])
SHAPES = st.tuples(st.integers(0, 12), st.integers(1, 3))
MATRICES = hnp.arrays(np.float64, SHAPES, elements=NUMBERS)
FINITE = hnp.arrays(np.float64, SHAPES, elements=NUMBERS.filter(np.isfinite))
NANS = st.one_of(st.integers(1, 2**52 - 1), st.integers(2**63 + 1, 2**63 + 2**52 - 1)).map(
    lambda bits: struct.unpack("<d", struct.pack("<Q", bits | 0x7FF << 52))[0]
)


def written_out(V: Array) -> list[tuple[str, ...]]:
    """Rows as text, which knows one zero and one NaN."""
    return [tuple("nan" if np.isnan(v) else repr(float(v) + 0.0) for v in row) for row in V]


@some
@given(MATRICES)
def test_keys_are_equal_exactly_where_the_rows_are(V: Array) -> None:
    found, expected = keys(V), written_out(V)
    for i in range(len(V)):
        for j in range(len(V)):
            assert (found[i] == found[j]) == (expected[i] == expected[j])


@some
@given(NANS, NANS)
def test_every_bit_pattern_of_nan_is_one_nan(one: float, other: float) -> None:
    V = np.array([[1.0, one], [1.0, other], [1.0, np.nan]])
    assert np.isnan(V[:, 1]).all()
    assert len(set(keys(V))) == 1
    assert len(distinct(V)[0]) == len(unrepeated(V)) == 1
    assert among(V[:1], V[1:2]).all()


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
def test_minus_zero_is_zero(zeros: tuple[float, float]) -> None:
    V = np.array(zeros)[:, None]
    assert len(set(keys(V))) == 1
    assert distinct(V)[1].tolist() == [0, 0]
    assert len(unrepeated(V)) == 1


@some
@given(MATRICES)
def test_distinct_rows_give_the_matrix_back(V: Array) -> None:
    rows, which = distinct(V)
    np.testing.assert_array_equal(rows[which], V)
    assert len(set(keys(rows))) == len(rows)
    assert sorted(set(which.tolist())) == list(range(len(rows)))


@some
@given(FINITE)
def test_distinct_is_numpys_unique_on_finite_numbers(V: Array) -> None:
    rows, which = distinct(V)
    expected, places = np.unique(V + 0.0, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(which, places.reshape(-1))


@some
@given(MATRICES)
def test_unrepeated_keeps_the_order_of_first_occurrence(V: Array) -> None:
    seen: list[int] = []
    expected = written_out(V)
    for i in range(len(V)):
        if expected[i] not in [expected[j] for j in seen]:
            seen.append(i)
    np.testing.assert_array_equal(unrepeated(V), V[seen])


@some
@given(MATRICES, st.integers(0, 12))
def test_among_finds_the_rows_of_the_other_matrix(V: Array, at: int) -> None:
    others = V[:at]
    expected = written_out(others)
    assert among(V, others).tolist() == [row in expected for row in written_out(V)]
    assert among(others, V).all()


def test_an_empty_matrix_has_no_rows() -> None:
    nothing = np.empty((0, 3))
    assert keys(nothing) == []
    rows, which = distinct(nothing)
    assert rows.shape == (0, 3)
    assert which.shape == (0,)
    assert unrepeated(nothing).shape == (0, 3)
    assert among(nothing, np.ones((2, 3))).shape == (0,)
    assert among(np.ones((2, 3)), nothing).tolist() == [False, False]
