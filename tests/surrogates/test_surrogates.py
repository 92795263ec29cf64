"""One set of checks for every surrogate, then what is particular to SCoT and MKLGP."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart._support.types import Array
from headstart.gp import GP, SquaredExponential
from headstart.history import History
from headstart.history.history import build
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Model, standardise
from headstart.surrogates.gaussian import refit_at
from headstart.surrogates.joint import Evaluations, JointGP, JointPrior, task_vectors, thin
from headstart.surrogates.mklgp import (
    APART,
    MKLGP,
    deviations,
    fit_weights,
    log_likelihood,
    task_covariance,
    task_squares,
)
from headstart.surrogates.names import SURROGATES
from headstart.surrogates.scot import SCoT, plain_labels, rank_labels, rank_weights
from headstart.transfer.models import TaskModels

NAMES = sorted(SURROGATES)
POOLED = ("mklgp", "scot")
PLAIN = Space({"x": hs.Float(0.0, 1.0), "y": hs.Float(0.0, 1.0)})
MIXED = Space(
    {
        "kernel": hs.Categorical(["rbf", "poly", "linear"]),
        "C": hs.Float(2**-5, 2**6, log=True),
        "gamma": hs.Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": hs.Int(2, 10, when={"kernel": "poly"}),
        "shrink": hs.Categorical([True, False]),
    }
)
FEATURES = {"size": 0.5, "width": 0.1}


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


# A family of related tasks -----------------------------------------------------------------------------


def slope(Z: Array, size: float = 0.5) -> Array:
    """A smooth task whose losses mostly fall along the first column; the last matters by `size`."""
    return np.asarray((1.0 - Z[:, 0]) ** 2 + 0.6 * size * Z[:, -1] + 0.1 * np.sin(4 * Z[:, 0] * Z[:, -1]))


def family(
    space: Space = PLAIN, tasks: int = 5, rows: int = 18, *, features: bool = True, ragged: bool = False
) -> History:
    """Tasks that differ in size, scale and offset; `ragged`: and in which rows they have, and how many."""
    names, V, losses, known = [], [], [], {}
    for t in range(tasks):
        generator, size = rng(5, t if ragged else 0), t / max(tasks - 1, 1)
        v = space.sample_values(rows - 2 * t if ragged else rows, rng=generator)
        names += [f"task{t}"] * len(v)
        V.append(v)
        losses.append(10.0**t * (slope(space.encode_values(v), size) + t))
        known[f"task{t}"] = {"size": size, "width": 0.3 * t}
    described = known if features else None
    return build(space, tasks=names, V=np.concatenate(V), losses=np.concatenate(losses), features=described)


def constant_task(history: History) -> History:
    """The history with a task more, on which everything is equal."""
    V = history.V[:6]
    return history.merge(build(history.space, tasks=["flat"] * len(V), V=V, losses=np.full(len(V), 3.0)))


HISTORIES: dict[str, Callable[[], History]] = {
    "shared": family,
    "without features": lambda: family(features=False),
    "ragged": lambda: family(ragged=True),
    "ragged, without features": lambda: family(ragged=True, features=False),
    "one task": lambda: family(tasks=1),
    "a constant task": lambda: constant_task(family()),
    "nothing but a constant task": lambda: constant_task(family()).only(["flat"]),
    "two rows": lambda: family(tasks=2, rows=2),
}


def begin(name: str, space: Space, history: History | None) -> Any:
    past = None if history is None else TaskModels(history, rng=rng(1))
    return SURROGATES[name]().begin(space, past, features=FEATURES, rng=rng(2))


@cache
def model(name: str, kind: str = "shared", mixed: bool = False) -> Any:
    """A surrogate at the beginning of a run."""
    return begin(name, MIXED, family(MIXED, rows=40)) if mixed else begin(name, PLAIN, HISTORIES[kind]())


def trials(n: int, space: Space = PLAIN, seed: int = 0) -> tuple[Array, Array]:
    """n trials of a task that is not in the history, in units of its own."""
    Z = space.encode_values(space.sample_values(n, rng=rng(9, seed)))
    return Z, 7.0 + 3.0 * slope(Z, 0.45)


def pool(space: Space = PLAIN, n: int = 200) -> Array:
    return space.encode_values(space.sample_values(n, rng=rng(11)))


def check(m: Model, Z: Array, losses: Array, at: Array) -> None:
    """Everything a posterior offers is a finite number."""
    posterior = m.fit(Z, losses)
    mean, std = posterior.predict(at)
    assert mean.shape == std.shape == (len(at),)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    for acquisition in Acquisition.NAMES:
        score = posterior.score(at, Acquisition(acquisition, len(losses), Z.shape[1]))
        assert score.shape == (len(at),)
        assert np.isfinite(score).all()
    climbed = posterior.climb(at, Acquisition())
    if climbed is not None:
        assert all(np.isfinite(part).all() for part in climbed)


# Every surrogate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_reproducible_from_the_rng(name: str) -> None:
    Z, losses = trials(8)
    again = begin(name, PLAIN, family())
    assert np.array_equal(model(name).fit(Z, losses).predict(pool()), again.fit(Z, losses).predict(pool()))


@pytest.mark.parametrize("name", NAMES)
def test_a_posterior_is_a_function_of_what_was_told(name: str) -> None:
    Z, losses = trials(12)
    kept = Z.copy(), losses.copy()
    for array in (Z, losses):
        array.setflags(write=False)
    first = model(name).fit(Z, losses)
    before = first.predict(pool())
    first.extend(np.array([0.1, 0.2]), 50.0)
    model(name).fit(*trials(5, seed=1)).score(pool(), Acquisition())
    assert np.array_equal(before, first.predict(pool()))
    assert np.array_equal(before, model(name).fit(Z, losses).predict(pool()))
    assert np.array_equal(Z, kept[0])
    assert np.array_equal(losses, kept[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", HISTORIES)
def test_finite_whatever_the_history(name: str, kind: str) -> None:
    for n in (1, 2, 6):
        check(model(name, kind), *trials(n), pool(n=30))


@pytest.mark.parametrize("name", NAMES)
def test_without_a_history_it_works_or_says_what_to_do(name: str) -> None:
    if name in (*POOLED, "prior"):
        with pytest.raises(ValueError, match=f"'{name}'.* pass a history, or .*'gp'"):
            begin(name, PLAIN, None)
        return
    for n in (1, 2, 6):
        check(begin(name, PLAIN, None), *trials(n), pool(n=30))


@pytest.mark.parametrize("name", NAMES)
def test_constant_losses_and_repeated_trials(name: str) -> None:
    Z, losses = trials(6)
    check(model(name), Z, np.full(6, 4.0), pool(n=30))
    check(model(name), np.repeat(Z, 2, axis=0), np.repeat(losses, 2), pool(n=30))
    check(model(name), np.repeat(Z[:1], 4, axis=0), losses[:4], pool(n=30))
    check(model(name), np.repeat(Z[:1], 4, axis=0), np.full(4, -1.0), pool(n=30))
    check(model(name), Z, 1e12 * losses, pool(n=30))
    check(model(name), Z, 1e-12 * losses, pool(n=30))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 9])
def test_mixed_conditional_spaces(name: str, n: int) -> None:
    check(model(name, mixed=True), *trials(n, MIXED), pool(MIXED, 40))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["shared", "ragged, without features"])
def test_learns_a_smooth_function(name: str, kind: str) -> None:
    Z, losses = trials(25)
    posterior = model(name, kind).fit(Z, losses)
    at = pool()
    assert np.corrcoef(posterior.predict(at)[0], slope(at, 0.45))[0, 1] > 0.85
    order = np.argsort(losses)
    predicted = posterior.predict(Z)[0]
    assert predicted[order[:5]].mean() < predicted[order[-5:]].mean() - np.ptp(losses) / 3
    assert losses.min() - np.ptp(losses) < predicted.min() < predicted.max() < losses.max() + np.ptp(losses)


@pytest.mark.parametrize("name", ["gp", "mklgp", "scot"])
def test_surer_where_it_has_looked(name: str) -> None:
    Z, losses = trials(12)
    posterior = model(name, "ragged").fit(0.3 * Z, losses)
    assert posterior.predict(0.3 * Z)[1].max() < posterior.predict(np.array([[1.0, 1.0]]))[1][0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["shared", "ragged"])
def test_extending_is_fitting_with_one_more(name: str, kind: str) -> None:
    n = next(n for n in range(8, 99) if refit_at(n + 1) == refit_at(n))  # where the normalisation stays the same
    Z, losses = trials(n + 1)
    extended = model(name, kind).fit(Z[:n], losses[:n]).extend(Z[n], float(losses[n]))
    anew = model(name, kind).fit(Z, losses)
    if name == "prior":  # keeps the weights of the past tasks as they were
        assert np.allclose(extended.predict(pool()), anew.predict(pool()), atol=0.1 * np.ptp(losses))
        return
    for one, other in zip(extended.predict(pool()), anew.predict(pool()), strict=True):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-8)
    scores = [p.score(pool(), Acquisition(trials=n + 1)) for p in (extended, anew)]
    assert np.argmax(scores[0]) == np.argmax(scores[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 7, 15])
def test_units_of_the_losses_do_not_matter(name: str, n: int) -> None:
    Z, losses = trials(n)
    here, there = (model(name).fit(Z, f) for f in (losses, 1000 * losses - 321.0))
    (mean, std), changed = here.predict(pool()), there.predict(pool())
    assert np.allclose(changed[0], 1000 * mean - 321.0, rtol=1e-6)
    assert np.allclose(changed[1], 1000 * std, rtol=1e-6)
    for acquisition in Acquisition.NAMES:
        acquire = Acquisition(acquisition, n, 2)
        score = here.score(pool(), acquire)
        assert score[np.argmax(there.score(pool(), acquire))] == pytest.approx(score.max(), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("acquisition", ["ei", "lcb"])
@pytest.mark.parametrize("mixed", [False, True])
def test_climbing_follows_the_gradient_of_the_score(name: str, acquisition: str, mixed: bool) -> None:
    space = MIXED if mixed else PLAIN
    posterior = model(name, mixed=mixed).fit(*trials(9, space))
    acquire = Acquisition(acquisition, 9, space.width)
    at = 0.05 + 0.9 * pool(space, 12)
    if (climbed := posterior.climb(at, acquire)) is None:
        pytest.skip("has no gradient")
    value, gradient = climbed
    assert np.allclose(value, posterior.score(at, acquire), rtol=1e-8)
    for j, step in enumerate(3e-5 * np.eye(space.width)):
        difference = (posterior.score(at + step, acquire) - posterior.score(at - step, acquire)) / 6e-5
        assert np.allclose(gradient[:, j], difference, rtol=1e-3, atol=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("kind", ["shared", "ragged", "without features"])
def test_a_history_of_related_tasks_makes_a_difference(name: str, kind: str) -> None:
    """After a random first trial, the next two are better than random ones, on average."""
    at, gains = pool(), []
    m = model(name, kind)
    for seed in range(8):
        tried = [int(i) for i in rng(13, seed).choice(len(at), 1)]
        f = 2.0 + 5.0 * slope(at, 0.45)
        while len(tried) < 3:
            score = m.fit(at[tried], f[tried]).score(at, Acquisition())
            score[tried] = -np.inf
            tried.append(int(np.argmax(score)))
        gains.append(f.mean() - f[tried[1:]].mean())
    assert np.mean(gains) > 0.5 * (f.mean() - f.min())


def test_a_forest_breaks_ties_by_distance() -> None:
    """After one trial every tree says the same everywhere, and the farthest configuration is the next."""
    Z, losses = trials(1)
    score = model("rf").fit(Z, losses).score(pool(), Acquisition())
    assert np.argmax(score) == np.argmax(np.linalg.norm(pool() - Z[0], axis=1))


# One process over all data sets ------------------------------------------------------------------------


def dense(
    past: JointPrior, covariance: Array, rows: Evaluations, labels: Array, Z: Array, Y: Array, at: Array
) -> tuple[Array, Array]:
    """Mean and std of the new task by an explicit inverse of the covariance of all rows."""
    new = len(covariance) - 1
    X = np.vstack([rows.X, Z])
    tasks = np.append(rows.tasks, np.full(len(Z), new))
    scale = covariance / past.kernel.amplitude
    K = past.kernel(X, X) * scale[np.ix_(tasks, tasks)] + past.kernel.noise * np.eye(len(X))
    k = past.kernel(X, at) * scale[tasks, new][:, None]
    weights = np.linalg.solve(K, k)
    variance = past.kernel.amplitude - np.einsum("ij,ij->j", k, weights)
    return weights.T @ np.append(labels, Y), np.sqrt(variance)


def pooled(distinct: int, n: int, tasks: int = 4, seed: int = 0) -> tuple[JointPrior, Array, Evaluations, Array]:
    """A random past: n rows of some tasks, at `distinct` configurations."""
    generator = rng(17, seed)
    rows = Evaluations(generator.random((distinct, 3))[np.arange(n) % distinct], generator.integers(0, tasks, n))
    root = generator.normal(size=(tasks + 1, tasks + 2))
    covariance, labels = root @ root.T, generator.normal(size=n)
    kernel = SquaredExponential(covariance[-1, -1], np.array([0.4, 0.7, 1.5]), 0.05)
    return JointPrior.fit(kernel, covariance, rows, labels), covariance, rows, labels


@pytest.mark.parametrize(("distinct", "n"), [(7, 30), (30, 30), (1, 1)])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_pooled_process_is_the_dense_one(distinct: int, n: int, k: int) -> None:
    past, covariance, rows, labels = pooled(distinct, n)
    Z, Y, at = rng(1).random((k, 3)), rng(2).normal(size=k), rng(3).random((9, 3))
    assert past.root.shape == (distinct, distinct)
    gp = JointGP.at(past, Z)
    mean, std = gp.predict(at, gp.weights(Y))
    expected = dense(past, covariance, rows, labels, Z, Y, at)
    assert np.allclose(mean, expected[0], rtol=1e-8, atol=1e-10)
    assert np.allclose(std, expected[1], rtol=1e-7)


def test_pooled_process_grows_trial_by_trial() -> None:
    past, *_ = pooled(7, 30)
    Z, Y, at = rng(1).random((6, 3)), rng(2).normal(size=6), rng(3).random((9, 3))
    grown = JointGP.at(past, Z[:0])
    for z in Z:
        grown = grown.and_(z)
    anew = JointGP.at(past, Z)
    assert np.allclose(grown.R, anew.R)
    assert np.allclose(grown.J, anew.J)
    for one, other in zip(grown.predict(at, grown.weights(Y)), anew.predict(at, anew.weights(Y)), strict=True):
        assert np.allclose(one, other, rtol=1e-9)


def test_unrelated_data_sets_leave_a_plain_process() -> None:
    """With no covariance between the past and the new task, only the run's own trials count."""
    past, covariance, rows, labels = pooled(7, 30)
    covariance[-1, :-1] = covariance[:-1, -1] = 0.0
    Z, Y, at = rng(1).random((6, 3)), rng(2).normal(size=6), rng(3).random((9, 3))
    gp = JointGP.at(JointPrior.fit(past.kernel, covariance, rows, labels), Z)
    expected = GP.fit(past.kernel, Z, Y, mean=0.0).predict(at)
    for one, other in zip(gp.predict(at, gp.weights(Y)), expected, strict=True):
        assert np.allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("name", POOLED)
