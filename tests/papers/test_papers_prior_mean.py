"""Fig. 1 of the Siamese paper: the prior mean of its caption, and searches that differ in nothing else."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from headstart.papers import prior_mean as paper
from headstart.papers.prior_mean import CONNECTED, GRID, KERNEL, METHODS, PIECEWISE, ZERO


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_prior_mean_is_that_of_the_caption() -> None:
    x = np.array([-5.9, -5.0, -4.5, -3.0, -1.8, -1.2, 0.0, 1.2, 1.8, 3.0, 4.5, 5.9])  # one in each of its intervals
    expected = [0.75, 0.25, -0.25, -0.75, -0.25, 0.25, 0.75, 0.25, -0.25, -0.75, -0.25, 0.25]
    np.testing.assert_array_equal(paper.prior_mean(PIECEWISE, x), expected)
    np.testing.assert_array_equal(paper.prior_mean(ZERO, x), np.zeros(12))


def test_connected_it_keeps_its_levels_in_the_middle_of_each_step_and_has_no_jumps() -> None:
    middles = np.array([0.0, np.pi, -np.pi])
    np.testing.assert_allclose(paper.prior_mean(CONNECTED, middles), paper.prior_mean(PIECEWISE, middles))
    assert np.abs(np.diff(paper.prior_mean(CONNECTED, GRID))).max() < 0.05
    assert np.abs(np.diff(paper.prior_mean(PIECEWISE, GRID))).max() == pytest.approx(0.5)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_the_posterior_by_hand_and_the_most_expected_improvement(method: str) -> None:
    step = next(islice(paper.search(method, rng=rng()), 3, None))
    K = KERNEL(step.x[:, None], step.x[:, None]) + KERNEL.noise * np.eye(len(step.x))
    k = KERNEL(GRID[:, None], step.x[:, None])
    m, at_points = paper.prior_mean(method, GRID), paper.prior_mean(method, step.x)
    np.testing.assert_allclose(step.mean, m + k @ np.linalg.solve(K, step.y - at_points), atol=1e-10)
    np.testing.assert_allclose(step.std**2, KERNEL.amplitude - np.sum(k * np.linalg.solve(K, k.T).T, axis=1), atol=1e-9)
    best = step.mean[np.abs(GRID - step.x[step.y.argmin()]).argmin()]
    draws = step.mean + step.std * rng(1).normal(size=(20_000, 1))
    improvement = np.maximum(best - draws, 0).mean(axis=0)
    at = improvement[np.abs(GRID - step.chosen).argmin()]
    assert at == pytest.approx(improvement.max(), rel=0.03)


def test_searches_differ_in_their_prior_mean_only() -> None:
    found = {method: list(paper.search(method, rng=rng(4))) for method in METHODS}
    for steps in found.values():
        assert len(steps) == paper.ITERATIONS + 1
        np.testing.assert_array_equal(steps[0].x, found[ZERO][0].x)
        np.testing.assert_allclose(steps[-1].y - np.cos(steps[-1].x), found[ZERO][-1].y - np.cos(found[ZERO][-1].x))


def test_distances_are_those_of_the_point_that_looked_best() -> None:
    *_, last = paper.search(PIECEWISE, rng=rng(2))
    d = paper.distances(PIECEWISE, rng=rng(2))
    assert len(d) == paper.POINTS + paper.ITERATIONS
    assert d[-1] == (np.cos(last.x[last.y.argmin()]) + 1) / 2
    assert ((d >= 0) & (d <= 1)).all()


def test_without_its_steps_the_prior_mean_helps() -> None:
    rows = paper.experiment(30, 0)
    mean = {m: np.mean([r["value"] for r in rows if r["method"] == m and r["step"] == 4]) for m in METHODS}
    assert mean[CONNECTED] < 0.2 * mean[ZERO]


def test_expected_improvement_favours_the_edges_of_the_steps() -> None:
    """The page of claims gives this reason: the next three choices lie there far more often than by chance."""

    def near(x: np.ndarray) -> float:
        return float((np.abs(x[..., None] - paper.EDGES).min(axis=-1) < 0.1).mean())

    chosen = {m: np.array([list(paper.search(m, rng=rng(r)))[-1].x[2:5] for r in range(20)]) for m in METHODS}
    assert near(GRID) < 0.2
    assert near(chosen[PIECEWISE]) > 0.6
    assert max(near(chosen[ZERO]), near(chosen[CONNECTED])) < 0.2


def test_the_figure_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(paper.figures.LOOK, "savefig.dpi", 40)
    paper.draw(tmp_path)
    assert (tmp_path / "figure1.png").stat().st_size > 2000
