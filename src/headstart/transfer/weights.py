"""How much each past task counts for a new one: by meta-features, by a learned distance, by how it ranks the results.

| symbol | name       | shape  | meaning                                                              |
| ------ | ---------- | ------ | -------------------------------------------------------------------- |
| m_D    | `M`        | (T, n) | meta-features of the past tasks                                      |
| δ      | `distance` | (T,)   | distance of each past task to the new one                            |
| F      | `F`        | (k, T) | what the models of the T past tasks say of the k configurations tried |
| w      | `weights`  | (T,)   | weights of the past tasks; they sum to 1                             |
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from headstart._support.types import Array, Mask, Rows
from headstart.datasets.embedding import embedding_names
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import discordant_share

SOFTNESS = 0.3  # difference at which two past losses are reliably in order
SHARPNESS = 2.0  # how much the ranking of one more result counts

# -- meta-features ---------------------------------------------------------------------------------------------


def feature_vectors(models: TaskModels, features: Features | None) -> tuple[Array, Array]:
    """Standardised meta-features of the past tasks (T, n) and the new one (n,), NaN where unknown.

    Only features that the new task and at least one past task have are of use.
    """
    if features is None:
        raise ArgumentError(
            "this method needs the new task's meta-features: pass features=hs.metafeatures(X, y), "
            "or choose a method that does without, such as 'auto', 'li' or 'ali'"
        )
    M, new, of_use = _shared(models, features)
    if not of_use.any():
        known = ", ".join(models.history.feature_names) or "none"
        raise ArgumentError(f"the new task shares no meta-feature with the history, which has {known}")
    M, new = M[:, of_use], new[of_use]
    with np.errstate(over="ignore"):
        mean, std = np.nanmean(M, axis=0), np.nanstd(M, axis=0)
    std = np.where(std > 0, std, 1.0)  # a constant feature tells nobody apart
    return (M - mean) / std, (new - mean) / std


def has_features(models: TaskModels, features: Features | None) -> bool:
    """Whether there is any meta-feature that the new task and a past one have."""
    return bool(_shared(models, features or {})[2].any())


def _shared(models: TaskModels, features: Features) -> tuple[Array, Array, Mask]:
    new = np.array([features.get(name, np.nan) for name in models.history.feature_names], dtype=float)
    M = models.history.feature_matrix()
    return M, new, np.isfinite(new) & np.isfinite(M).any(axis=0) if M.size else np.zeros(0, dtype=bool)


def feature_distance(M: Array, new: Array, p: float) -> Array:
    """‖m_D − m_new‖_p over the features both have, as if the others differed just as much."""
    gap = np.abs(M - new)
    known = np.isfinite(gap)
    share = known.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(known, gap**p, 0.0).sum(axis=1) / share
    return np.where(share > 0, total ** (1 / p), np.inf)


def weights_by_features(models: TaskModels, features: Features | None) -> Array:
    """How much each past task counts for a new one with these meta-features."""
    described, new = feature_vectors(models, features)
    F = models.surfaces.at(models.space.encode_values(models.shared[0]))
    return feature_weights(F, described[models.surfaces.tasks], new)


def feature_weights(F: Array, features: Array, new: Array) -> Array:
    """Weights w with which w · F predicts the new task's surface from meta-features; they sum to 1.

    Kernel ridge regression of whole surfaces, F (m, T), on standardised features (T, n); length-scale and ridge by
    leaving out one task after another (in closed form), and equal weights if nothing predicts better than those.
    """
    T = F.shape[1]
    equal = np.full(T, 1.0 / T)
    gaps = features[:, None] - features[None]
    squared = np.nanmean(gaps**2, axis=2)
    to_new = np.nanmean((features - np.clip(new, -3.0, 3.0)) ** 2, axis=1)
    if T < 4 or not (np.isfinite(squared).all() and np.isfinite(to_new).all()):
        return equal
    typical = float(np.median(squared[np.triu_indices(T, 1)]))
    best, weights = np.mean(((F - F.mean(axis=1, keepdims=True)) * T / (T - 1)) ** 2), equal
    for length in (0.25, 0.5, 1.0, 2.0, 4.0):
        K, k = (np.exp(-0.5 * d / max(length * typical, 1e-12)) for d in (squared, to_new))
        for ridge in (0.1, 0.3, 1.0, 3.0, 10.0):
            inverse = np.linalg.inv(K + ridge * np.eye(T))
            level = inverse.sum(axis=1) / inverse.sum()
            H = K @ inverse
            S = H + np.outer(1 - H.sum(axis=1), level)
            error = np.mean(((F - F @ S.T) / (1 - np.diag(S))) ** 2)
            if error < best:
                raw = k @ inverse
                best, weights = error, raw + (1 - raw.sum()) * level
    return np.asarray(weights)


def nearest_by_metric(models: TaskModels, features: Features | None) -> Rows:
    """The past tasks that have an embedding, the nearest to the new task first, then those that have none."""
    known = embedding_names(models.history.feature_names)
    if not known:
        raise ArgumentError(
            "init='metric' needs a history that was described by a trained Siamese network: "
            "history = model.describe(history)"
        )
    given = embedding_names(features or {})
    if not given:
        raise ArgumentError("init='metric' needs the embedding of the new data set: features=hs.embed(model, X, y)")
    shared = [fingerprint for fingerprint in given if given[fingerprint] == known.get(fingerprint)]
    if not shared:
        raise ArgumentError(
            f"the new data set was embedded by the model {', '.join(given)}, the history by {', '.join(known)}; "
            f"use one model for both: model.describe(history) and hs.embed(model, X, y)"
        )
    assert features is not None
    names = given[shared[0]]
    columns = [models.history.feature_names.index(name) for name in names]
    M = models.history.feature_matrix()[:, columns]
    distance = np.linalg.norm(M - np.array([features[name] for name in names]), axis=1)  # line 1
    return np.argsort(np.where(np.isnan(distance), np.inf, distance), kind="stable")


# -- rankings --------------------------------------------------------------------------------------------------


def rank_weights(F: Array, losses: Array) -> Array:
    """w given k results: F (k, T) at the configurations tried, and their losses (k,).

    Each pair of results is evidence for the tasks that put it in the same order, the more so the further apart
    they see it: log w = τ · 2/k · Σ_pairs log Φ(± (F_i − F_j) / σ). Only ranks of the new task are used, whatever
    its scale. This is eq. 17 of Wistuba et al. (2015a), made soft.
    """
    k = len(losses)
    logs = np.zeros(F.shape[1])
    if k >= 2:
        i, j = np.triu_indices(k, 1)
        sign = np.sign(losses[i] - losses[j])
        logs = logs + SHARPNESS * 2 / k * (np.abs(sign) @ log_ndtr(sign[:, None] * (F[i] - F[j]) / SOFTNESS))
    w = np.exp(logs - logs.max())
    return np.asarray(w / w.sum())


def concordances(F: Array, losses: Array) -> tuple[float, Array]:
    """Mean concordant share of the new task with the past ones, and of each past one with the rest."""
    T = F.shape[1]
    new = float(np.mean(1 - discordant_share(F, losses[:, None])))
    if T < 2:
        return new, np.zeros(T)
    among = 1 - discordant_share(F)
    return new, np.asarray((among.sum(axis=1) - 1) / (T - 1))


def is_unlike(F: Array, losses: Array) -> bool:
    """Whether the new task orders the tried configurations unlike every past one: less in accord with them than
    any of them with the others, and less than by chance."""
    if len(losses) < 4 or F.shape[1] < 3:
        return False
    new, others = concordances(F, losses)
    return new < min(0.5, float(others.min()))
