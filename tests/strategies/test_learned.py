"""LI and aLI: the meta-loss and its gradient, the starts, and the weights of the past tasks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from headstart import Float, Space, evidence, learn
from headstart.errors import ArgumentError
from headstart.history import build
from headstart.strategies import AdaptiveLearnedInit, Closeness, LearnedInit, NearestBest, RandomBest
from headstart.strategies.base import Told
from headstart.strategies.greedy import best_power, greedy
from headstart.strategies.learned import descend, gradient_steps
from headstart.strategies.meta_loss import Rest, meta_gradient, meta_loss, softmin
from headstart.transfer.models import TaskModels
from histories import FLAT, KINDS, MIXED, embedded, make
from strategy_runs import FEATURES, begin, play


def two_groups(loss):
    """Four tasks whose optimum is at 0.1, and two at 0.9; loss: of the distance to it."""
    space = Space({"x": Float(0, 1)})
    V = np.linspace(0, 1, 9)[:, None]
    losses = [loss(V[:, 0] - (0.1 if i < 4 else 0.9)) for i in range(6)]
    tasks = np.repeat([f"t{i}" for i in range(6)], 9)
    return build(space, tasks=tasks, V=np.tile(V, (6, 1)), losses=np.concatenate(losses))


# -- the meta-loss -------------------------------------------------------------------------------------------


def test_softmin_and_meta_loss_by_hand():
    F = np.array([[0.0, 0.5], [1.0, 0.5]])
    sigma = softmin(F, -np.log(3))
    np.testing.assert_allclose(sigma, [[0.75, 0.5], [0.25, 0.5]])
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


@pytest.mark.parametrize("form", ["right", "printed"])
def test_configurations_that_do_not_move_enter_the_gradient_as_sums(form):
    """The gradient of some rows, given sums over the others, is that part of the whole gradient."""
    rng = np.random.default_rng(1)
    F, weights = rng.random((5, 7)), rng.random(7)
    whole = meta_gradient(F, -30.0, weights, form)
    np.testing.assert_allclose(meta_gradient(F[3:], -30.0, weights, form, Rest.of(F[:3], -30.0)), whole[3:], rtol=1e-9)


def test_gradient_steps_of_several_starts_are_those_of_each():
    """Three starts of two, three and one configurations, each with its own weights and its own fixed losses."""
    models = TaskModels(KINDS["flat, shared design"], rng=np.random.default_rng(0))
    rng, T = np.random.default_rng(3), len(models)
    Z, weights, fixed = rng.random((3, 3, 2)), rng.random((3, T)), rng.random((3, 2, T))
    used = np.arange(3) < np.array([[2], [3], [1]])
    together = gradient_steps(models, Z, weights, -20.0, 1e-2, 30, fixed=fixed, used=used)
    for b, n in enumerate((2, 3, 1)):
        alone = gradient_steps(models, Z[b, :n], weights[b], -20.0, 1e-2, 30, fixed=fixed[b])
        np.testing.assert_allclose(together[b, :n], alone, atol=1e-8)
        assert not np.allclose(alone, Z[b, :n])
        np.testing.assert_array_equal(together[b, n:], Z[b, n:])


def test_starts_of_several_sizes_and_draws_are_learned_together():
    models = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0))
    li, sizes = LearnedInit(recipe="paper", epochs=50), (1, 2, 4)
    found = li.plans(models, sizes, [np.random.default_rng(seed) for seed in (5, 6)])
    for seed, plans in zip((5, 6), found, strict=True):
        for n, plan in zip(sizes, plans, strict=True):
            np.testing.assert_allclose(plan, li.plan(models, n, np.random.default_rng(seed)), rtol=1e-6)


def test_the_gradient_reaches_the_configurations():
    models = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0))
    Z = np.random.default_rng(1).random((3, models.space.width))
    ones = np.ones(len(models))
    F, pull = models.surrogates.pullback(Z)
    analytic = pull(meta_gradient(F, -20.0, ones))
    for at in [(0, 0), (1, 3), (2, 5)]:
        step = np.zeros_like(Z)
        step[at] = 1e-6
        up, down = (meta_loss(models.surrogates.predict(Z + s), -20.0, ones) for s in (step, -step))
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
    history = two_groups(np.square)
    told = play(begin(LearnedInit(), history, n=2), history, 2)
    assert abs(told.V[0, 0] - 0.1) < 0.08  # the larger group first
    assert abs(told.V[1, 0] - 0.9) < 0.08


@pytest.mark.parametrize(
    "recipe", [LearnedInit(), LearnedInit(recipe="paper", epochs=20), LearnedInit(gradient="printed", epochs=20)]
)
def test_plans_are_valid_configurations(recipe):
    history = KINDS["mixed, ragged"]
    plan = recipe.plan(TaskModels(history, rng=np.random.default_rng(0)), 4, np.random.default_rng(0))
    assert MIXED.checked(plan) is plan
    assert len(plan) == 4 if recipe.gradient == "right" else 1 <= len(plan) <= 4


@pytest.mark.parametrize("beta", [0.0, 3.0, -1e9, np.nan])
def test_a_beta_that_overflows_or_is_not_negative_is_an_error(beta):
    with pytest.raises(ValueError, match="beta must be negative"):
        LearnedInit(beta=beta)


# -- the greedy choice ---------------------------------------------------------------------------------------


def test_each_greedy_row_lowers_the_mean_of_the_best_losses_most():
    F = np.random.default_rng(0).random((12, 7))
    chosen = greedy(F, 5)
    for k in range(5):
        means = [F[[*chosen[:k], i]].min(axis=0).mean() for i in range(len(F))]
        assert means[chosen[k]] == min(means)
    assert sorted(greedy(F, 99)) == list(range(12))  # every row once, even if it adds nothing


# -- aLI -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat, shared design", "mixed, ragged", "one task"])
def test_ali_with_equal_weights_is_li(kind):
    history = KINDS[kind]
    li = play(begin(LearnedInit(), history, n=6), history, 6)
    ali = play(begin(AdaptiveLearnedInit(power=0.0), history, n=6), history, 6)
    np.testing.assert_array_equal(li.V, ali.V)


def test_ali_turns_to_the_tasks_that_agree_with_the_results():
    history = two_groups(np.abs)
    told = Told(np.array([[0.2], [0.5], [0.7]]), np.array([0.7, 0.4, 0.2]))  # like the smaller group
    run = begin(AdaptiveLearnedInit(power=4.0), history, n=5)
    assert run.task_weights(told).argmax() in (4, 5)
    assert abs(run.ask(told)[0] - 0.9) < 0.1
    printed = begin(AdaptiveLearnedInit(power=4.0, weights="printed"), history, n=5)
    assert printed.task_weights(told).argmax() in (0, 1, 2, 3)


def test_the_power_is_zero_if_all_tasks_are_the_same():
    """Every power gives the same start then, and the smallest is chosen."""
    V = np.linspace(0, 1, 9)[:, None]
    space = Space({"x": Float(0, 1)})
    history = build(
        space, tasks=np.repeat([f"t{i}" for i in range(5)], 9), V=np.tile(V, (5, 1)), losses=np.tile(V[:, 0] ** 2, 5)
    )
    assert best_power(TaskModels(history, rng=np.random.default_rng(0)), 5) == 0.0


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: AdaptiveLearnedInit(power=-1.0), "power must be finite and not negative, but got -1"),
        (lambda: AdaptiveLearnedInit(power=np.nan), "power must be finite and not negative, but got nan"),
        (lambda: AdaptiveLearnedInit(weights="reverse"), "weights must be"),
        (lambda: AdaptiveLearnedInit(recipe="mine"), "recipe must be"),
        (lambda: LearnedInit(recipe="mine"), "recipe must be"),
        (lambda: Closeness(by="name"), "by must be one of features, forest, metric, but got 'name'"),
        (lambda: Closeness(nearest=0), "nearest must be a whole number of at least 1, but got 0"),
        (lambda: Closeness(p=0.0), "p must be above 0, but got 0"),
        (lambda: LearnedInit(gradient="numeric"), "gradient must be"),
        (lambda: LearnedInit(restarts=-1), "restarts must be a whole number of at least 0"),
        (lambda: LearnedInit(epochs=1.5), "epochs must be a whole number of at least 0"),
    ],
)
def test_parameters_are_checked(make_it, message):
    with pytest.raises(ArgumentError, match=message):
        make_it()


# -- Algorithm 2 to the letter -------------------------------------------------------------------------------


def test_algorithm_2_by_a_plain_loop():
    """Lines 1-9, re-implemented with nothing but the surrogates' predictions: random bests, then E steps of η."""
    history = make(FLAT, tasks=5, evaluations=15, seed=2)
    models = TaskModels(history, rng=np.random.default_rng(0))
    plan = LearnedInit(recipe="paper", epochs=3, eta=0.02, beta=-5.0).plan(models, 3, np.random.default_rng(4))

    def loss(Z):
        f = models.surrogates.predict(Z)  # (I, T)
        s = np.exp(-5.0 * f)
        return float(((s / s.sum(axis=0)) * f).sum(axis=0).mean())  # eq. 12 and 13

    tasks = list(history)
    order = np.random.default_rng(4).permutation(5)
    bests = list(dict.fromkeys(tuple(history.V[tasks[i].rows[tasks[i].best]]) for i in order))
    Z = FLAT.encode_values(np.array(bests[:3]))
    for _ in range(3):
        gradient = np.zeros_like(Z)
        for at in np.ndindex(Z.shape):  # central differences of the meta-loss itself
            step = np.zeros_like(Z)
            step[at] = 1e-5
            gradient[at] = (loss(Z + step) - loss(Z - step)) / 2e-5
        Z = Z - 0.02 * gradient
    np.testing.assert_allclose(FLAT.encode_values(plan), np.clip(Z, 0, 1), atol=1e-6)


