"""Searches that know what trials cost: budgets, gain per second, and bad input."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import ArgumentError
from headstart.history import build
from headstart.search import budget as module
from headstart.search.budget import checked_cost

SPACE = hs.Space({"x": hs.Float(0.0, 1.0), "size": hs.Int(1, 8)})


def cost_of(config: dict[str, Any]) -> float:
    return float(2.0 ** config["size"])


def loss_of(config: dict[str, Any], centre: float) -> float:
    """Large sizes are slightly better, and double the cost each."""
    return (config["x"] - centre) ** 2 - 0.005 * config["size"]


def past(costs: bool = True) -> hs.History:
    V = SPACE.sample_values(60, rng=np.random.default_rng(1))
    configs = SPACE.from_values(V)
    return build(
        SPACE,
        tasks=[f"task{t}" for t in range(5) for _ in configs],
        V=np.concatenate([V] * 5),
        losses=np.array([loss_of(config, 0.3 + t / 20) for t in range(5) for config in configs]),
        costs=np.array([(t + 1) * cost_of(config) for t in range(5) for config in configs]) if costs else None,
    )


def run(optimizer: hs.Optimizer, n: int) -> list[dict[str, Any]]:
    configs = []
    for _ in range(n):
        configs.append(optimizer.ask())
        optimizer.tell(configs[-1], loss_of(configs[-1], 0.4), cost_of(configs[-1]))
    return configs


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30 min", 1800.0), ("1h 30m", 5400.0), ("90s", 90.0), ("1.5 hours", 5400.0), (" 2 days ", 172800.0), (20, 20.0)],
)
def test_budgets_are_numbers_or_times(text: Any, seconds: float) -> None:
    assert checked_cost(None, text) == ("seconds", seconds)


@pytest.mark.parametrize("bad", ["soon", "30", "5 min ago", "3 parsecs", "", 0, -1, math.inf, math.nan, True, [1]])
def test_other_budgets_are_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"budget must be a positive number of seconds or a time such as '30 min'"):
        hs.Optimizer(SPACE, budget=bad)


def test_another_currency_has_no_times() -> None:
    assert hs.Optimizer(SPACE, cost="dollars", budget=3).budget == 3.0
    with pytest.raises(ArgumentError, match="budget must be a positive number of dollars, but got '3 min'"):
        hs.Optimizer(SPACE, cost="dollars", budget="3 min")
    with pytest.raises(ArgumentError, match="cost must be 'seconds', which is measured here, but got 'dollars'"):
        hs.minimize(lambda config: 0.0, SPACE, cost="dollars")
    with pytest.raises(ArgumentError, match="cost must be the name of what trials cost"):
        hs.Optimizer(SPACE, cost=5)  # type: ignore[arg-type]


def test_only_expected_improvement_can_be_divided_by_cost() -> None:
    with pytest.raises(ArgumentError, match="with a cost, acquisition must be 'ei' or 'log_ei', but got 'lcb'"):
        hs.Optimizer(SPACE, acquisition="lcb", cost="seconds")


@pytest.mark.parametrize("bad", [-1.0, math.inf, "3", True])
def test_a_cost_must_be_a_number_of_at_least_0(bad: Any) -> None:
    optimizer = hs.Optimizer(SPACE, cost="seconds", seed=0)
    with pytest.raises(ArgumentError, match=r"a cost must be a number of at least 0, or None if it is unknown"):
        optimizer.tell(optimizer.ask(), 1.0, bad)
    assert not optimizer.trials


def test_unknown_and_zero_costs_are_fine() -> None:
    optimizer = hs.Optimizer(SPACE, past(), cost="seconds", n_init=2, seed=0)
    for cost in (None, 0, math.nan, 3.0):
        optimizer.tell(optimizer.ask(), 1.0, cost)
    optimizer.ask()
    assert [trial.cost for trial in optimizer.trials] == [None, 0.0, None, 3.0]
    assert optimizer.spent == 3.0


@pytest.mark.filterwarnings("error")
def test_absurd_costs_spend_the_budget() -> None:
    optimizer = hs.Optimizer(SPACE, past(), cost="seconds", budget="1 min", n_init=2, seed=0)
    for _ in range(4):
        optimizer.tell(optimizer.ask(), 1.0, 1e308)
    optimizer.ask()


def test_with_a_cost_the_same_trials_are_cheaper() -> None:
    plain = run(hs.Optimizer(SPACE, past(), n_init=4, seed=0), 8)
    careful = run(hs.Optimizer(SPACE, past(), n_init=4, seed=0, cost="seconds"), 8)
    assert sum(map(cost_of, careful)) < 0.5 * sum(map(cost_of, plain))
    assert sum(map(cost_of, careful[:4])) < 0.05 * sum(map(cost_of, plain[:4]))
    assert min(abs(config["x"] - 0.4) for config in careful) < 0.05


def test_told_costs_without_cost_change_nothing() -> None:
    silent = hs.Optimizer(SPACE, past(), n_init=3, seed=0)
    expected = []
    for _ in range(6):
        expected.append(silent.ask())
        silent.tell(expected[-1], loss_of(expected[-1], 0.4))
    assert run(hs.Optimizer(SPACE, past(), n_init=3, seed=0), 6) == expected


def test_cost_matters_less_as_the_budget_is_spent() -> None:
    first, later = (
        hs.Optimizer(SPACE, past(), n_init=2, seed=0, cost="seconds", budget=budget) for budget in (1e9, 300.0)
    )
    for optimizer in (first, later):
        for x in (0.1, 0.4, 0.7):
            optimizer.tell({"x": x, "size": 1}, loss_of({"x": x, "size": 1}, 0.4), 45.0)
    assert cost_of(first.ask()) < cost_of(later.ask()) <= 300.0 - 135.0


def test_what_does_not_fit_into_the_rest_is_avoided() -> None:
    optimizer = hs.Optimizer(SPACE, past(), n_init=2, seed=0, cost="seconds", budget=70.0)
    for x in (0.1, 0.4, 0.7):
        optimizer.tell({"x": x, "size": 4}, loss_of({"x": x, "size": 4}, 0.4), 16.0)
    assert cost_of(optimizer.ask()) <= 22.0


def test_a_state_continues_with_its_costs() -> None:
    def made(**more: Any) -> hs.Optimizer:
        return hs.Optimizer(SPACE, past(), n_init=3, seed=0, cost="seconds", **{"budget": 500.0, **more})

    optimizer = made()
    run(optimizer, 5)
    again = made().restore(json.loads(json.dumps(optimizer.state())))
    assert again.trials == optimizer.trials
    assert again.ask() == optimizer.ask()
    with pytest.raises(ArgumentError, match=r"the state has budget=500.0, but this optimiser has budget=None"):
        made(budget=None).restore(optimizer.state())
    with pytest.raises(ArgumentError, match="the state has cost='seconds', but this optimiser has cost=None"):
        hs.Optimizer(SPACE, past(), n_init=3, seed=0).restore(optimizer.state())


def test_past_runs_without_costs_are_said_to_have_none(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headstart"):
        optimizer = hs.Optimizer(SPACE, past(costs=False), n_init=3, seed=0, cost="seconds")
    assert "the past runs have no costs" in caplog.text
    assert len(run(optimizer, 6)) == 6


class Clock:
    """A clock that only the objective moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr("headstart.search.loop.time", found)
    monkeypatch.setattr("headstart.search.evaluation.time", found)
    return found


def timed(clock: Clock) -> Callable[[dict[str, Any]], float]:
    def objective(config: dict[str, Any]) -> float:
        clock.now += cost_of(config)
        return loss_of(config, 0.4)

    return objective


def test_a_search_ends_when_its_budget_is_spent(clock: Clock) -> None:
    result = hs.minimize(timed(clock), SPACE, history=past(), n_init=3, budget="1 min", seed=0)
    costs = [trial.cost for trial in result.trials]
    assert costs == [cost_of(trial.config) for trial in result.trials]
    assert sum(costs[:-1]) < 60.0 <= sum(costs)
    fewer = hs.minimize(timed(clock), SPACE, n_trials=4, history=past(), n_init=3, budget=60, seed=0)
    assert fewer.trials == result.trials[:4]


def test_a_budget_smaller_than_one_trial_has_one(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headstart"):
        result = hs.minimize(timed(clock), SPACE, budget=0.5, seed=0)
    assert len(result.trials) == 1
    assert "the budget of 0.5 seconds is spent (it was smaller than one trial)" in caplog.text


def test_without_a_budget_there_are_fifty_trials() -> None:
    assert len(hs.minimize(lambda config: 0.0, SPACE, surrogate="rf", n_init=45, seed=0).trials) == 50
