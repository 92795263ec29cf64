"""The models that people tune, one record for each history: the estimator, its search space and its defaults.

Nothing here imports an estimator, so the table is cheap and needs no optional package. Names of parameters are those of
the estimator: `estimator.set_params(**config)` works for every configuration of a space.

Early stopping: in a search, `fit(X, y)` of LightGBM, XGBoost and CatBoost has no validation set to stop on, so the
number of rounds is a parameter. To measure good numbers of rounds, the builder trains half of the configurations with
early stopping on the first fold and then measures the number of rounds found (`rounds`) as any other configuration.
HistGradientBoosting can stop by itself, which is a choice in its space.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any

from headstart._support.wording import closest
from headstart.errors import ArgumentError, MissingPackageError
from headstart.library import ranges, variants
from headstart.library.ranges import Ranges
from headstart.library.variants import Variants
from headstart.space import Float, Space

CLASSIFICATION, REGRESSION = "classification", "regression"

METRICS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        CLASSIFICATION: {"error": "minimize", "log_loss": "minimize", "balanced_error": "minimize", "auc": "maximize"},
        REGRESSION: {"rmse": "minimize", "mae": "minimize", "r2": "maximize"},
    }
)
"""The metrics of each kind of history, with their directions. The first one is what `load` returns unless told."""

SCORERS: Mapping[str, str] = MappingProxyType(
    {
        "accuracy": "error",
        "balanced_accuracy": "balanced_error",
        "neg_log_loss": "log_loss",
        "neg_mean_absolute_error": "mae",
        "neg_mean_squared_error": "rmse",
        "neg_root_mean_squared_error": "rmse",
        "r2": "r2",
        "roc_auc": "auc",
        "roc_auc_ovo": "auc",
        "roc_auc_ovo_weighted": "auc",
        "roc_auc_ovr": "auc",
        "roc_auc_ovr_weighted": "auc",
    }
)
"""The metric that matches a `scoring` of scikit-learn."""


@dataclass(frozen=True)
class Model:
    """How one model was measured.

    name: of the history. estimator: its import path. ranges: its search space, with the estimator's own defaults.
    fixed: arguments that are not searched. standardised: columns must have mean 0 and variance 1. scaled_target: and so
    must the target. missing, categories: whether the model takes NaN and pandas categories as they are; otherwise the
    builder fills in medians and makes indicator columns. rounds: the parameter that counts boosting rounds, if the
    builder stops them early. inverse_columns: a parameter whose default is one over the number of columns. variants:
    what to change in the defaults for configurations that are measured on every data set, too.
    """

    name: str
    estimator: str
    ranges: Ranges
    fixed: Mapping[str, Any] = field(default_factory=dict)
    standardised: bool = False
    scaled_target: bool = False
    missing: bool = False
    categories: bool = False
    rounds: str | None = None
    inverse_columns: str | None = None
    variants: Variants = ()

    @cached_property
    def space(self) -> Space:
        """The search space."""
        return Space({name: parameter for name, (parameter, _) in self.ranges.items()})

    @cached_property
    def default(self) -> Mapping[str, Any]:
        """The estimator's own defaults as a configuration of the space."""
        known = {name: value for name, (_, value) in self.ranges.items() if value is not ranges.INACTIVE}
        return MappingProxyType(known)

    @property
    def kind(self) -> str:
        """Either `CLASSIFICATION` or `REGRESSION`."""
        return self.name.rpartition("-")[2]

    @property
    def class_name(self) -> str:
        """The name of the estimator's class, such as "LGBMClassifier"."""
        return self.estimator.rpartition(".")[2]

    @property
    def package(self) -> str:
        """The package to install for the estimator."""
        top = self.estimator.partition(".")[0]
        return {"sklearn": "scikit-learn"}.get(top, top)

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics of the history, with their directions."""
        return METRICS[self.kind]

    def default_for(self, columns: int) -> dict[str, Any]:
        """The estimator's defaults on a data set with so many (encoded) columns."""
        if self.inverse_columns is None:
            return dict(self.default)
        parameter = self.space[self.inverse_columns]
        assert isinstance(parameter, Float)
        value = float(f"{1 / columns:.3g}")
        return {**self.default, self.inverse_columns: min(max(value, parameter.low), parameter.high)}

    def make(self, config: Mapping[str, Any]) -> Any:
        """The estimator with the fixed arguments and a configuration."""
        module, _, name = self.estimator.rpartition(".")
        try:
            estimator = getattr(import_module(module), name)
        except ImportError as error:
            raise MissingPackageError.of(f"{self.name!r}", self.package, "boosting") from error
        accepted = inspect.signature(estimator).parameters  # fixed arguments of newer versions are left out
        anything = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        fixed = {key: value for key, value in self.fixed.items() if anything or key in accepted}
        return estimator(**{**fixed, **config})