def test_a_sequence_learned_for_one_is_not_the_first_of_one_learned_for_three():
    history = two_groups(np.square)
    models = TaskModels(history, rng=np.random.default_rng(0))
    recipe = LearnedInit(recipe="paper", epochs=300, eta=0.02)
    one, three = (recipe.plan(models, n, np.random.default_rng(1)) for n in (1, 3))
    assert abs(one[0, 0] - 0.5) < abs(three[0, 0] - 0.5)  # alone, it must serve both groups


def test_candidates_only_move_what_was_learned():
    """The plan is the same with and without a list of candidates, which only decides where proposals end up."""
    history = make(FLAT, tasks=5, evaluations=15)
    allowed = FLAT.sample_values(30, rng=np.random.default_rng(7))
    for strategy in (LearnedInit(), LearnedInit(recipe="paper", epochs=20)):
        free, bound = (TaskModels(history, rng=np.random.default_rng(0), allowed=some) for some in (None, allowed))
        plans = [strategy.plan(models, 3, np.random.default_rng(0)) for models in (free, bound)]
        np.testing.assert_array_equal(*plans)


def test_ali_as_published_moves_lis_next_configuration_by_the_weighted_gradient():
    """Section IV-G by central differences: what was tried stays fixed, eq. 16 is minimised over the next one."""
    history = two_groups(np.square)
    run = begin(AdaptiveLearnedInit(recipe="paper", epochs=2, eta=0.05, beta=-5.0), history, n=4)
    models, told = run.models, Told(np.array([[0.2], [0.7]]), np.array([0.5, 0.1]))
    c = np.array([1.0 if f[0] > f[1] else 0.0 for f in models.predict(told.V).T])  # like the new task: 0.2 is worse
    np.testing.assert_array_equal(run.task_weights(told), c)
    fixed = models.predict(told.V)

    def loss(z):
        f = np.vstack([fixed, models.predict(np.array([[z]]))])
        s = np.exp(-5.0 * f)
        return float((c * ((s / s.sum(axis=0)) * f).sum(axis=0)).mean())  # eq. 16

    z = run.plan[2, 0]
    for _ in range(2):
        z -= 0.05 * (loss(z + 1e-5) - loss(z - 1e-5)) / 2e-5
    assert run.ask(told)[0] == pytest.approx(z, abs=1e-6)