def test_without_trials_the_past_speaks(name: str) -> None:
    posterior = model(name).fit(np.empty((0, 2)), np.empty(0))
    mean, std = posterior.predict(pool())
    assert np.corrcoef(mean, slope(pool()))[0, 1] > 0.85
    assert (std > 0).all()
    assert np.isfinite(posterior.score(pool(), Acquisition())).all()
    Z, losses = trials(1)
    extended, fitted = posterior.extend(Z[0], float(losses[0])), model(name).fit(Z, losses)
    assert np.allclose(extended.predict(pool()), fitted.predict(pool()))


# The rows that are used --------------------------------------------------------------------------------


def test_thinning_is_even_over_tasks() -> None:
    tasks = np.repeat([0, 1, 2], [100, 3, 50])
    kept = thin(tasks, 21, rng=rng(0))
    assert np.bincount(tasks[kept]).tolist() == [9, 3, 9]
    assert np.array_equal(kept, thin(tasks, 21, rng=rng(0)))
    assert np.array_equal(thin(tasks, 153, rng=rng(0)), np.arange(153))
    assert len(np.unique(thin(np.arange(50), 10, rng=rng(0)))) == 10
    assert (np.diff(thin(tasks, 100, rng=rng(1))) > 0).all()


@pytest.mark.parametrize(("surrogate", "name"), [(SCoT(max_rows=40), "scot"), (MKLGP(max_rows=40), "mklgp")])
def test_a_sample_of_a_large_history_is_stated(
    surrogate: SCoT | MKLGP, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    past = TaskModels(family(ragged=True), rng=rng(0))
    with caplog.at_level(logging.INFO, logger="headstart"):
        m = surrogate.begin(PLAIN, past, features=FEATURES, rng=rng(1))
    assert (m.rows, m.total) == (40, 70)
    assert f"{name}: trained on 40 (a seeded sample) of 70 past evaluations, 40 distinct" in caplog.text
    check(m, *trials(5), pool(n=30))
    again = surrogate.begin(PLAIN, past, features=FEATURES, rng=rng(1))
    assert np.array_equal(m.fit(*trials(5)).predict(pool()), again.fit(*trials(5)).predict(pool()))


@pytest.mark.parametrize("name", POOLED)
def test_cost_depends_on_distinct_configurations(name: str) -> None:
    assert "all 90 past evaluations, 18 distinct configurations" in model(name).notes
    assert model(name).prior.root.shape == (18, 18)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SCoT(C=0.0),
        lambda: SCoT(max_rows=1),
        lambda: SCoT(fit_rows=0),
        lambda: SCoT(ranking="rbf"),
        lambda: MKLGP(max_rows=1),
        lambda: MKLGP(fit_rows=1),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


# Meta-features -----------------------------------------------------------------------------------------


def test_task_vectors_are_standardised_and_stay_within_the_past() -> None:
    past = TaskModels(family(), rng=rng(0))
    M = task_vectors(past, {"size": 0.5, "width": 1e9, "unheard of": 1.0})
    assert M is not None
    assert M.shape == (6, 2)
    assert np.allclose(M[:-1].mean(axis=0), 0)
    assert np.allclose(M[:-1].std(axis=0), 1)
    assert M[-1] == pytest.approx([0.0, M[:-1, 1].max()])


def test_task_vectors_need_features_on_both_sides() -> None:
    past = TaskModels(family(), rng=rng(0))
    assert task_vectors(past, None) is None
    assert task_vectors(past, {"unheard of": 1.0}) is None
    assert task_vectors(past, {"size": np.nan}) is None
    assert task_vectors(TaskModels(family(features=False), rng=rng(0)), FEATURES) is None
    M = task_vectors(TaskModels(constant_task(family()), rng=rng(0)), FEATURES)
    assert M is not None
    assert M[0].tolist() == [0.0, 0.0]  # "flat" has no features: it counts as average


@pytest.mark.parametrize(("name", "text"), [("scot", "told apart by nothing"), ("mklgp", "like itself alone")])
def test_missing_meta_features_are_stated(name: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="headstart"):
        SURROGATES[name]().begin(PLAIN, TaskModels(family(), rng=rng(0)), features=None, rng=rng(1))
    assert text in caplog.text


@pytest.mark.parametrize("name", POOLED)
def test_meta_features_tell_data_sets_apart(name: str) -> None:
    """The second parameter costs the more, the greater the size: so says the past of a new task of that size."""
    past, costs = TaskModels(family(tasks=8, rows=30), rng=rng(0)), []
    for size in (0.0, 1.0):
        features = {"size": size, "width": 2.1 * size}
        m = SURROGATES[name]().begin(PLAIN, past, features=features, rng=rng(1))
        mean, _ = m.fit(np.empty((0, 2)), np.empty(0)).predict(np.array([[0.5, 0.0], [0.5, 1.0]]))
        costs.append(mean[1] - mean[0])
    assert costs[0] < costs[1] - 0.1


# SCoT --------------------------------------------------------------------------------------------------


def test_ranking_of_one_pair_by_hand() -> None:
    """½|w|² + C (1 − wᵀδ)² is least at w = 2Cδ / (1 + 2C|δ|²)."""
    Z, C = np.array([[0.1, 0.5], [0.4, 0.1]]), 3.0
    delta = Z[1] - Z[0]
    expected = 2 * C * delta / (1 + 2 * C * delta @ delta)
    assert rank_weights(Z, np.array([0.0, 9.0]), C=C, seed=0) == pytest.approx(expected)
    assert rank_weights(Z, np.array([9.0, 0.0]), C=C, seed=0) == pytest.approx(-expected)


def test_ranking_is_a_minimum() -> None:
    Z, C = rng(0).random((15, 3)), 20.0
    losses = np.sin(5 * Z[:, 0]) + Z[:, 1] + 0.1 * rng(1).normal(size=15)
    w = rank_weights(Z, losses, C=C, seed=0)
    i, j = np.nonzero(losses[:, None] < losses)

    def objective(w: Array) -> float:
        return float(0.5 * w @ w + C * np.mean(np.maximum(1 - (Z[j] - Z[i]) @ w, 0) ** 2))

    for step in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]):
        assert objective(w + step) > objective(w)