def find(name: str) -> Model:
    """The model of that name."""
    if name not in MODELS:
        hint = closest(name, list(MODELS)) or f"; the models are {', '.join(MODELS)}"
        raise ArgumentError(f"there is no model {name!r}{hint}")
    return MODELS[name]


def features(kind: str, X: Any, y: Any) -> dict[str, float]:
    """The meta-features of a data set: those of `hs.metafeatures`, for regression without those about classes."""
    from headstart.datasets.features import metafeatures

    if kind == CLASSIFICATION:
        return metafeatures(X, y)
    return {name: x for name, x in metafeatures(X, [0] * len(y)).items() if "class" not in name}


# -- the table -------------------------------------------------------------------------------------------------

_ONE_THREAD = {"random_state": 0, "n_jobs": 1}
_LIGHTGBM = {**_ONE_THREAD, "verbosity": -1}
_XGBOOST = {**_ONE_THREAD, "enable_categorical": True}
_CATBOOST = {"random_seed": 0, "thread_count": 1, "verbose": False, "allow_writing_files": False}
_HIST = {"random_state": 0, "categorical_features": "from_dtype"}
_MLP = {"random_state": 0, "max_iter": 200}
_SVM = {"max_iter": 100_000}  # scikit-learn has no limit

_NATIVE: dict[str, Any] = {"missing": True, "categories": True}
_SCALED: dict[str, Any] = {"standardised": True, "scaled_target": True}
_ROUNDS: dict[str, Any] = {**_NATIVE, "rounds": "n_estimators"}
_CAT_ROUNDS: dict[str, Any] = {**_NATIVE, "rounds": "iterations"}

