"""The table of models: spaces that match the estimators, metrics in one file, and the histories that ship."""

from __future__ import annotations

import importlib.util
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor

import headstart as hs
from headstart._support.direction import direction_in
from headstart.history.formats import parquet
from headstart.library import folds, measuring, models, problems, tuned
from headstart.library.models import METRICS, MODELS, SCORERS, Model, find

OURS = [model for model in MODELS.values() if model.package == "scikit-learn"]
SHIPPED = [name for name in hs.library.names() if name in MODELS]

each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def needs(model: Model) -> None:
    if importlib.util.find_spec(model.estimator.partition(".")[0]) is None:
        pytest.skip(f"{model.package} is not installed")


def corners(model: Model) -> list[dict[str, Any]]:
    """All parameters at one end of their ranges, for each end and each combination of the parents' choices."""
    space = model.space
    parents = sorted({parent for parameter in space.values() for parent in parameter.conditions})
    found = []
    for chosen in product(*(space[parent].choices for parent in parents)):  # type: ignore[union-attr]
        for end in (0, -1):
            config = {name: ends(parameter)[end] for name, parameter in space.items()}
            config |= dict(zip(parents, chosen, strict=True))
            active = [
                name
                for name, parameter in space.items()
                if all(config[parent] in values for parent, values in parameter.conditions.items())
            ]
            found.append({name: config[name] for name in active})
            assert space.contains(found[-1])
    return found


def ends(parameter: Any) -> Any:
    return parameter.choices if isinstance(parameter, hs.Categorical) else (parameter.low, parameter.high)


# -- the table ------------------------------------------------------------------------------------------------


@each_model
def test_names_say_the_kind(model: Model) -> None:
    assert model.kind in METRICS
    assert MODELS[model.name] is find(model.name) is model
    assert next(iter(model.metrics)) in ("error", "rmse")


@each_model
def test_the_default_is_in_the_space(model: Model) -> None:
    for columns in (1, 3, 1_000_000):
        assert model.space.contains(model.default_for(columns))


@each_model
def test_every_corner_of_the_space_can_be_set(model: Model) -> None:
    needs(model)
    for config in corners(model):
        estimator = model.make(config)
        assert estimator.set_params(**config) is estimator
        known = estimator.get_params()
        assert {name: known[name] for name in config} == config
    assert (is_classifier if model.kind == models.CLASSIFICATION else is_regressor)(estimator)


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.name)
def test_every_corner_of_the_space_can_be_trained(model: Model) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] > 0).astype(int) if model.kind == models.CLASSIFICATION else X @ [1.0, 2.0, 0.0, 0.0]
    data = problems.Dataset("made-up", pd.DataFrame(X), y, "made up")
    part = folds.folds(folds.sample(data, model.kind), model)[:1]
    for config in corners(model):
        small = {
            name: min(value, 12) if "estimators" in name or name == "max_iter" else value
            for name, value in config.items()
        }
        measured = measuring.measure(model, small, part)
        assert None not in [measured[metric] for metric in model.metrics], small


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.name)
def test_the_default_is_the_estimators_own(model: Model) -> None:
    """Where the value itself differs, it means the same on the data sets of the histories."""
    same_meaning = {
        ("max_depth", 40): None,
        ("max_samples", 1.0): None,
        ("max_features", 1.0): None,
        ("hidden_layer_sizes", 100): (100,),
        ("batch_size", 200): "auto",
        ("early_stopping", False): "auto",
        ("l2_regularization", 1e-6): 0.0,
        ("ccp_alpha", 1e-6): 0.0,
    }
    own = model.make({}).get_params()
    for name, value in model.default.items():
        assert own[name] in (value, same_meaning.get((name, value), value)), name


def test_an_unknown_model_suggests_the_closest() -> None:
    with pytest.raises(ValueError, match="no model 'lightgbm-clasification'; did you mean 'lightgbm-classification'"):
        find("lightgbm-clasification")


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"needs lightgbm; pip install 'headstart\[boosting\]'"):
        find("lightgbm-classification").make({})


