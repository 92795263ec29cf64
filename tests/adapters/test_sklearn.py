"""The search object: scikit-learn's own checks, and the parts that are ours."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import headstart as hs
from headstart.adapters.sklearn import HeadstartSearchCV, resolve
from headstart.space import Categorical, Float, Int

# GridSearchCV itself fails these checks.
EXCUSED = {
    "check_supervised_y_2d": "DataConversionWarning not caught",
    "check_requires_y_none": "Doesn't fail gracefully",
}
COMMON = {"n_trials": 2, "n_init": 1, "cv": 2, "error_score": "raise", "random_state": 0}
SEARCHES = [
    HeadstartSearchCV(Ridge(), {"alpha": Float(0.1, 1.0)}, **COMMON),
    HeadstartSearchCV(LogisticRegression(), {"C": Float(0.1, 1.0, log=True)}, **COMMON),
    HeadstartSearchCV(Pipeline([("pca", PCA()), ("model", LogisticRegression())]), {"model__C": [0.1, 1.0]}, **COMMON),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=lambda _: EXCUSED)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_a_support_vector_machine_needs_neither_space_nor_history(iris):
    search = HeadstartSearchCV(make_pipeline(StandardScaler(), SVC()), n_trials=8, n_init=5, random_state=0)
    search.fit(*iris)
    assert list(search.cv_results_["origin"]) == ["strategy"] * 5 + ["surrogate"] * 3
    assert set(search.best_params_) <= {"standardscaler", "svc__kernel", "svc__C", "svc__gamma", "svc__degree"}
    again = cross_val_score(search.best_estimator_, *iris)
    assert search.best_score_ == pytest.approx(again.mean())
    assert search.predict(iris[0]).tolist() == search.best_estimator_.predict(iris[0]).tolist()


def test_the_start_is_the_optimizers_with_the_meta_features(iris):
    """The candidates are those of a start that is learned with the same meta-features."""
    search = HeadstartSearchCV(SVC(), n_trials=3, init="nbi", random_state=7).fit(*iris)
    history = hs.library.load("svm")
    start = hs.learn(history, n=3, method="nbi", features=hs.metafeatures(*iris))
    assert [trial.config for trial in search.trials_] == start.configs


def test_everything_a_grid_search_has(iris):
    ours = HeadstartSearchCV(SVC(), {"C": [1.0, 10.0]}, n_trials=5, return_train_score=True).fit(*iris)
    theirs = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, return_train_score=True).fit(*iris)
    assert set(vars(theirs)) - {"param_grid"} <= set(vars(ours))
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    order = np.argsort(ours.cv_results_["param_C"])
    for key in ("mean_test_score", "rank_test_score", "split3_train_score"):
        assert list(ours.cv_results_[key][order]) == list(theirs.cv_results_[key])
    assert ours.best_score_ == theirs.best_score_


def test_same_random_state_same_candidates_in_any_number_of_processes(iris):
    space = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-3, 1e3, log=True)}
    search = HeadstartSearchCV(SVC(), space, n_trials=6, n_init=3, cv=2, random_state=3)
    first, second = search.fit(*iris).cv_results_["params"], clone(search).set_params(n_jobs=2)
    assert second.fit(*iris).cv_results_["params"] == first
    assert clone(search).set_params(random_state=4).fit(*iris).cv_results_["params"] != first


def test_candidates_at_once_differ(iris):
    space = {"C": Float(1e-3, 1e3, log=True)}
    search = HeadstartSearchCV(SVC(), space, n_trials=7, n_init=2, batch_size=3, cv=2, random_state=0).fit(*iris)
    assert len({params["C"] for params in search.cv_results_["params"]}) == 7


def test_a_finite_space_ends_the_search(iris):
    search = HeadstartSearchCV(SVC(), {"kernel": ["rbf", "linear"]}, n_trials=10, cv=2).fit(*iris)
    assert sorted(search.cv_results_["param_kernel"]) == ["linear", "rbf"]


# -- metrics, groups, weights -----------------------------------------------------------------------------------


def test_several_metrics_follow_refit(iris):
    search = HeadstartSearchCV(
        SVC(), n_trials=4, cv=2, scoring=["accuracy", "f1_macro"], refit="f1_macro", random_state=0
    ).fit(*iris)
    assert [trial.value for trial in search.trials_] == list(search.cv_results_["mean_test_f1_macro"])
    assert search.best_score_ == max(search.cv_results_["mean_test_f1_macro"])
    without = clone(search).set_params(refit=False).fit(*iris)
    assert not hasattr(without, "best_estimator_")
    assert [trial.value for trial in without.trials_] == list(without.cv_results_["mean_test_accuracy"])


def test_groups_reach_the_splitter():
    X, y = make_classification(60, random_state=0)
    groups = np.arange(60) % 5
    search = HeadstartSearchCV(LogisticRegression(), {"C": Float(0.1, 10)}, n_trials=2, cv=GroupKFold(5))
    assert search.fit(X, y, groups=groups).n_splits_ == 5
    with pytest.raises(ValueError, match="groups"):
        clone(search).fit(X, y)


def test_sample_weights_reach_the_estimator_and_the_scorer(iris):
    X, y = iris
    weight = (y != 2).astype(float)  # the third class has no weight
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = HeadstartSearchCV(model, {"C": Float(0.1, 10)}, n_trials=2, cv=2).fit(X, y, sample_weight=weight)
    assert not (search.predict(X) == 2).any()


# -- failures -----------------------------------------------------------------------------------------------------


def test_a_candidate_that_cannot_be_fitted_is_one_failed_trial(iris):
    search = HeadstartSearchCV(SVC(), {"C": [-1.0, 1.0, -2.0, 3.0]}, n_trials=4, random_state=0)
    with pytest.warns(FitFailedWarning, match="2 of 4 candidates"):
        search.fit(*iris)
    table = pd.DataFrame(search.cv_results_)
    assert (table["mean_test_score"].isna() == (table["param_C"].astype(float) < 0)).all()
    assert table["params"].map(lambda params: params["C"]).tolist() == table["param_C"].tolist()
    assert table["rank_test_score"][search.best_index_] == 1
    assert search.best_params_ == table["params"][search.best_index_]
    assert set(table["rank_test_score"][table["mean_test_score"].isna()]) == {3}
    assert [trial.failed for trial in search.trials_] == table["mean_test_score"].isna().tolist()


def test_error_score_is_given_to_the_failed(iris):
    search = HeadstartSearchCV(SVC(), {"C": [-1.0, 1.0]}, n_trials=2, error_score=0.0, random_state=0)
    with pytest.warns(FitFailedWarning):
        search.fit(*iris)
    assert min(search.cv_results_["split2_test_score"]) == 0.0


def test_it_is_an_error_if_no_candidate_can_be_fitted(iris):
    search = HeadstartSearchCV(SVC(), {"C": [-1.0, -2.0]}, n_trials=5)
    with pytest.raises(ValueError, match=r"(?s)none of the 2 candidates could be fitted: .*must be a float"):
        search.fit(*iris)
    with pytest.raises(ValueError, match="must be a float in the range"):
        search.set_params(error_score="raise").fit(*iris)


# -- spaces and histories -----------------------------------------------------------------------------------------


def test_spaces_as_randomized_search_takes_them():
    space = hs.as_space(
        {"C": loguniform(0.1, 10), "tol": uniform(1, 4), "degree": randint(2, 6), "kernel": ["rbf", None]}
    )
    assert space["C"] == Float(0.1, 10, log=True)
    assert space["tol"] == Float(1, 5)
    assert space["degree"] == Int(2, 5)
    assert space["kernel"] == Categorical(["rbf", None])
    with pytest.raises(ValueError, match="'C' is a norm distribution; use uniform"):
        hs.as_space({"C": norm()})


def test_a_history_of_ones_own_with_or_without_the_prefix(iris):
    X, y = iris
    frame = pd.DataFrame(
        [{"task": t, "max_depth": d, "score": -abs(d - 3) - t} for t in range(3) for d in range(1, 11)]
    )
    history = hs.History.from_frame(frame, {"max_depth": Int(1, 10)}, task="task", value="score", direction="maximize")
    tree = DecisionTreeClassifier(random_state=0)
    bare = HeadstartSearchCV(tree, history=history, n_trials=2, random_state=0).fit(X, y)
    assert bare.cv_results_["params"][0] == {"max_depth": 3}
    pipe = HeadstartSearchCV(make_pipeline(PCA(), tree), history=history, n_trials=2, random_state=0).fit(X, y)
    assert pipe.cv_results_["params"][0] == {"decisiontreeclassifier__max_depth": 3}
    wider = {"decisiontreeclassifier__max_depth": Int(1, 20)}
    renamed = HeadstartSearchCV(make_pipeline(PCA(), tree), wider, history, n_trials=1, random_state=0).fit(X, y)
    assert renamed.cv_results_["params"][0] == {"decisiontreeclassifier__max_depth": 3}


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (HeadstartSearchCV(GaussianNB()), "GaussianNB has no default search space: .*; pass space= or history="),
        (HeadstartSearchCV(SVC(), {"c": Float(0, 1)}), "SVC has no parameter 'c'"),
        (HeadstartSearchCV(SVC(), history="svn"), "svn.*svm"),
        (HeadstartSearchCV(SVC(), history=3), "past runs must be a History.*3"),
        (HeadstartSearchCV(Ridge(), history="svm"), "Ridge has no parameter 'kernel'"),
        (HeadstartSearchCV(SVC(), n_trials=0), "n_trials must be a whole number of at least 1, but got 0"),
        (HeadstartSearchCV(SVC(), batch_size=1.5), "batch_size .* got 1.5"),
        (
            HeadstartSearchCV(make_pipeline(SVC(), SVC())),
            "the estimator has 2 SVCs: svc-1, svc-2; pass space= with full names",
        ),
        (HeadstartSearchCV(SVC(), {"C": [1.0]}, init="li"), "learns from past runs; pass a history"),
    ],
)
def test_bad_input_is_rejected_before_anything_is_fitted(search, words, iris):
    with pytest.raises(ValueError, match=words):
        search.fit(*iris)
    assert not hasattr(search, "cv_results_")


def test_regression_and_texts_do_without_meta_features():
    X, y = make_regression(50, 3, random_state=0)
    HeadstartSearchCV(Ridge(), {"alpha": Float(0.1, 10)}, n_trials=2).fit(X, y)
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["good film", "bad film", "fine plot", "poor plot"] * 5
    search = HeadstartSearchCV(make_pipeline(TfidfVectorizer(), SVC()), n_trials=2, cv=2)
    assert search.fit(texts, [1, 0, 1, 0] * 5).best_score_ == 1.0


def test_a_fitted_search_survives_pickling(iris):
    search = HeadstartSearchCV(SVC(), n_trials=2, cv=2, random_state=0).fit(*iris)
    back = pickle.loads(pickle.dumps(search))
    assert back.predict(iris[0]).tolist() == search.predict(iris[0]).tolist()
    assert back.trials_ == search.trials_


def test_resolve_finds_the_machine_in_a_nested_pipeline():
    inner = Pipeline([("scale", StandardScaler()), ("machine", SVC())])
    space, history = resolve(Pipeline([("first", PCA()), ("rest", inner)]), None, None)
    assert set(space) == {f"rest__machine__{name}" for name in ("kernel", "C", "gamma", "degree")}
    assert history is not None
    assert history.space == space
    assert len(history) == len(hs.library.load("svm"))
