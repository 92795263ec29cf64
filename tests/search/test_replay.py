"""Searches replayed on tables of results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.search.replay import LeftOut, Table, distances
from headstart.starts.measures import scaled_dtm


@pytest.fixture(scope="module")
def history() -> hs.History:
    """Four valleys over 5 × 3 configurations; the tables of two tasks lack some of them."""
    rng = np.random.default_rng(0)
    space = hs.Space({"x": hs.Float(0, 1), "k": hs.Categorical(["a", "b", "c"])})
    rows = []
    for i, centre in enumerate((0.2, 0.3, 0.6, 0.7)):
        for x in np.linspace(0, 1, 5):
            for k, offset in (("a", 0.0), ("b", 0.1), ("c", 0.3)):
                if i % 2 == 0 or rng.random() < 0.8:
                    rows.append({"task": f"t{i}", "x": x, "k": k, "value": (x - centre) ** 2 + offset})
    features = pd.DataFrame({f"t{i}": {"size": float(i)} for i in range(4)}).T
    return hs.History.from_frame(pd.DataFrame(rows), space, features=features)


@pytest.mark.parametrize("init", ["rbi", "li", "ali", "auto"])
def test_continuing_from_a_start_equals_the_search_from_the_beginning(history: hs.History, init: str) -> None:
    left_out = LeftOut(history, "t2", 7)
    start = left_out.search(init, 4, "gp", 4)
    assert left_out.go_on(start, "rf", 8) == left_out.search(init, 4, "rf", 8)


def test_a_search_tries_each_configuration_once_and_ends_with_the_table(history: hs.History) -> None:
    left_out = LeftOut(history, "t1", 0)
    places = left_out.search("random", 3, "gp", 100)
    assert sorted(places) == list(range(len(left_out.table)))
    assert left_out.go_on(places, "gp", 100) == places


def test_every_value_is_that_of_the_table(history: hs.History) -> None:
    left_out = LeftOut(history, "t3", 1)
    optimizer = left_out.optimizer("li", 3, "gp")
    places = left_out.table.search(optimizer, 6)
    assert [trial.config for trial in optimizer.trials] == [left_out.table.configs[place] for place in places]
    assert [trial.value for trial in optimizer.trials] == history["t3"].losses[places].tolist()


def test_the_left_out_task_is_not_in_the_history_that_searches_learn_from(history: hs.History) -> None:
    assert LeftOut(history, "t0", 0).known.tasks == ["t1", "t2", "t3"]
    assert LeftOut(history, "t0", 0, others=history.only(["t0", "t3"])).known.tasks == ["t3"]
    assert len(LeftOut(history, "t0", 0, others=history.only(["t0", "t3"])).table) == 15


def test_without_its_meta_features_a_task_cannot_start_from_the_nearest(history: hs.History) -> None:
    assert len(LeftOut(history, "t0", 0).search("nbi", 2, "gp", 2)) == 2
    with pytest.raises(ValueError, match="meta-features"):
        LeftOut(history, "t0", 0, described=False).search("nbi", 2, "gp", 2)


def test_configurations_are_found_in_the_table(history: hs.History) -> None:
    table = Table.of(history, "t0")
    assert [table.place(config) for config in table.configs] == list(range(15))
    assert table.place({"k": "b", "x": 0.0}) == table.configs.index({"x": 0.0, "k": "b"})
    assert table.place({"x": 0.1, "k": "b"}) is None


def test_distances_are_the_scaled_ones_and_stay_once_nothing_is_left(history: hs.History) -> None:
    task = history["t0"]
    places = [3, 0, 14]
    expected = scaled_dtm(task.losses[places], float(task.losses.min()), float(task.losses.max()))
    np.testing.assert_array_equal(distances(task, places, 3), expected)
    np.testing.assert_array_equal(distances(task, places, 2), expected[:2])
    np.testing.assert_array_equal(distances(task, places, 5), np.append(expected, [expected[-1]] * 2))
