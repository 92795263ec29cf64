"""Estimators that the library knows: how they are recognised, which metric is used, and what is checked beforehand."""

from __future__ import annotations

import logging
import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, LogisticRegressionCV, Perceptron
from sklearn.metrics import f1_score, log_loss, make_scorer, mean_squared_error, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import headstart as hs
from headstart.adapters.known import metric_for, model_of, recognised
from headstart.adapters.sklearn import HeadstartSearchCV, resolve
from headstart.library.models import MODELS
from headstart.space import Float
from program import python

AVAILABLE = [model for model in MODELS.values() if find_spec(model.estimator.partition(".")[0])]


class LGBMClassifier(ClassifierMixin, BaseEstimator):
    """A stand-in for LightGBM's class: `get_params` lists only what was set, and any other parameter is taken."""

    __module__ = "lightgbm.sklearn"

    def __init__(self, num_leaves=31, **others):
        self.num_leaves, self.others = num_leaves, others

    def get_params(self, deep=True):
        return {"num_leaves": self.num_leaves, **self.others}

    def set_params(self, **params):
        self.num_leaves = params.pop("num_leaves", self.num_leaves)
        self.others.update(params)
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# -- recognition ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", AVAILABLE, ids=lambda model: model.name)
def test_every_model_needs_neither_space_nor_history(model):
    """Alone and as a step; every configuration that the search may propose can be set."""
    estimator = model.make({})
    found = recognised(estimator)
    assert (found.model, found.prefix) == (model, "")
    pipe = Pipeline([("prepare", ColumnTransformer([("scale", StandardScaler(), [0])])), ("model", estimator)])
    assert recognised(pipe).prefix == "model__"
    space, _ = resolve(pipe, None, None)
    for config in space.sample(5, seed=0):
        changed = clone(pipe).set_params(**config).get_params()
        assert {name: changed[name] for name in config} == config


def test_a_class_is_recognised_without_importing_its_package():
    assert model_of(LGBMClassifier()) is MODELS["lightgbm-classification"]
    assert recognised(make_pipeline(StandardScaler(), LGBMClassifier())).prefix == "lgbmclassifier__"


def test_no_package_is_imported_to_recognise_an_estimator():
    """In a fresh interpreter, because other tests may have imported one."""
    done = python(
        "import sys; from sklearn.svm import SVC; from headstart.adapters.known import recognised; recognised(SVC()); "
        "print({'lightgbm', 'xgboost', 'catboost'} & set(sys.modules))"
    )
    assert done.stdout == "set()\n", done.stderr


def test_a_subclass_of_ones_own_is_the_model_but_a_relative_in_the_same_package_is_not():
    class Mine(DecisionTreeClassifier):
        pass

    assert model_of(Mine()) is MODELS["decision-tree-classification"]
    assert model_of(ExtraTreeClassifier()) is None  # inherits from DecisionTreeClassifier
    assert model_of(LogisticRegressionCV()) is None


def test_the_model_is_not_a_part_of_a_transformer_or_of_another_model():
    selecting = make_pipeline(SelectFromModel(RandomForestClassifier()), LogisticRegression())
    assert recognised(selecting).prefix == "logisticregression__"
    boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1))
    assert recognised(boosted).model.name == "adaboost-classification"
    assert recognised(TransformedTargetRegressor(SVR())).prefix == "regressor__"


def test_the_adaboost_of_the_paper_is_another_history():
    assert recognised(AdaBoostClassifier()).history_name("error") in ("adaboost-classification", None)


def test_a_support_vector_machine_keeps_the_grid_of_the_first_paper_for_its_metric():
    known = recognised(SVC())
    assert known.history_name("error") == "svm"
    assert known.history_name("auc") == "svm-classification"


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (GradientBoostingClassifier(), "GradientBoostingClassifier .*space= or history=, or use HistGradientBoostingC"),
        (make_pipeline(StandardScaler(), Lasso()), "Lasso has no default search space: .* or use ElasticNet"),
        (Perceptron(), "Perceptron .* or use LogisticRegression"),
        (ExtraTreeClassifier(), "ExtraTreeClassifier .* or use DecisionTreeClassifier"),
        (BaggingClassifier(), "BaggingClassifier .* or use RandomForestClassifier"),
        (GaussianNB(), r"GaussianNB .*\(it knows .*SVC.*XGBClassifier\); pass space= or history="),
        (PCA(), "PCA has no default search space"),
        (
            VotingClassifier([("a", SVC()), ("b", KNeighborsClassifier())]),
            r"the estimator has 2 models \(KNeighborsClassifier, SVC\): a, b; pass space= with full names",
        ),
    ],
)
def test_an_unknown_estimator_is_rejected_with_the_closest_known_one(estimator, words):
    with pytest.raises(ValueError, match=words):
        HeadstartSearchCV(estimator).fit(*load_iris(return_X_y=True))


