"""Distances between data sets: hand-computed cases, the closed form on a line, and distances between real tasks."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.datasets.distances import emd, ground_metric, histograms, l1, surface_distances
from headstart.errors import ArgumentError
from headstart.transfer.models import task_distances
from histories import FLAT, KINDS


def test_emd_of_hand_computed_cases():
    line = ground_metric(np.arange(4.0)[:, None])
    H = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]]).T
    D = emd(H, line)
    assert D[0, 1] == pytest.approx(3.0)  # all mass three bins away
    assert D[0, 2] == pytest.approx(0.5)  # half of it one bin away
    assert D[0, 3] == pytest.approx(1.5)  # a quarter each to 1, 2 and 3
    assert D[2, 3] == pytest.approx(1.0)  # on a line: the area between the cumulative sums, .25 + .5 + .25
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0.0)


def test_emd_on_a_line_is_the_area_between_the_cumulative_sums():
    rng = np.random.default_rng(0)
    z = np.sort(rng.random(12))
    H = rng.random((12, 5))
    H /= H.sum(axis=0)
    gaps = np.abs(np.cumsum(H[:, :, None] - H[:, None, :], axis=0))[:-1]
    np.testing.assert_allclose(emd(H, ground_metric(z[:, None])), np.einsum("k,kij->ij", np.diff(z), gaps), atol=1e-12)


def test_emd_in_a_plane_is_the_least_work_of_any_transport():
    """Its definition as a linear program: flows of mass from bin to bin that turn one histogram into the other."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    Z, H = rng.random((6, 2)), rng.random((6, 3))
    H /= H.sum(axis=0)
    work = [np.hypot(*(a - b)) for a in Z for b in Z]  # of moving all mass from bin k to bin l
    leaving, arriving = np.kron(np.eye(6), np.ones(6)), np.kron(np.ones(6), np.eye(6))
    found = emd(H, ground_metric(Z))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        least = linprog(work, A_eq=np.vstack([leaving, arriving]), b_eq=np.concatenate([H[:, i], H[:, j]])).fun
        assert found[i, j] == pytest.approx(least)


def test_l1_of_a_hand_computed_case():
    np.testing.assert_allclose(l1(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])), [[0, 2, 1], [2, 0, 1], [1, 1, 0]])


def test_a_histogram_has_its_mass_where_losses_are_low():
    H = histograms(np.array([[0.0, 1.0, 1.0], [0.5, 1.0, 0.0], [1.0, 1.0, 1.2]]))
    np.testing.assert_allclose(H[:, 0], [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(H[:, 1], 1 / 3)  # all are equally bad: no preference
    np.testing.assert_allclose(H[:, 2], [0, 1, 0])  # a prediction beyond the worst counts as the worst


def test_an_unknown_distance_is_rejected():
    with pytest.raises(ArgumentError, match="kind must be one of emd, l1, but got 'l2'"):
        surface_distances(np.zeros((3, 2)), np.zeros((3, 1)), "l2")


def test_distances_of_surfaces_are_those_of_their_histograms():
    rng = np.random.default_rng(0)
    F, Z = rng.random((8, 3)), rng.random((8, 2))
    np.testing.assert_array_equal(surface_distances(F, Z, "l1"), l1(histograms(F)))
    np.testing.assert_array_equal(surface_distances(F, Z), emd(histograms(F), ground_metric(Z)))


# -- between the tasks of a history ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["emd", "l1"])
@pytest.mark.parametrize("design", ["flat, shared design", "mixed, ragged", "failed trials"])
def test_tasks_with_near_minima_are_near(kind, design):
    history = KINDS[design]
    D = task_distances(history, kind, rng=np.random.default_rng(0))
    np.testing.assert_allclose(D, D.T)
    np.testing.assert_allclose(np.diag(D), 0.0, atol=1e-9)
    assert D[0, 1] < D[0, 5]  # minima move from task to task
    assert D[4, 5] < D[0, 5]


def test_distances_do_not_depend_on_the_direction_in_which_the_history_was_written():
    frame = KINDS["flat, shared design"].to_frame()
    up = frame.assign(value=-frame["value"])
    down, turned = (
        task_distances(hs.History.from_frame(f, FLAT, direction=d), "emd", rng=np.random.default_rng(0))
        for f, d in ((frame, "minimize"), (up, "maximize"))
    )
    np.testing.assert_allclose(down, turned)