# -- the general meta-loss: eq. 16 and 18, and section IV-H ---------------------------------------------------


def test_weights_may_be_numbers_names_or_a_function():
    history = two_groups(np.square)
    models = TaskModels(history, rng=np.random.default_rng(0))
    late = {name: float(name in ("t4", "t5")) for name in history.tasks}
    forms = [late, [late[name] for name in history.tasks], lambda task, features: late[task.name]]
    plans = [LearnedInit(weights=form).plan(models, 1, np.random.default_rng(0)) for form in forms]
    assert abs(plans[0][0, 0] - 0.9) < 0.02  # only the smaller group counts
    for plan in plans[1:]:
        np.testing.assert_array_equal(plan, plans[0])


def test_numbers_stay_with_their_tasks_when_some_are_left_out():
    """`learn` leaves tasks out for its estimate, and `evidence` each in turn; numbers may be in the order of tasks."""
    history = two_groups(np.square)
    numbers = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    named = dict(zip(history.tasks, numbers, strict=True))
    by_place, by_name = (LearnedInit(weights=weights) for weights in (numbers, named))
    starts = [learn(history, n=1, method=method) for method in (by_place, by_name)]
    assert starts[0].configs == starts[1].configs
    assert abs(starts[0].configs[0]["x"] - 0.9) < 0.02
    assert starts[0].expected == starts[1].expected
    first, second = (evidence(history, n=1, methods=[method]) for method in (by_place, by_name))
    np.testing.assert_array_equal(*(next(iter(one.curves.values())) for one in (first, second)))