def test_a_model_without_past_runs_starts_from_its_defaults(monkeypatch, caplog):
    monkeypatch.setattr("headstart.library.names", lambda: ["svm"])
    caplog.set_level(logging.INFO, "headstart")
    X, y = load_diabetes(return_X_y=True)
    scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    search = HeadstartSearchCV(scaled, n_trials=3, n_init=2, cv=2, random_state=0).fit(X, y)
    assert "no runs of SVR ship with headstart; starting from its defaults" in caplog.text
    first, second = search.cv_results_["params"][:2]
    assert (first["regressor__kernel"], first["regressor__C"], first["regressor__gamma"]) == ("rbf", 1.0, 0.1)
    assert second != first
    assert list(search.cv_results_["origin"]) == ["start", "start", "surrogate"]
    again = HeadstartSearchCV(scaled, n_trials=3, n_init=2, cv=2, random_state=0).fit(X, y)
    assert again.cv_results_["params"] == search.cv_results_["params"]
    with pytest.raises(ValueError, match="no runs of SVR ship with headstart; tune it with HeadstartSearchCV"):
        hs.defaults(scaled, X, y)


def test_parameters_that_a_constructor_takes_without_listing_them():
    space, _ = resolve(LGBMClassifier(), {"bagging_fraction": Float(0.1, 1)}, None)
    assert list(space) == ["bagging_fraction"]
    nested, _ = resolve(make_pipeline(PCA(), LGBMClassifier()), {"lgbmclassifier__lambda_l1": Float(0, 1)}, None)
    assert list(nested) == ["lgbmclassifier__lambda_l1"]
    with pytest.raises(ValueError, match="Pipeline has no parameter 'pca__lambda_l1'"):
        resolve(make_pipeline(PCA(), LGBMClassifier()), {"pca__lambda_l1": Float(0, 1)}, None)
    frame = pd.DataFrame({"task": ["a", "a", "b"], "lambda_l1": [0.1, 0.2, 0.3], "value": [1.0, 2.0, 3.0]})
    history = hs.History.from_frame(frame, {"lambda_l1": Float(0, 1)})
    found, past = resolve(make_pipeline(PCA(), LGBMClassifier()), None, history)
    assert list(found) == ["lgbmclassifier__lambda_l1"]
    assert past is not None
    assert past.space == found


@pytest.mark.parametrize("name", ["lightgbm-classification", "xgboost-classification", "catboost-classification"])
def test_the_real_boosting_libraries(name):
    model = MODELS[name]
    package = model.estimator.partition(".")[0]
    pytest.importorskip(package)
    estimator = getattr(import_module(package), model.class_name)(**model.fixed)
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        search = HeadstartSearchCV(estimator, n_trials=1, cv=2, random_state=0).fit(X, y)
    assert search.best_score_ > 0.8


# -- metrics ----------------------------------------------------------------------------------------------------

CLASSES, NUMBERS = MODELS["random-forest-classification"], MODELS["random-forest-regression"]


