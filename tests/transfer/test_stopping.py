"""The rule for stopping runs early: what it learns, and how often it is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import headstart as hs
from headstart._support.types import Array
from headstart.history import build
from headstart.history.curves import Curves
from headstart.transfer.promise import learn_promise
from headstart.transfer.standings import LOOKS, lowest, past_tasks, progress, standings
from headstart.transfer.stopping import LEVELS, Law, Stopping, _level, learn_stopping, tasks_needed

SPACE = hs.Space({"x": hs.Float(0.0, 1.0)})
STEPS = np.arange(20)
SPAN = (0.0, 19.0)


def curve(x: float, level: float, scale: float, noise: Array | float = 0.0) -> Array:
    """Falls from level + scale towards level + scale · x: the smaller x, the better from early on."""
    return np.asarray(level + scale * (x + (1 - x) * np.exp(-STEPS / 4.0)) + noise)


def past(tasks: int = 10, runs: int = 20, stopped: int = 0) -> hs.History:
    """stopped: further runs of each task that went half the way."""
    rng = np.random.default_rng(4)
    names, V, ended, reports = [], [], [], []
    for t in range(tasks):
        for i, x in enumerate(rng.random(runs + stopped)):
            names.append(f"task{t}")
            V.append([x])
            losses = curve(float(x), level=t, scale=10.0**t, noise=0.01 * 10.0**t * rng.normal(size=len(STEPS)))
            ended.append(i < runs)
            reports.append(dict(zip(STEPS.tolist(), losses.tolist()[: None if i < runs else 10], strict=False)))
    made = Curves.of(names, np.array(V), ended, reports)
    losses = np.array([list(report.values())[-1] for report in reports])
    return replace(build(SPACE, tasks=names, V=np.array(V), losses=losses), curves=made)


@pytest.fixture(scope="module")
def rule() -> Stopping:
    found = learn_stopping(past(), 0.3, rng=np.random.default_rng(0))
    assert found is not None
    return found


def until(step: int, x: float, scale: float = 50.0) -> tuple[Array, Array]:
    return STEPS[: step + 1], curve(x, level=3.0, scale=scale)[: step + 1]


def others(*xs: float) -> Array:
    return np.array([lowest(until(19, x), SPAN) for x in xs]).reshape(len(xs), len(LOOKS))


def stopped_at(rule: Stopping, x: float, M: Array) -> int | None:
    """The step at which a run is stopped by what it reports."""
    for step in range(1, 20):
        run = until(step, x)
        look = rule.due(run[0], SPAN)
        if look and rule.stops(look, run, SPAN, M):
            return step
    return None


# -- standings ----------------------------------------------------------------------------------------------------


def test_lowest_loss_at_each_look_with_gaps_filled() -> None:
    m = lowest((np.array([0, 10, 100]), np.array([5.0, 3.0, 4.0])), (0.0, 100.0))
    np.testing.assert_array_equal(m, np.full(len(LOOKS), 3.0))  # 10 is the first step after 2 % of the course
    m = lowest((np.array([0, 2, 30, 100]), np.array([5.0, 4.0, 6.0, 1.0])), (0.0, 100.0))
    np.testing.assert_array_equal(m, [4.0, 4.0, 4.0, 4.0, 1.0])


def test_a_run_that_was_stopped_keeps_what_it_had_reached() -> None:
    m = lowest((np.array([0, 5]), np.array([5.0, 3.0])), (0.0, 100.0))
    np.testing.assert_array_equal(m, np.full(len(LOOKS), 3.0))


def test_progress_does_not_depend_on_the_scale() -> None:
    run = until(19, 0.3)
    np.testing.assert_allclose(progress(run, SPAN), progress((run[0], 1e-9 * run[1]), SPAN), rtol=1e-9)


def test_ties_share_their_places() -> None:
    np.testing.assert_allclose(standings(np.array([[1.0], [3.0], [3.0], [9.0]]))[:, 0], [0.125, 0.5, 0.5, 0.875])


def test_stopped_runs_of_the_past_count_as_runs_but_not_as_ends() -> None:
    tasks, length = past_tasks(past(tasks=3, runs=6, stopped=14), np.random.default_rng(0))
    assert length == 19
    assert all(len(task) == 20 and task.complete.sum() == 6 for task in tasks)
    assert all(task.end[~task.complete].min() > task.end[task.complete].max() for task in tasks)
    assert max(task.end[task.complete].max() for task in tasks) < 0.3


def test_weights_say_how_many_runs_a_row_stands_for() -> None:
    values = np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 5.0], [3.0, 0.0]])
    np.testing.assert_allclose(standings(values, np.full(4, 7.0)), standings(values), rtol=1e-12)
    repeated = standings(np.repeat(values, [1, 3, 2, 1], axis=0))
    np.testing.assert_allclose(standings(values, np.array([1.0, 3.0, 2.0, 1.0])), repeated[[0, 1, 4, 6]], rtol=1e-12)


# -- the law and its level ----------------------------------------------------------------------------------------


def test_the_law_is_a_line_in_logarithms_and_its_residuals() -> None:
    x = np.log([0.01, 0.02, 0.05, 0.1])
    law = Law.of([(x, np.column_stack([x, 0.5 * x - 1, np.full(4, np.nan)]))])
    np.testing.assert_allclose(law.slope, [1.0, 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(law.c[:2], [0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(law.limits(0.1), [0.0, -1.0, np.inf], atol=1e-12)
    np.testing.assert_allclose(law.limits(-0.5), [0.5, -0.5, np.inf], atol=1e-12)


def test_bolder_levels_have_lower_limits() -> None:
    rng = np.random.default_rng(0)
    x = np.log(rng.random(30))
    law = Law.of([(x, rng.normal(size=(30, 6)) + x[:, None])])
    limits = np.array([law.limits(level) for level in LEVELS])
    assert (np.diff(limits, axis=0) <= 1e-12).all()


def test_one_more_task_that_is_judged_wrongly_is_counted() -> None:
    wrong = np.zeros((1, 4, 6))
    wrong[0, 0, 3:] = [0.2, 0.6, 0.0]  # the last is not reached: a bolder level is wrong more often
    assert _level(wrong, 0.2) == 2  # (0 + 1) / 5
    assert _level(wrong, 0.25) == 3  # (0.2 + 1) / 5
    assert _level(wrong, 0.19) is None


def test_the_rate_holds_for_the_worse_of_both_kinds_of_runs() -> None:
    wrong = np.zeros((2, 4, 6))
    wrong[0, 0, 4:] = wrong[1, 3, 2:] = 0.2
    assert _level(wrong, 0.2) == 1
    assert _level(wrong[:1], 0.2) == 3


def test_a_rate_needs_tasks() -> None:
    assert [tasks_needed(rate) for rate in (0.5, 0.3, 0.25, 0.2, 0.1, 0.05)] == [3, 3, 3, 4, 9, 19]
    assert learn_stopping(past(tasks=8), 0.1, rng=np.random.default_rng(0)) is None


# -- promises -----------------------------------------------------------------------------------------------------


def test_a_configuration_promises_how_it_ended_on_past_tasks() -> None:
    tasks, _ = past_tasks(past(), np.random.default_rng(0))
    found = learn_promise(tasks, np.random.default_rng(0))
    assert found is not None
    promise, promises = found
    assert [len(p) for p in promises] == [len(task) for task in tasks]
    for task, p in zip(tasks, promises, strict=True):
        assert np.corrcoef(p, task.end)[0, 1] > 0.9
    good, bad = promise.of(SPACE.encode([{"x": 0.02}, {"x": 0.98}]))
    assert promise.place(float(good)) < 0.15 < 0.85 < promise.place(float(bad))


def test_no_run_is_predicted_by_what_it_ended_with() -> None:
    """All tasks have the same configurations and nothing but noise: the promises know nothing."""
    rng = np.random.default_rng(1)
    tasks, _ = past_tasks(past(tasks=6, runs=40), np.random.default_rng(0))
    shared = [replace(task, Z=tasks[0].Z, end=standings(rng.random((40, 1)))[:, 0]) for task in tasks]
    found = learn_promise(shared, np.random.default_rng(0))
    assert found is not None
    correlations = [np.corrcoef(p, task.end)[0, 1] for task, p in zip(shared, found[1], strict=True)]
    assert np.mean(correlations) < 0.15


def test_too_few_configurations_promise_nothing() -> None:
    tasks, _ = past_tasks(past(tasks=3, runs=4), np.random.default_rng(0))
    assert learn_promise(tasks, np.random.default_rng(0)) is None


# -- the rule -----------------------------------------------------------------------------------------------------


def test_hopeless_runs_are_stopped_and_promising_ones_are_not(rule: Stopping) -> None:
    M = others(*np.linspace(0.1, 0.9, 20))
    assert (stopped_at(rule, 0.95, M) or 99) < 6
    assert stopped_at(rule, 0.05, M) is None


def test_the_first_run_is_judged_by_its_configuration_and_by_what_past_runs_reported(rule: Stopping) -> None:
    nobody = np.array([])
    assert rule.stops_early(rule.promised(SPACE.encode([{"x": 0.95}])), nobody)
    assert not rule.stops_early(rule.promised(SPACE.encode([{"x": 0.05}])), nobody)
    assert not rule.stops_early(float("nan"), nobody)
    assert stopped_at(rule, 0.99, others()) is not None
    assert stopped_at(rule, 0.01, others()) is None


def test_the_best_of_a_study_of_bad_configurations_goes_on(rule: Stopping) -> None:
    promises = np.array([rule.promised(SPACE.encode([{"x": x}])) for x in np.linspace(0.8, 1.0, 400)])
    stopped = [rule.stops_early(float(p), promises) for p in promises]
    assert not stopped[0]
    assert all(stopped[-300:])


def test_the_leader_of_a_few_is_never_stopped(rule: Stopping) -> None:
    assert stopped_at(rule, 0.99, others(0.992, 0.994, 0.996, 0.998, 1.0)) is None


def test_the_more_runs_there_are_the_better_one_must_be(rule: Stopping) -> None:
    gentle = replace(rule, horizon=1.0)
    stopped = [gentle._stops(4, n // 10, n, 0.1) for n in (4, 10, 100, 1000, 10_000)]
    assert stopped == sorted(stopped)
    assert not stopped[0]
    assert stopped[-1]


def test_a_rank_among_few_is_given_the_benefit_of_the_doubt(rule: Stopping) -> None:
    long = replace(rule, horizon=1e6)
    limit = math.exp(long.limits[3] - long.slopes[3] * math.log(long.horizon))
    few = math.ceil(1 / limit)
    stopped = [long._stops(3, round(1.5 * limit * n), n, 1.5 * limit) for n in (few, 10 * few, 1000 * few)]
    assert stopped == sorted(stopped)
    assert not stopped[0]
    assert stopped[-1]


def test_a_run_is_judged_once_at_each_look(rule: Stopping) -> None:
    span = (0.0, 1000.0)
    due = [rule.due(np.arange(s), span) for s in range(1, 1002)]
    assert [look for look in due if look is not None] == list(range(len(LOOKS) + 1))
    assert rule.due(np.arange(3), (0.0, 0.0)) is None


def test_the_best_runs_are_stopped_no_more_often_than_stated(rule: Stopping) -> None:
    evidence = rule.evidence
    assert evidence.tasks == [f"task{t}" for t in range(10)]
    assert (evidence.wrong.sum() + 1) / 11 <= 0.3
    assert (evidence.sampled.sum() + 1) / 11 <= 0.3
    assert evidence.steps.mean() < 0.5
    assert "each left out in turn" in str(evidence)
    assert list(evidence.table) == ["task", "wrong", "wrong beside a sampler", "steps"]


def test_a_higher_rate_stops_more(rule: Stopping) -> None:
    bold = learn_stopping(past(), 0.6, rng=np.random.default_rng(0))
    assert bold is not None
    assert (bold.limits <= rule.limits).all()
    assert bold.evidence.steps.mean() < rule.evidence.steps.mean()


def test_the_same_seed_learns_the_same_rule(rule: Stopping) -> None:
    again = learn_stopping(past(), 0.3, rng=np.random.default_rng(0))
    assert again is not None
    np.testing.assert_array_equal(again.limits, rule.limits)
    np.testing.assert_array_equal(again.evidence.wrong, rule.evidence.wrong)


def test_units_do_not_matter(rule: Stopping) -> None:
    M = others(*np.linspace(0.1, 0.9, 20))
    for x in (0.05, 0.3, 0.6, 0.95):
        for step in range(1, 20):
            steps, losses = until(step, x)
            look = rule.due(steps, SPAN)
            if look:
                scaled = rule.stops(look, (steps, 1e6 * losses), SPAN, 1e6 * M)
                assert scaled == rule.stops(look, (steps, losses), SPAN, M)


def test_a_sampler_that_prefers_what_promises_more_makes_runs_of_a_smaller_share(rule: Stopping) -> None:
    assert rule.promise is not None
    known = rule.promise.known
    assert rule.share(None) == rule.share(np.array([])) == rule.share(np.array([math.nan])) == 1.0
    assert rule.share(known) == pytest.approx(1.0, abs=0.01)
    assert rule.share(np.tile(known[: len(known) // 5], 9)) == pytest.approx(0.2, abs=0.03)
    assert rule.share(np.full(100, known[-1])) == 1.0
    assert rule.share(known[:1]) > 0.8  # one run says little


def test_a_run_that_is_mediocre_among_those_of_a_sampler_goes_on(rule: Stopping) -> None:
    """The runs of a sampler all promise much, so the same rank among them is worth more."""
    assert rule.promise is not None
    known = rule.promise.known
    drawn, preferred = (rule.share(np.tile(known[:: len(known) // 20][:many], 10)) for many in (20, 2))
    limit = math.exp(rule.limits[3] - rule.slopes[3] * math.log(max(rule.horizon, 201)))
    better = math.ceil(1.5 * limit * 200) + 10
    assert rule._stops(3, better, 200, better / 200, drawn)
    assert not rule._stops(3, better, 200, better / 200, preferred * 0.5)
    assert rule._stops(3, 190, 200, 0.95, preferred)


def test_a_promise_is_compared_with_past_runs_and_with_those_of_the_study(rule: Stopping) -> None:
    """What is a bad choice among the best ones is still a good choice, and the other way round."""
    assert rule.promise is not None
    known = np.sort(rule.promise.known)
    limit = math.exp(rule.limits[0] - rule.slopes[0] * math.log(max(rule.horizon, 21)))
    good = float(known[int(0.5 * limit * len(known))])
    assert not rule.stops_early(good, np.full(20, known[0] - 1))
    assert rule.stops_early(float(known[int(min(2 * limit, 0.9) * len(known))]), np.full(20, known[0] - 1))
    assert not rule.stops_early(float(known[-1]), np.full(500, known[-1] + 1))
    assert rule.stops_early(float(known[-1]), known)


def test_too_few_curves_teach_nothing() -> None:
    for history in (past(tasks=2), past(runs=3), build(SPACE, tasks=["a"], V=np.zeros((1, 1)), losses=np.ones(1))):
        assert learn_stopping(history, 0.5, rng=np.random.default_rng(0)) is None


def test_constant_curves_stop_nothing_that_ties_with_the_best() -> None:
    history = past(tasks=4)
    assert history.curves is not None
    flat = replace(history, curves=replace(history.curves, losses=np.ones_like(history.curves.losses)))
    rule = learn_stopping(flat, 0.3, rng=np.random.default_rng(0))
    assert rule is not None
    M = np.ones((30, len(LOOKS)))
    assert not any(rule.stops(look, (STEPS, np.ones(20)), SPAN, M) for look in range(1, len(LOOKS) + 1))
