"""The formulas, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.starts.measures import adtm, average_rank, dtm, scaled_dtm
from headstart.transfer.ranks import discordant_share, ordered_pairs, precision_at


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


def test_precision_counts_common_neighbours():
    true, guess = [0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.2, 0.3]
    assert precision_at(2, true, guess) == 0.5
    assert precision_at(4, true, guess) == 1.0
    with pytest.raises(ValueError, match="between 1 and the number of data sets, 4"):
        precision_at(5, true, guess)


def brute_force(f, g):
    """Eq. 4 of the paper, literally."""
    m = len(f)
    pairs = [(k, j) for k in range(m) for j in range(m) if k != j]
    return sum((f[k] > f[j]) ^ (g[k] > g[j]) for k, j in pairs) / (m * (m - 1))


def test_discordant_share_is_equation_four_with_ties():
    rng = np.random.default_rng(0)
    F = rng.integers(0, 4, size=(9, 5)).astype(float)
    D = discordant_share(F)
    for i in range(5):
        for j in range(5):
            assert D[i, j] == pytest.approx(brute_force(F[:, i], F[:, j]))
    np.testing.assert_allclose(D, D.T)
    assert np.diag(D).max() == 0


def test_discordance_is_one_for_a_reversed_ranking_and_invariant_under_monotone_maps():
    f = np.arange(6.0)[:, None]
    assert discordant_share(f, -f)[0, 0] == 1.0
    assert discordant_share(f, np.exp(f))[0, 0] == 0.0
    assert discordant_share(f[:1], f[:1])[0, 0] == 0.0


def test_ordered_pairs_have_an_entry_for_each_direction():
    np.testing.assert_array_equal(ordered_pairs(np.array([[1.0], [2.0]])), [[0.0], [1.0]])