def test_ranking_knows_only_the_order() -> None:
    Z = rng(0).random((12, 3))
    losses = Z @ np.array([3.0, -2.0, 0.5])
    w = rank_weights(Z, losses, C=1e6, seed=0)
    assert np.array_equal(np.argsort(Z @ w), np.argsort(losses))
    assert np.array_equal(w, rank_weights(Z, np.exp(5 * losses), C=1e6, seed=0))
    assert not rank_weights(Z, np.ones(12), C=1.0, seed=0).any()
    assert not rank_weights(Z[:1], losses[:1], C=1.0, seed=0).any()


def test_ranking_of_many_is_that_of_a_seeded_sample() -> None:
    Z = rng(0).random((400, 3))
    losses = Z @ np.array([3.0, -2.0, 0.5])
    w = rank_weights(Z, losses, C=10.0, seed=1)
    assert np.array_equal(w, rank_weights(Z, losses, C=10.0, seed=1))
    other = rank_weights(Z, losses, C=10.0, seed=2)
    assert 0 < np.linalg.norm(w - other) < 0.1 * np.linalg.norm(w)


def test_scores_have_their_zero_at_the_centre_and_a_way_back() -> None:
    Z, losses = trials(10)
    centre = np.array([0.5, 0.5])
    labels = rank_labels(Z, losses, centre=centre, C=10.0, seed=0)
    assert np.allclose(labels.values, (Z - centre) @ rank_weights(Z, losses, C=10.0, seed=0))
    back = labels.offset + labels.scale * labels.values
    assert back.mean() == pytest.approx(losses.mean())
    assert back.std() == pytest.approx(losses.std())