_ALL = (
    Model(
        "lightgbm-classification",
        "lightgbm.LGBMClassifier",
        ranges.LIGHTGBM_CLASSES,
        _LIGHTGBM,
        variants=variants.LIGHTGBM,
        **_ROUNDS,
    ),
    Model(
        "lightgbm-regression",
        "lightgbm.LGBMRegressor",
        ranges.LIGHTGBM,
        _LIGHTGBM,
        variants=variants.LIGHTGBM,
        **_ROUNDS,
    ),
    Model(
        "xgboost-classification",
        "xgboost.XGBClassifier",
        ranges.XGBOOST_CLASSES,
        _XGBOOST,
        variants=variants.XGBOOST,
        **_ROUNDS,
    ),
    Model("xgboost-regression", "xgboost.XGBRegressor", ranges.XGBOOST, _XGBOOST, variants=variants.XGBOOST, **_ROUNDS),
    Model(
        "catboost-classification",
        "catboost.CatBoostClassifier",
        ranges.CATBOOST,
        _CATBOOST,
        variants=variants.CATBOOST,
        **_CAT_ROUNDS,
    ),
    Model(
        "catboost-regression",
        "catboost.CatBoostRegressor",
        ranges.CATBOOST,
        _CATBOOST,
        variants=variants.CATBOOST,
        **_CAT_ROUNDS,
    ),
    Model(
        "hist-gradient-boosting-classification",
        "sklearn.ensemble.HistGradientBoostingClassifier",
        ranges.HIST_GRADIENT_BOOSTING,
        _HIST,
        variants=variants.HIST_GRADIENT_BOOSTING,
        **_NATIVE,
    ),
    Model(
        "hist-gradient-boosting-regression",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        ranges.HIST_GRADIENT_BOOSTING,
        _HIST,
        variants=variants.HIST_GRADIENT_BOOSTING,
        **_NATIVE,
    ),
    Model(
        "random-forest-classification",
        "sklearn.ensemble.RandomForestClassifier",
        ranges.RANDOM_FOREST_CLASSES,
        _ONE_THREAD,
        missing=True,
        variants=variants.RANDOM_FOREST_CLASSES,
    ),
    Model(
        "random-forest-regression",
        "sklearn.ensemble.RandomForestRegressor",
        ranges.RANDOM_FOREST,
        _ONE_THREAD,
        missing=True,
        variants=variants.RANDOM_FOREST,
    ),
    Model(
        "extra-trees-classification",
        "sklearn.ensemble.ExtraTreesClassifier",
        ranges.EXTRA_TREES_CLASSES,
        _ONE_THREAD,
        variants=variants.RANDOM_FOREST_CLASSES,
    ),
    Model(
        "extra-trees-regression",
        "sklearn.ensemble.ExtraTreesRegressor",
        ranges.EXTRA_TREES,
        _ONE_THREAD,
        variants=variants.RANDOM_FOREST,
    ),
    Model(
        "adaboost-classification",
        "sklearn.ensemble.AdaBoostClassifier",
        ranges.ADABOOST,
        {"random_state": 0},
        variants=variants.ADABOOST,
    ),
    Model(
        "adaboost-regression",
        "sklearn.ensemble.AdaBoostRegressor",
        ranges.ADABOOST_REGRESSION,
        {"random_state": 0},
        variants=variants.ADABOOST_REGRESSION,
    ),
    Model(
        "decision-tree-classification",
        "sklearn.tree.DecisionTreeClassifier",
        ranges.TREE_CLASSES,
        {"random_state": 0},
        missing=True,
        variants=variants.TREE_CLASSES,
    ),
    Model(
        "decision-tree-regression",
        "sklearn.tree.DecisionTreeRegressor",
        ranges.TREE,
        {"random_state": 0},
        missing=True,
        variants=variants.TREE,
    ),
    Model(
        "logistic-classification",
        "sklearn.linear_model.LogisticRegression",
        ranges.LOGISTIC,
        {"max_iter": 200},
        standardised=True,
        variants=variants.LOGISTIC,
    ),
    Model("ridge-regression", "sklearn.linear_model.Ridge", ranges.RIDGE, standardised=True, variants=variants.RIDGE),
    Model("elastic-net-regression", "sklearn.linear_model.ElasticNet", ranges.ELASTIC_NET, **_SCALED),
    Model(
        "k-nearest-neighbours-classification",
        "sklearn.neighbors.KNeighborsClassifier",
        ranges.NEIGHBOURS,
        {"n_jobs": 1},
        standardised=True,
        variants=variants.NEIGHBOURS,
    ),
    Model(
        "k-nearest-neighbours-regression",
        "sklearn.neighbors.KNeighborsRegressor",
        ranges.NEIGHBOURS,
        {"n_jobs": 1},
        standardised=True,
        variants=variants.NEIGHBOURS,
    ),
    Model(
        "mlp-classification",
        "sklearn.neural_network.MLPClassifier",
        ranges.MLP,
        _MLP,
        standardised=True,
        variants=variants.MLP,
    ),
    Model("mlp-regression", "sklearn.neural_network.MLPRegressor", ranges.MLP, _MLP, variants=variants.MLP, **_SCALED),
    Model(
        "svm-classification",
        "sklearn.svm.SVC",
        ranges.SVM_CLASSES,
        _SVM,
        standardised=True,
        inverse_columns="gamma",
        variants=variants.SVM,
    ),
    Model(
        "svm-regression",
        "sklearn.svm.SVR",
        ranges.SVM_REGRESSION,
        _SVM,
        inverse_columns="gamma",
        variants=variants.SVM_REGRESSION,
        **_SCALED,
    ),
)

MODELS: Mapping[str, Model] = MappingProxyType({model.name: model for model in _ALL})
"""The models by the names of their histories."""
