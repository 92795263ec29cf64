"""Importers of tables: scikit-learn's `cv_results_`, which is real, and the runs table of Weights & Biases.

That table comes from a server, so the files here are written by hand: the CSV export in the layout of a published one
(its own columns, parameters in alphabetical order, metrics in alphabetical order, all cells quoted), the others as the
example of the public API's documentation writes them.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, RandomizedSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import headstart as hs
from headstart.history import read_history
from headstart.history.reading import Reading

X, y = load_iris(return_X_y=True)


# -- scikit-learn ----------------------------------------------------------------------------------------------


def assert_scores(history, results, task="search", score="mean_test_score"):
    """Every candidate is there, with its score and its time."""
    assert history.direction == "maximize"
    found = list(zip(history.configs(task), -history[task].losses, history[task].costs, strict=True))
    assert len(found) == len(results["params"])
    times = results["mean_fit_time"] + results["mean_score_time"]
    for params, value, seconds in zip(results["params"], results[score], times, strict=True):
        same = [(v, s) for config, v, s in found if config == params]
        assert same == [(pytest.approx(value), pytest.approx(seconds))]


@pytest.fixture(scope="module")
def grid():
    grids = [{"kernel": ["rbf"], "gamma": [0.01, 0.1, 1.0], "C": [0.5, 10.0]}, {"kernel": ["linear"], "C": [0.5, 3.0]}]
    return GridSearchCV(SVC(), grids, cv=3).fit(X, y)


def test_grid_search_in_all_its_forms(grid, tmp_path):
    frame = pd.DataFrame(grid.cv_results_)
    frame.to_csv(tmp_path / "search.csv")
    for past in (grid, grid.cv_results_, frame, tmp_path / "search.csv"):
        history = hs.History.from_search_cv(past)
        assert_scores(history, grid.cv_results_)
        assert history.space["gamma"].conditions == {"kernel": ("rbf",)}
    assert_scores(read_history(str(tmp_path / "search.csv")), grid.cv_results_)


def test_searches_by_the_name_of_their_task(grid):
    history = hs.History.from_search_cv({"iris": grid, "again": grid.cv_results_})
    assert history.tasks == ["again", "iris"]
    assert_scores(history, grid.cv_results_, "iris")


def test_randomized_search_keeps_its_distributions():
    distributions = {"C": stats.loguniform(0.1, 100), "kernel": ["rbf", "linear"], "degree": stats.randint(2, 6)}
    search = RandomizedSearchCV(SVC(), distributions, n_iter=6, cv=3, random_state=0).fit(X, y)
    history = hs.History.from_search_cv(search)
    assert_scores(history, search.cv_results_)
    assert history.space == hs.Space(
        {"C": hs.Float(0.1, 100, log=True), "kernel": hs.Categorical(["rbf", "linear"]), "degree": hs.Int(2, 5)}
    )


def test_randomized_search_as_csv(tmp_path):
    """NumPy's numbers are printed as np.float64(0.5) there."""
    distributions = {"C": stats.loguniform(0.1, 100), "shrinking": [True, False]}
    search = RandomizedSearchCV(SVC(), distributions, n_iter=6, cv=3, random_state=0).fit(X, y)
    pd.DataFrame(search.cv_results_).to_csv(tmp_path / "search.csv", index=False)
    assert_scores(hs.History.from_search_cv(tmp_path / "search.csv"), search.cv_results_)


@pytest.mark.parametrize("as_file", [False, True])
def test_none_is_a_value_and_lists_are_text(tmp_path, as_file):
    grid = {"hidden_layer_sizes": [(5,), (5, 3)], "random_state": [None, 1], "max_iter": [2]}
    with pytest.warns(match="Maximum iterations"):
        search = GridSearchCV(MLPClassifier(), grid, cv=2).fit(X, y)
    pd.DataFrame(search.cv_results_).to_csv(tmp_path / "search.csv", index=False)
    history = hs.History.from_search_cv(tmp_path / "search.csv" if as_file else search)
    assert set(history.space["random_state"].choices) == {None, 1}
    assert set(history.space["hidden_layer_sizes"].choices) == {"[5]", "[5, 3]"}
    assert len(history["search"]) == 4


