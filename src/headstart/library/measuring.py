"""One configuration on the folds of a data set: its metrics, averaged over the folds, and the seconds of a fit.

| metric          | definition                                                                                    |
| --------------- | --------------------------------------------------------------------------------------------- |
| error           | share of wrong predictions                                                                    |
| log_loss        | mean of −log p of the true class, p at least 2.2e-16 as in scikit-learn                       |
| balanced_error  | 1 − mean over the classes of the share found                                                  |
| auc             | area under the ROC curve; with more classes, the mean over one class against the rest         |
| rmse, mae, r2   | of the predictions in units of the target                                                     |

A support vector machine has no probabilities. Its log loss comes from a logistic regression on its decision values,
fitted on those of the other folds. Seconds are CPU seconds, so that other load does not affect them.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headstart._support.types import Array
from headstart.errors import MissingPackageError
from headstart.library.datasets import AnyArray
from headstart.library.folds import Fold
from headstart.library.models import CLASSIFICATION, Model
from headstart.space import Int

LIMIT = 2.0
"""A configuration that takes more CPU seconds than this so far is not measured on further folds."""

PATIENCE = 20
"""Boosting stops after so many rounds without improvement on the held-out part."""

Measured = dict[str, Any]


def measure(model: Model, config: Mapping[str, Any], parts: Sequence[Fold], *, stop: bool = False) -> Measured:
    """The configuration, its metrics and seconds; metrics are None if it failed.

    stop: find the number of boosting rounds by early stopping on the first fold. The configuration then has this
    number, and all folds are trained with it.
    """
    found = dict(config)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that do not converge, or divide by zero
            with np.errstate(all="ignore"):
                if stop and model.rounds is not None:
                    found[model.rounds] = _stopped_at(model, found, parts[0])
                outputs, seconds = _fitted(model, found, parts)
                metrics: dict[str, Any] = averaged(model, outputs, parts)
    except MissingPackageError:  # no configuration is to blame
        raise
    except Exception:  # whatever a library raises for a configuration, the build goes on
        metrics, seconds = dict.fromkeys(model.metrics, None), time.process_time() - began
    return {**found, **metrics, "seconds": float(f"{seconds:.4g}")}


def _fitted(model: Model, config: Mapping[str, Any], parts: Sequence[Fold]) -> tuple[list[Array], float]:
    outputs, total = [], 0.0
    for fold in parts:
        estimator = model.make(config)
        start = time.process_time()
        estimator.fit(fold.X_train, fold.y_train, **_fit_options(model, fold))
        total += time.process_time() - start
        outputs.append(_output(model, estimator, fold))
        if total > LIMIT:
            break
    return outputs, total / len(outputs)


def _output(model: Model, estimator: Any, fold: Fold) -> Array:
    """Probabilities (n, classes), decision values if the model has none, or predictions in units of y."""
    if model.kind != CLASSIFICATION:
        return np.asarray(estimator.predict(fold.X_test), dtype=float) * fold.scale + fold.mean
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(fold.X_test), dtype=float)
    return np.asarray(estimator.decision_function(fold.X_test), dtype=float)


# -- boosting -------------------------------------------------------------------------------------------


def _fit_options(model: Model, fold: Fold) -> dict[str, Any]:
    if model.package != "catboost":
        return {}
    return {"cat_features": [label for label in fold.X_train if fold.X_train[label].dtype != float]}


def _stopped_at(model: Model, config: Mapping[str, Any], fold: Fold) -> int:
    """The number of rounds after which the held-out part of a fold no longer improves."""
    assert model.rounds is not None
    rounds = model.space[model.rounds]
    assert isinstance(rounds, Int)
    held_out = [(fold.X_test, fold.y_test)]
    quiet = {"verbose": False} if model.package == "xgboost" else {}
    patience = "early_stopping_round" if model.package == "lightgbm" else "early_stopping_rounds"
    estimator = model.make({**config, model.rounds: rounds.high, patience: PATIENCE})
    estimator.fit(fold.X_train, fold.y_train, eval_set=held_out, **quiet, **_fit_options(model, fold))
    best = estimator.best_iteration if model.package == "xgboost" else estimator.best_iteration_
    counted = int(best) + (model.package != "lightgbm")  # the others count from 0
    return int(min(max(counted, rounds.low), rounds.high))


# -- metrics --------------------------------------------------------------------------------------------------


def averaged(model: Model, outputs: Sequence[Array], parts: Sequence[Fold]) -> dict[str, float]:
    """The metrics, averaged over the folds that were measured."""
    measured = parts[: len(outputs)]
    if model.kind == CLASSIFICATION:
        each = [of_classes(p, s, fold.y_test) for p, s, fold in _with_probabilities(outputs, measured)]
    else:
        each = [of_numbers(prediction, fold.y_test) for prediction, fold in zip(outputs, measured, strict=True)]
    means = {name: float(np.mean([one[name] for one in each])) for name in model.metrics}
    if not all(map(math.isfinite, means.values())):
        raise ArithmeticError("a metric is not finite")
    return {name: float(f"{value:.6g}") for name, value in means.items()}


def _with_probabilities(outputs: Sequence[Array], parts: Sequence[Fold]) -> list[tuple[Array, Array, Fold]]:
    """For each fold its probabilities and scores (n, classes), which agree unless the scores are decision values."""
    k = 1 + max(int(fold.y_train.max()) for fold in parts)
    if outputs[0].ndim == 2 and np.allclose(outputs[0].sum(axis=1), 1, atol=1e-3):
        return [(p, p, fold) for p, fold in zip(outputs, parts, strict=True)]
    from sklearn.linear_model import LogisticRegression

    scores = [s if s.ndim == 2 else np.column_stack([-s, s]) for s in outputs]
    found = []
    for i, fold in enumerate(parts):
        others = [j for j in range(len(parts)) if j != i] or [i]
        X = np.concatenate([scores[j][:, 1 if k == 2 else 0 :] for j in others])
        y = np.concatenate([parts[j].y_test for j in others])
        calibration = LogisticRegression().fit(X, y)
        p = np.zeros((len(fold.y_test), k))
        p[:, calibration.classes_] = calibration.predict_proba(scores[i][:, 1 if k == 2 else 0 :])
        found.append((p, scores[i], fold))
    return found


def of_classes(p: Array, scores: Array, y: AnyArray) -> dict[str, float]:
    """The metrics of classification: p has the probabilities, scores decide which class is predicted."""
    right = scores.argmax(axis=1) == y
    counts = np.bincount(y, minlength=p.shape[1])
    there = np.flatnonzero(counts)
    found = np.bincount(y, weights=right, minlength=p.shape[1])[there] / counts[there]
    p = p / p.sum(axis=1, keepdims=True)
    true = np.clip(p[np.arange(len(y)), y], np.finfo(float).eps, 1.0)
    positive = [1] if p.shape[1] == 2 else [c for c in there if counts[c] < len(y)]
    return {
        "error": 1.0 - float(right.mean()),
        "log_loss": -float(np.log(true).mean()),
        "balanced_error": 1.0 - float(found.mean()),
        "auc": float(np.mean([_auc(scores[:, c], y == c) for c in positive])),
    }


def _auc(scores: Array, positive: AnyArray) -> float:
    """The share of pairs of a positive and a negative row in which the positive one has the higher score."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def of_numbers(prediction: Array, y: Array) -> dict[str, float]:
    """The metrics of regression."""
    residual = y - prediction
    mse = float(np.mean(residual**2))
    return {
        "rmse": math.sqrt(mse),
        "mae": float(np.mean(np.abs(residual))),
        "r2": 1.0 - mse / float(np.mean((y - y.mean()) ** 2)),
    }
