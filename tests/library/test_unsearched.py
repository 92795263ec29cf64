"""The configuration of a data set that is not searched: its rule by hand, features, and the shipped files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart.history import build
from headstart.library import unsearched as module
from headstart.library.models import MODELS
from headstart.library.portfolios import best_for, suggested
from headstart.library.unsearched import (
    ALONE,
    NOISE,
    WIDTH,
    Unsearched,
    completed,
    expected,
    ranked,
    shared,
    unsearched,
    worth_of,
)

RIDGE = MODELS["ridge-regression"]


def test_what_a_configuration_is_worth_by_hand() -> None:
    losses = np.array([[0.2, 0.4], [0.1, 0.4], [0.4, 0.3], [100.0, 0.4]])  # the first one is the default
    assert worth_of(losses, losses[0]) == pytest.approx(
        np.array(
            [
                [0.5, 0.5],
                [1 + math.log(2), 0.5],  # better, and a tie
                [-math.log(2), 1 + math.log(4 / 3)],
                [-2.0, 0.5],  # a disaster counts no more than e²
            ]
        )
    )


def test_features_count_by_their_ranks_among_the_past() -> None:
    M = np.array([[1.0, 5.0], [2.0, 5.0], [1000.0, 5.0]])
    r, place = ranked(M, np.array([2.0, 5.0]))
    assert r == pytest.approx(np.array([[1, 3], [3, 3], [5, 3]]) / 6)  # half of those that are equal
    assert place == pytest.approx(np.array([3, 3]) / 6)
    assert ranked(M, np.array([1e9, 5.0]))[1] == pytest.approx(ranked(M, np.array([2000.0, 5.0]))[1])


def test_the_expected_worth_by_hand() -> None:
    worth = np.array([[1.0, 0.0], [0.25, 0.25]])
    M = np.array([[0.0], [1.0]])  # their ranks are 1/4 and 3/4
    c = math.exp(-(0.5**2) / WIDTH**2)
    s = 2 * (1 - ALONE) + ALONE  # all the variance is the first one's
    weights = np.linalg.inv([[s + NOISE, s * c], [s * c, s + NOISE]]) @ [s, s * c]  # the new data set is the first
    by_hand = 0.5 + 0.5 * weights[0] - 0.5 * weights[1]
    assert expected(worth, M, np.array([0.0])) == pytest.approx(np.array([by_hand, 0.25]))
    assert expected(worth, np.ones((2, 1)), np.ones(1)) == pytest.approx(worth.mean(axis=1))  # they tell nothing


def test_the_expected_worth_is_that_of_the_whole_process() -> None:
    """Against the covariance matrix of all candidates on all past data sets."""
    rng = np.random.default_rng(0)
    n, T, d = 4, 7, 3
    worth, M, new = rng.normal(size=(n, T)), rng.normal(size=(T, d)), rng.normal(size=d)
    r, place = ranked(M, new)
    K = np.exp(-((r[:, None] - r) ** 2).sum(axis=2) / (WIDTH**2 * d))
    k = np.exp(-((r - place) ** 2).sum(axis=1) / (WIDTH**2 * d))
    S = np.cov(worth, bias=True)
    S = (1 - ALONE) * S / (np.trace(S) / n) + ALONE * np.eye(n)
    rest = (worth - worth.mean(axis=1, keepdims=True)).ravel()
    whole = np.kron(S, k[None]) @ np.linalg.solve(np.kron(S, K) + NOISE * np.eye(n * T), rest)
    assert expected(worth, M, new) == pytest.approx(worth.mean(axis=1) + whole)


def test_candidates_without_anything_in_common_are_predicted_one_by_one() -> None:
    rng = np.random.default_rng(0)
    rest = np.linalg.qr(np.column_stack([np.ones(6), rng.normal(size=(6, 3))]))[0][:, 1:].T  # S is the identity
    M = rng.normal(size=(6, 2))
    single = np.array([expected(row[None], M, M[0])[0] for row in rest])
    assert expected(rest, M, M[0]) == pytest.approx(single)


def test_features_choose_among_the_candidates() -> None:
    kind = np.arange(40) % 2  # one configuration is best on even data sets, the other on odd ones
    worth = np.where(kind == 0, [[1.0], [0.0]], [[0.1], [1.0]])
    found = Unsearched([{"a": 0}, {"a": 1}], worth, worth)
    tasks = {f"t{i:02}": {"kind": float(kind[i]), "other": float(i % 7)} for i in range(40)}
    assert [found.best(tasks, {"kind": k, "other": 3.0}) for k in (0.0, 1.0)] == [0, 1]
    assert found.best(tasks, None) == found.best(tasks, {"unknown": 1.0}) == 0  # the best one on average
    assert found.best(tasks, {"kind": 1.0, "other": math.nan}) == 1
    assert found.best(dict(reversed(tasks.items())), {"kind": 1.0, "other": 3.0}) == 1


def test_the_defaults_stay_if_nothing_is_worth_more() -> None:
    tasks = {"a": {"kind": 0.0}, "b": {"kind": 1.0}}
    tie = Unsearched([{"a": 0}, {"a": 1}], np.array([[0.5, 0.5], [1.2, -2.0]]), np.zeros((2, 2)))
    assert tie.best(tasks, None) is None
    better = Unsearched(tie.configs, np.array([[0.5, 0.5], [1.2, 0.1]]), tie.scores)
    assert better.best(tasks, None) == 1


def ridge_history(alphas: list[float], losses: np.ndarray):
    V = RIDGE.space.to_values([{"alpha": alpha} for alpha in alphas])
    names = np.repeat([f"t{i}" for i in range(len(losses))], len(alphas)).tolist()
    return build(RIDGE.space, tasks=names, V=np.tile(V, (len(losses), 1)), losses=losses.ravel())


def test_only_configurations_that_all_tasks_measured_are_compared_with_the_defaults() -> None:
    losses = np.array([[3.0, 2.0, np.nan], [5.0, 4.0, 1.0]])
    history = ridge_history([1.0, 10.0, 100.0], losses)
    found = shared(RIDGE, "rmse", history)
    assert found is not None
    assert found.defaults.tolist() == [3.0, 5.0]
    order = np.argsort([config["alpha"] for config in found.configs])
    assert found.losses[order].tolist() == [[3.0, 5.0], [2.0, 4.0], [3.0, 1.0]]  # what failed is as bad as the worst
    assert shared(RIDGE, "r2", ridge_history([1.0, 10.0], losses[:, :2] / 10 - 1)).losses.min() > 0  # 1 − R²
    assert shared(RIDGE, "rmse", ridge_history([2.0, 10.0, 100.0], losses)) is None  # no defaults
    assert unsearched("svm", "", history) is None


def test_a_default_that_depends_on_the_number_of_columns_is_found_on_every_task() -> None:
    model = MODELS["svm-regression"]
    shared_config = {**model.default_for(4), "C": 10.0, "gamma": 0.01}
    tried = [[model.default_for(n), {**model.default_for(n), "C": 5.0}, shared_config] for n in (4, 20)]
    V = model.space.to_values([config for configs in tried for config in configs])
    losses = np.array([0.3, 0.25, 0.2, 0.5, 0.4, 0.6])
    history = build(model.space, tasks=["a"] * 3 + ["b"] * 3, V=V, losses=losses)
    found = shared(model, "rmse", history)
    own = {name: value for name, value in model.default_for(4).items() if name != "gamma"}
    by_C = sorted(zip([config["C"] for config in found.configs], found.configs, found.losses.tolist(), strict=True))
    assert [config for _, config, _ in by_C] == [own, {**own, "C": 5.0}, shared_config]
    assert [losses for _, _, losses in by_C] == [[0.3, 0.5], [0.25, 0.4], [0.2, 0.6]]
    assert found.defaults.tolist() == [0.3, 0.5]
    assert completed(model, {**own, "C": 5.0}, 20) == {**model.default_for(20), "C": 5.0}
    assert completed(model, shared_config, 20) == shared_config
    linear = {"kernel": "linear", "C": 1.0, "epsilon": 0.1}
    assert completed(model, linear, 20) == linear  # no gamma there
    assert completed(RIDGE, {"alpha": 2.0}, 20) == {"alpha": 2.0}


@pytest.mark.parametrize("name", [name for name in hs.library.names() if name in MODELS])
def test_the_shipped_choice_is_the_one_of_the_history(name: str) -> None:
    metric = next(iter(hs.library.metrics(name)))
    history = hs.library.load(name, metric)
    found = unsearched(name, metric, history)
    if found is None:
        return
    columns = np.median([task.features["number_of_features"] for task in history])
    average = completed(MODELS[name], found.configs[int(found.worth.mean(axis=1).argmax())], columns)
    assert best_for(name, metric, None) == average
    start = suggested(name, 3, metric, None)
    assert start.configs[0] == average
    assert len({str(config) for config in start.configs}) == 3
    assert sum(start.serves) == len(history)
    assert len(found.configs) == min(module.KEPT, len(shared(MODELS[name], metric, history).configs))
