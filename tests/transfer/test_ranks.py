"""The formulas against their definitions and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.transfer.ranks import concordance, discordant_share, ordered_pairs, precision_at, precisions_at


def test_precision_counts_common_neighbours():
    true, guess = [0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.2, 0.3]
    assert precision_at(2, true, guess) == 0.5
    assert precision_at(4, true, guess) == 1.0
    with pytest.raises(ValueError, match="between 1 and the number of data sets, 4"):
        precision_at(5, true, guess)


def brute_force(f, g):
    """Eq. 4 of the paper as it stands."""
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


def test_concordance_is_the_share_of_pairs_in_the_same_order():
    F = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(concordance(F, np.array([5.0, 6.0, 9.0])), [1.0, 0.0])
    np.testing.assert_allclose(concordance(F, np.array([1.0, 3.0, 2.0])), [2 / 3, 1 / 3])


def test_precisions_of_many_predictions_are_those_of_each():
    rng = np.random.default_rng(0)
    true, predicted = rng.random(9), rng.integers(4, size=(20, 9)).astype(float)  # with ties
    expected = [precision_at(4, true, one) for one in predicted]
    np.testing.assert_allclose(precisions_at(4, true, predicted), expected)
