"""The model of cost: its shape, its level, and what a budget does to the choice of a configuration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart._support.types import Array
from headstart.history import build
from headstart.surrogates.base import Acquisition
from headstart.surrogates.costs import CostModel, PerCost, Shape, Spending, log_costs

LINE = hs.Space({"x": hs.Float(0.0, 1.0), "y": hs.Float(0.0, 1.0)})


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


def past(tasks: int = 6, rows: int = 40, *, ragged: bool = False, costs: bool = True) -> hs.History:
    """Tasks whose cost is exp(3 x) times a level of their own; if `ragged`, each has tried only a part of x."""
    names, V, paid = [], [], []
    for t in range(tasks):
        v = LINE.sample_values(rows, rng=rng(7, t))
        if ragged:
            v[:, 0] = 0.6 * v[:, 0] + 0.4 * (t % 2)
        names += [f"task{t}"] * rows
        V.append(v)
        paid.append(10.0 ** (t / 2) * np.exp(3 * v[:, 0]))
    V_all = np.concatenate(V)
    return build(
        LINE, tasks=names, V=V_all, losses=(V_all**2).sum(axis=1), costs=np.concatenate(paid) if costs else None
    )


def grid() -> Array:
    x = np.linspace(0.05, 0.95, 19)
    return np.column_stack([x, np.full(19, 0.5)])


def test_logarithms_of_costs_know_zero_and_nothing() -> None:
    logs = log_costs(np.array([0.0, 1.0, math.e, np.nan]))
    np.testing.assert_allclose(logs, [0.0, 0.0, 1.0, np.nan])
    assert np.isnan(log_costs(np.zeros(3))).all()


@pytest.mark.parametrize("ragged", [False, True])
def test_the_shape_is_shared_although_levels_and_designs_differ(ragged: bool) -> None:
    shape = Shape.of(past(ragged=ragged), rng=rng(0))
    assert shape is not None
    found = shape.at(grid())
    expected = 3 * grid()[:, 0]
    assert np.corrcoef(found, expected)[0, 1] > 0.95
    if not ragged:
        np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=0.3)
        assert shape.spread == pytest.approx(np.std(np.arange(6) / 2 * math.log(10), ddof=1), rel=0.1)


def test_own_costs_shift_the_level_and_nothing_else() -> None:
    model = CostModel.of(past(), rng=rng(0))
    before = model.fit(np.empty((0, 2)), np.empty(0))
    X = grid()[::3]
    after = model.fit(X, 1e6 * np.exp(3 * X[:, 0]))
    shift = after.log_cost(grid()) - before.log_cost(grid())
    np.testing.assert_allclose(shift, shift[0])
    np.testing.assert_allclose(after.log_cost(grid()), math.log(1e6) + 3 * grid()[:, 0], atol=0.5)


def test_unknown_costs_do_not_count() -> None:
    model = CostModel.of(past(), rng=rng(0))
    X, costs = grid()[:3], np.array([2.0, np.nan, 3.0])
    np.testing.assert_array_equal(
        model.fit(X, costs).log_cost(grid()), model.fit(X[[0, 2]], costs[[0, 2]]).log_cost(grid())
    )


def test_without_past_costs_the_own_ones_are_learned() -> None:
    for history in (None, past(costs=False)):
        model = CostModel.of(history, rng=rng(0))
        assert model.shape is None
        np.testing.assert_array_equal(model.fit(np.empty((0, 2)), np.empty(0)).log_cost(grid()), np.zeros(19))
        np.testing.assert_allclose(model.fit(grid()[:1], np.array([5.0])).log_cost(grid()), math.log(5))
        fitted = model.fit(grid()[::2], np.exp(3 * grid()[::2, 0])).log_cost(grid())
        np.testing.assert_allclose(fitted, 3 * grid()[:, 0], atol=0.3)


def test_constant_costs_change_no_choice() -> None:
    history = past()
    flat = build(
        LINE,
        tasks=["a"] * 20,
        V=history.V[:20],
        losses=np.arange(20.0),
        costs=np.full(20, 4.0),
    )
    logs = CostModel.of(flat, rng=rng(0)).fit(grid()[:2], np.full(2, 7.0)).log_cost(grid())
    assert np.ptp(Spending.of(np.full(2, 7.0), 100.0).penalty(logs)) == pytest.approx(0.0, abs=1e-9)


def test_a_budget_cools() -> None:
    assert Spending.of(np.array([5.0, 10.0]), None) == Spending(None, 1.0)
    assert Spending.of(np.empty(0), 60.0) == Spending(60.0, 1.0)
    assert Spending.of(np.array([5.0, 10.0]), 60.0) == Spending(45.0, 0.75)
    assert Spending.of(np.array([5.0, np.nan, 10.0]), 60.0) == Spending(37.5, 0.625)  # a running trial costs the mean
    assert Spending.of(np.array([100.0]), 60.0).share == 0.0


def test_the_penalty_is_the_cooled_logarithm_and_more_beyond_the_rest() -> None:
    logs = np.log([1.0, 10.0, 100.0])
    np.testing.assert_allclose(Spending(None, 1.0).penalty(logs), logs)
    np.testing.assert_allclose(Spending(100.0, 0.25).penalty(logs), 0.25 * logs)
    tight = Spending(10.0, 0.25).penalty(logs)
    np.testing.assert_allclose(tight[:2], 0.25 * logs[:2])
    assert tight[2] > 0.25 * logs[2] + 10
    np.testing.assert_allclose(Spending(0.0, 0.0).penalty(logs), 0.0)  # overspent: cost does not matter any more


class Flat:
    """A posterior for which all configurations are equally promising."""

    def predict(self, Z: Array) -> tuple[Array, Array]:
        return np.zeros(len(Z)), np.ones(len(Z))

    def extend(self, z: Array, loss: float) -> Flat:
        return self

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return np.full(len(Z), 2.0)

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None


def test_gain_per_cost_is_expected_improvement_divided_by_cost() -> None:
    costs = CostModel.of(past(), rng=rng(0)).fit(np.empty((0, 2)), np.empty(0))
    score = PerCost(Flat(), costs, Spending()).score(grid(), Acquisition())
    np.testing.assert_allclose(score, 2.0 - costs.log_cost(grid()))
    np.testing.assert_allclose(PerCost(Flat(), costs, Spending(1e9, 0.0)).score(grid(), Acquisition()), 2.0)
