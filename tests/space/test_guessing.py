"""Search spaces inferred from tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import SpaceError
from headstart.space import Categorical, Float, Int, infer_space
from headstart.space.guessing import is_log


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    kernel = rng.choice(["rbf", "poly", "linear"], n)
    return pd.DataFrame(
        {
            "data": rng.choice(["a", "b"], n),
            "kernel": kernel,
            "C": 10 ** rng.uniform(-2, 3, n),
            "share": rng.uniform(0.01, 1, n),
            "gamma": np.where(kernel == "rbf", 10 ** rng.uniform(-4, 1, n), np.nan),
            "degree": np.where(np.isin(kernel, ["poly", "linear"]), rng.integers(1, 6, n), np.nan),
            "shrinking": rng.choice([True, False], n),
            "seed": 7,
            "error": rng.random(n),
        }
    )


WANTED = {
    "kernel": Categorical(["linear", "poly", "rbf"]),
    "shrinking": Categorical([False, True]),
    "degree": Int(1, 5, when={"kernel": ["linear", "poly"]}),
}


def check(space, frame):
    assert list(space) == ["kernel", "C", "share", "gamma", "degree", "shrinking"]  # the seed never varies
    for name, parameter in WANTED.items():
        assert space[name] == parameter
    assert space["C"] == Float(frame["C"].min(), frame["C"].max(), log=True)
    assert space["share"] == Float(frame["share"].min(), frame["share"].max())
    assert space["gamma"] == Float(frame["gamma"].min(), frame["gamma"].max(), log=True, when={"kernel": "rbf"})


def test_columns_that_are_empty_in_the_same_rows_depend_on_one_that_is_not():
    frame = pd.DataFrame(
        {
            "activation": ["relu", "tanh", None, "relu", None],
            "optimizer": ["adam", "sgd", None, "sgd", None],
            "model": ["net", "net", "linear", "net", "linear"],
        }
    )
    space = infer_space(frame)
    assert space["activation"] == Categorical(["relu", "tanh"], when={"model": "net"})
    assert space["optimizer"] == Categorical(["adam", "sgd"], when={"model": "net"})


def test_whole_numbers_beyond_a_range_are_rejected_by_name():
    frame = pd.DataFrame({"stamp": [1_700_000_000_000, 1_700_000_000_001], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"'stamp' is not a range .* skip the column with ignore="):
        infer_space(frame)


def test_every_kind_of_column():
    frame = table()
    check(infer_space(frame, without=["data", "error"]), frame)


def test_a_history_without_a_space_from_a_frame_and_from_a_file(tmp_path):
    frame = table()
    history = hs.History.from_frame(frame, task="data", value="error")
    check(history.space, frame)
    assert "skipped the column 'seed' (the same in every row)" in " ".join(history.notes)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    read = hs.History.from_csv(tmp_path / "runs.csv", task="data", value="error")
    assert read.space == history.space
    np.testing.assert_array_equal(read.V, history.V)
    assert [t.losses.tolist() for t in read] == [t.losses.tolist() for t in history]


@pytest.mark.parametrize(
    ("numbers", "log"),
    [
        (np.linspace(0.001, 1, 50), False),
        (np.logspace(-3, 0, 50), True),
        (np.array([1.0, 10.0, 100.0]), True),
        (np.arange(1.0, 101.0), False),
        (np.array([1.0, 2.0, 4.0, 8.0]), False),  # less than one magnitude
        (np.array([0.0, 1e-3, 1e-2, 1e-1]), False),  # zero has no logarithm
        (np.array([1e-3, 1e3]), False),  # two numbers are not enough
    ],
)
def test_log_scales(numbers, log):
    assert is_log(numbers) == log


def test_a_column_that_cannot_be_inferred_is_rejected():
    frame = table()
    frame.loc[3, "share"] = np.nan
    with pytest.raises(SpaceError, match=r"'share' is empty in 1 of 60 rows.*or pass a space with space=") as raised:
        infer_space(frame, without=["data", "error"])
    assert raised.value.remedy.arguments == ["ignore", "space"]
    frame = table().assign(share=1.0, id=[f"run-{i}" for i in range(60)])
    with pytest.raises(ValueError, match=r"'id' has 60 different texts.*skip the column with ignore= .* space="):
        infer_space(frame, without=["data", "error"])
    with pytest.raises(ValueError, match=r"no parameter to search: besides 'error' the table has 'seed'"):
        infer_space(table()[["seed", "error"]], without=["error"])
    with pytest.raises(ValueError, match=r"'C' holds a number that is not finite.*pass a space with space="):
        infer_space(table().replace({"C": {table()["C"].iloc[0]: np.inf}}), without=["data", "error"])


def test_conditions_can_follow_one_another():
    frame = pd.DataFrame(
        {
            "model": ["svm", "svm", "svm", "svm", "tree", "tree"],
            "kernel": ["rbf", "rbf", "linear", "linear", None, None],
            "gamma": [0.1, 0.2, None, None, None, None],
        }
    )
    space = infer_space(frame)
    assert space["kernel"] == Categorical(["linear", "rbf"], when={"model": "svm"})
    assert space["gamma"] == Float(0.1, 0.2, when={"kernel": "rbf"})


def test_a_wrong_column_name_is_reported_before_the_space_is_inferred(tmp_path):
    table().to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(ValueError, match=r"runs.csv has no column 'dataset'; did you mean 'data'"):
        hs.History.from_csv(tmp_path / "runs.csv", task="dataset", value="error")
    with pytest.raises(ValueError, match="has no column 'value'"):
        hs.History.from_frame(table(), task="data")