def test_halving_counts_each_candidate_once_with_its_largest_resource():
    search = HalvingRandomSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [None, 2, 3, 4], "min_samples_leaf": stats.randint(1, 9)},
        random_state=0,
        cv=3,
    ).fit(X, y)
    results = pd.DataFrame(search.cv_results_)
    last = results.sort_values("iter").groupby(results["params"].astype(str)).tail(1)
    last = last.sort_values("iter", ascending=False)
    worst = last.groupby("iter", sort=False)["mean_test_score"].min().cummin().shift().fillna(1.0)
    last["mean_test_score"] = np.minimum(last["mean_test_score"], last["iter"].map(worst))  # of those that went on
    history = hs.History.from_search_cv(search)
    assert_scores(history, {key: last[key].to_numpy() for key in results})
    assert len(results) > len(last)


def test_halving_grid():
    search = HalvingGridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3, random_state=0).fit(X, y)
    assert len(hs.History.from_search_cv(search)["search"]) == 4


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore::sklearn.exceptions.FitFailedWarning")
def test_a_candidate_that_could_not_be_fitted_has_failed(tmp_path):
    search = GridSearchCV(SVC(), {"C": [-1.0, 1.0, 2.0]}, cv=2).fit(X, y)
    pd.DataFrame(search.cv_results_).to_csv(tmp_path / "search.csv", index=False)
    for past in (search, pd.DataFrame(search.cv_results_), tmp_path / "search.csv"):
        history = hs.History.from_search_cv(past)
        assert np.isnan(history["search"].losses).tolist() == [True, False, False]


def test_several_scores_need_a_choice():
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, scoring=["accuracy", "f1_macro"], refit=False).fit(X, y)
    with pytest.raises(ValueError, match=r"several metrics: 'test_accuracy' \(2 runs\), 'test_f1_macro' \(2 runs\)"):
        hs.History.from_search_cv(search)
    history = hs.History.from_search_cv(search, value="test_f1_macro")
    assert_scores(history, search.cv_results_, score="mean_test_f1_macro")
    with pytest.raises(ValueError, match="maximises 'test_accuracy', so it cannot be read with direction 'minimize'"):
        hs.History.from_search_cv(search, value="test_accuracy", direction="minimize")


def test_what_is_no_search(tmp_path):
    with pytest.raises(ValueError, match="is not fitted"):
        hs.History.from_search_cv(GridSearchCV(SVC(), {"C": [1]}))
    with pytest.raises(ValueError, match="this is not cv_results_"):
        hs.History.from_search_cv(pd.DataFrame({"C": [1, 2], "score": [0.1, 0.2]}))
    (tmp_path / "search.pkl").write_bytes(b"")
    with pytest.raises(ValueError, match="is a pickle"):
        hs.History.from_search_cv(tmp_path / "search.pkl")


# -- Weights & Biases ------------------------------------------------------------------------------------------

RUNS = [
    {"name": "fair-sun-1", "state": "finished", "config": {"lr": 0.1, "net": {"depth": 3}, "opt": "adam"}},
    {"name": "red-moon-2", "state": "finished", "config": {"lr": 0.01, "net": {"depth": 5}, "opt": "sgd"}},
    {"name": "odd-star-3", "state": "crashed", "config": {"lr": 0.9, "net": {"depth": 4}, "opt": "sgd"}},
    {"name": "new-dawn-4", "state": "running", "config": {"lr": 0.2, "net": {"depth": 4}, "opt": "sgd"}},
    {"name": "dry-leaf-5", "state": "finished", "config": {"lr": 0.05, "net": {"depth": 2}, "opt": "adam"}},
]
SUMMARIES = [
    {"val_loss": 0.5, "epoch": 9, "_runtime": 12.5, "_timestamp": 1.7e9, "_wandb": {"runtime": 12}},
    {"val_loss": 0.25, "epoch": 9, "_runtime": 20.0, "_timestamp": 1.7e9, "_wandb": {"runtime": 20}},
    {"epoch": 2, "_runtime": 3.0},
    {"val_loss": 0.9, "epoch": 1, "_runtime": 1.0},
    {"val_loss": math.nan, "epoch": 9, "_runtime": 30.0},
]


def table():
    return [{**run, "summary": summary} for run, summary in zip(RUNS, SUMMARIES, strict=True)]


def written(folder, form):
    """The runs table in one of its forms."""
    frame = pd.DataFrame({"summary": SUMMARIES, "config": [run["config"] for run in RUNS]})
    frame["name"], frame["state"] = [run["name"] for run in RUNS], [run["state"] for run in RUNS]
    path = folder / f"project.{form.partition(' ')[0]}"
    if form == "csv":
        frame.to_csv(path)
    elif form == "json list":
        path.write_text(json.dumps(table()))
    elif form == "json columns":
        frame.to_json(path)
    elif form == "jsonl":
        path.write_text("\n".join(map(json.dumps, table())))
    return frame if form == "frame" else path