def test_if_the_only_task_that_counts_is_left_out_all_others_count_the_same():
    history = two_groups(np.square)
    only = {name: float(name == "t5") for name in history.tasks}
    models = TaskModels(history.drop("t5"), rng=np.random.default_rng(0))
    plans = [LearnedInit(weights=w).plan(models, 1, np.random.default_rng(0)) for w in (only, None)]
    np.testing.assert_array_equal(*plans)
    assert learn(history, n=1, method=LearnedInit(weights=only)).expected


def test_equal_weights_of_any_size_are_li():
    models = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng(0))
    plans = [LearnedInit(weights=w).plan(models, 4, np.random.default_rng(0)) for w in (None, [1.0] * 6)]
    np.testing.assert_array_equal(*plans)


@pytest.mark.parametrize("by", ["features", "forest", "metric"])
def test_each_distance_supplies_weights_that_favour_the_nearest_tasks(by):
    history = embedded(make(FLAT, tasks=9, evaluations=20))
    models = TaskModels(history, rng=np.random.default_rng(0))
    features = {**history["task7"].features}
    weights = Closeness(by=by).weights(models, features, n=3, rng=np.random.default_rng(0))
    assert weights[[6, 7, 8]].min() > weights[[0, 1, 2]].max()
    assert ((weights >= 0) & (weights <= 1)).all()
    hard = Closeness(by=by, nearest="n").weights(models, features, n=3, rng=np.random.default_rng(0))
    assert sorted(hard.tolist()) == [0.0] * 6 + [1.0] * 3
    assert hard[7] == 1.0
    run = begin(LearnedInit(weights=Closeness(by=by)), history, n=2)
    assert FLAT.contains(FLAT.from_values(run.ask(Told.nothing(FLAT))[None])[0])


def test_rbi_is_algorithm_2_without_steps():
    """Section V-B: RBI corresponds to the initialization used in Algorithm 2."""
    history = KINDS["mixed, ragged"]
    li = play(begin(LearnedInit(recipe="paper", epochs=0), history, n=4), history, 4)
    rbi = play(begin(RandomBest(), history, n=4), history, 4)
    np.testing.assert_allclose(li.V, rbi.V)


def test_nbi_is_the_general_loss_with_the_cost_function_of_eq_18():
    """Section IV-H: under eq. 18, the bests of the I nearest data sets minimise the loss among observed ones."""
    history = make(FLAT, tasks=7, evaluations=25, seed=5)
    models = TaskModels(history, rng=np.random.default_rng(0))
    n = 3
    c = Closeness(nearest="n").weights(models, FEATURES, n=n, rng=np.random.default_rng(0))
    nbi = play(begin(NearestBest(), history, n=n), history, n)
    V, F = models.shared  # every data set was evaluated on the same configurations
    rows = [int(np.flatnonzero((v == V).all(axis=1))[0]) for v in nbi.V]
    assert meta_loss(F[rows], -1e5, c) == pytest.approx(0.0, abs=1e-12)  # no loss is smaller: each has its best
    others = [meta_loss(F[list(s)], -1e5, c) for s in combinations(range(len(V)), n)]
    assert sum(loss < 1e-12 for loss in others) == 1  # and no other choice has it
    li = LearnedInit(recipe="paper", epochs=0, weights=Closeness(nearest="n"))
    learned = play(begin(li, history, n=n), history, n)
    np.testing.assert_allclose(np.unique(learned.V, axis=0), np.unique(nbi.V, axis=0))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"t0": 1.0}, "weights has no number for the past task 't1'"),
        ([1.0, 2.0], "weights must hold one number per past task"),
        ([1.0, 1.0, -1.0, 1.0, 1.0, 1.0], "finite and not negative, but got t2: -1"),
        ([0.0] * 6, "not negative, but got only zeros"),
        (lambda task, features: np.nan, "finite and not negative, but got t0: nan"),
    ],
)
def test_weights_are_checked(weights, message):
    models = TaskModels(two_groups(np.square), rng=np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=message):
        LearnedInit(weights=weights).plan(models, 2, np.random.default_rng(0))
