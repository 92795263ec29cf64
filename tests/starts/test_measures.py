"""Distances to the minimum, ranks and the expectation of random search, by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from headstart.starts.measures import adtm, average_rank, dtm, expected_random, scaled_dtm


def test_distance_to_the_minimum_by_hand():
    np.testing.assert_allclose(dtm([0.5, 0.7, 0.2, np.nan], 0.1), [0.4, 0.4, 0.1, 0.1])
    assert dtm([np.nan, 0.3], 0.1)[0] == np.inf


def test_scaled_distance_is_one_before_a_success_and_zero_at_the_best():
    np.testing.assert_allclose(scaled_dtm([np.nan, 3.0, 2.0, 1.0], best=1.0, worst=5.0), [1.0, 0.5, 0.25, 0.0])
    np.testing.assert_allclose(scaled_dtm([2.0, 2.0], best=2.0, worst=2.0), [0.0, 0.0])
    with pytest.raises(ValueError, match="best loss must not exceed"):
        scaled_dtm([1.0], best=2.0, worst=1.0)


def test_adtm_is_the_mean_over_tasks_and_ignores_their_scale():
    a, b = np.array([4.0, 2.0]), np.array([40.0, 20.0]) * 1e6
    curves = [scaled_dtm(a, 1.0, 5.0), scaled_dtm(b, 1e7, 5e7)]
    np.testing.assert_allclose(adtm(curves), curves[0])


def test_average_rank_shares_ties():
    curves = np.array([[[1.0], [0.5]], [[1.0], [0.2]], [[2.0], [0.9]]])  # methods × tasks × trials
    np.testing.assert_allclose(average_rank(curves)[:, 0], [(1.5 + 2) / 2, (1.5 + 1) / 2, 3.0])
    assert average_rank(curves).sum() == pytest.approx(6.0)


def test_the_expectation_of_random_search_is_exact():
    losses = np.array([0.9, 0.0, 0.4, 0.4, 1.0])
    brute = np.mean([np.minimum.accumulate(order) for order in permutations(losses)], axis=0)
    np.testing.assert_allclose(expected_random(losses, 5), brute)
    np.testing.assert_allclose(expected_random(losses, 8)[5:], 0.0)
