"""`auto`: the mixture of past tasks against dense formulas, and when the run's own process takes over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from headstart.surrogates import hypotheses as module
from headstart.surrogates.acquisition import ei
from headstart.surrogates.base import Acquisition
from headstart.surrogates.gaussian import GaussianModel, GaussianPosterior
from headstart.surrogates.hypotheses import Hypotheses, log_density
from headstart.surrogates.mixture import MixtureModel, MixturePosterior, _predictive
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
    return module.BANDWIDTH * phi[0].T @ past.covariance @ phi[1] + module.RESIDUAL * past.kernel(A, B)


def test_predictions_are_those_of_a_gaussian_process_around_each_task(population: Population) -> None:
    X, Z = trials(6), trials(11, seed=5)
    v = np.random.default_rng(4).normal(size=6)
    hypotheses = Hypotheses.of(population, X, v)
    _, shift, scale, _ = hypotheses.fit
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
    _, shift, scale, _ = hypotheses.fit
    K = covariance(population, X, X) + population.kernel.noise * np.eye(5)

    def posterior(task: int, a: float, c: float) -> float:
        residual = a + c * v - population.at(X)[:, task]
        prior = -0.5 * (np.log(c / module.TYPICAL) / module.SPREAD) ** 2
        return float(4 * np.log(c) + prior - 0.5 * residual @ np.linalg.solve(K, residual))

    for task in range(len(population)):
        found = posterior(task, shift[task], scale[task])
        assert found >= max(posterior(task, shift[task] + step, scale[task]) for step in (-0.01, 0.01))
        for c in module.SCALES:
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


def test_opposites_have_their_share_and_the_negative_scores(population: Population) -> None:
    both, Z = population.with_opposites(0.1), trials(7)
    F = population.at(Z)
    assert np.allclose(both.at(Z), np.column_stack([F, -F]), atol=1e-12)
    assert both.shares.sum() == pytest.approx(1)
    assert np.allclose(both.shares[len(population) :], 0.1 * population.shares)
    assert both.tasks.tolist() == population.tasks.tolist() * 2


def test_opposites_without_a_share_change_nothing(population: Population) -> None:
    X, v, Z = trials(5), np.array([0.3, -1.2, 0.8, 1.1, -1.0]), trials(9, seed=6)
    plain = Hypotheses.of(population, X, v)
    with_none = Hypotheses.of(population.with_opposites(0.0), X, v)
    assert np.array_equal(with_none.alive, plain.alive)
    assert np.allclose(with_none.expected_gain(Z), plain.expected_gain(Z), atol=1e-12)


def test_a_history_of_the_wrong_direction_is_recognised(model: MixtureModel) -> None:
    """The new task is a hill where all past tasks are valleys."""
    X = trials(10)
    posterior = model.fit(X, -valley(X, 0.5))
    assert isinstance(posterior, MixturePosterior)
    assert posterior.hypotheses.weights[len(model.population) :].sum() > 0.5
    names = [f"at {place:.1f}" for place in PLACES]
    assert "the opposite of at " in model.explain(X, -valley(X, 0.5), names)
    edge, middle = np.array([[0.0, 0.0], [0.5, 0.5]])
    scores = posterior.score(np.array([edge, middle]), Acquisition("ei", 10, 2))
    assert scores[0] > scores[1]


def test_the_score_is_the_average_improvement_of_all_parts(model: MixtureModel) -> None:
    X, Z = trials(8), trials(20, seed=6)
    fitted = model.fit(X, valley(X, 0.3))
    assert isinstance(fitted, MixturePosterior)
    for share in (0.0, 0.35):
        posterior = replace(fitted, share=share)
        scored, hypotheses = posterior.hypotheses.predict(Z), posterior.hypotheses
        weights = hypotheses.weights[hypotheses.alive] * hypotheses.stakes
        gains = ei(scored.mean, scored.std[:, None], hypotheses.best) @ weights
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


def test_stakes_are_what_gains_are_worth_and_average_to_one(population: Population) -> None:
    X, v = trials(5), np.random.default_rng(4).normal(size=5)
    hypotheses = Hypotheses.of(population, X, v)
    weights = hypotheses.weights[hypotheses.alive]
    assert weights @ hypotheses.stakes == pytest.approx(1.0)
    worth = population.quantiles.only(hypotheses.alive).per_score(hypotheses.best)
    assert np.allclose(hypotheses.stakes / hypotheses.stakes[0], worth / worth[0])


# -- the run's own process ---------------------------------------------------------------------------------------


def test_predictive_density_is_that_of_leaving_each_result_out() -> None:
    """The closed form against a refit without each trial, with the same hyperparameters."""
    X = trials(7)
    own = GaussianModel(None, 0).fit(X, valley(X, 0.3))
    assert isinstance(own, GaussianPosterior)
    total = 0.0
    for i in range(7):
        others = np.delete(np.arange(7), i)
        K = own.gp.kernel.gram(X[others])
        k = own.gp.kernel(X[others], X[i : i + 1])[:, 0]
        level = own.gp.constant[0]
        mean = level + k @ np.linalg.solve(K, own.gp.Y[others, 0] - level)
        variance = own.gp.kernel.amplitude + own.gp.kernel.noise - k @ np.linalg.solve(K, k)
        total += norm(mean, np.sqrt(variance + module.TOLERANCE**2)).logpdf(own.gp.Y[i, 0])
    assert _predictive(own) == pytest.approx(total)


def test_with_many_results_smaller_errors_count() -> None:
    """Few results that tie by chance prove nothing; of many, a side that predicts them exactly is the better one."""
    assert module.tolerance(3) == module.tolerance(20) == 0.2
    assert module.tolerance(40) == pytest.approx(0.05)
    sizes = [module.tolerance(k) for k in range(20, 200)]
    assert sizes == sorted(sizes, reverse=True)
    exact, rough = np.full(100, 0.001), np.full(100, 0.05)
    gap = log_density(exact, exact**2) - log_density(rough, rough**2)
    assert gap.sum() > 100
    assert (log_density(exact[:5], exact[:5] ** 2) - log_density(rough[:5], rough[:5] ** 2)).sum() < 1


def test_predictive_density_of_the_hypotheses_is_that_of_leaving_each_result_out(population: Population) -> None:
    """With the same weights, shifts and scales, in the units of v."""
    X, v = trials(6), np.random.default_rng(4).normal(size=6)
    hypotheses = Hypotheses.of(population, X, v)
    weights, shift, scale, _ = hypotheses.fit
    K = covariance(population, X, X) + population.kernel.noise * np.eye(6)
    F = population.at(X)
    total = 0.0
    for i in range(6):
        others = np.delete(np.arange(6), i)
        solved = np.linalg.solve(K[np.ix_(others, others)], K[others, i])
        std = np.sqrt((K[i, i] - K[i, others] @ solved) / scale**2 + module.TOLERANCE**2)
        mean = (F[i] + solved @ (shift + scale * v[others, None] - F[others]) - shift) / scale
        total += np.log(weights @ norm(mean, std).pdf(v[i]))
    assert hypotheses.predictive() == pytest.approx(total)


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