def test_plain_ranks_keep_the_order_and_nothing_else() -> None:
    losses = np.array([5.0, 1.0, 1.0, 200.0])
    labels = plain_labels(np.empty((4, 0)), losses)
    assert labels.values * np.sqrt(1.125) == pytest.approx([0.5, -1.0, -1.0, 1.5])  # ranks 3, 1.5, 1.5, 4 less 2.5
    assert np.allclose(labels.values, plain_labels(np.empty((4, 0)), np.log(losses)).values)
    assert (labels.offset, labels.scale) == pytest.approx((losses.mean(), losses.std()))


def test_a_linear_ranking_sees_no_best_inside_the_space_and_a_plain_one_does() -> None:
    """Every task is best at (.3, .4), so that most of it slopes up to the right: before any trial, the one says so."""
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


def test_scot_without_meta_features_is_a_process_on_pooled_scores() -> None:
    history = family(features=False)
    m = SCoT().begin(PLAIN, TaskModels(history, rng=rng(0)), features=None, rng=rng(1))
    X, losses = m.prior.points, [task.scaled() for task in history]
    scores = np.concatenate([m.label(X, f).values for f in losses])
    Z, f = trials(5)
    labels = m.label(Z, f)
    everything = np.vstack([np.tile(X, (5, 1)), Z]), np.append(scores, labels.values)
    mean, std = GP.fit(m.prior.kernel, *everything, mean=0.0).predict(pool())
    expected = labels.offset + labels.scale * mean, labels.scale * std
    assert np.allclose(m.fit(Z, f).predict(pool()), expected, rtol=1e-5)


