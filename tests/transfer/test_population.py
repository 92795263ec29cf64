"""The population of past tasks: its estimates against dense formulas, and what it borrows between tasks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from headstart.gp import GP, Matern
from headstart.transfer import population as module
from headstart.transfer.population import Population, spread_points
from headstart.transfer.ranks import normal_scores

KERNEL = Matern(1.3, np.array([0.4, 0.7]), 0.05)


def valleys(tasks: int = 12, n: int = 20, seed: int = 0) -> tuple[list, list]:
    """Tasks whose minimum wanders along the first column, each on its own design and on its own scale."""
    rng = np.random.default_rng(seed)
    designs = [rng.random((n, 2)) for _ in range(tasks)]
    places = rng.uniform(0.2, 0.8, tasks)
    scales = 10.0 ** rng.uniform(-3, 3, tasks)
    losses = [s * ((X[:, 0] - p) ** 2 + 0.3 * X[:, 1] ** 2) for X, p, s in zip(designs, places, scales, strict=True)]
    return designs, losses


def learned(designs: list, losses: list, seed: int = 0) -> Population:
    return Population.of(designs, losses, rng=np.random.default_rng(seed))


def grouped(designs: list, losses: list, points: np.ndarray):
    L = np.linalg.cholesky(KERNEL(points, points) + 1e-9 * np.eye(len(points)))
    groups = module._grouped(KERNEL, points, np.asfortranarray(L), designs, [normal_scores(y) for y in losses])
    return groups, L


def test_expected_weights_are_those_of_the_dense_formula() -> None:
    """The joint normal of (w, y) conditioned on y, written out."""
    designs, losses = valleys(tasks=3, n=7)
    rng = np.random.default_rng(1)
    groups, _ = grouped(designs, losses, rng.random((5, 2)))
    A = rng.normal(size=(5, 5))
    mean, covariance = rng.normal(size=5), A @ A.T + np.eye(5)
    for group in groups:
        weights, posterior = module._expected(group, mean, covariance)
        precision = np.linalg.inv(covariance) + group.basis.T @ np.diag(1 / group.noise) @ group.basis
        dense = np.linalg.inv(precision)
        right = np.linalg.solve(covariance, mean) + group.basis.T @ (group.Y[:, 0] / group.noise)
        assert np.allclose(posterior, dense, atol=1e-10)
        assert np.allclose(weights[0], dense @ right, atol=1e-10)


def test_every_round_raises_the_posterior_of_mean_and_covariance(monkeypatch) -> None:
    """Expectation maximisation never lowers what it maximises."""
    designs, losses = valleys(tasks=8, n=10)
    groups, _ = grouped(designs, losses, np.random.default_rng(2).random((6, 2)))
    equal = np.full(8, 1 / 8)

    def objective(mean: np.ndarray, covariance: np.ndarray) -> float:
        total = 0.0
        for g in groups:
            K = g.basis @ covariance @ g.basis.T + np.diag(g.noise)
            total += multivariate_normal(g.basis @ mean, K).logpdf(g.Y.T).sum()
        inverse = np.linalg.inv(covariance)
        penalty = module.STRENGTH * (np.linalg.slogdet(covariance)[1] + np.trace(inverse))
        return total - 0.5 * (penalty + module.PULL * mean @ inverse @ mean)

    values = [objective(np.zeros(6), np.eye(6))]
    for rounds in range(1, 9):
        monkeypatch.setattr(module, "ROUNDS", rounds)
        mean, covariance, _ = module._maximised(groups, equal)
        values.append(objective(mean, covariance))
    assert np.all(np.diff(values) > 0)


def test_only_the_order_of_a_tasks_losses_matters() -> None:
    designs, losses = valleys()
    distorted = [np.exp(50 * y / y.max()) + 1e6 for y in losses]
    Z = np.random.default_rng(3).random((30, 2))
    assert np.array_equal(learned(designs, losses).at(Z), learned(designs, distorted).at(Z))


def test_failures_and_losses_of_any_size_leave_the_rest_as_it_is() -> None:
    """A diverged trial is the worst of its task, like a failed one; how far it diverged does not matter."""
    designs, losses = valleys()
    worst = [int(np.argmax(y)) for y in losses]
    Z = np.random.default_rng(3).random((30, 2))
    expected = learned(designs, losses).at(Z)
    for value in (1e40, 1e300, np.nan):
        changed = [np.where(np.arange(len(y)) == i, value, y) for y, i in zip(losses, worst, strict=True)]
        assert np.array_equal(learned(designs, changed).at(Z), expected)


def test_a_task_borrows_from_similar_tasks_what_it_did_not_try() -> None:
    """All tasks have waves. The last one was tried on the left only; the others know how the waves go on."""

    def waves(X: np.ndarray, phase: float) -> np.ndarray:
        return np.asarray(np.sin(12 * X[:, 0] + phase) + 0.3 * X[:, 1])

    rng = np.random.default_rng(4)
    phases = rng.uniform(-0.5, 0.5, 15)
    designs = [rng.random((25, 2)) for _ in phases]
    losses = [waves(X, phase) for X, phase in zip(designs, phases, strict=True)]
    left = rng.random((25, 2)) * [0.4, 1.0]
    past = learned([*designs, left], [*losses, waves(left, 0.2)])
    right = np.column_stack([np.linspace(0.5, 1.0, 20), np.full(20, 0.3)])
    alone = GP.fit(past.kernel, left, normal_scores(waves(left, 0.2))).predict_mean(right)

    def agreement(predicted: np.ndarray) -> float:
        return float(np.corrcoef(waves(right, 0.2), predicted)[0, 1])

    assert agreement(past.at(right)[:, -1]) > 0.9
    assert agreement(alone) < 0.6


def test_covariance_and_scores_are_those_of_the_basis() -> None:
    """κ(λ, u) Q Qᵀ κ(u, λ) is φᵀΣφ and κ(λ, u) B is φᵀw."""
    past = learned(*valleys())
    Z = np.random.default_rng(6).random((9, 2))
    phi = np.linalg.solve(past.L, past.kernel(past.points, Z)).T
    A = past.kernel(Z, past.points) @ past.to_root
    assert np.allclose(A @ A.T, phi @ past.covariance @ phi.T, atol=1e-8)
    assert np.allclose(past.at(Z), phi @ past.weights.T, atol=1e-8)


def test_one_task_is_enough() -> None:
    designs, losses = valleys(tasks=1)
    past = learned(designs, losses)
    assert np.corrcoef(past.at(designs[0])[:, 0], normal_scores(losses[0]))[0, 1] > 0.9


@pytest.mark.parametrize("constant", [0.0, 3.5])
def test_a_task_whose_losses_are_all_equal_has_no_opinion(constant: float) -> None:
    designs, losses = valleys(tasks=4)
    past = learned([*designs, designs[0]], [*losses, np.full(20, constant)])
    assert np.isfinite(past.at(designs[0])).all()
    only = learned(designs[:1], [np.full(20, constant)])
    assert np.allclose(only.at(designs[0]), 0.0)


def test_of_many_tasks_those_are_kept_that_stand_for_the_others(monkeypatch) -> None:
    """Three kinds of tasks, one of them rare: every kind is kept, and shares follow how frequent it is."""
    monkeypatch.setattr(module, "MOST_TASKS", 6)
    rng = np.random.default_rng(7)
    kinds = np.array([0] * 60 + [1] * 30 + [2] * 10)
    rng.shuffle(kinds)
    designs = [rng.random((15, 2)) for _ in kinds]
    places = np.array([[0.1, 0.1], [0.9, 0.2], [0.5, 0.9]])
    losses = [((X - places[kind]) ** 2).sum(axis=1) for X, kind in zip(designs, kinds, strict=True)]
    past = learned(designs, losses)
    assert len(past) == 6
    shares = np.bincount(kinds[past.tasks], weights=past.shares, minlength=3)
    assert np.allclose(shares, [0.6, 0.3, 0.1], atol=0.05)


def test_points_of_the_basis_are_the_pivots_of_a_cholesky_factorisation() -> None:
    """Each is the row with the largest variance given those before it."""
    X = np.random.default_rng(8).random((40, 2))
    points = spread_points(KERNEL, X, 6, rng=np.random.default_rng(0))
    rows = np.unique(X, axis=0)
    for k in range(1, 6):
        K, cross = KERNEL(points[:k], points[:k]), KERNEL(points[:k], rows)
        variance = KERNEL.amplitude - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
        assert np.allclose(rows[np.argmax(variance)], points[k])
