"""The configuration of a data set that is not searched: its rule by hand, meta-features, and the shipped files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart.history import build
from headstart.library import unsearched as module
from headstart.library.models import MODELS
from headstart.library.portfolios import best_for, suggested
from headstart.library.unsearched import Unsearched, closeness, shared, unsearched, worth_of

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


def test_past_data_sets_count_by_the_ranks_of_their_meta_features() -> None:
    M = np.array([[1.0, 5.0], [2.0, 5.0], [1000.0, 5.0]])
    weights = closeness(M, np.array([2.0, 5.0]))
    width = (2 / 6) ** 2 * 1.0  # the farthest of three counts e⁻¹; ranks are 1/6, 3/6, 5/6
    assert weights == pytest.approx(np.exp(-np.array([(2 / 6) ** 2, 0, (2 / 6) ** 2]) / width))
    assert closeness(M, np.array([1e9, 5.0])) == pytest.approx(
        closeness(M, np.array([2000.0, 5.0]))
    )  # no extrapolation
    assert closeness(np.ones((3, 1)), np.ones(1)).tolist() == [1, 1, 1]


def test_meta_features_choose_among_the_candidates() -> None:
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
    rows, of, defaults = found
    assert defaults.tolist() == [3.0, 5.0]
    order = np.argsort([config["alpha"] for config in history.space.from_values(history.V[rows])])
    assert of[order].tolist() == [[3.0, 5.0], [2.0, 4.0], [3.0, 1.0]]  # what failed is as bad as the worst
    assert shared(RIDGE, "r2", ridge_history([1.0, 10.0], losses[:, :2] / 10 - 1))[1].min() > 0  # 1 − R²
    assert shared(RIDGE, "rmse", ridge_history([2.0, 10.0, 100.0], losses)) is None  # no defaults
    assert unsearched("svm", "", history) is None


def test_a_default_that_depends_on_the_number_of_columns_is_found_on_every_task() -> None:
    model = MODELS["svm-regression"]
    shared_config = {**model.default_for(4), "C": 10.0}
    tried = [[model.default_for(columns), shared_config] for columns in (4, 20)]
    V = model.space.to_values([config for configs in tried for config in configs])
    history = build(model.space, tasks=["a", "a", "b", "b"], V=V, losses=np.array([0.3, 0.2, 0.5, 0.6]))
    rows, losses, defaults = shared(model, "rmse", history)
    assert history.space.from_values(history.V[rows]) == [shared_config]
    assert (losses.tolist(), defaults.tolist()) == ([[0.2, 0.6]], [0.3, 0.5])


@pytest.mark.parametrize("name", [name for name in hs.library.names() if name in MODELS])
def test_the_shipped_choice_is_the_one_of_the_history(name: str) -> None:
    metric = next(iter(hs.library.metrics(name)))
    history = hs.library.load(name, metric)
    found = unsearched(name, metric, history)
    if found is None:
        return
    average = found.configs[int(found.worth.mean(axis=1).argmax())]
    assert best_for(name, metric, None) == average
    start = suggested(name, 3, metric, None)
    assert start.configs[0] == average
    assert len({str(config) for config in start.configs}) == 3
    assert sum(start.serves) == len(history)
    assert len(found.configs) == min(module.KEPT, len(shared(MODELS[name], metric, history)[0]))