def test_directions_are_those_that_the_names_imply() -> None:
    for metrics in METRICS.values():
        for metric, direction in metrics.items():
            assert direction_in(metric) == direction
    assert set(SCORERS.values()) <= {metric for metrics in METRICS.values() for metric in metrics}


# -- several metrics in one file ------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"task": ["a", "a", "b"], "x": [0.1, 0.2, 0.2], "error": [0.3, 0.1, 0.4], "auc": [0.9, 0.8, 0.7]}
    )
    space = hs.Space({"x": hs.Float(0, 1)})
    histories = {
        metric: hs.History.from_frame(frame[["task", "x", metric]], space, value=metric, direction=direction)
        for metric, direction in (("error", "minimize"), ("auc", "maximize"))
    }
    path = tmp_path / "several.parquet"
    runs = {metric: history.evaluations() for metric, history in histories.items()}
    parquet.write(runs["error"], path, runs)
    return path


def test_a_file_of_several_metrics(several: Path) -> None:
    assert parquet.read_metrics(several) == {"error": "minimize", "auc": "maximize"}
    first, auc = hs.History.load(several), hs.History.load(several, metric="auc")
    assert (first.direction, auc.direction) == ("minimize", "maximize")
    assert first.to_frame()["value"].tolist() == hs.History.load(several, "error").to_frame()["value"].tolist()
    assert auc.to_frame()["value"].tolist() == [0.9, 0.8, 0.7]
    assert auc["a"].losses.tolist() == [-0.9, -0.8]
    assert (first.best("a"), auc.best("a")) == ({"x": 0.2}, {"x": 0.1})


def test_an_unknown_metric(several: Path) -> None:
    with pytest.raises(hs.errors.HistoryError, match="no metric 'acu': its metrics are error, auc; did you mean 'auc'"):
        hs.History.load(several, metric="acu")
    with pytest.raises(hs.errors.HistoryError, match=r"svm\.parquet has no metric 'auc': it has only one"):
        hs.library.load("svm", metric="auc")
    assert hs.library.metrics("svm") == {}


@pytest.mark.parametrize("model", [model for model in MODELS.values() if model.variants], ids=lambda model: model.name)
def test_variants_are_configurations_of_the_space_and_differ_from_the_defaults(model: Model) -> None:
    configs = tuned.near(model, 1)
    assert all(model.space.contains(config) for config in configs)
    assert len({str(sorted(config.items())) for config in configs}) == len(model.variants) + 1
    values = model.space.to_values(configs)
    assert model.space.from_values(values) == configs  # no value is rounded, no parameter is inactive


# -- the histories that ship ----------------------------------------------------------------------------------


def is_default(config: dict[str, Any], model: Model) -> bool:
    return all(config.get(name) == value for name, value in model.default.items())


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_history_is_complete(name: str) -> None:
    model = find(name)
    assert hs.library.metrics(name) == dict(model.metrics)
    histories = {metric: hs.library.load(name, metric) for metric in model.metrics}
    for metric, history in histories.items():
        assert history.space == model.space
        assert history.direction == model.metrics[metric]
        assert history.tasks == sorted(problems.NAMES[model.kind])
    first = histories[next(iter(histories))]
    assert first.info.items() >= tuned.signature(name, 0).items()
    for task in first.tasks:
        configs = first.configs(task)
        own = next(config for config in configs if is_default(config, model)).get(model.inverse_columns or "")
        near = [{**config, model.inverse_columns: own} if own else config for config in tuned.near(model, 1)[1:]]
        shared = [*near, *tuned.core(model)]
        assert len(configs) <= len(shared) + 1 + tuned.OWN
        assert all(config in configs for config in shared)
        assert len(first[task].losses) == len(configs)
        assert np.isfinite(first[task].losses).mean() > 0.9
        assert set(first[task].features or {}) == set(first.feature_names)


def test_data_sets_set_aside_are_in_no_history() -> None:
    aside = {name for names in problems.SET_ASIDE.values() for name in names}
    for name in hs.library.names():
        assert not aside & set(hs.library.load(name).tasks)
