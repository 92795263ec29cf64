"""All tasks of a history: equal to separate processes, whatever the designs share."""

from __future__ import annotations

import numpy as np
import pytest

from dense import KERNEL, KERNELS, numeric_gradient
from headstart._support.types import Array
from headstart.gp import GP, TaskGPs, share_designs

rng_ = np.random.default_rng(5)
GRID = rng_.random((40, 3))
HISTORIES = {
    "shared": [GRID] * 5,
    "permuted": [rng_.permutation(GRID) for _ in range(5)],
    "ragged": [rng_.random((n, 3)) for n in (3, 17, 1, 30)],
    "overlapping": [GRID[rng_.choice(40, n, replace=False)] for n in (5, 20, 35, 20)],
    "mixed": [GRID, rng_.random((9, 3)), GRID, np.vstack([GRID[:3], rng_.random((4, 3)), GRID[:2]]), GRID[:1]],
    "one task": [GRID],
    "some empty": [GRID[:0], GRID[:4], GRID[:0]],
    "all empty": [GRID[:0]],
}


@pytest.fixture(params=HISTORIES)
def designs(request: pytest.FixtureRequest) -> list[Array]:
    return HISTORIES[request.param]


@pytest.mark.parametrize("block", [7, 1024])
@pytest.mark.parametrize("dense", [0.0, 1.1])
def test_all_tasks_at_once_equal_separate_processes(
    designs: list[Array], block: int, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TaskGPs, "BLOCK", block)
    monkeypatch.setattr(TaskGPs, "DENSE", dense)  # all dense or all sparse
    monkeypatch.setattr(TaskGPs, "CHUNK", 4)
    rng = np.random.default_rng(0)
    losses = [rng.random(len(X)) for X in designs]
    Z, W = rng.random((6, 3)), rng.normal(size=(6, len(designs)))
    gps = TaskGPs.fit(designs, losses, KERNEL)
    separate = [GP.fit(KERNEL, X, y).predict_with_gradients(Z) for X, y in zip(designs, losses, strict=True)]
    expected = np.stack([p.mean for p in separate], axis=1)
    slopes = np.stack([p.mean_gradient for p in separate], axis=1)
    assert len(gps) == len(designs)
    np.testing.assert_allclose(gps.predict(Z), expected, atol=1e-10)
    for keep in (0, 2**20):
        monkeypatch.setattr(TaskGPs, "KEEP", keep)
        mean, pull = gps.pullback(Z)
        np.testing.assert_allclose(mean, expected, atol=1e-10)
        np.testing.assert_allclose(pull(W), np.einsum("mt,mtd->md", W, slopes), atol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_pullback_gives_the_gradient_of_a_function_of_the_predictions(kind: str) -> None:
    rng = np.random.default_rng(0)
    gps = TaskGPs.fit([GRID, GRID[:9]], [rng.random(40), rng.random(9)], KERNELS[kind])
    Z = rng.random((4, 3))
    mean, pull = gps.pullback(Z)
    numeric = numeric_gradient(lambda z: np.array((gps.predict(z.reshape(4, 3)) ** 2).sum()), Z.ravel())
    np.testing.assert_allclose(pull(2 * mean).ravel(), numeric, atol=1e-7)


def test_pullback_survives_a_reused_buffer() -> None:
    gps = TaskGPs.fit([GRID], [np.arange(40.0)], KERNEL)
    Z = GRID[:2] + 0.01
    _, pull = gps.pullback(Z)
    before = pull(np.ones((2, 1)))
    Z[:] = 0.0
    np.testing.assert_array_equal(pull(np.ones((2, 1))), before)


def test_the_order_of_tasks_is_kept_and_does_not_matter() -> None:
    designs = HISTORIES["mixed"]
    rng = np.random.default_rng(0)
    losses, Z = [rng.random(len(X)) for X in designs], rng.random((5, 3))
    forward = TaskGPs.fit(designs, losses, KERNEL).predict(Z)
    backward = TaskGPs.fit(designs[::-1], losses[::-1], KERNEL).predict(Z)
    np.testing.assert_allclose(forward, backward[:, ::-1], atol=1e-12)


def test_one_factorisation_for_each_distinct_design() -> None:
    designs = [*HISTORIES["permuted"], -0.0 * GRID[:2], 0.0 * GRID[:2]]
    rows, groups = share_designs(designs, [np.arange(len(X), dtype=float) for X in designs])
    assert [group.tasks.tolist() for group in groups] == [[0, 1, 2, 3, 4], [5, 6]]
    assert len(rows) == 41
    for group in groups:
        for column, task in zip(group.Y.T, group.tasks, strict=True):
            order = column.astype(int)  # the losses are positions in the design as it was given
            np.testing.assert_array_equal(designs[task][order], rows[group.rows])


def test_tasks_reject_bad_input() -> None:
    y = np.zeros(40)
    with pytest.raises(ValueError, match="there are no tasks"):
        TaskGPs.fit([], [], KERNEL)
    with pytest.raises(ValueError, match="every design needs losses, but got 2 designs and 1 sets"):
        TaskGPs.fit([GRID, GRID], [y], KERNEL)
    with pytest.raises(ValueError, match="losses of task 1 must have 40 rows"):
        TaskGPs.fit([GRID, GRID], [y, y[:3]], KERNEL)
    with pytest.raises(ValueError, match="losses of task 0 must be finite"):
        TaskGPs.fit([GRID], [np.full(40, np.nan)], KERNEL)
    with pytest.raises(ValueError, match=r"losses of task 0 must be a vector, but have shape \(40, 2\)"):
        TaskGPs.fit([GRID], [np.zeros((40, 2))], KERNEL)
    with pytest.raises(ValueError, match=r"designs must have shape \(rows, 3\)"):
        TaskGPs.fit([GRID[:, :2]], [y], KERNEL)
    with pytest.raises(ValueError, match=r"Z must have shape"):
        TaskGPs.fit([GRID], [y], KERNEL).predict(np.zeros(3))
