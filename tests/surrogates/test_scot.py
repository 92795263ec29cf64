"""SCoT: its rankings by hand, and the process it reduces to."""

from __future__ import annotations

import numpy as np
import pytest

from headstart import Float, Space
from headstart._support.types import Array
from headstart.gp import GP
from headstart.history import build
from headstart.surrogates.joint_ranking import JointRanker
from headstart.surrogates.ranking import pair_differences, rank_by_pairs
from headstart.surrogates.scot import SCoT, plain_labels, rank_labels, svm_rank
from headstart.transfer.models import TaskModels
from related_tasks import PLAIN, candidates, family, rng, trials

LINE = Space({"x": Float(0, 1)})


def test_ranking_of_one_pair_by_hand() -> None:
    """½|w|² + C (1 − wᵀδ)² is least at w = 2Cδ / (1 + 2C|δ|²)."""
    Z, C = np.array([[0.1, 0.5], [0.4, 0.1]]), 3.0
    delta = Z[1] - Z[0]
    expected = 2 * C * delta / (1 + 2 * C * delta @ delta)
    assert svm_rank(Z, np.array([0.0, 9.0]), C=C, seed=0) == pytest.approx(expected)
    assert svm_rank(Z, np.array([9.0, 0.0]), C=C, seed=0) == pytest.approx(-expected)


def test_ranking_is_a_minimum() -> None:
    Z, C = rng(0).random((15, 3)), 20.0
    losses = np.sin(5 * Z[:, 0]) + Z[:, 1] + 0.1 * rng(1).normal(size=15)
    w = svm_rank(Z, losses, C=C, seed=0)
    i, j = np.nonzero(losses[:, None] < losses)

    def objective(w: Array) -> float:
        return float(0.5 * w @ w + C * np.mean(np.maximum(1 - (Z[j] - Z[i]) @ w, 0) ** 2))

    for step in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]):
        assert objective(w + step) > objective(w)


def test_ranking_with_more_columns_than_rows_is_the_same() -> None:
    """The minimum lies in the span of the rows, so a basis of them gives the same w as all columns do."""
    Z = np.zeros((9, 40))
    Z[np.arange(9), [3, 8, 8, 20, 39, 3, 11, 12, 30]] = 1.0
    losses = rng(4).random(9)
    w = svm_rank(Z, losses, C=5.0, seed=0)
    np.testing.assert_allclose(w, rank_by_pairs(pair_differences(Z, losses), 5.0), atol=1e-7)
    assert not w[[0, 1, 2, 25]].any()


def test_ranking_depends_on_the_order_only() -> None:
    Z = rng(0).random((12, 3))
    losses = Z @ np.array([3.0, -2.0, 0.5])
    w = svm_rank(Z, losses, C=1e6, seed=0)
    assert np.array_equal(np.argsort(Z @ w), np.argsort(losses))
    assert np.array_equal(w, svm_rank(Z, np.exp(5 * losses), C=1e6, seed=0))
    assert not svm_rank(Z, np.ones(12), C=1.0, seed=0).any()
    assert not svm_rank(Z[:1], losses[:1], C=1.0, seed=0).any()


def test_many_evaluations_are_ranked_by_a_seeded_sample() -> None:
    Z = rng(0).random((400, 3))
    losses = Z @ np.array([3.0, -2.0, 0.5])
    w = svm_rank(Z, losses, C=10.0, seed=1)
    assert np.array_equal(w, svm_rank(Z, losses, C=10.0, seed=1))
    other = svm_rank(Z, losses, C=10.0, seed=2)
    assert 0 < np.linalg.norm(w - other) < 0.1 * np.linalg.norm(w)


def test_scores_have_their_zero_at_the_centre_and_a_way_back() -> None:
    Z, losses = trials(10)
    centre = np.array([0.5, 0.5])
    labels = rank_labels(Z, losses, centre=centre, C=10.0, seed=0)
    assert np.allclose(labels.values, (Z - centre) @ svm_rank(Z, losses, C=10.0, seed=0))
    back = labels.offset + labels.scale * labels.values
    assert back.mean() == pytest.approx(losses.mean())
    assert back.std() == pytest.approx(losses.std())


def test_plain_ranks_depend_on_the_order_only() -> None:
    losses = np.array([5.0, 1.0, 1.0, 200.0])
    labels = plain_labels(np.empty((4, 0)), losses)
    assert labels.values * np.sqrt(1.125) == pytest.approx([0.5, -1.0, -1.0, 1.5])  # ranks 3, 1.5, 1.5, 4 minus 2.5
    assert np.allclose(labels.values, plain_labels(np.empty((4, 0)), np.log(losses)).values)
    assert (labels.offset, labels.scale) == pytest.approx((losses.mean(), losses.std()))


