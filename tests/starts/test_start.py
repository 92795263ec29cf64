"""Learning a start, and the file it becomes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.starts.learning import apportioned
from headstart.strategies import LearnedInit
from headstart.transfer.models import TaskModels
from histories import FINITE, FLAT, KINDS, MIXED, make


@pytest.fixture(scope="module")
def start():
    return hs.learn(KINDS["mixed, ragged"], n=4, method="li", seed=1)


def test_a_start_is_in_native_units_and_says_what_each_configuration_is_good_for(start):
    history = KINDS["mixed, ragged"]
    assert len(start.configs) == 4
    assert all(MIXED.contains(config) for config in start.configs)
    assert sum(start.serves) == len(history)
    assert start.expected == sorted(start.expected, reverse=True)
    assert start.tasks == 6
    assert start.method == "li"


def test_a_configuration_serves_the_tasks_on_which_it_is_the_best_of_the_start(start):
    past = TaskModels(KINDS["mixed, ragged"], rng=np.random.default_rng([1, 0]))
    F = past.responses(MIXED.to_values(start.configs))
    assert start.serves == np.bincount(F.argmin(axis=0), minlength=4).tolist()


@pytest.mark.parametrize("method", ["auto", "li", "rbi"])
def test_expected_losses_are_those_on_tasks_left_out(method, monkeypatch):
    """With as many folds as tasks: what starts learned without a task reach on it."""
    monkeypatch.setattr("headstart.starts.learning.FOLDS", 6)
    history = KINDS["mixed, ragged"]
    models = TaskModels(history, rng=np.random.default_rng([1, 0]))
    reached = []
    for t, task in enumerate(history.tasks):
        without = hs.learn(history.drop(task), n=4, method=method, seed=1, estimate=False)
        reached.append(np.minimum.accumulate(models.population_responses(without.V)[:, t]))
    start = hs.learn(history, n=4, method=method, seed=1)
    np.testing.assert_allclose(start.expected, np.mean(reached, axis=0), atol=1e-6)


def test_expected_losses_of_a_method_with_meta_features_use_those_of_the_tasks_left_out(monkeypatch):
    monkeypatch.setattr("headstart.starts.learning.FOLDS", 6)
    history = make(FLAT, tasks=6, features=True)
    start = hs.learn(history, n=2, method="nbi", features=history["task0"].features)
    scaled = {name: history[name].scaled() for name in history.tasks}
    reached = []
    for name in history.tasks:
        best = hs.learn(history.drop(name), n=1, method="nbi", features=history[name].features, estimate=False)
        row = int(np.flatnonzero((best.V[0] == history.V).all(axis=1))[0])
        reached.append(scaled[name][list(history[name].rows).index(row)])
    assert start.expected[0] == pytest.approx(np.mean(reached), abs=1e-6)


def test_a_single_task_cannot_be_left_out():
    assert hs.learn(make(FLAT, tasks=1), n=2).expected == []
    assert hs.learn(make(FLAT, tasks=3), n=2, estimate=False).expected == []


def test_the_same_seed_gives_the_same_start(start):
    assert hs.learn(KINDS["mixed, ragged"], n=4, method="li", seed=1) == start


def test_saving_and_loading_is_a_round_trip(start, tmp_path):
    path = tmp_path / "start.json"
    start.save(path)
    assert hs.Start.load(path) == start
    text = path.read_text()
    assert "task0" not in text  # neither runs nor names of tasks
    assert "centre" not in text  # nor meta-features
    assert json.loads(text)["space"] == MIXED.to_json()


def test_choices_keep_their_types_in_the_file(tmp_path):
    space = hs.Space({"c": hs.Categorical([None, True, 1, "1"]), "k": hs.Int(1, 9)})
    start = hs.Start(space, [{"c": None, "k": 3}, {"c": True, "k": 1}, {"c": 1, "k": 2}, {"c": "1", "k": 9}])
    start.save(tmp_path / "s.json")
    loaded = hs.Start.load(tmp_path / "s.json").configs
    assert [(type(c["c"]), c["c"], c["k"]) for c in loaded] == [(type(c["c"]), c["c"], c["k"]) for c in start.configs]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(headstart="history"), "is not a start file"),
        (lambda d: d.update(format=99), "has format 99"),
        (lambda d: d["configs"][0].update(C=1e9), "damaged.*'C' is 1000000000.0"),
        (lambda d: d["configs"][0].pop("kernel"), "damaged.*'kernel' is missing"),
        (lambda d: d.pop("configs"), "damaged"),
        (lambda d: d.update(configs=[]), "at least one configuration"),
        (lambda d: d["space"]["C"].update(low=1e9), "low must be below high"),
        (lambda d: d.update(serves=[1]), "serves must have one entry per configuration"),
    ],
)
def test_a_damaged_file_is_rejected_with_the_reason(start, tmp_path, damage, message):
    path = tmp_path / "start.json"
    start.save(path)
    data = json.loads(path.read_text())
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=message):
        hs.Start.load(path)


def test_a_file_cut_off_is_rejected(start, tmp_path):
    path = tmp_path / "start.json"
    start.save(path)
    path.write_text(path.read_text()[:100])
    with pytest.raises(ValueError, match="not JSON or was cut off"):
        hs.Start.load(path)
    with pytest.raises(FileNotFoundError):
        hs.Start.load(tmp_path / "none.json")


def test_a_start_is_reconciled_with_a_changed_space(start):
    changed = hs.Space(
        {
            "kernel": hs.Categorical(["rbf", "poly", "linear"]),
            "C": hs.Float(1.0, 2.0, log=True),
            "gamma": hs.Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
            "degree": hs.Int(2, 10, when={"kernel": "poly"}),
            "shrinking": hs.Categorical([True, False]),
        }
    )
    moved, report = start.reconciled(changed)
    assert all(changed.contains(config) for config in moved.configs)
    assert {c.name: c.action for c in report.changes}["shrinking"] == "filled"
    with pytest.raises(ValueError, match="no configuration of the start"):
        start.reconciled(hs.Space({"kernel": hs.Categorical(["sigmoid"])}))


def test_bad_requests_are_rejected():
    history = KINDS["finite space"]
    for arguments, words in (
        ({"n": 2.5}, "n must be a whole number of at least 1, but got 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
        ({"seed": None}, "seed must be a whole number of at least 0, but got None"),
    ):
        with pytest.raises(ValueError, match=words):
            hs.learn(KINDS["mixed, ragged"], **arguments)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, but got 0"):
        hs.learn(history, n=0)
    for ask in (hs.learn, hs.evidence):
        with pytest.raises(ValueError, match="n=11, but the space has only 10 configurations; ask for at most 10"):
            ask(history, n=11)
    with pytest.raises(ValueError, match=r"no strategy 'lii'; did you mean 'li'.*choose from: .*rbi"):
        hs.learn(history, method="lii", n=2)
    with pytest.raises(ValueError, match="init must be a name or a strategy"):
        hs.learn(history, method=3, n=2)
    with pytest.raises(ValueError, match="pass features"):
        hs.learn(history, method="nbi", n=2)


def test_a_number_beyond_the_space_is_refused_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr("headstart.starts.learning.TaskModels", None)  # learning begins with it
    monkeypatch.setattr("headstart.starts.validation.TaskModels", None)
    for ask in (hs.learn, hs.evidence):
        with pytest.raises(hs.errors.ArgumentError, match="only 10 configurations"):
            ask(KINDS["finite space"], n=11)
        with pytest.raises(hs.errors.ArgumentError, match="n=99,999, but a start has at most 1,000"):
            ask(KINDS["mixed, ragged"], n=99_999)


def test_the_first_configurations_of_a_start(start):
    assert start.first(2).configs == start.configs[:2]
    assert start.first(2).expected == start.expected[:2]
    assert start.first(4) == start
    with pytest.raises(hs.errors.ArgumentError, match="only 4 configurations, but 5 are asked for"):
        start.first(5)


def test_all_of_a_finite_space_can_be_learned():
    start = hs.learn(KINDS["finite space"], n=10, method="li")
    assert len({tuple(sorted(c.items())) for c in start.configs}) == FINITE.size


def test_random_and_objects_are_methods_too():
    random = hs.learn(KINDS["flat, shared design"], n=3, method="random", seed=4)
    assert all(FLAT.contains(config) for config in random.configs)
    assert random == hs.learn(KINDS["flat, shared design"], n=3, method="random", seed=4)
    assert "recipe='paper'" in hs.learn(make(FLAT), n=2, method=LearnedInit(recipe="paper", epochs=2)).method


def test_a_start_prints_as_a_table(start):
    lines = str(start).splitlines()
    assert lines[0].split() == ["kernel", "C", "gamma", "degree", "serves", "expected"]
    assert len(lines) == 5


def test_bad_histories_and_features_are_rejected_at_once():
    frame = pd.DataFrame({"task": ["a"], "x": [0.5], "value": [1.0]})
    space = hs.Space({"x": hs.Float(0, 1)})
    history = hs.History.from_frame(frame, space)
    for call in (hs.learn, hs.evidence, lambda wrong: hs.Optimizer(space, history=wrong)):
        for wrong in (3, [3], {"a": frame}):
            with pytest.raises(
                ValueError, match=r"past runs must be a History, .* a list of these, but got (int|dict)"
            ):
                call(wrong)
        with pytest.raises(
            ValueError, match=r"has no column 'task'.*; name the column .* with task= in hs.History.from_csv"
        ):
            call(frame.rename(columns={"task": "dataset"}))
    for call in (hs.learn, lambda history, features: hs.Optimizer(space, history=history, features=features)):
        with pytest.raises(ValueError, match=r"features must be a dict such as .* returns, but got list"):
            call(history, features=[1.0])


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    space = hs.Space({"x": hs.Int(1, 5), "y": hs.Float(0, 1)})
    start = hs.Start(space, [{"x": np.int64(2), "y": np.float32(0.5)}])
    start.save(tmp_path / "start.json")
    assert hs.Start.load(tmp_path / "start.json").configs == [{"x": 2, "y": 0.5}]
    assert hs.learn(KINDS["mixed, ragged"], n=1, method="rbi", seed=np.int64(1)).seed == 1


def test_tasks_are_apportioned_by_largest_remainder() -> None:
    assert apportioned(np.array([0.5, 0.25, 0.25]), 4) == [2, 1, 1]
    assert apportioned(np.array([0.5, 0.3, 0.2]), 5) == [3, 1, 1]  # 2.5, 1.5, 1: the first of equal remainders
    assert sum(apportioned(np.full(7, 1 / 7), 10)) == 10


def test_a_start_from_many_tasks_serves_all_of_them(monkeypatch) -> None:
    """Only some tasks stand for all of them, but the numbers speak of all."""
    monkeypatch.setattr("headstart.transfer.population.MOST_TASKS", 5)
    start = hs.learn(make(MIXED, tasks=12), n=3)
    assert sum(start.serves) == 12
    assert start.expected == sorted(start.expected, reverse=True)
