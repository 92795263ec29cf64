"""Well-known improvements on the estimators' defaults: for each model a few parameters to change, as experts do.

They are measured on every data set beside the defaults and the spread configurations. A space-filling design of 29
configurations in eight parameters rarely has one close to the defaults, and often only such a one beats them on most
data sets: more trees, a lower learning rate, larger leaves. The lists were written down before anything was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Variants: TypeAlias = Sequence[Mapping[str, Any]]

_SAMPLED = {"subsample_freq": 1, "subsample": 0.8}

LIGHTGBM: Variants = (
    {"learning_rate": 0.05},
    {"n_estimators": 200, "learning_rate": 0.03},
    {"n_estimators": 200, "learning_rate": 0.03, "colsample_bytree": 0.5},
    {"learning_rate": 0.05, "num_leaves": 15, "colsample_bytree": 0.7},
    {"n_estimators": 200, "learning_rate": 0.03, "num_leaves": 8, "colsample_bytree": 0.7, **_SAMPLED},
    {"learning_rate": 0.05, "min_child_samples": 10, "colsample_bytree": 0.7, **_SAMPLED},
    {"learning_rate": 0.05, "reg_lambda": 10.0},
)

XGBOOST: Variants = (
    {"learning_rate": 0.1},
    {"n_estimators": 200, "learning_rate": 0.05},
    {"learning_rate": 0.1, "max_depth": 4},
    {"n_estimators": 200, "learning_rate": 0.05, "max_depth": 4, "subsample": 0.8, "colsample_bytree": 0.8},
    {"n_estimators": 200, "learning_rate": 0.05, "max_depth": 3, "subsample": 0.8, "colsample_bytree": 0.6},
    {"learning_rate": 0.1, "min_child_weight": 5.0, "subsample": 0.8, "colsample_bytree": 0.8},
    {"learning_rate": 0.1, "reg_lambda": 10.0},
)

HIST_GRADIENT_BOOSTING: Variants = (
    {"learning_rate": 0.05},
    {"max_iter": 200, "learning_rate": 0.03},
    {"max_iter": 200, "learning_rate": 0.03, "max_features": 0.5},
    {"learning_rate": 0.05, "max_leaf_nodes": 15, "max_features": 0.7},
    {"max_iter": 200, "learning_rate": 0.03, "max_leaf_nodes": 8, "max_features": 0.5},
    {"learning_rate": 0.05, "min_samples_leaf": 10, "max_features": 0.5},
    {"learning_rate": 0.05, "l2_regularization": 10.0},
)

CATBOOST: Variants = (
    {"iterations": 500},
    {"iterations": 500, "depth": 4},
    {"depth": 4},
    {"l2_leaf_reg": 10.0},
    {"iterations": 300, "learning_rate": 0.05, "depth": 5, "l2_leaf_reg": 5.0},
)

RANDOM_FOREST: Variants = (
    {"n_estimators": 200},
    {"n_estimators": 200, "max_features": 0.75},
    {"n_estimators": 200, "max_features": 0.5},
    {"n_estimators": 200, "max_features": 0.25},
    {"n_estimators": 200, "max_features": 0.5, "min_samples_leaf": 2},
    {"n_estimators": 200, "max_features": 0.5, "min_samples_leaf": 5},
)
RANDOM_FOREST_CLASSES: Variants = (
    *RANDOM_FOREST[:1],
    *RANDOM_FOREST[2:],
    {"n_estimators": 200, "min_samples_leaf": 2},
    {"n_estimators": 200, "min_samples_leaf": 3, "criterion": "entropy"},
)

ADABOOST: Variants = (
    {"n_estimators": 100},
    {"n_estimators": 100, "learning_rate": 0.5},
    {"n_estimators": 200, "learning_rate": 0.3},
    {"n_estimators": 200, "learning_rate": 0.1},
)
ADABOOST_REGRESSION: Variants = (*ADABOOST, *({**one, "loss": "square"} for one in ADABOOST[:3]))

TREE: Variants = (
    {"min_samples_leaf": 2},
    {"min_samples_leaf": 5},
    {"min_samples_leaf": 10},
    {"min_samples_leaf": 20},
    {"max_depth": 6, "min_samples_leaf": 5},
    {"max_depth": 4},
)

TREE_CLASSES: Variants = (
    *TREE,
    {"min_samples_leaf": 5, "criterion": "entropy"},
    {"ccp_alpha": 0.005},
    {"ccp_alpha": 0.02},
)

LOGISTIC: Variants = tuple({"C": C} for C in (0.1, 0.3, 0.7, 1.5, 3.0, 10.0))
RIDGE: Variants = tuple({"alpha": alpha} for alpha in (0.1, 0.3, 0.7, 1.5, 3.0, 10.0, 30.0))

NEIGHBOURS: Variants = (
    {"weights": "distance"},
    {"n_neighbors": 10},
    {"n_neighbors": 8, "weights": "distance"},
    {"n_neighbors": 15, "weights": "distance"},
    {"n_neighbors": 5, "weights": "distance", "p": 1},
    {"n_neighbors": 10, "weights": "distance", "p": 1},
)

SVM: Variants = tuple({"C": C} for C in (0.3, 0.7, 2.0, 5.0, 10.0, 30.0, 100.0))
SVM_REGRESSION: Variants = (*SVM, {"epsilon": 0.05}, {"C": 3.0, "epsilon": 0.05}, {"C": 3.0, "epsilon": 0.2})

MLP: Variants = (
    {"alpha": 0.1},
    {"alpha": 1.0},
    {"batch_size": 32},
    {"learning_rate_init": 0.003, "alpha": 0.1},
    {"learning_rate_init": 0.003, "batch_size": 64, "alpha": 1.0},
    {"hidden_layer_sizes": 200, "alpha": 0.1, "batch_size": 64},
    {"early_stopping": True, "learning_rate_init": 0.01, "batch_size": 32},
)