# MKLGP -------------------------------------------------------------------------------------------------


def test_deviations_are_in_standard_deviations() -> None:
    labels = deviations(np.empty((3, 0)), np.array([1.0, 2.0, 6.0]))
    assert labels.values.mean() == pytest.approx(0.0)
    assert labels.values.std() == pytest.approx(1.0)
    assert labels.offset + labels.scale * labels.values == pytest.approx([1.0, 2.0, 6.0])


def test_distances_of_data_sets() -> None:
    squares = task_squares(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 4.0]]), 2)
    assert squares.tolist() == [[0.0, 2.0, 10.0], [2.0, 0.0, 8.0], [10.0, 8.0, 0.0]]
    apart = task_squares(None, 2)
    covariance, noise = task_covariance(np.log([0.2, 0.3, 1.0, 0.01]), apart)
    assert np.allclose(covariance, 0.2 + 0.3 * np.eye(3))
    assert noise == pytest.approx(0.01)
    assert apart.max() == APART


def test_gradient_of_the_likelihood_is_central_differences() -> None:
    generator = rng(0)
    X, M, labels = generator.random((12, 2)), generator.normal(size=(12, 2)), generator.normal(size=12)
    S = SquaredExponential(1.0, np.array([0.5, 1.0]), 1.0)(X, X)
    squares = task_squares(M, 11)
    theta = np.log([0.4, 0.7, 0.8, 0.2])
    _, gradient = log_likelihood(theta, S, squares, labels)
    for j, step in enumerate(1e-6 * np.eye(4)):
        high, low = (log_likelihood(theta + s * step, S, squares, labels)[0] for s in (1, -1))
        assert gradient[j] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("truth", [(1.0, 1e-3), (1e-3, 1.0)])
