"""PBI, aPBI and aaPBI: landmarks, distances and active configurations."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.strategies import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.active import active_configurations
from headstart.strategies.base import Told
from headstart.transfer.models import TaskModels
from headstart.transfer.similarity import PairForest, landmarks, landmarks_to
from histories import FLAT, make
from strategy_runs import FEATURES, begin


def test_landmarks_by_hand():
    F = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0], [0.0, 3.0, 4.0]])  # configurations × tasks
    pairs = np.array([[0, 1], [0, 2]])
    # orders (0>1, 0>2, 1>2): task 0: F, T, T; task 1: T, F, F; task 2: F, F, T
    np.testing.assert_array_equal(landmarks(F, pairs), [[1, 1, 1], [0, 1, 0]])


def test_pbi_learns_a_distance_that_a_feature_determines():
    history = make(FLAT, tasks=12, evaluations=25)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task9"].features, 50, np.random.default_rng(0))
    order = np.argsort(forest.predict())
    assert set(order[:3].tolist()) <= {history.tasks.index(f"task{i}") for i in (7, 8, 9, 10, 11)}


def test_apbi_without_results_is_pbi():
    history = make(FLAT, tasks=8)
    plain = begin(PredictiveBest(trees=20), history).ask(Told.nothing(FLAT))
    np.testing.assert_array_equal(plain, begin(AdaptivePredictiveBest(trees=20), history).ask(Told.nothing(FLAT)))


def test_one_result_is_no_landmark_so_the_forest_is_that_of_pbi():
    history = make(FLAT, tasks=8, evaluations=20)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest, alone = (PairForest.of(models, FEATURES, 20, np.random.default_rng(1)) for _ in range(2))
    V = history.V[history["task3"].rows[:2]]
    np.testing.assert_array_equal(forest.predict(V[:1], np.array([0.4])), alone.predict())
    with_landmark = forest.predict(V, np.array([0.4, 0.1]))
    assert not np.array_equal(with_landmark, alone.predict())
    np.testing.assert_array_equal(forest.predict(), alone.predict())  # also after others


def test_results_outweigh_misleading_features():
    """The new task behaves like task 1 but has the features of task 8: landmarks correct the prediction."""
    history = make(FLAT, tasks=9, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, history["task8"].features, 50, np.random.default_rng(0))
    V = history.V[history["task1"].rows[::3]]
    losses = models.responses(V)[:, history.tasks.index("task1")]
    near, far = history.tasks.index("task1"), history.tasks.index("task8")
    before, after = forest.predict(), forest.predict(V, losses)
    assert before[far] < before[near]
    assert after[near] < after[far]


def test_active_configurations_are_best_on_some_task_and_differ_in_their_landmarks():
    history = make(FLAT, tasks=10, evaluations=30)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 20, np.random.default_rng(0))
    chosen = active_configurations(forest, n=6, k=3)
    best = {tuple(history.V[t.rows[t.best]]) for t in history}
    assert {tuple(v) for v in chosen} <= best
    assert len({tuple(v) for v in chosen}) == 3
    orders = models.responses(chosen)[:, None] > models.responses(chosen)[None]
    assert orders.any(axis=2).sum() > orders.all(axis=2).sum()  # some tasks order two of them differently


def test_aapbi_starts_with_its_active_configurations_whatever_their_results():
    history = make(FLAT, tasks=8)
    run = begin(ActivePredictiveBest(k=3, trees=5), history, n=6)
    for result in (0.0, 1.0):
        told = Told.nothing(FLAT)
        for expected in run.first:
            np.testing.assert_array_equal(run.ask(told), expected)
            told = told.and_(expected, result)


def test_landmarks_to_a_task_like_a_past_one_are_those_between_past_tasks():
    F = np.random.default_rng(0).random((5, 4))
    pairs = np.array([[t, 2] for t in range(4)])
    np.testing.assert_array_equal(landmarks_to(F, F[:, 2]), landmarks(F, pairs))


@pytest.mark.parametrize("kind", [PredictiveBest, AdaptivePredictiveBest, ActivePredictiveBest])
@pytest.mark.parametrize("trees", [0, 2.5])
def test_a_forest_needs_a_tree(kind, trees):
    with pytest.raises(ArgumentError, match="trees must be a whole number of at least 1, but got"):
        kind(trees=trees)


def test_landmarks_need_two_configurations():
    with pytest.raises(ArgumentError, match="k must be a whole number of at least 2, but got 1"):
        ActivePredictiveBest(k=1)


# -- as printed ----------------------------------------------------------------------------------------------


def test_algorithm_2_takes_the_best_of_the_ith_nearest_data_set():
    """Line 3, computed independently: at trial i, the best configuration of the i-th nearest by the new forest."""
    history = make(FLAT, tasks=8, evaluations=25)
    run = begin(AdaptivePredictiveBest(trees=10, choice="printed"), history, n=5)
    bests = {t: history.V[history[t].rows[history[t].best]] for t in history.tasks}
    told = Told.nothing(FLAT)
    for i in range(4):
        distance = run.forest.predict(told.V, told.losses)
        expected = bests[history.tasks[np.argsort(distance, kind="stable")[i]]]
        asked = run.ask(told)
        if expected not in told:
            np.testing.assert_array_equal(asked, expected)
        told = told.and_(asked, float(i))


def test_the_two_choices_of_apbi_agree_at_first_and_differ_later():
    history = make(FLAT, tasks=8, evaluations=25)
    ours, printed = (begin(AdaptivePredictiveBest(trees=10, choice=c), history) for c in ("nearest", "printed"))
    nothing = Told.nothing(FLAT)
    np.testing.assert_array_equal(ours.ask(nothing), printed.ask(nothing))
    other = np.array([[0.111, 1.5]])  # a trial that is no task's best, and whose result moves no task
    told = Told(other, np.array([0.3]))
    assert not np.array_equal(ours.ask(told), printed.ask(told))


def brute_force(history, models, M, trees, seed, k, n):
    """Algorithm 3 in its own words: sets of configurations by mean precision at I − K, forests trained from scratch."""
    from itertools import combinations

    from sklearn.ensemble import RandomForestRegressor

    T = len(history)
    V = np.unique([history.V[t.rows[t.best]] for t in history], axis=0)
    f = models.responses(V)

    def d(i, j):
        F = models.shared[1]
        m = len(F)
        return sum((F[a, i] > F[b, i]) != (F[a, j] > F[b, j]) for a in range(m) for b in range(m)) / (m * (m - 1))

    D = np.array([[d(i, j) for j in range(T)] for i in range(T)])

    def row(i, j, chosen):
        marks = [(f[a, i] > f[b, i]) != (f[a, j] > f[b, j]) for a, b in combinations(chosen, 2)]
        return [*M[i], *M[j], *marks]

    def precision(chosen):
        total = 0.0
        for test in range(T):
            train = [i for i in range(T) if i != test]
            pairs = [(i, j) for i in train for j in train if i != j]
            model = RandomForestRegressor(trees, max_features=1 / 3, random_state=seed)
            model.fit([row(i, j, chosen) for i, j in pairs], [D[i, j] for i, j in pairs])
            predicted = model.predict([row(i, test, chosen) for i in train])
            true = [D[i, test] for i in train]
            total += len(
                set(np.argsort(true, kind="stable")[: n - k]) & set(np.argsort(predicted, kind="stable")[: n - k])
            )
        return total / (T * (n - k))

    chosen = max(combinations(range(len(V)), 2), key=precision)
    while len(chosen) < k:
        chosen = max(((*chosen, j) for j in range(len(V)) if j not in chosen), key=precision)
    return V[list(chosen)]


def test_algorithm_3_to_the_letter_is_what_a_plain_loop_finds():
    history = make(FLAT, tasks=5, evaluations=8, seed=3)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 5, np.random.default_rng(0))
    chosen = active_configurations(forest, n=5, k=3, literal=True)
    expected = brute_force(history, models, forest.M, forest.trees, forest.seed, k=3, n=5)
    np.testing.assert_array_equal(chosen, expected)


def test_the_fast_search_for_active_configurations_agrees_with_algorithm_3_in_part():
    """They judge pairs alike on the whole (`benchmarks/active_pairs.py` has real data); they are not the same."""
    from itertools import combinations

    from scipy.stats import spearmanr

    from headstart.strategies.active import best_somewhere, by_forests, by_leaves

    history = make(FLAT, tasks=7, evaluations=20, seed=1)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 10, np.random.default_rng(0))
    F = models.responses(best_somewhere(models))
    pairs = [list(pair) for pair in combinations(range(len(F)), 2)]
    assert len(pairs) >= 6
    correlation = spearmanr(by_forests(forest, F, 3)(pairs), by_leaves(forest, F, 3)(pairs)).statistic
    assert 0 < correlation < 1


def test_the_fast_search_leaves_out_groups_and_splits_leaves_by_discordant_landmarks(monkeypatch):
    """Seven tasks in three groups, for a pair and for a triple of configurations, by plain loops."""
    from itertools import combinations

    from headstart.strategies import active

    monkeypatch.setattr(active, "MOST_GROUPS", 3)
    history = make(FLAT, tasks=7, evaluations=20, seed=1)
    models = TaskModels(history, rng=np.random.default_rng(0))
    forest = PairForest.of(models, FEATURES, 10, np.random.default_rng(0))
    F, T, at = models.responses(history.V[:4]), 7, 3

    def levels(chosen, pairs):
        above = [F[a] > F[b] for a, b in combinations(chosen, 2)]
        return np.array([sum(one[i] != one[j] for one in above) for i, j in pairs])

    def judged(chosen):
        total = 0.0
        for first in range(3):
            group = [t for t in range(T) if t % 3 == first]
            others = [t for t in range(T) if t not in group]
            train = np.array([pair for pair in forest.pairs.tolist() if not set(pair) & set(group)])
            X, y = forest.features(train), forest.distances(train)
            trees = forest.forest(active.LEAVES_TREES, active.LEAVES_SIZE).fit(X, y)
            for i in group:
                test = np.array([(j, i) for j in others])
                mates = trees.apply(X)[:, None] == trees.apply(forest.features(test))[None]  # (q, tests, trees)
                same = levels(chosen, train)[:, None] == levels(chosen, test)[None]
                predicted = []
                for k in range(len(test)):
                    cells = []
                    for tree in mates[:, k].T:
                        split = tree & same[:, k]
                        cells.append((y[split].sum() + y[tree].mean()) / (split.sum() + 1))
                    predicted.append(np.mean(cells))
                true, guess = (np.argsort(d, kind="stable")[:at] for d in (forest.distances(test), predicted))
                total += len(set(true) & set(guess)) / at
        return total / T

    for chosen in ([0, 2], [0, 1, 3]):
        assert active.by_leaves(forest, F, at)([chosen])[0] == pytest.approx(judged(chosen))


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: AdaptivePredictiveBest(choice="second"), "choice must be one of nearest, printed, but got 'second'"),
        (lambda: ActivePredictiveBest(search="all"), "search must be 'leaves' or 'forests', but got 'all'"),
    ],
)
def test_choices_are_checked(make_it, message):
    with pytest.raises(ArgumentError, match=message):
        make_it()