@pytest.mark.parametrize("form", ["csv", "json list", "json columns", "jsonl", "frame"])
def test_wandb_table_of_the_api(tmp_path, form):
    past = written(tmp_path, form)
    history = hs.History.from_wandb({"churn": past}, value="val_loss")
    assert list(history.space) == ["lr", "net.depth", "opt"]
    expected = {0.1: 0.5, 0.01: 0.25, 0.9: math.nan, 0.05: math.nan}
    if form == "json columns":  # pandas writes NaN as null, so the run is one without the metric
        del expected[0.05]
    found = {config["lr"]: loss for config, loss in zip(history.configs("churn"), history["churn"].losses, strict=True)}
    assert found == pytest.approx(expected, nan_ok=True)
    costs = {config["lr"]: s for config, s in zip(history.configs("churn"), history["churn"].costs, strict=True)}
    assert costs[0.01] == 20.0
    assert "1 unfinished run" in history.notes[1]
    if form not in ("frame",):
        assert read_history(str(past), Reading(value="val_loss")).tasks == ["project"]


PAGE = """\
"Name","State","Notes","User","Tags","Created","Runtime","Sweep","batch_size","lr","model","acc","epoch","val_loss"
"run-1","finished","-","me","","2025-11-13T09:48:11.000Z","9910","1wfhjnkh","8","0.0001","unet","0.8","10","0.4"
"run-2","finished","-","me","","2025-11-13T09:34:15.000Z","5902","1wfhjnkh","16","0.001","swin","0.9","10","0.3"
"run-3","failed","-","me","","2025-11-13T09:21:36.000Z","103","2kdjfhgl","8","0.01","unet","","1",""
"run-4","finished","-","me","","2025-11-13T07:56:21.000Z","5628","2kdjfhgl","32","0.002","swin","0.7","10","0.6"
"""


def test_wandb_export_of_the_web_page(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(PAGE)
    history = hs.History.from_wandb(path, value="val_loss")
    assert history.tasks == ["export"]
    assert list(history.space) == ["batch_size", "lr", "model"]
    found = {c["lr"]: (v, s) for c, v, s in zip(history.configs("export"), *columns(history["export"]), strict=True)}
    assert found[0.0001] == (0.4, 9910)
    assert math.isnan(found[0.01][0])
    assert "read as metrics, because they follow the parameters: 'acc', 'epoch', 'val_loss'" in history.notes
    sweeps = hs.History.from_wandb(path, value="acc", task="Sweep")
    assert sweeps.tasks == ["1wfhjnkh", "2kdjfhgl"]
    assert sweeps.direction == "maximize"


def columns(task):
    return task.losses, task.costs


def test_wandb_columns_in_another_order_are_told_apart_by_name(tmp_path):
    rows = [line.split(",") for line in PAGE.splitlines()]
    order = [*range(8), 13, 9, 8, 11, 10]
    path = tmp_path / "export.csv"
    path.write_text("\n".join(",".join(row[i] for i in order) for row in rows))
    history = hs.History.from_wandb(path, value="val_loss")
    assert list(history.space) == ["lr", "batch_size", "model"]
    assert "read as metrics by their names, not as parameters: 'val_loss', 'acc'" in history.notes


def test_wandb_names_that_the_user_gives_settle_what_a_column_is(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(PAGE.replace("acc", "quality").replace("epoch", "score_weight").replace("batch_size", "zoom"))
    space = {"lr": hs.Float(1e-5, 1, log=True), "score_weight": hs.Int(1, 10)}
    history = hs.History.from_wandb(path, space, value="quality", direction="maximize")
    assert {config["score_weight"] for config in history.configs("export")} == {1, 10}
    assert sorted(-history["export"].losses[np.isfinite(history["export"].losses)]) == [0.7, 0.8, 0.9]


def test_wandb_raw_config_is_unwrapped(tmp_path):
    rows = [{**run, "config": {"lr": {"value": run["config"]["lr"], "desc": None}, "_wandb": {}}} for run in table()]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(rows))
    assert list(hs.History.from_wandb(path, value="val_loss").space) == ["lr"]