def test_a_linear_ranking_misses_a_best_inside_the_space_and_a_plain_one_finds_it() -> None:
    """Every task has its best at (.3, .4), so most of it slopes up to the right."""
    V = np.stack(np.meshgrid(*[np.linspace(0, 1, 6)] * 2), axis=-1).reshape(-1, 2)
    losses = ((V - [0.3, 0.4]) ** 2).sum(axis=1)
    history = build(PLAIN, tasks=[t for t in "abc" for _ in V], V=np.tile(V, (3, 1)), losses=np.tile(losses, 3))
    best = {}
    for ranking in ("linear", "plain"):
        m = SCoT(ranking=ranking).begin(PLAIN, TaskModels(history, rng=rng(0)), features=None, rng=rng(1))
        mean = m.fit(np.empty((0, 2)), np.empty(0)).predict(V)[0]
        best[ranking] = V[np.argmin(mean)]
    assert best["linear"].tolist() == [0.0, 0.0]
    assert np.abs(best["plain"] - [0.3, 0.4]).max() < 0.11


def test_without_meta_features_scot_is_one_process_on_all_scores() -> None:
    history = family(features=False)
    m = SCoT().begin(PLAIN, TaskModels(history, rng=rng(0)), features=None, rng=rng(1))
    X, losses = m.prior.points, [task.scaled() for task in history]
    scores = np.concatenate([m.label(X, f).values for f in losses])
    Z, f = trials(5)
    labels = m.label(Z, f)
    everything = np.vstack([np.tile(X, (5, 1)), Z]), np.append(scores, labels.values)
    mean, std = GP.fit(m.prior.kernel, *everything, mean=0.0).predict(candidates())
    expected = labels.offset + labels.scale * mean, labels.scale * std
    assert np.allclose(m.fit(Z, f).predict(candidates()), expected, rtol=1e-5)


# -- the original's joint ranking ----------------------------------------------------------------------------


def test_the_joint_ranker_minimises_its_objective_over_pairs_within_data_sets() -> None:
    """An independent objective in terms of the kernel alone; no small step improves on the ranker."""
    models = TaskModels(family(), rng=rng(0))
    M = np.vstack([np.linspace(0, 1, len(models))[:, None], [[0.5]]])
    ranker = JointRanker.of(models, M, 5.0, rng=rng(1))
    assert len(ranker.pairs)

    def objective(w: Array) -> float:
        return float(0.5 * w @ w + 5.0 * np.mean(np.maximum(1 - ranker.pairs @ w, 0) ** 2))

    for k in range(0, len(ranker.w), 7):
        for sign in (-1e-4, 1e-4):
            step = np.zeros_like(ranker.w)
            step[k] = sign
            assert objective(ranker.w + step) > objective(ranker.w)


def test_the_joint_ranker_may_rank_two_data_sets_in_opposite_ways_and_a_linear_one_may_not() -> None:
    x = np.linspace(0, 1, 9)[:, None]
    losses = np.concatenate([x[:, 0], 1 - x[:, 0]])
    history = build(LINE, tasks=["up"] * 9 + ["down"] * 9, V=np.vstack([x, x]), losses=losses)
    models = TaskModels(history, rng=rng(0))
    where = {name: 0.0 if name == "up" else 1.0 for name in history.tasks}
    M = np.array([[where[name]] for name in history.tasks] + [[0.1]])
    ranker = JointRanker.of(models, M, 100.0, rng=rng(1))
    scores = [ranker.phi(x, np.array([m])) @ ranker.w for m in (0.0, 1.0)]
    assert (np.diff(scores[0]) > 0).all()
    assert (np.diff(scores[1]) < 0).all()
    few = ranker(np.array([[0.1], [0.9]]), np.array([3.0, 7.0]))  # the run agrees with "up", which is near
    assert few.values[0] < few.values[1]
    assert (few.offset + few.scale * few.values).mean() == pytest.approx(5.0)


@pytest.mark.parametrize("ranking", ["linear", "rbf", "plain"])
def test_every_ranking_prefers_what_was_good_on_the_past_data_sets(ranking: str) -> None:
    models = TaskModels(family(), rng=rng(0))
    model = SCoT(ranking=ranking).begin(PLAIN, models, features=None, rng=rng(1))
    F = models.predict(candidates())
    mean, _ = model.fit(*trials(6)).predict(candidates())
    assert np.corrcoef(mean, F.mean(axis=1))[0, 1] > 0.3
