"""Quantile functions of past tasks: what a gain in scores is worth."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.transfer import quantiles as module
from headstart.transfer.quantiles import EVEN, KNOTS, Quantiles
from headstart.transfer.ranks import normal_scores

LOSSES = np.random.default_rng(0).lognormal(size=101)
NEEDLE = np.append([0.0, 0.02], np.linspace(0.9, 1.0, 98))  # two configurations are far ahead of the rest
PLATEAU = np.append(np.linspace(0.0, 0.01, 60), np.linspace(0.5, 1.0, 40))  # the better half hardly differs


def own(losses: np.ndarray) -> np.ndarray:
    """The task's own slopes, without the even part."""
    return (Quantiles.of([losses]).slopes[0] - (1 - module.BLEND) * EVEN) / module.BLEND


def test_losses_that_are_linear_in_the_scores_have_one_slope() -> None:
    """By hand: 1 over the scores between the best loss and the reference."""
    scores = np.sort(normal_scores(np.arange(101.0)))
    best, reference = scores[0], scores[90]
    inside = (KNOTS[:-1] > best) & (KNOTS[1:] < reference)
    assert np.allclose(own(7.0 * scores - 3.0)[inside], 1 / (reference - best))
    assert np.allclose(own(7.0 * scores - 3.0)[KNOTS[:-1] > reference], 0.0)


def test_the_function_is_the_interpolation_of_the_scaled_losses() -> None:
    """At the knots within the task's scores, up to a constant, and linear between them."""
    low, high = LOSSES.min(), np.sort(LOSSES)[90]
    scaled = np.clip((np.sort(LOSSES) - low) / (high - low), 0, 1)
    scores = np.sort(normal_scores(LOSSES))
    inside = np.array([knot for knot in KNOTS if scores[0] < knot < scores[-1]])
    expected = module.BLEND * np.interp(inside, scores, scaled) + (1 - module.BLEND) * EVEN * inside
    found = Quantiles.of([LOSSES]).at(inside[:, None])[:, 0]
    assert np.allclose(np.diff(found), np.diff(expected))
    middle = 0.5 * (inside[1:] + inside[:-1])
    assert np.allclose(Quantiles.of([LOSSES]).at(middle[:, None])[:, 0], 0.5 * (found[1:] + found[:-1]))


@pytest.mark.parametrize("change", [lambda y: 1e9 * y + 3.0, lambda y: 1e-9 * y, lambda y: 1e280 * y])
def test_the_scale_of_the_losses_does_not_matter(change) -> None:
    assert np.allclose(own(change(LOSSES)), own(LOSSES), atol=1e-5)


def test_diverged_and_failed_trials_do_not_flatten_the_rest() -> None:
    worst = np.argsort(LOSSES)[-8:]
    for bad in (1e30, 1e308, np.inf, np.nan):
        spoiled = LOSSES.copy()
        spoiled[worst] = bad
        below = KNOTS[1:] < np.sort(normal_scores(LOSSES))[90]
        assert np.allclose(own(spoiled)[below], own(LOSSES)[below])


@pytest.mark.parametrize(
    "losses", [np.full(20, 3.0), np.full(5, np.nan), np.array([1.0]), np.array([1.0, np.nan])], ids=str
)
def test_a_task_that_says_nothing_has_an_even_slope(losses: np.ndarray) -> None:
    assert np.allclose(Quantiles.of([losses]).slopes, EVEN)


def test_slopes_are_positive_and_finite_for_any_losses() -> None:
    rng = np.random.default_rng(1)
    for losses in (LOSSES, NEEDLE, PLATEAU, np.array([-1e308, 0.0, 1e308]), rng.standard_cauchy(50) * 1e200):
        slopes = Quantiles.of([losses]).slopes
        assert np.isfinite(slopes).all()
        assert (slopes > 0).all()


def test_more_is_at_stake_where_few_configurations_are_far_ahead() -> None:
    """From an average configuration on, there is much to gain with a needle and little on a plateau."""
    needle, plateau = Quantiles.of([NEEDLE, PLATEAU]).per_score(np.array([-1.0, -1.0]))
    assert needle > 2 * plateau


def test_what_a_gain_is_worth_is_the_mean_slope_below_the_best() -> None:
    quantiles, best = Quantiles.of([LOSSES, NEEDLE]), np.array([0.3, -1.7])
    fine = np.linspace(best - module.REACH, best, 20001)
    numeric = np.diff(quantiles.at(fine), axis=0).sum(axis=0) / module.REACH
    assert np.allclose(quantiles.per_score(best), numeric)
    assert np.array_equal(quantiles.only(np.array([1])).per_score(best[1:]), quantiles.per_score(best)[1:])
