"""What ships with the package, on the command line: the list of histories, and suggestions in three formats."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import headstart as hs
from headstart.cli.shipped import as_python
from headstart.library.models import MODELS
from program import headstart, one_line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set, a table of runs, and a start."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.random(30), "b": rng.random(30), "y": [0, 1] * 15})
    data.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "small.csv").write_text("task,x,value\na,1,0.5\na,2,0.4\nb,1,0.3\n")
    hs.Start(hs.Space({"x": hs.Float(0, 1)}), [{"x": 0.5}]).save(tmp_path / "start.json")
    return tmp_path


def test_the_list_of_shipped_histories(folder: Path) -> None:
    rows = json.loads(headstart("list", "--json", cwd=folder).stdout)
    assert [row["name"] for row in rows] == hs.library.names()
    (svm,) = (row for row in rows if row["name"] == "svm")
    assert (svm["data_sets"], svm["evaluations"], svm["metrics"]) == (55, 55 * 288, ["error"])
    table = headstart("list", cwd=folder).stdout
    assert re.search(r"^svm +support vector machine +55 +15,840 +error$", table, re.MULTILINE)


def test_suggestions_of_a_shipped_history_in_three_formats(folder: Path) -> None:
    expected = hs.portfolio("svm", n=2)
    as_json = headstart("suggest", "svm", "-n", "2", "--json", cwd=folder)
    assert json.loads(as_json.stdout) == expected
    as_python = headstart("suggest", "svm", "-n", "2", "--python", cwd=folder).stdout
    assert [ast.literal_eval(line) for line in as_python.splitlines()] == expected
    table = headstart("suggest", "svm", "-n", "2", cwd=folder).stdout.splitlines()
    assert table[0].split() == ["kernel", "C", "gamma", "degree", "serves"]
    assert len(table) == 3


def test_suggestions_for_a_data_set_begin_with_its_defaults(folder: Path) -> None:
    data = pd.read_csv(folder / "data.csv")
    name, metric = "k-nearest-neighbours-classification", ("--metric", "log_loss")
    done = headstart("suggest", name, *metric, "--features", "data.csv", "--target", "y", "--json", cwd=folder)
    found = hs.defaults(KNeighborsClassifier(), data.drop(columns="y"), data["y"], scoring="neg_log_loss")
    first = json.loads(done.stdout)[0]
    assert {name: found.get_params()[name] for name in first} == first


def test_suggestions_as_an_estimator_to_paste() -> None:
    start = hs.Start(MODELS["logistic-classification"].space, [{"C": 0.5, "class_weight": None}])
    assert as_python("logistic-classification", start) == "LogisticRegression(C=0.5, class_weight=None)"
    assert as_python("runs.csv", start) == "{'C': 0.5, 'class_weight': None}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("suggest", "svm", "--metric", "auc"), "svm.parquet has no metric 'auc'"),
        (("suggest", "svm", "--metric", "error", "--seed", "1"), "ships with the package, not with --seed"),
        (("suggest", "small.csv", "--metric", "error"), "ships with the package, not to small.csv"),
        (("suggest", "start.json", "--metric", "error"), "--metric applies to a history, but start.json is a start"),
        (("suggest", "svm", "--json", "--python"), "not allowed with"),
    ],
)
def test_bad_requests_for_suggestions(command: tuple[str, ...], words: str, folder: Path) -> None:
    one_line(headstart(*command, cwd=folder), words)