@pytest.mark.parametrize(
    ("scoring", "metric"),
    [
        (None, "error"),
        ("accuracy", "error"),
        ("roc_auc", "auc"),
        ("roc_auc_ovr_weighted", "auc"),
        ("neg_log_loss", "log_loss"),
        ("balanced_accuracy", "balanced_error"),
        (make_scorer(roc_auc_score, response_method="predict_proba"), "auc"),
        (make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"), "log_loss"),
        ({"a": "accuracy", "b": "roc_auc"}, "error"),
        (["neg_log_loss", "accuracy"], "log_loss"),
    ],
)
def test_the_metric_is_the_one_of_the_scoring(scoring, metric, caplog):
    caplog.set_level(logging.INFO, "headstart")
    assert metric_for(CLASSES, scoring) == metric
    assert not caplog.records


@pytest.mark.parametrize(
    ("model", "scoring", "metric"),
    [
        (CLASSES, "f1_macro", "balanced_error"),
        (CLASSES, "f1_micro", "error"),
        (CLASSES, "recall_weighted", "error"),
        (CLASSES, "average_precision", "auc"),
        (CLASSES, "neg_brier_score", "log_loss"),
        (CLASSES, make_scorer(f1_score), "balanced_error"),
        (CLASSES, lambda estimator, X, y: 0.0, "error"),
        (NUMBERS, "neg_median_absolute_error", "mae"),
        (NUMBERS, "explained_variance", "r2"),
        (NUMBERS, "neg_max_error", "rmse"),
    ],
)
def test_without_a_match_the_nearest_metric_is_used_and_announced(model, scoring, metric, caplog):
    caplog.set_level(logging.INFO, "headstart")
    assert metric_for(model, scoring) == metric
    assert f"scored by {metric}, the nearest to it" in caplog.text


def test_metrics_of_regression_and_of_several_scorers():
    assert metric_for(NUMBERS, None) == "r2"
    assert metric_for(NUMBERS, "neg_root_mean_squared_error") == "rmse"
    assert metric_for(NUMBERS, "neg_mean_absolute_error") == "mae"
    assert metric_for(NUMBERS, make_scorer(mean_squared_error, greater_is_better=False)) == "rmse"
    assert metric_for(CLASSES, ["accuracy", "roc_auc"], "roc_auc") == "auc"
    assert metric_for(CLASSES, {"a": "accuracy", "b": "roc_auc"}, "b") == "auc"


def test_a_search_starts_from_the_runs_with_the_metric_of_its_scoring():
    name = next((m.name for m in AVAILABLE if m.name in hs.library.names() and "auc" in m.metrics), None)
    if name is None:
        pytest.skip("no history with several metrics ships yet")
    _, history = resolve(MODELS[name].make({}), None, None, scoring="roc_auc")
    expected = hs.library.load(name, "auc")
    assert history is not None
    assert history.direction == expected.direction == "maximize"
    assert [task.losses.tolist() for task in history] == [task.losses.tolist() for task in expected]


# -- data -------------------------------------------------------------------------------------------------------

COUNT = {"fits": 0}


class Counted(DecisionTreeClassifier):
    def fit(self, *args, **kwargs):
        COUNT["fits"] += 1
        return super().fit(*args, **kwargs)


class CountedMachine(SVC):
    def fit(self, *args, **kwargs):
        COUNT["fits"] += 1
        return super().fit(*args, **kwargs)


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return (X - X.mean()) / X.std(), y


def _text(X):
    return X.assign(colour=np.where(X["alcohol"] > 0, "red", "white"))


def _missing(X):
    return X.where(X.quantile(0.01) < X)


@pytest.mark.parametrize("search", [False, True], ids=["defaults", "search"])
@pytest.mark.parametrize(
    ("estimator", "change", "words"),
    [
        (Counted(), lambda X, y: (X, y + np.linspace(0, 0.5, len(y))), "Unknown label type: continuous"),
        (Counted(), lambda X, y: (X, y * 0), "y has only one class, 0, so DecisionTreeClassifier has nothing to learn"),
        (Counted(), lambda X, y: (_text(X), y), r"column 'colour' of X holds the text 'red', but .*\['colour'\]"),
        (Counted(), lambda X, y: (_text(X).to_numpy(), y), "column 13 of X holds the text 'red'"),
        (
            make_pipeline(StandardScaler(), CountedMachine()),
            lambda X, y: (_text(X), y),
            "column 'colour' .* SVC takes only numbers",
        ),
        (CountedMachine(), lambda X, y: (_missing(X), y), "X lacks .* but SVC takes no NaN; .*SimpleImputer"),
        (make_pipeline(StandardScaler(), CountedMachine()), lambda X, y: (_missing(X), y), "X lacks .* no NaN"),
        (Counted(), lambda X, y: (X.where(X < 2, np.inf), y), r"column '\w+' of X holds infinite values, but"),
        (Counted(), lambda X, y: (X, np.where(y == 2, np.nan, y)), "y lacks 48 values of 178; drop those rows"),
        (Counted(), lambda X, y: (X, y[:10]), "inconsistent numbers of samples"),
        (Counted(), lambda X, y: (X[:0], y[:0]), "X and y have no rows"),
    ],
)
def test_bad_data_is_rejected_before_any_fit(estimator, change, words, search, wine):
    COUNT["fits"] = 0
    X, y = change(*wine)
    with pytest.raises(ValueError, match=words):
        HeadstartSearchCV(estimator, n_trials=2, cv=2).fit(X, y) if search else hs.defaults(estimator, X, y)
    assert COUNT["fits"] == 0


@pytest.mark.parametrize("search", [False, True], ids=["defaults", "search"])
@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (DecisionTreeClassifier, r"got the class DecisionTreeClassifier; pass DecisionTreeClassifier\(\)"),
        ("LGBMClassifier", "estimator must be an estimator of scikit-learn's kind, but got 'LGBMClassifier'"),
    ],
)
def test_what_is_no_estimator(estimator, words, search, wine):
    with pytest.raises(ValueError, match=words):
        HeadstartSearchCV(estimator).fit(*wine) if search else hs.defaults(estimator, *wine)


