"""The rule for stopping runs early: what it learns, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart._support.types import Array
from headstart.history import build
from headstart.history.curves import Curves
from headstart.transfer.drawn import GRID, Runs, best_of, drawn, features, first_features, held, ranks
from headstart.transfer.stopping import Stopping, learn_stopping

SPACE = hs.Space({"x": hs.Float(0.0, 1.0)})
STEPS = np.arange(20)


def curve(x: float, level: float, scale: float, noise: Array | float = 0.0) -> Array:
    """Falls from level + scale towards level + scale · x: the smaller x, the better from early on."""
    return np.asarray(level + scale * (x + (1 - x) * np.exp(-STEPS / 4.0)) + noise)


def past(tasks: int = 6, runs: int = 20) -> hs.History:
    rng = np.random.default_rng(4)
    names, V, reports = [], [], []
    for t in range(tasks):
        for x in rng.random(runs):
            names.append(f"task{t}")
            V.append([x])
            losses = curve(float(x), level=t, scale=10.0**t, noise=0.01 * 10.0**t * rng.normal(size=len(STEPS)))
            reports.append(dict(zip(STEPS.tolist(), losses.tolist(), strict=True)))
    made = Curves.of(names, np.array(V), [True] * len(names), reports)
    losses = np.array([list(report.values())[-1] for report in reports])
    from dataclasses import replace

    return replace(build(SPACE, tasks=names, V=np.array(V), losses=losses), curves=made)


@pytest.fixture(scope="module")
def rule() -> Stopping:
    found = learn_stopping(past(), 0.1, rng=np.random.default_rng(0))
    assert found is not None
    return found


def until(step: int, x: float, scale: float = 50.0) -> tuple[Array, Array]:
    return STEPS[: step + 1], curve(x, level=3.0, scale=scale)[: step + 1]


def test_lowest_and_latest_loss_at_each_point_with_gaps_filled() -> None:
    runs = Runs.of([(np.array([0, 10, 100]), np.array([5.0, 3.0, 4.0]))])
    assert runs.M.shape == runs.V.shape == (1, len(GRID) + 2)
    assert runs.M[0, 0] == 5.0
    assert runs.M[0, 1 + GRID.tolist().index(0.1)] == 3.0
    assert (runs.M[0, -1], runs.V[0, -1], runs.final[0]) == (3.0, 4.0, 4.0)


def test_features_do_not_depend_on_units() -> None:
    def seen(factor: float, shift: float) -> Array:
        runs = Runs.of([(STEPS, factor * curve(x, 0.0, 1.0) + shift) for x in (0.5, 0.1)])
        return features(runs[[0]], runs[[1]], ranks(runs.M[0], runs.M[[1]])[None], np.array([1]))

    np.testing.assert_allclose(seen(1.0, 0.0), seen(1e6, -5e4), rtol=1e-6, atol=1e-6)


def test_features_of_a_run_without_a_complete_one_before_it_do_not_depend_on_the_scale() -> None:
    def seen(factor: float) -> Array:
        runs = Runs.of([(STEPS, factor * curve(0.3, 0.5, 1.0))])
        return first_features(runs, np.zeros((1, len(GRID)), dtype=np.intp), np.array([0]))

    np.testing.assert_allclose(seen(1.0), seen(1e-9), rtol=1e-9)


def test_ranks_count_the_runs_that_were_better() -> None:
    M = np.tile([[3.0], [1.0], [2.0]], len(GRID) + 2)
    np.testing.assert_array_equal(ranks(M[0], M[1:]), np.full(len(GRID), 2))
    np.testing.assert_array_equal(ranks(M[1], M[[0, 2]]), np.zeros(len(GRID)))


def test_held_runs_keep_what_they_had_reached() -> None:
    M = np.array([np.linspace(10 + i, i, len(GRID) + 2) for i in range(8)])
    reached, complete = held(M, np.full(len(GRID), 0.4))
    assert complete.tolist() == [True] * 4 + [False] * 4
    np.testing.assert_array_equal(reached[:4], M[:4])
    np.testing.assert_array_equal(reached[4:, 1:], np.repeat(M[4:, [1]], len(GRID) + 1, axis=1))
    assert held(M, np.full(len(GRID), np.inf))[1].all()


def test_how_often_a_run_is_the_best_of_a_study() -> None:
    weight = best_of(np.array([3.0, 2.0, 5.0, 1.0]), shortest=2)
    log = np.log
    np.testing.assert_allclose(weight, [0, log(4 / 2) / log(5 / 2), 0, log(5 / 4) / log(5 / 2)])
    np.testing.assert_array_equal(best_of(np.array([3.0, 2.0]), shortest=20), [0, 1])


def test_drawn_studies_are_weighted_alike() -> None:
    rng = np.random.default_rng(0)
    task = Runs.of([(STEPS, curve(float(x), 0.0, 1.0)) for x in rng.random(30)])
    later, first = drawn(task, 40, rng)
    assert later.X.shape == (3 * 29, len(GRID), 8)
    assert first.X.shape[1:] == (len(GRID), 6)
    assert later.weight.sum() + first.weight[first.opens].sum() == pytest.approx(3)
    assert first.weight.sum() == pytest.approx(3)


def test_hopeless_runs_are_stopped_and_promising_ones_are_not(rule: Stopping) -> None:
    best = until(19, 0.2)

    def stopped_at(x: float) -> int | None:
        return next((step for step in range(1, 19) if rule.stops(*until(step, x), best)), None)

    assert (stopped_at(0.95) or 99) < 10
    assert stopped_at(0.05) is None


def test_the_first_run_is_judged_by_what_past_runs_reported(rule: Stopping) -> None:
    assert any(rule.stops(*until(step, 0.99), None) for step in range(1, 19))
    assert not any(rule.stops(*until(step, 0.01), None) for step in range(1, 19))


def test_the_leader_of_many_is_kept_while_none_is_complete(rule: Stopping) -> None:
    worse = [until(2, 0.995 + i / 1000) for i in range(4)]
    assert not any(rule.stops(*until(step, 0.99), None, worse) for step in range(1, 19))
    better = [until(19, 0.5 + i / 10) for i in range(4)]
    assert any(rule.stops(*until(step, 0.99), None, better) for step in range(1, 19))


def test_a_run_is_judged_once_at_each_point_of_the_grid(rule: Stopping) -> None:
    best = (np.arange(1000), np.linspace(10.0, 0.0, 1000))
    judged = [s for s in range(2, 1000) if rule.stops(np.arange(s), np.full(s, 10.0), best)]
    assert 0 < len(judged) <= len(GRID)
    assert not rule.stops(np.array([0]), np.array([10.0]), best)


def test_the_best_run_is_stopped_no_more_often_than_stated(rule: Stopping) -> None:
    evidence = rule.evidence
    assert evidence.tasks == [f"task{t}" for t in range(6)]
    assert evidence.wrong.mean() <= 0.15  # thresholds come from the other tasks, so the rate holds only about
    assert evidence.steps.mean() < 0.7
    assert "each left out in turn" in str(evidence)
    assert list(evidence.table) == ["task", "wrong", "steps"]


def test_a_higher_rate_stops_more(rule: Stopping) -> None:
    bold = learn_stopping(past(), 0.4, rng=np.random.default_rng(0))
    assert bold is not None
    assert bold.thresholds[0] > rule.thresholds[0]
    assert bold.evidence.steps.mean() < rule.evidence.steps.mean()


def test_the_same_seed_learns_the_same_rule(rule: Stopping) -> None:
    again = learn_stopping(past(), 0.1, rng=np.random.default_rng(0))
    assert again is not None
    assert again.thresholds == rule.thresholds
    np.testing.assert_array_equal(again.evidence.wrong, rule.evidence.wrong)


def test_too_few_curves_teach_nothing() -> None:
    for history in (past(tasks=2), past(runs=3), build(SPACE, tasks=["a"], V=np.zeros((1, 1)), losses=np.ones(1))):
        assert learn_stopping(history, 0.1, rng=np.random.default_rng(0)) is None


def test_curves_of_different_lengths() -> None:
    runs = Runs.of([(np.array([0, 4]), np.array([2.0, 1.0])), (np.array([0, 1]), np.array([3.0, 2.5]))])
    assert runs.M[:, -1].tolist() == [1.0, 2.5]
    assert runs.final.tolist() == [1.0, 2.5]
