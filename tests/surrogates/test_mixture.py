"""`auto`: the mixture of past tasks against dense formulas, and when the run's own process takes over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from headstart.surrogates import hypotheses as constants
from headstart.surrogates import mixture as module
from headstart.surrogates.acquisition import ei
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import GaussianModel, GaussianPosterior
from headstart.surrogates.hypotheses import Hypotheses, explained
from headstart.surrogates.mixture import MixtureModel, MixturePosterior
from headstart.surrogates.warp import Warp
from headstart.transfer.population import Population

PLACES = np.linspace(0.1, 0.9, 9)


def valley(Z: np.ndarray, place: float) -> np.ndarray:
    return (Z[:, 0] - place) ** 2 + 0.3 * (Z[:, 1] - 0.5) ** 2


@pytest.fixture(scope="module")
def population() -> Population:
    rng = np.random.default_rng(0)
    designs = [rng.random((30, 2)) for _ in PLACES]
    losses = [valley(X, place) for X, place in zip(designs, PLACES, strict=True)]
    return Population.of(designs, losses, rng=np.random.default_rng(1))


@pytest.fixture
def model(population: Population) -> MixtureModel:
    return MixtureModel(population, GaussianModel(None, 3))


def trials(n: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 2))


def covariance(past: Population, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """h² φᵀΣφ + ρ κ, from the definitions."""
    phi = [np.linalg.solve(past.L, past.kernel(past.points, Z)) for Z in (A, B)]
    return constants.BANDWIDTH * phi[0].T @ past.covariance @ phi[1] + constants.RESIDUAL * past.kernel(A, B)


def test_predictions_are_those_of_a_gaussian_process_around_each_task(population: Population) -> None:
    X, Z = trials(6), trials(11, seed=5)
    v = np.random.default_rng(4).normal(size=6)
    hypotheses = Hypotheses.of(population, X, v)
    _, shift, scale, _ = hypotheses.explained
    scored = hypotheses.predict(Z)
    K = covariance(population, X, X) + population.kernel.noise * np.eye(6)
    k = covariance(population, X, Z)
    dense = np.sqrt(np.diag(covariance(population, Z, Z)) - np.einsum("ij,ij->j", k, np.linalg.solve(K, k)))
    assert np.allclose(scored.std, dense, atol=1e-7)
    for column, task in enumerate(hypotheses.alive):
        residual = shift[task] + scale[task] * v - population.at(X)[:, task]
        mean = population.at(Z)[:, task] + k.T @ np.linalg.solve(K, residual)
        assert np.allclose(scored.mean[:, column], mean, atol=1e-7)


def test_shift_and_scale_are_the_most_likely_ones(population: Population) -> None:
    """No other shift, and no other scale of the grid, has a higher posterior."""
    X, v = trials(5), np.array([0.3, -1.2, 0.8, 1.1, -1.0])
    hypotheses = Hypotheses.of(population, X, v)
    _, shift, scale, _ = hypotheses.explained
    K = covariance(population, X, X) + population.kernel.noise * np.eye(5)

    def posterior(task: int, a: float, c: float) -> float:
        residual = a + c * v - population.at(X)[:, task]
        prior = -0.5 * (np.log(c / constants.TYPICAL) / constants.SPREAD) ** 2
        return float(4 * np.log(c) + prior - 0.5 * residual @ np.linalg.solve(K, residual))

    for task in range(len(population)):
        found = posterior(task, shift[task], scale[task])
        assert found >= max(posterior(task, shift[task] + step, scale[task]) for step in (-0.01, 0.01))
        for c in constants.SCALES:
            best = max(posterior(task, a, c) for a in np.linspace(-3, 3, 121))
            assert found >= best - 1e-3


@pytest.mark.parametrize("change", [lambda y: y, lambda y: 1e6 * y + 5, lambda y: 1e-12 * y - 1e-3])
def test_the_task_that_the_new_one_resembles_gets_the_weight_on_any_scale(model: MixtureModel, change) -> None:
    X = trials(12)
    posterior = model.fit(X, change(valley(X, PLACES[6])))
    assert isinstance(posterior, MixturePosterior)
    assert abs(int(np.argmax(posterior.hypotheses.weights)) - 6) <= 1
    Z = trials(300, seed=9)
    chosen = Z[np.argmax(posterior.score(Z, Acquisition("ei")))]
    assert abs(chosen[0] - PLACES[6]) < 0.15


def test_the_score_is_the_average_improvement_of_all_parts(model: MixtureModel) -> None:
    X, Z = trials(8), trials(20, seed=6)
    fitted = model.fit(X, valley(X, 0.3))
    assert isinstance(fitted, MixturePosterior)
    for share in (0.0, 0.35):
        posterior = replace(fitted, share=share)
        scored, hypotheses = posterior.hypotheses.predict(Z), posterior.hypotheses
        gains = ei(scored.mean, scored.std[:, None], hypotheses.best) @ hypotheses.weights[hypotheses.alive]
        own = ei(*posterior.own.gp.predict(Z), posterior.own.best)
        expected = (1 - share) * gains / hypotheses.typical_scale + share * own
        assert np.allclose(np.exp(posterior.score(Z, Acquisition("ei"))), expected)


@pytest.mark.parametrize("name", ["ei", "lcb"])
@pytest.mark.parametrize("share", [0.0, 0.35])
def test_gradients_are_the_numeric_ones(model: MixtureModel, name: str, share: float) -> None:
    X, Z, step = trials(8), trials(7, seed=7), 1e-5
    posterior = replace(model.fit(X, valley(X, 0.3)), share=share)
    acquisition = Acquisition(name, 8, 2)
    value, slope = posterior.climb(Z, acquisition)
    assert np.allclose(value, posterior.score(Z, acquisition))
    for j in range(2):
        moved = step * np.eye(2)[j]
        numeric = (posterior.score(Z + moved, acquisition) - posterior.score(Z - moved, acquisition)) / (2 * step)
        assert np.allclose(slope[:, j], numeric, rtol=1e-5, atol=1e-6)


def test_extending_is_refitting(population: Population) -> None:
    X, v, Z = trials(6), np.random.default_rng(4).normal(size=6), trials(10, seed=5)
    extended = Hypotheses.of(population, X[:5], v[:5]).extend(X[5], float(v[5]))
    refitted = Hypotheses.of(population, X, v)
    assert np.allclose(extended.weights, refitted.weights)
    assert np.allclose(extended.predict(Z).mean, refitted.predict(Z).mean)
    assert np.allclose(extended.predict(Z).std, refitted.predict(Z).std)


def test_a_running_trial_changes_no_expectation_but_the_uncertainty(population: Population) -> None:
    """Every hypothesis expects for it what it predicts anyway."""
    X, v, Z = trials(5), np.random.default_rng(4).normal(size=5), trials(10, seed=5)
    before = Hypotheses.of(population, X, v)
    after = before.extend(Z[0])
    assert np.array_equal(after.weights, before.weights)
    assert np.allclose(after.predict(Z).mean, before.predict(Z).mean)
    assert after.predict(Z).std[0] < 0.9 * before.predict(Z).std[0]
    assert np.all(after.predict(Z).std <= before.predict(Z).std + 1e-12)


def test_without_results_every_task_keeps_its_share(population: Population) -> None:
    running = Hypotheses.of(population, trials(2), np.empty(0))
    assert np.array_equal(running.weights, population.shares)
    assert np.allclose(running.predict(trials(4)).mean, population.at(trials(4)))


# -- the run's own process ---------------------------------------------------------------------------------------


def test_evidence_is_the_density_of_the_results_with_the_shift_integrated_out() -> None:
    """Against the integral of the normal density over the shift, on a grid, for every scale."""
    X, v = trials(4), np.array([0.3, -1.2, 0.8, 1.1])
    K = np.exp(-5 * np.abs(X[:, :1] - X[:, :1].T)) + 0.1 * np.eye(4)
    F = np.array([[0.0, 0.5], [0.0, -0.4], [0.0, 0.1], [0.0, 1.0]])
    shifts = np.linspace(-40, 40, 8001)
    for c in (0.4, 1.0):
        found = explained(np.linalg.cholesky(K), v, F, np.array([c]))
        for task in range(2):
            inside = [multivariate_normal((F[:, task] - a) / c, K / c**2).pdf(v) for a in shifts[::4]]
            # the shift of v is a / c; constants: (k − 1) / 2 · log 2π is left out
            integral = np.log(np.trapezoid(inside, shifts[::4] / c)) + 1.5 * np.log(2 * np.pi)
            assert found.evidence[task] == pytest.approx(integral, abs=1e-3)


def test_the_borrowed_process_is_a_hypothesis_without_a_past(model: MixtureModel) -> None:
    """With F = 0 and the whole kernel, the formulas of the hypotheses give the process in the units of v."""
    X, Z = trials(7), trials(11, seed=5)
    warp = Warp.fit(valley(X, 0.3))
    v = warp(valley(X, 0.3))
    own, evidence = model._borrowing(warp, X, v)
    kernel = model.population.kernel
    found = explained(np.linalg.cholesky(kernel.gram(X)), v, np.zeros((7, 1)))
    scores = kernel(Z, X) @ np.linalg.solve(kernel.gram(X), found.shift + found.scale * v)
    assert evidence == pytest.approx(found.evidence[0])
    assert np.allclose(own.gp.predict_mean(Z), (scores - found.shift) / found.scale)


def test_the_share_is_the_posterior_probability_of_the_process(model: MixtureModel) -> None:
    X = trials(3)
    losses = np.array([1.0, 0.2, 0.4])
    posterior = model.fit(X, losses)
    assert isinstance(posterior, MixturePosterior)
    v = Warp.fit(losses)(losses)
    own = model._borrowing(Warp.fit(losses), X, v)[1]
    tasks = Hypotheses.of(model.population, X, v)
    odds = np.exp(0.5 * own - module.ODDS) / (tasks.population.shares @ np.exp(0.5 * tasks.explained.evidence))
    assert posterior.share == pytest.approx(odds / (1 + odds))  # k / (k + 3) = 0.5


def test_results_opposite_to_all_past_tasks_give_the_process_its_share_at_once(model: MixtureModel) -> None:
    """Past tasks are valleys, the new one is a hill; nine results settle it."""
    X = np.vstack([np.column_stack([PLACES, np.full(9, 0.5)])])
    alike, opposite = valley(X, 0.5), -valley(X, 0.5)
    trusting = model.fit(X, alike)
    assert isinstance(trusting, MixturePosterior)
    assert trusting.share < 0.1
    doubting = model.fit(X, opposite)
    assert isinstance(doubting, GaussianPosterior) or doubting.share > 0.5


def test_the_process_goes_on_alone_if_the_new_task_is_unlike_all_past_ones(model: MixtureModel) -> None:
    """Rings around a corner, which no past task has; the process learns them from the results."""
    X = trials(40)
    losses = np.sin(9 * np.hypot(X[:, 0], X[:, 1]))
    assert isinstance(model.fit(X, losses), GaussianPosterior)


def test_past_tasks_stay_if_they_predict_well(model: MixtureModel) -> None:
    X = trials(9)
    posterior = model.fit(X, valley(X, PLACES[2]))
    assert isinstance(posterior, MixturePosterior)
    assert posterior.share < 0.5


def test_the_share_depends_on_nothing_but_the_trials(population: Population) -> None:
    """A model that has seen other runs, or the same one step by step, answers like a new one."""
    X, Z = trials(30), trials(20, seed=8)
    losses = np.sin(5 * X[:, 0]) + X[:, 1]
    stepwise = MixtureModel(population, GaussianModel(None, 3))
    for n in range(1, 31):
        stepwise.fit(X[:n], losses[:n])
    stepwise.fit(trials(12, seed=11), trials(12, seed=12)[:, 0])
    for n in (5, 13, 30):
        new = MixtureModel(population, GaussianModel(None, 3)).fit(X[:n], losses[:n])
        again = stepwise.fit(X[:n], losses[:n])
        assert np.array_equal(new.score(Z, Acquisition("ei")), again.score(Z, Acquisition("ei")))


@pytest.mark.parametrize(
    "losses",
    [
        np.full(6, 3.0),
        np.array([1e-3, 1e40, 2e-3, 1e-3, 5e20, 1.0]),
        np.array([1e300, -1e300, 0.0, 1.0, 2.0, 3.0]),
        np.array([1.0, 1.0 + 1e-15, 1.0, 1.0, 1.0, 1.0]),
    ],
    ids=["constant", "heavy tails", "huge", "nearly constant"],
)
def test_losses_of_any_size_give_finite_scores(model: MixtureModel, losses: np.ndarray) -> None:
    for n in (1, 2, 6):
        posterior = model.fit(trials(6)[:n], losses[:n])
        Z = trials(50, seed=3)
        for name in Acquisition.NAMES:
            assert np.isfinite(posterior.score(Z, Acquisition(name, n, 2))).all()
        mean, std = posterior.predict(Z)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
