"""The formulas behind `auto` and `prior`, and when they step aside."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.gp import GP, Fit, Matern, SquaredExponential, TaskGPs, fit_kernel, log_marginal_likelihood
from headstart.history.history import build
from headstart.strategies.auto import Auto
from headstart.strategies.base import Told
from headstart.surrogates.base import Acquisition
from headstart.surrogates.experts import Experts, expected_gain
from headstart.surrogates.prior import TransferredPrior
from headstart.transfer.models import TaskModels
from headstart.transfer.prior import NOISE, LearnedPrior
from headstart.transfer.surfaces import own_scale, stretch, unstretch
from headstart.transfer.weights import feature_weights, is_unlike, rank_weights
from histories import FLAT, KINDS, make

# -- Matérn ----------------------------------------------------------------------------------------------------


def matern(x, z, lengthscales, amplitude):
    r = np.sqrt((((x - z) / lengthscales) ** 2).sum())
    return amplitude * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def test_matern_is_its_formula():
    rng = np.random.default_rng(0)
    A, B = rng.random((4, 3)), rng.random((5, 3))
    kernel = Matern(1.7, np.array([0.3, 1.0, 5.0]), 0.01)
    direct = [[matern(a, b, kernel.lengthscales, 1.7) for b in B] for a in A]
    np.testing.assert_allclose(kernel(A, B), direct, rtol=1e-9)
    np.testing.assert_allclose(np.diag(kernel(A, A)), 1.7, rtol=1e-6)


def test_matern_gradients_are_numeric_ones():
    rng = np.random.default_rng(1)
    X, y = rng.random((12, 2)), rng.normal(size=12)
    kernel = Matern(0.8, np.array([0.4, 0.9]), 0.05)
    gp = GP.fit(kernel, X, y)
    Z, h = rng.random((3, 2)), 1e-6
    found = gp.predict_with_gradients(Z)
    for j in range(2):
        step = np.zeros(2)
        step[j] = h
        (up, up_std), (down, down_std) = gp.predict(Z + step), gp.predict(Z - step)
        np.testing.assert_allclose(found.mean_gradient[:, j], (up - down) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(found.std_gradient[:, j], (up_std - down_std) / (2 * h), atol=1e-6)
    theta, groups = kernel.theta, [(X, (y - y.mean())[:, None])]
    _, gradient = log_marginal_likelihood(theta, groups, kind=Matern)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-5
        up, down = (log_marginal_likelihood(theta + s, groups, kind=Matern)[0] for s in (step, -step))
        assert gradient[j] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


def test_matern_pullback_is_the_gradient_of_the_predictions():
    rng = np.random.default_rng(2)
    designs = [rng.random((6, 2)), rng.random((8, 2))]
    gps = TaskGPs.fit(designs, [rng.random(6), rng.random(8)], Matern(1.0, np.array([0.5, 0.7]), 0.01))
    Z, W, h = rng.random((3, 2)), rng.random((3, 2)), 1e-6
    _, pull = gps.pullback(Z)
    full = gps.predict_with_gradient(Z)[1]
    np.testing.assert_allclose(pull(W), np.einsum("mt,mtd->md", W, full), rtol=1e-10)
    step = np.array([h, 0.0])
    np.testing.assert_allclose(full[:, :, 0], (gps.predict(Z + step) - gps.predict(Z - step)) / (2 * h), atol=1e-6)


def test_the_kind_of_kernel_is_kept_by_fitting():
    rng = np.random.default_rng(3)
    X = rng.random((20, 2))
    assert isinstance(fit_kernel([(X, X[:, 0])], Fit(kind=Matern), rng=rng), Matern)
    assert type(fit_kernel([(X, X[:, 0])], rng=rng)) is SquaredExponential


# -- scales ----------------------------------------------------------------------------------------------------


def test_stretching_is_monotone_and_reversible():
    v = np.linspace(0, 1, 50)
    z = stretch(v)
    assert z[0] == 0
    assert z[-1] == pytest.approx(1)
    assert (np.diff(z) > 0).all()
    assert z[1] - z[0] > z[-1] - z[-2]  # the good end is magnified
    np.testing.assert_allclose(unstretch(z), v, atol=1e-12)


def test_a_runs_own_scale_ignores_units_and_survives_constants():
    losses = np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(own_scale(losses), own_scale(1e6 * losses - 7))
    assert own_scale(losses).min() == 0
    np.testing.assert_array_equal(own_scale(np.full(4, 2.0)), np.zeros(4))


# -- weights ---------------------------------------------------------------------------------------------------


def test_tasks_that_rank_the_results_alike_count_for_more():
    M = np.array([[0.1, 0.9, 0.5], [0.5, 0.5, 0.5], [0.9, 0.1, 0.5]])  # tried × tasks: alike, reversed, indifferent
    w = rank_weights(M, np.array([1.0, 2.0, 3.0]))
    assert w.sum() == pytest.approx(1)
    assert w[0] > w[2] > w[1]
    np.testing.assert_allclose(rank_weights(M, np.array([1.0, 2.0, 3.0])), rank_weights(M, np.array([0.0, 5.0, 1e9])))
    np.testing.assert_allclose(rank_weights(M[:1], np.array([1.0])), 1 / 3)  # one result orders nothing
    np.testing.assert_allclose(rank_weights(M, np.full(3, 2.0)), 1 / 3)  # nor do ties


def test_features_that_determine_the_surface_take_the_weight_and_noise_does_not():
    rng = np.random.default_rng(0)
    place = rng.random((30, 1)) * 2 - 1
    grid = np.linspace(-1, 1, 25)
    M = (grid[:, None] - place[:, 0]) ** 2  # (m, T)
    new = np.array([0.3])
    w = feature_weights(M, place, new)
    assert w.sum() == pytest.approx(1)
    truth = (grid - 0.3) ** 2
    assert np.abs(M @ w - truth).max() < 0.3 * np.abs(M.mean(axis=1) - truth).max()
    noise = feature_weights(M, rng.normal(size=(30, 3)), np.zeros(3))
    assert np.abs(noise - 1 / 30).max() < 0.1


def test_expected_gain_counts_only_improvement():
    M = np.array([[0.2, 0.8], [0.6, 0.6]])
    gain = expected_gain(M, np.full(2, 1e-9), np.array([0.5, 0.7]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(gain, [0.15, 0.05], atol=1e-8)


def test_a_task_that_reverses_every_ranking_is_unlike_the_past():
    rng = np.random.default_rng(0)
    truth = np.linspace(0, 1, 6)
    M = truth[:, None] + 0.05 * rng.normal(size=(6, 10))
    assert not is_unlike(M, truth)
    assert is_unlike(M, -truth)
    assert not is_unlike(M[:3], -truth[:3])  # three results are too few to tell


# -- the learned prior -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def past():
    return TaskModels(make(FLAT, tasks=8, evaluations=25), rng=np.random.default_rng(0))


def test_before_results_the_prior_is_the_mean_of_the_past(past):
    Z = np.random.default_rng(1).random((5, 2))
    mean, _ = LearnedPrior.equal(past.surfaces).mean_and_phi(Z)
    np.testing.assert_allclose(mean, past.surfaces.at(Z).mean(axis=1))


def test_conditioning_equals_the_dense_formula(past):
    rng = np.random.default_rng(2)
    X, z, Z = rng.random((6, 2)), rng.random(6), rng.random((4, 2))
    found = LearnedPrior.equal(past.surfaces).condition(X, z)
    mean, phi = found.prior.mean_and_phi(Z)
    kernel = found.prior.kernel(found.rho)
    K = found.phi @ found.phi.T + kernel(X, X) + NOISE**2 * np.eye(6)
    k = phi @ found.phi.T + kernel(Z, X)
    np.testing.assert_allclose(found.predict(Z)[0], mean + k @ np.linalg.solve(K, z - found.mean), atol=1e-8)
    variance = (phi**2).sum(1) + found.rho**2 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    np.testing.assert_allclose(found.predict(Z)[1] ** 2, np.maximum(variance, 1e-10), atol=1e-8)


def test_extending_equals_conditioning_anew_with_the_same_residual(past, monkeypatch):
    monkeypatch.setattr("headstart.transfer.prior.RESIDUALS", (0.2,))
    rng = np.random.default_rng(3)
    X, z, Z = rng.random((7, 2)), rng.random(7), rng.random((4, 2))
    prior = LearnedPrior.equal(past.surfaces)
    grown = prior.condition(X[:6], z[:6]).extend(X[6], z)
    whole = prior.condition(X, z)
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), atol=1e-8)


def test_results_that_contradict_the_past_make_the_residual_large(past):
    X = np.random.default_rng(4).random((10, 2))
    typical = past.surfaces.at(X)[:, 3]
    contrary = np.random.default_rng(5).random(10)
    prior = LearnedPrior.equal(past.surfaces)
    assert prior.condition(X, contrary).rho > prior.condition(X, typical).rho


# -- what is proposed ------------------------------------------------------------------------------------------


def family(target):
    """Tasks whose optimum lies at different places along x, and one to be left out."""
    V = FLAT.sample_values(40, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    centres = np.linspace(0.05, 0.95, 12)
    losses = [(Z[:, 0] - c) ** 2 + 0.1 * (Z[:, 1] - 0.5) ** 2 for c in centres]
    names = np.repeat([f"t{i:02d}" for i in range(12)], 40)
    history = build(FLAT, tasks=names, V=np.tile(V, (12, 1)), losses=np.concatenate(losses))
    return history, lambda c: target((FLAT.encode([c])[0, 0] - 0.8) ** 2 + 0.1 * (FLAT.encode([c])[0, 1] - 0.5) ** 2)


def test_the_start_adapts_to_the_tasks_that_are_alike():
    history, objective = family(lambda x: x)
    opt = hs.Optimizer(FLAT, history=history, init="auto", n_init=6, seed=0)
    for _ in range(6):
        config = opt.ask()
        opt.tell(config, objective(config))
    static = hs.learn(history, n=6, method="auto").configs
    assert opt.best_value < min(objective(config) for config in static)
    assert opt.best_value < 0.01


def test_the_start_fills_the_space_when_the_past_misleads():
    """Past tasks all agree; the new one is their negative. From the fifth on, proposals leave the old optimum."""
    V = FLAT.sample_values(40, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    rng = np.random.default_rng(1)
    losses = [((Z - 0.2) ** 2).sum(axis=1) + 0.01 * rng.random(40) for _ in range(12)]
    history = build(
        FLAT,
        tasks=np.repeat([f"t{i:02d}" for i in range(12)], 40),
        V=np.tile(V, (12, 1)),
        losses=np.concatenate(losses),
    )
    run = Auto().begin(
        TaskModels(history, rng=np.random.default_rng(0)), n=8, features=None, rng=np.random.default_rng(0)
    )
    told = Told.nothing(FLAT)
    for _ in range(8):
        v = run.ask(told)
        told = told.and_(v, -float(((FLAT.encode_values(v[None])[0] - 0.2) ** 2).sum()))
    late = FLAT.encode_values(told.V[5:])
    assert np.abs(late - 0.2).max(axis=1).min() > 0.4


def test_meta_features_order_the_first_two_and_nothing_else():
    """Two kinds of tasks with opposite optima, told apart by a feature."""
    V = FLAT.sample_values(30, rng=np.random.default_rng(0))
    Z = FLAT.encode_values(V)
    names, losses, described = [], [], {}
    for i in range(12):
        kind = float(i % 2)
        names += [f"t{i:02d}"] * 30
        losses.append(np.tanh(6 * np.abs(Z[:, 0] - (0.1 if kind else 0.9))))  # no compromise in the middle
        described[f"t{i:02d}"] = {"kind": kind}
    history = build(FLAT, tasks=names, V=np.tile(V, (12, 1)), losses=np.concatenate(losses), features=described)
    past = TaskModels(history, rng=np.random.default_rng(0))
    pairs = []
    for features in ({"kind": 0.0}, {"kind": 1.0}, None):
        run = Auto().begin(past, n=4, features=features, rng=np.random.default_rng(0))
        first = run.ask(Told.nothing(FLAT))
        told = Told.nothing(FLAT).and_(first, 0.5)
        pairs.append((first, run.ask(told)))
    assert pairs[0][0][0] > 0.6  # the first one suits the kind
    assert pairs[1][0][0] < 0.4
    same = {tuple(sorted((a[0], b[0]))) for a, b in pairs}
    assert len(same) == 1


def test_the_experts_take_turns():
    history = make(FLAT, tasks=8, evaluations=25)
    past = TaskModels(history.drop("task3"), rng=np.random.default_rng(0))
    model = Experts().begin(FLAT, past, features=None, rng=np.random.default_rng(0))
    Z, losses = history.design("task3")[:10], history["task3"].losses[:10]
    posterior = model.fit(Z, losses)
    turns = [posterior.score(Z, Acquisition("auto", trials)) for trials in range(6)]
    np.testing.assert_array_equal(turns[0], turns[3])
    assert not np.allclose(turns[0], turns[1])
    assert not np.allclose(turns[1], turns[2])


@pytest.mark.parametrize("name", ["ei", "log_ei", "pi", "lcb"])
def test_a_named_acquisition_is_not_replaced_by_the_experts_own(name):
    history = make(FLAT, tasks=8, evaluations=25)
    models = TaskModels(history.drop("task3"), rng=np.random.default_rng(0))
    begin = {"features": None, "rng": np.random.default_rng(0)}
    Z, losses = history.design("task3")[:10], history["task3"].losses[:10]
    experts = Experts().begin(FLAT, models, **begin).fit(Z, losses)
    one = TransferredPrior(weights="equal").begin(FLAT, models, **begin).fit(Z, losses)
    at = history.design("task3")[10:]
    for trials in range(3):  # whoever's turn it would be
        acquisition = Acquisition(name, trials, FLAT.width)
        np.testing.assert_array_equal(experts.score(at, acquisition), one.score(at, acquisition))


def test_prior_needs_a_history_and_knows_its_weights(past):
    with pytest.raises(ValueError, match="surrogate='prior' learns from past runs"):
        TransferredPrior().begin(FLAT, None, features=None, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="weights must be"):
        TransferredPrior(weights="best")
    with pytest.raises(ValueError, match="needs the new task's meta-features"):
        TransferredPrior(weights="features").begin(FLAT, past, features=None, rng=np.random.default_rng(0))


@pytest.mark.parametrize("weights", ["ranks", "features", "equal"])
def test_prior_proposes_near_the_optimum_of_the_tasks_it_trusts(weights):
    history = make(FLAT, tasks=8, evaluations=25)
    past = TaskModels(history.drop("task5"), rng=np.random.default_rng(0))
    model = TransferredPrior(weights=weights).begin(
        FLAT, past, features=history["task5"].features, rng=np.random.default_rng(0)
    )
    task = history["task5"]
    tried = np.arange(0, 25, 4)
    posterior = model.fit(history.design("task5")[tried], task.losses[tried])
    score = posterior.score(history.design("task5"), Acquisition("ei"))
    score[tried] = -np.inf
    assert task.scaled()[score.argmax()] < np.median(task.scaled())


def test_ragged_histories_and_many_tasks_are_thinned_reproducibly():
    history = make(FLAT, tasks=110, evaluations=5, shared=False, features=False)
    one, two = (TaskModels(history, rng=np.random.default_rng(0)).surfaces for _ in range(2))
    assert len(one) == 100
    np.testing.assert_array_equal(one.tasks, two.tasks)
    assert len(TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0)).surfaces) == 6
