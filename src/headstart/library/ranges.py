"""The search spaces of the models: for each parameter its range and the estimator's own default.

The ranges are those that experts use: wide, and on a log scale where a factor matters more than a difference. A log
scale cannot hold 0: where 0 is the default, the lowest value stands for it. The largest `max_depth` stands for no
limit. Regression has no parameter whose effect depends on the unit of the target, unless the model was measured on a
standardised target (elastic net, neural network, support vector machine).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from headstart.space import Categorical, Float, Int
from headstart.space.parameters import Parameter

Ranges: TypeAlias = Mapping[str, tuple[Parameter, Any]]

INACTIVE: Any = object()
"""The default of a parameter that is inactive by default."""

_BALANCED: Ranges = {"class_weight": (Categorical([None, "balanced"]), None)}
_CRITERION: Ranges = {"criterion": (Categorical(["gini", "entropy"]), "gini")}
_NO_L1: Ranges = {"reg_alpha": (Float(1e-6, 10.0, log=True), 1e-6)}

LIGHTGBM: Ranges = {
    "n_estimators": (Int(10, 300, log=True), 100),
    "learning_rate": (Float(0.01, 0.5, log=True), 0.1),
    "num_leaves": (Int(2, 128, log=True), 31),
    "min_child_samples": (Int(1, 100, log=True), 20),
    "subsample_freq": (Categorical([0, 1]), 0),
    "subsample": (Float(0.4, 1.0, when={"subsample_freq": 1}), INACTIVE),
    "colsample_bytree": (Float(0.2, 1.0), 1.0),
    "reg_lambda": (Float(1e-6, 100.0, log=True), 1e-6),
}
LIGHTGBM_CLASSES: Ranges = {**LIGHTGBM, **_NO_L1}

XGBOOST: Ranges = {
    "n_estimators": (Int(10, 300, log=True), 100),
    "learning_rate": (Float(0.01, 0.5, log=True), 0.3),
    "max_depth": (Int(1, 12), 6),
    "min_child_weight": (Float(0.01, 100.0, log=True), 1.0),
    "subsample": (Float(0.4, 1.0), 1.0),
    "colsample_bytree": (Float(0.2, 1.0), 1.0),
    "reg_lambda": (Float(1e-3, 100.0, log=True), 1.0),
}
XGBOOST_CLASSES: Ranges = {**XGBOOST, **_NO_L1, "gamma": (Float(1e-6, 10.0, log=True), 1e-6)}

CATBOOST: Ranges = {
    "iterations": (Int(20, 1000, log=True), 1000),
    "learning_rate": (Float(0.01, 0.5, log=True), 0.03),  # adapted to the data set by CatBoost, if it is not given
    "depth": (Int(1, 10), 6),
    "l2_leaf_reg": (Float(0.1, 100.0, log=True), 3.0),
    "random_strength": (Float(0.01, 10.0, log=True), 1.0),
    "bagging_temperature": (Float(0.0, 2.0), 1.0),
}

HIST_GRADIENT_BOOSTING: Ranges = {
    "max_iter": (Int(10, 300, log=True), 100),
    "learning_rate": (Float(0.01, 0.5, log=True), 0.1),
    "max_leaf_nodes": (Int(2, 128, log=True), 31),
    "min_samples_leaf": (Int(1, 100, log=True), 20),
    "l2_regularization": (Float(1e-6, 100.0, log=True), 1e-6),
    "max_features": (Float(0.2, 1.0), 1.0),
    "early_stopping": (Categorical([False, True]), False),  # scikit-learn's "auto": from 10,000 rows on
}

_FOREST: Ranges = {
    "n_estimators": (Int(10, 200, log=True), 100),
    "max_depth": (Int(2, 40, log=True), 40),
    "min_samples_leaf": (Int(1, 32, log=True), 1),
}
_SHARES = Categorical(["sqrt", 0.1, 0.25, 0.5, 0.75, 1.0])
_BAGS = Categorical([True, False])
_BAG = Float(0.2, 1.0, when={"bootstrap": True})

RANDOM_FOREST: Ranges = {
    **_FOREST,
    "max_features": (_SHARES, 1.0),
    "bootstrap": (_BAGS, True),
    "max_samples": (_BAG, 1.0),
}
RANDOM_FOREST_CLASSES: Ranges = {**RANDOM_FOREST, **_CRITERION, "max_features": (_SHARES, "sqrt")}
EXTRA_TREES: Ranges = {**RANDOM_FOREST, "bootstrap": (_BAGS, False), "max_samples": (_BAG, INACTIVE)}
EXTRA_TREES_CLASSES: Ranges = {**EXTRA_TREES, **_CRITERION, "max_features": (_SHARES, "sqrt")}

ADABOOST: Ranges = {
    "n_estimators": (Int(10, 300, log=True), 50),
    "learning_rate": (Float(0.01, 2.0, log=True), 1.0),
}
ADABOOST_REGRESSION: Ranges = {**ADABOOST, "loss": (Categorical(["linear", "square", "exponential"]), "linear")}

TREE: Ranges = {
    "max_depth": (Int(1, 40, log=True), 40),
    "min_samples_leaf": (Int(1, 64, log=True), 1),
    "min_samples_split": (Int(2, 128, log=True), 2),
    "max_features": (Float(0.2, 1.0), 1.0),
}
TREE_CLASSES: Ranges = {**TREE, **_CRITERION, "ccp_alpha": (Float(1e-6, 0.1, log=True), 1e-6), **_BALANCED}

LOGISTIC: Ranges = {"C": (Float(1e-4, 1e3, log=True), 1.0), **_BALANCED}
RIDGE: Ranges = {"alpha": (Float(1e-4, 1e5, log=True), 1.0)}
ELASTIC_NET: Ranges = {"alpha": (Float(1e-5, 10.0, log=True), 1.0), "l1_ratio": (Float(0.0, 1.0), 0.5)}

NEIGHBOURS: Ranges = {
    "n_neighbors": (Int(1, 50, log=True), 5),
    "weights": (Categorical(["uniform", "distance"]), "uniform"),
    "metric": (Categorical(["minkowski", "cosine"]), "minkowski"),
    "p": (Int(1, 3, when={"metric": "minkowski"}), 2),
}

_ADAM = {"solver": "adam"}
MLP: Ranges = {
    "hidden_layer_sizes": (Int(4, 256, log=True), 100),  # one layer
    "activation": (Categorical(["relu", "tanh"]), "relu"),
    "alpha": (Float(1e-6, 10.0, log=True), 1e-4),
    "solver": (Categorical(["adam", "lbfgs"]), "adam"),
    "learning_rate_init": (Float(1e-4, 0.1, log=True, when=_ADAM), 1e-3),
    "batch_size": (Int(16, 256, log=True, when=_ADAM), 200),
    "early_stopping": (Categorical([False, True], when=_ADAM), False),
}

_SVM: Ranges = {
    "kernel": (Categorical(["rbf", "poly", "linear"]), "rbf"),
    "C": (Float(0.01, 1000.0, log=True), 1.0),
    "gamma": (Float(1e-4, 10.0, log=True, when={"kernel": ["rbf", "poly"]}), INACTIVE),  # 1 / columns: see Model
    "degree": (Int(2, 5, when={"kernel": "poly"}), INACTIVE),
    "coef0": (Float(0.0, 1.0, when={"kernel": "poly"}), INACTIVE),
}
SVM_CLASSES: Ranges = {**_SVM, **_BALANCED}
SVM_REGRESSION: Ranges = {**_SVM, "epsilon": (Float(0.001, 1.0, log=True), 0.1)}
