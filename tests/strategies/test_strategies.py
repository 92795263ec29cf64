"""One conformance suite for every strategy, and what is particular to each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headstart import Categorical, Float, Space
from headstart.errors import ExhaustedError
from headstart.history.history import build
from headstart.strategies import (
    ActivePredictiveBest,
    AdaptiveLearnedInit,
    AdaptivePredictiveBest,
    LearnedInit,
    NearestBest,
    PredictiveBest,
    RandomBest,
)
from headstart.strategies.base import Told
from headstart.strategies.learned import best_power, descend, meta_gradient, meta_loss, softmin
from headstart.strategies.names import STRATEGIES
from headstart.strategies.predictive import PairForest, active_configurations, landmarks
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import concordance
from headstart.transfer.weights import feature_distance, feature_vectors
from histories import FINITE, FLAT, KINDS, MIXED, embedded, make

FEATURES = {"centre": 0.4, "noise": 0.0, "size": 20.0, "metric 0a 0": 0.4}
QUICK = {
    "pbi": PredictiveBest(trees=5),
    "apbi": AdaptivePredictiveBest(trees=5),
    "aapbi": ActivePredictiveBest(trees=5),
}


def strategy(name):
    return QUICK.get(name) or STRATEGIES[name]()


def begin(name, history, n=5, seed=0, allowed=None):
    history = embedded(history) if name == "metric" else history
    models = TaskModels(history, rng=np.random.default_rng([seed, 0]), allowed=allowed)
    chosen = strategy(name) if isinstance(name, str) else name
    return chosen.begin(models, n=n, features=FEATURES, rng=np.random.default_rng([seed, 1]))


def truth(history, v):
    """A new task near the middle of the past ones."""
    return float(((history.space.encode_values(v[None])[0] - 0.45) ** 2).sum())


def play(run, history, n):
    told = Told.nothing(history.space)
    for _ in range(n):
        v = run.ask(told)
        told = told.and_(v, truth(history, v))
    return told


@pytest.fixture(params=sorted(STRATEGIES))
def name(request):
    return request.param


@pytest.fixture(params=sorted(KINDS))
def history(request):
    return KINDS[request.param]


def test_proposals_are_valid_distinct_and_reproducible(name, history):
    first = play(begin(name, history), history, 5)
    again = play(begin(name, history), history, 5)
    np.testing.assert_array_equal(first.V, again.V)
    assert len(np.unique(first.V, axis=0, equal_nan=True)) == 5
    for config in history.space.from_values(first.V):
        assert history.space.contains(config)


def test_asking_is_pure(name):
    history = KINDS["mixed, ragged"]
    run = begin(name, history)
    told = play(run, history, 3)
    one = run.ask(told)
    run.ask(Told.nothing(history.space))
    np.testing.assert_array_equal(one, run.ask(told))
    np.testing.assert_array_equal(one, begin(name, history).ask(told))


def test_the_order_of_tasks_and_rows_does_not_matter(name):
    history = KINDS["mixed, ragged"]
    long = [
        (t, v, y) for t in history.tasks for v, y in zip(history.V[history[t].rows], history[t].losses, strict=True)
    ]
    shuffled = [long[i] for i in np.random.default_rng(3).permutation(len(long))]
    other = build(
        history.space,
        tasks=[t for t, _, _ in shuffled],
        V=np.array([v for _, v, _ in shuffled]),
        losses=np.array([y for _, _, y in shuffled]),
        features={t.name: t.features for t in history},
    )
    np.testing.assert_array_equal(play(begin(name, history), history, 4).V, play(begin(name, other), other, 4).V)


def test_more_can_be_asked_for_than_there_are_tasks(name):
    history = KINDS["two tasks"]
    told = play(begin(name, history, n=30), history, 30)
    assert len(np.unique(told.V, axis=0, equal_nan=True)) == 30


def test_a_finite_space_is_used_up_and_then_said_to_be(name):
    history = KINDS["finite space"]
    run = begin(name, history, n=10)
    told = play(run, history, 10)
    with pytest.raises(ExhaustedError, match="all 10 configurations"):
        run.ask(told)


def test_trials_that_failed_or_still_run_are_not_proposed_again(name):
    history = KINDS["mixed, shared design"]
    run = begin(name, history)
    told = Told.nothing(history.space)
    for _ in range(6):
        told = told.and_(run.ask(told))  # no result at all
    assert len(np.unique(told.V, axis=0, equal_nan=True)) == 6


def test_the_scale_of_a_task_does_not_matter(name):
    history = KINDS["mixed, ragged"]
    tasks = {t.name: replace(t, losses=t.losses * 1e4 - 7) for t in history}
    np.testing.assert_allclose(
        play(begin(name, history), history, 3).V,
        play(begin(name, replace(history, by_name=tasks)), history, 3).V,
        rtol=1e-3,
    )


# -- RBI and NBI ---------------------------------------------------------------------------------------------


def test_rbi_proposes_the_best_of_tasks_and_every_task_first_equally_often():
    history = KINDS["flat, shared design"]
    best = {tuple(history.V[t.rows[t.best]]) for t in history}
    told = play(begin(RandomBest(), history, n=len(best)), history, len(best))
    assert {tuple(v) for v in told.V} == best
    firsts = [tuple(begin(RandomBest(), history, seed=s).ask(Told.nothing(FLAT))) for s in range(200)]
    assert set(firsts) == best


def test_nbi_takes_the_nearest_task_first():
    history = make(FLAT, tasks=6)
    for i in (1, 4):
        models = TaskModels(history, rng=np.random.default_rng(0))
        run = NearestBest().begin(models, n=1, features=history[f"task{i}"].features, rng=np.random.default_rng(0))
        task = history[f"task{i}"]
        np.testing.assert_array_equal(run.ask(Told.nothing(FLAT)), history.V[task.rows[task.best]])


def test_nbi_distance_by_hand_and_with_missing_features():
    M = np.array([[0.0, 0.0], [3.0, 4.0], [np.nan, 1.0], [np.nan, np.nan]])
    new = np.array([0.0, 0.0])
    distance = feature_distance(M, new, 2.0)
    assert distance[0] == 0
    assert distance[1] == pytest.approx(5.0 * 1.0)
    assert distance[2] == pytest.approx(np.sqrt(2.0))  # one of two features known: as if the other differed as much
    assert distance[3] == np.inf
    assert feature_distance(M[:2], new, 1.0)[1] == pytest.approx(7.0)


def test_features_that_nobody_shares_or_that_are_constant():
    history = make(FLAT, tasks=3)
    models = TaskModels(history, rng=np.random.default_rng(0))
    M, _ = feature_vectors(models, {"centre": 0.5, "unknown": 1.0})
    assert M.shape == (3, 1)
    np.testing.assert_allclose(M.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(M.std(axis=0), 1)
    with pytest.raises(ValueError, match="shares no meta-feature"):
        feature_vectors(models, {"unknown": 1.0})
    with pytest.raises(ValueError, match="needs the new task's meta-features"):
        feature_vectors(models, None)


@pytest.mark.parametrize("name", ["nbi", "pbi", "apbi", "aapbi"])
def test_methods_that_need_features_say_so(name):
    history = make(FLAT, features=False)
    models = TaskModels(history, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="shares no meta-feature with the history, which has none"):
        strategy(name).begin(models, n=2, features=FEATURES, rng=np.random.default_rng(0))


# -- PBI, aPBI, aaPBI ------------------------------------------------------------------------------------------


def test_landmarks_by_hand():
    G = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0], [0.0, 3.0, 4.0]])  # configurations × tasks
    pairs = np.array([[0, 1], [0, 2]])
    # orders (0>1, 0>2, 1>2): task 0: F, T, T; task 1: T, F, F; task 2: F, F, T
    np.testing.assert_array_equal(landmarks(G, pairs), [[1, 1, 1], [0, 1, 0]])


def test_pbi_learns_a_distance_that_a_feature_determines():
    history = make(FLAT, tasks=12, evaluations=25)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task9"].features, 50, np.random.default_rng(0))
    order = np.argsort(forest.predict(Told.nothing(FLAT)))
    assert set(order[:3].tolist()) <= {history.tasks.index(f"task{i}") for i in (7, 8, 9, 10, 11)}


def test_apbi_without_results_is_pbi():
    history = make(FLAT, tasks=8)
    plain = begin(PredictiveBest(trees=20), history).ask(Told.nothing(FLAT))
    np.testing.assert_array_equal(plain, begin(AdaptivePredictiveBest(trees=20), history).ask(Told.nothing(FLAT)))


def test_results_outweigh_misleading_features():
    """The new task behaves like task 1 but describes itself as task 8: landmarks turn the prediction round."""
    history = make(FLAT, tasks=9, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task8"].features, 50, np.random.default_rng(0))
    V = history.V[history["task1"].rows[::3]]
    told = Told(V, models.responses(V)[:, history.tasks.index("task1")])
    near, far = history.tasks.index("task1"), history.tasks.index("task8")
    before, after = forest.predict(Told.nothing(FLAT)), forest.predict(told)
    assert before[far] < before[near]
    assert after[near] < after[far]


def test_active_configurations_are_best_somewhere_and_tell_tasks_apart():
    history = make(FLAT, tasks=10, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 20, np.random.default_rng(0))
    chosen = active_configurations(forest, n=6, k=3)
    best = {tuple(history.V[t.rows[t.best]]) for t in history}
    assert {tuple(v) for v in chosen} <= best
    assert len({tuple(v) for v in chosen}) == 3
    orders = models.responses(chosen)[:, None] > models.responses(chosen)[None]
    assert orders.any(axis=2).sum() > orders.all(axis=2).sum()  # at least one landmark differs between tasks


def test_aapbi_starts_with_its_active_configurations_whatever_their_results():
    history = make(FLAT, tasks=8)
    run = begin(ActivePredictiveBest(k=3, trees=5), history, n=6)
    for result in (0.0, 1.0):
        told = Told.nothing(FLAT)
        for expected in run.first:
            np.testing.assert_array_equal(run.ask(told), expected)
            told = told.and_(expected, result)


# -- LI ------------------------------------------------------------------------------------------------------


def test_softmin_and_meta_loss_by_hand():
    F = np.array([[0.0, 0.5], [1.0, 0.5]])
    S = softmin(F, -np.log(3))
    np.testing.assert_allclose(S, [[0.75, 0.5], [0.25, 0.5]])
    assert meta_loss(F, -np.log(3), np.ones(2)) == pytest.approx((0.25 + 0.5) / 2)
    assert meta_loss(F, -1e5, np.array([1.0, 0.0])) == pytest.approx(0.0)


def test_the_right_gradient_is_that_of_the_loss_and_the_printed_one_is_not():
    rng = np.random.default_rng(0)
    F, weights = 0.4 + 0.02 * rng.random((5, 7)), rng.random(7)  # close together, as good configurations are
    numeric = np.empty_like(F)
    for at in np.ndindex(F.shape):
        step = np.zeros_like(F)
        step[at] = 1e-6
        up, down = meta_loss(F + step, -30.0, weights), meta_loss(F - step, -30.0, weights)
        numeric[at] = (up - down) / 2e-6
    np.testing.assert_allclose(meta_gradient(F, -30.0, weights), numeric, atol=1e-8)
    off = np.abs(meta_gradient(F, -30.0, weights, "printed") - numeric).max()
    assert off > np.abs(numeric).max()


def test_the_gradient_reaches_the_configurations():
    models = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0))
    Z = np.random.default_rng(1).random((3, models.space.width))
    ones = np.ones(len(models))
    F, pull = models.surrogates.pullback(Z)
    analytic = pull(meta_gradient(F, -20.0, ones))
    for at in [(0, 0), (1, 3), (2, 5)]:
        step = np.zeros_like(Z)
        step[at] = 1e-6
        up, down = (meta_loss(models.predict(Z + s), -20.0, ones) for s in (step, -step))
        assert analytic[at] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_descending_lowers_the_loss_and_stays_within_bounds():
    models = TaskModels(KINDS["flat, shared design"], rng=np.random.default_rng(0))
    Z = np.random.default_rng(2).random((3, 2))
    ones = np.ones(len(models))
    moved = descend(models, Z, ones, -100.0)
    assert meta_loss(models.predict(moved), -100.0, ones) < meta_loss(models.predict(Z), -100.0, ones)
    assert (moved >= 0).all()
    assert (moved <= 1).all()


def test_li_beats_every_evaluated_configuration_when_the_optimum_lies_between_them():
    """One smooth task on a coarse grid: the learned configuration is off the grid and better."""
    V = np.array([(x, 10.0**y) for x in np.linspace(0, 1, 4) for y in (-3, -1, 1, 3)])
    loss = (V[:, 0] - 0.5) ** 2 + (np.log10(V[:, 1]) / 6) ** 2
    history = build(FLAT, tasks=["one"] * 16, V=V, losses=loss)
    v = begin(LearnedInit(), history, n=1).ask(Told.nothing(FLAT))
    reached = (v[0] - 0.5) ** 2 + (np.log10(v[1]) / 6) ** 2
    assert reached < loss.min() / 2


def test_li_covers_groups_of_tasks_with_opposite_optima():
    space = Space({"x": Float(0, 1)})
    V = np.linspace(0, 1, 9)[:, None]
    tasks, losses = [], []
    for i in range(6):
        tasks += [f"t{i}"] * 9
        losses.append((V[:, 0] - (0.1 if i < 4 else 0.9)) ** 2)
    history = build(space, tasks=tasks, V=np.tile(V, (6, 1)), losses=np.concatenate(losses))
    told = play(begin(LearnedInit(), history, n=2), history, 2)
    assert abs(told.V[0, 0] - 0.1) < 0.08  # the larger group first
    assert abs(told.V[1, 0] - 0.9) < 0.08


@pytest.mark.parametrize(
    "recipe", [LearnedInit(), LearnedInit(recipe="paper", epochs=20), LearnedInit(gradient="printed", epochs=20)]
)
def test_what_li_returns_is_valid_after_projection(recipe):
    history = KINDS["mixed, ragged"]
    plan = recipe.plan(TaskModels(history, rng=np.random.default_rng(0)), 4, np.random.default_rng(0))
    assert MIXED.checked(plan) is plan
    assert len(plan) == 4 if recipe == LearnedInit() else 1 <= len(plan) <= 4


@pytest.mark.parametrize("beta", [0.0, 3.0, -1e9, np.nan])
def test_a_beta_that_overflows_or_is_no_softmin_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be negative"):
        LearnedInit(beta=beta)


# -- aLI -----------------------------------------------------------------------------------------------------


def test_concordance_by_hand():
    past_losses = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    losses = np.array([10.0, 20.0, 30.0])
    np.testing.assert_allclose(concordance(past_losses, losses), [1.0, 0.0])
    np.testing.assert_allclose(concordance(past_losses, np.array([1.0, 3.0, 2.0])), [2 / 3, 1 / 3])


@pytest.mark.parametrize("kind", ["flat, shared design", "mixed, ragged", "one task"])
def test_ali_with_equal_weights_is_li(kind):
    history = KINDS[kind]
    li = play(begin(LearnedInit(), history, n=6), history, 6)
    ali = play(begin(AdaptiveLearnedInit(power=0.0), history, n=6), history, 6)
    np.testing.assert_array_equal(li.V, ali.V)


def test_ali_turns_to_the_tasks_that_agree_with_the_results():
    space = Space({"x": Float(0, 1)})
    V = np.linspace(0, 1, 9)[:, None]
    tasks, losses = [], []
    for i in range(6):
        tasks += [f"t{i}"] * 9
        losses.append(np.abs(V[:, 0] - (0.1 if i < 4 else 0.9)))
    history = build(space, tasks=tasks, V=np.tile(V, (6, 1)), losses=np.concatenate(losses))
    told = Told(np.array([[0.2], [0.5], [0.7]]), np.array([0.7, 0.4, 0.2]))  # like the smaller group
    run = begin(AdaptiveLearnedInit(power=4.0), history, n=5)
    assert run.task_weights(told).argmax() in (4, 5)
    assert abs(run.ask(told)[0] - 0.9) < 0.1
    backwards = begin(AdaptiveLearnedInit(power=4.0, weights="printed"), history, n=5)
    assert backwards.task_weights(told).argmax() in (0, 1, 2, 3)


def test_the_power_is_zero_when_results_say_nothing():
    """Tasks that are all alike: every power gives the same start, and the smallest is taken."""
    V = np.linspace(0, 1, 9)[:, None]
    space = Space({"x": Float(0, 1)})
    history = build(
        space, tasks=np.repeat([f"t{i}" for i in range(5)], 9), V=np.tile(V, (5, 1)), losses=np.tile(V[:, 0] ** 2, 5)
    )
    assert best_power(TaskModels(history, rng=np.random.default_rng(0)), 5) == 0.0


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: AdaptiveLearnedInit(power=-1.0), "power must be 0 or above"),
        (lambda: AdaptiveLearnedInit(weights="reverse"), "weights must be"),
        (lambda: LearnedInit(recipe="mine"), "recipe must be"),
        (lambda: LearnedInit(gradient="numeric"), "gradient must be"),
        (lambda: NearestBest(p=0), "p must be above 0"),
        (lambda: PredictiveBest(trees=0), "at least one tree"),
        (lambda: ActivePredictiveBest(k=1), "k must be at least 2"),
    ],
)
def test_parameters_are_checked(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


def test_a_pool_is_respected_by_the_learned_starts():
    history = KINDS["mixed, shared design"]
    allowed = history.V[::2]
    for name in ("li", "ali", "auto"):
        run = begin(name, history, n=4, allowed=allowed)
        for v in play(run, history, 4).V:
            assert (((allowed == v) | (np.isnan(allowed) & np.isnan(v))).all(axis=1)).any()


def test_choices_of_every_type_survive():
    space = Space({"c": Categorical([None, True, 1.5, "x"]), "x": Float(0, 1)})
    rng = np.random.default_rng(0)
    V = space.sample_values(12, rng=rng)
    history = build(space, tasks=["a"] * 12 + ["b"] * 12, V=np.tile(V, (2, 1)), losses=rng.random(24))
    for config in space.from_values(play(begin("li", history, n=3), history, 3).V):
        assert space.contains(config)


def test_finite_histories_are_what_they_claim():
    assert FINITE.size == 10
