"""The stretched scale, and the surfaces of the past tasks on it."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.transfer.models import TaskModels
from headstart.transfer.surfaces import FLOOR, MOST_TASKS, OVERSHOOT, Surfaces, own_scale, stretch, unstretch
from histories import FLAT, KINDS, make


def test_stretching_is_monotone_and_reversible():
    v = np.linspace(0, 1, 50)
    y = stretch(v)
    assert y[0] == 0
    assert y[-1] == pytest.approx(1)
    assert (np.diff(y) > 0).all()
    assert y[1] - y[0] > y[-1] - y[-2]  # the good end is magnified
    np.testing.assert_allclose(unstretch(y), v, atol=1e-12)


def test_a_runs_own_scale_ignores_units_and_survives_constants():
    losses = np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(own_scale(losses), own_scale(1e6 * losses - 7))
    assert own_scale(losses).min() == 0
    np.testing.assert_array_equal(own_scale(np.full(4, 2.0)), np.zeros(4))


@pytest.fixture(scope="module")
def surfaces() -> Surfaces:
    return TaskModels(make(FLAT, tasks=8, evaluations=25), rng=np.random.default_rng(0)).surfaces


def test_surfaces_pass_near_the_stretched_losses(surfaces):
    history = make(FLAT, tasks=8, evaluations=25)
    F = surfaces.at(history.design("task3"))
    assert np.abs(F[:, 3] - stretch(history["task3"].scaled())).max() < 0.05


def test_surfaces_are_clipped_near_the_scale(surfaces):
    F = surfaces.at(np.random.default_rng(0).random((50, 2)) * 20 - 10)
    assert F.min() >= -OVERSHOOT
    assert F.max() <= 1 + OVERSHOOT


def test_the_spread_is_smallest_at_evaluated_configurations(surfaces):
    evaluated = make(FLAT, tasks=8, evaluations=25).design("task0")
    near, far = surfaces.spread(evaluated), surfaces.spread(np.full((1, 2), 10.0))
    assert (near >= FLOOR).all()
    assert near.max() < far[0]


def test_ragged_histories_and_many_tasks_are_thinned_reproducibly():
    history = make(FLAT, tasks=110, evaluations=5, shared=False, features=False)
    one, two = (TaskModels(history, rng=np.random.default_rng(0)).surfaces for _ in range(2))
    assert len(one) == MOST_TASKS
    np.testing.assert_array_equal(one.tasks, two.tasks)
    assert len(TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0)).surfaces) == 6
