"""Weights of the past tasks for a new one: by meta-features, by a learned distance, or by how they rank its results.

| symbol | name       | shape  | meaning                                                       |
| ------ | ---------- | ------ | ------------------------------------------------------------- |
| m_D    | `M`        | (T, n) | meta-features of the past tasks                               |
| m_new  | `new`      | (n,)   | meta-features of the new task                                 |
| δ      | `distance` | (T,)   | distance of each past task to the new one                     |
| F      | `F`        | (k, T) | predicted losses of the k tried configurations on past tasks  |
| w      | `weights`  | (T,)   | weights of the past tasks; they sum to 1                      |
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from headstart._support.types import Array, Mask, Rows
from headstart.datasets.embedding import embedding_names
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.transfer.models import TaskModels
from headstart.transfer.population import Population
from headstart.transfer.surfaces import Surfaces

# How sharply ranks count: chosen by leave-one-out results on the authors' SVM data (`benchmarks/README.md`).
SOFTNESS = 0.3  # σ of `rank_weights`: the difference of stretched losses at which their order is fairly certain
SHARPNESS = 2.0  # τ of `rank_weights`: how much one more result changes the weights

# The grid and the limits of `feature_weights`; all are guesses.
LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # squared lengthscales, in units of the median squared distance between tasks
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
FEWEST_TASKS = 4  # with fewer tasks, weights are equal
FARTHEST = 3.0  # meta-features of the new task are clipped at this many standard deviations

# -- meta-features ---------------------------------------------------------------------------------------------


def feature_vectors(models: TaskModels, features: Features | None) -> tuple[Array, Array]:
    """Standardised meta-features of the past tasks (T, n) and of the new one (n,), NaN where unknown.

    Only features that the new task and at least one past task have are kept.
    """
    if features is None:
        raise ArgumentError(
            "this method needs the new task's meta-features",
            "pass {features}, or choose a method that does without, such as 'auto', 'li' or 'ali'",
        )
    M, new, common = _in_common(models, features)
    if not common.any():
        known = ", ".join(models.history.feature_names) or "none"
        raise ArgumentError(
            f"the new task shares no meta-feature with the history, which has {known}",
            "choose a method that does without, such as 'auto', 'li' or 'ali'",
        )
    M, new = M[:, common], new[common]
    with np.errstate(over="ignore"):
        mean, std = np.nanmean(M, axis=0), np.nanstd(M, axis=0)
    std = np.where(std > 0, std, 1.0)  # a constant feature would be divided by zero
    return (M - mean) / std, (new - mean) / std


def has_features(models: TaskModels, features: Features | None) -> bool:
    """Whether the new task shares a meta-feature with any past task."""
    return bool(_in_common(models, features or {})[2].any())


def _in_common(models: TaskModels, features: Features) -> tuple[Array, Array, Mask]:
    """M, m_new, and which meta-features the new task shares with any past task."""
    new = np.array([features.get(name, np.nan) for name in models.history.feature_names], dtype=float)
    M = models.history.feature_matrix()
    return M, new, np.isfinite(new) & np.isfinite(M).any(axis=0) if M.size else np.zeros(0, dtype=bool)


def feature_distance(M: Array, new: Array, p: float) -> Array:
    """‖m_D − m_new‖_p, (T,). Unknown features count as if they differed as much as the known ones on average."""
    gap = np.abs(M - new)
    known = np.isfinite(gap)
    share = known.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(known, gap**p, 0.0).sum(axis=1) / share
    return np.where(share > 0, total ** (1 / p), np.inf)


def weights_by_features(
    models: TaskModels, features: Features | None, surfaces: Surfaces | Population, Z: Array
) -> Array:
    """Weights of the past tasks that have a surface, for a new task with these meta-features.

    Z: encoded configurations at which the surfaces are compared.
    """
    M, new = feature_vectors(models, features)
    return feature_weights(surfaces.at(Z), M[surfaces.tasks], new)


def feature_weights(F: Array, M: Array, new: Array) -> Array:
    """Weights w, summing to 1, with which F w predicts the surface of the new task from its meta-features.

    Kernel ridge regression of whole surfaces F (m, T) on standardised meta-features M (T, n). Lengthscale and ridge
    minimise the leave-one-task-out error, in closed form. If none of them beats equal weights, the weights are equal.
    """
    T = F.shape[1]
    equal = np.full(T, 1.0 / T)
    gaps = M[:, None] - M[None]
    if T < FEWEST_TASKS or not np.isfinite(gaps).any(axis=2).all():  # some tasks share no feature
        return equal
    squared = np.nanmean(gaps**2, axis=2)
    to_new = np.nanmean((M - np.clip(new, -FARTHEST, FARTHEST)) ** 2, axis=1)
    if not (np.isfinite(squared).all() and np.isfinite(to_new).all()):
        return equal
    typical = float(np.median(squared[np.triu_indices(T, 1)]))
    best, weights = np.mean(((F - F.mean(axis=1, keepdims=True)) * T / (T - 1)) ** 2), equal  # error of equal weights
    for length in LENGTHS:
        K, k = (np.exp(-0.5 * d / max(length * typical, 1e-12)) for d in (squared, to_new))
        for ridge in RIDGES:
            inverse = np.linalg.inv(K + ridge * np.eye(T))
            level = inverse.sum(axis=1) / inverse.sum()
            H = K @ inverse
            smoother = H + np.outer(1 - H.sum(axis=1), level)  # row D: the weights with which F predicts task D
            error = np.mean(((F - F @ smoother.T) / (1 - np.diag(smoother))) ** 2)  # each task predicted without itself
            if error < best:
                raw = k @ inverse
                best, weights = error, raw + (1 - raw.sum()) * level
    return np.asarray(weights)


def nearest_by_metric(models: TaskModels, features: Features | None) -> Rows:
    """All past tasks, those nearest to the new one by embedding first and those without an embedding last."""
    return np.argsort(metric_distance(models, features), kind="stable")


def metric_distance(models: TaskModels, features: Features | None) -> Array:
    """‖m_D − m_new‖₂ between embeddings of a Siamese network, (T,); infinite where a task has no embedding.

    Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Algorithm 3.
    """
    M, new = metric_vectors(models, features)
    distance = np.linalg.norm(M - new, axis=1)  # line 1
    return np.where(np.isnan(distance), np.inf, distance)


def metric_vectors(models: TaskModels, features: Features | None) -> tuple[Array, Array]:
    """Embeddings of the past tasks (T, n), NaN where a task has none, and of the new one (n,)."""
    known = embedding_names(models.history.feature_names)
    if not known:
        raise ArgumentError(
            "'metric' needs a history with embeddings from a trained Siamese network",
            "add them with history = model.describe(history)",
        )
    given = embedding_names(features or {})
    if not given:
        raise ArgumentError("'metric' needs the embedding of the new data set", "pass features=hs.embed(model, X, y)")
    shared = [fingerprint for fingerprint in given if given[fingerprint] == known.get(fingerprint)]
    if not shared:
        raise ArgumentError(
            f"the new data set was embedded by the model {', '.join(given)}, the history by {', '.join(known)}",
            "use one model for both: model.describe(history) and hs.embed(model, X, y)",
        )
    assert features is not None
    names = given[shared[0]]
    columns = [models.history.feature_names.index(name) for name in names]
    return models.history.feature_matrix()[:, columns], np.array([features[name] for name in names])


# -- rankings --------------------------------------------------------------------------------------------------


def rank_weights(F: Array, losses: Array) -> Array:
    """w given k results: predictions F (k, T) for the tried configurations, and their losses (k,) on the new task.

    Each pair of results is evidence for the tasks that order it the same way, and the stronger the further apart they
    predict it: log w = τ · 2/k · Σ_pairs log Φ(± (F_i − F_j) / σ). Only the ranks of the new losses matter, not their
    scale. This is a soft version of eq. 17 of Wistuba et al. (2015a).
    """
    k = len(losses)
    logs = np.zeros(F.shape[1])
    if k >= 2:
        i, j = np.triu_indices(k, 1)
        sign = np.sign(losses[i] - losses[j])
        logs = logs + SHARPNESS * 2 / k * (np.abs(sign) @ log_ndtr(sign[:, None] * (F[i] - F[j]) / SOFTNESS))
    w = np.exp(logs - logs.max())
    return np.asarray(w / w.sum())