def test_text_as_the_target_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="y holds the text 'high', but DecisionTreeRegressor predicts numbers"):
        HeadstartSearchCV(DecisionTreeRegressor()).fit(X, np.where(y > 100, "high", "low"))


def test_data_that_a_pipeline_prepares_is_accepted(wine):
    X, y = _text(_missing(wine[0])), wine[1]
    prepare = make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), list(X.columns[:-1])))
    search = HeadstartSearchCV(make_pipeline(prepare, StandardScaler(), SVC()), n_trials=2, cv=2, random_state=0)
    assert search.fit(X, y).best_score_ > 0.9
    tree = HeadstartSearchCV(DecisionTreeClassifier(), n_trials=1, cv=2, random_state=0)
    assert tree.fit(_missing(wine[0]), y).best_score_ > 0.5  # it takes NaN
    numbers = wine[0].astype(str)  # scikit-learn converts them, too
    assert tree.fit(numbers, y).best_score_ > 0.5


def test_missing_values_are_left_to_the_models_that_take_them_in_this_version(wine):
    """The library measured extra trees without missing values; scikit-learn takes them from 1.6 on."""
    tags = pytest.importorskip("sklearn.utils", reason="needs get_tags")
    forest = ExtraTreesClassifier(n_estimators=3, random_state=0)
    if not hasattr(tags, "get_tags") or not tags.get_tags(forest).input_tags.allow_nan:
        pytest.skip("this scikit-learn is too old")
    search = HeadstartSearchCV(forest, n_trials=1, cv=2, random_state=0)
    assert search.fit(_missing(wine[0]), wine[1]).best_score_ > 0.5


def test_what_a_pipeline_does_not_prepare_fails_with_the_first_candidate(wine):
    COUNT["fits"] = 0
    X, y = _text(wine[0]), wine[1]
    with pytest.raises(ValueError, match=r"the estimator cannot be fitted: ValueError: (could not convert|.*numeric)"):
        HeadstartSearchCV(make_pipeline(PCA(), CountedMachine()), n_trials=9, cv=2).fit(X, y)
    assert COUNT["fits"] == 0


def test_columns_that_are_not_scaled_are_a_warning_with_the_remedy(wine):
    X, y = load_wine(return_X_y=True)
    with pytest.warns(
        UserWarning, match=r"from 0\.12 to 3\.1e\+02\. .* use make_pipeline\(StandardScaler\(\), SVC\(\)"
    ):
        HeadstartSearchCV(SVC(), n_trials=1, cv=2).fit(X, y)
    with pytest.warns(UserWarning, match=r"not scaled.* use StandardScaler\(\) before svc"):
        hs.defaults(make_pipeline(SimpleImputer(), SVC()), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hs.defaults(make_pipeline(StandardScaler(), SVC()), X, y)
        hs.defaults(SVC(), *wine)
        HeadstartSearchCV(DecisionTreeClassifier(), n_trials=1, cv=2).fit(X, y)  # a tree does not care


def test_a_target_that_is_not_scaled_is_a_warning_where_the_model_needs_it():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match=r"y is not scaled: .* 77\. .* TransformedTargetRegressor\(ElasticNet\(\)"):
        HeadstartSearchCV(ElasticNet(), n_trials=1, cv=2).fit(X, y)
    scaled = TransformedTargetRegressor(ElasticNet(), transformer=StandardScaler())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = HeadstartSearchCV(scaled, n_trials=1, cv=2, random_state=0).fit(X, y)
    assert set(search.best_params_) <= {"regressor__alpha", "regressor__l1_ratio"}


def test_a_data_set_unlike_all_past_ones_is_said(caplog):
    caplog.set_level(logging.INFO, "headstart")
    past = [task.features for task in hs.library.load("svm-classification")]
    columns = int(max(features["number_of_features"] for features in past))
    X, y = make_classification(300, columns + 1, n_informative=9, n_classes=60, n_clusters_per_class=1, random_state=0)
    hs.defaults(SVC(), X, y)
    assert "unlike all that the past runs had" in caplog.text
    assert f"{columns + 1} columns (at most {columns} there)" in caplog.text
    assert "60 classes (at most" in caplog.text
    caplog.clear()
    hs.defaults(SVC(), *load_iris(return_X_y=True))
    assert "unlike" not in caplog.text