def test_weights_show_what_data_sets_share(truth: tuple[float, float]) -> None:
    generator = rng(0)
    tasks = np.repeat(np.arange(12), 12)
    X = generator.random((len(tasks), 1))
    S = SquaredExponential(1.0, np.array([0.4]), 1.0)(X, X)
    squares = (APART * (1 - np.eye(12)))[np.ix_(tasks, tasks)]
    covariance, noise = task_covariance(np.log([*truth, 1.0, 1e-3]), squares)
    K = covariance * S + noise * np.eye(len(X))
    labels = np.linalg.cholesky(K) @ generator.normal(size=len(X))
    shared, by_task, *_ = np.exp(fit_weights(S, squares, labels))
    assert (shared > 10 * by_task) if truth[0] > truth[1] else (by_task > 10 * shared)


def test_mklgp_without_a_kernel_of_data_sets_is_a_process_on_pooled_deviations() -> None:
    past = TaskModels(family(ragged=True), rng=rng(0))
    rows = Evaluations.of(past)
    labels = np.concatenate([standardise(f)[0] for f in past.losses])
    squares = task_squares(task_vectors(past, FEATURES), len(past))
    covariance, noise = task_covariance(np.array([np.log(0.8), -np.inf, 0.0, np.log(0.1)]), squares)
    kernel = SquaredExponential(0.8, np.array([0.5, 0.9]), noise)
    Z, f = trials(5)
    Y, mean, scale = standardise(f)
    gp = JointGP.at(JointPrior.fit(kernel, covariance, rows, labels), Z)
    one = GP.fit(kernel, np.vstack([rows.X, Z]), np.append(labels, Y), mean=0.0)
    for ours, theirs in zip(gp.predict(pool(), gp.weights(Y)), one.predict(pool()), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-10)
    assert deviations(Z, f).offset == mean
    assert deviations(Z, f).scale == scale
