"""Starts from the best configurations of past tasks: at random (RBI), or of the nearest tasks (NBI).

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section V-B;
NBI after Reif et al. (2012) and Feurer et al. (2014).

| symbol | name       | shape  | meaning                        |
| ------ | ---------- | ------ | ------------------------------ |
| m_D    | `M`        | (T, F) | meta-features of the past tasks |
| δ      | `distance` | (T,)   | from each of them to the new    |
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from headstart.history import Features
from headstart.parameters import Array, Mask
from headstart.past import Past
from headstart.strategies.base import Run, Told, anywhere, best_of, fresh
from headstart.transfer import feature_weights


@dataclass(frozen=True)
class InOrder:
    """A run that takes the best configurations of the tasks in a fixed order."""

    past: Past
    order: npt.NDArray[np.intp]
    seed: int

    def ask(self, told: Told) -> Array:
        space = self.past.space
        return fresh(chain(best_of(self.past, self.order), anywhere(space, self.seed)), told, space)


@dataclass(frozen=True)
class RandomBest:
    """RBI: the best configurations of tasks drawn at random."""

    def begin(self, past: Past, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return InOrder(past, rng.permutation(len(past)), int(rng.integers(2**32)))


@dataclass(frozen=True)
class NearestBest:
    """NBI: the best configurations of the tasks whose meta-features are nearest to the new task's.

    p: the norm of the distance. Features are standardised over the past tasks.
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.p > 0:
            raise ValueError(f"p must be above 0, but got {self.p}")

    def begin(self, past: Past, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        M, new = feature_vectors(past, features)
        order = np.argsort(feature_distance(M, new, self.p), kind="stable")
        return InOrder(past, order, int(rng.integers(2**32)))


def feature_vectors(past: Past, features: Features | None) -> tuple[Array, Array]:
    """Standardised meta-features of the past tasks (T, F) and the new one (F,), NaN where unknown.

    Only features that the new task and at least one past task have are of use.
    """
    if features is None:
        raise ValueError(
            "this method needs the new task's meta-features: pass features=hs.metafeatures(X, y), "
            "or choose a method that does without, such as 'auto', 'li' or 'ali'"
        )
    M, new, of_use = _shared(past, features)
    if not of_use.any():
        known = ", ".join(past.history.feature_names) or "none"
        raise ValueError(f"the new task shares no meta-feature with the history, which has {known}")
    M, new = M[:, of_use], new[of_use]
    with np.errstate(over="ignore"):
        mean, std = np.nanmean(M, axis=0), np.nanstd(M, axis=0)
    std = np.where(std > 0, std, 1.0)  # a constant feature tells nobody apart
    return (M - mean) / std, (new - mean) / std


def has_features(past: Past, features: Features | None) -> bool:
    """Whether there is any meta-feature that the new task and a past one have."""
    return bool(_shared(past, features or {})[2].any())


def _shared(past: Past, features: Features) -> tuple[Array, Array, Mask]:
    new = np.array([features.get(name, np.nan) for name in past.history.feature_names], dtype=float)
    M = past.history.feature_matrix()
    return M, new, np.isfinite(new) & np.isfinite(M).any(axis=0) if M.size else np.zeros(0, dtype=bool)


def feature_distance(M: Array, new: Array, p: float) -> Array:
    """‖m_D − m_new‖_p over the features both have, as if the others differed just as much."""
    gap = np.abs(M - new)
    known = np.isfinite(gap)
    share = known.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(known, gap**p, 0.0).sum(axis=1) / share
    return np.where(share > 0, total ** (1 / p), np.inf)


def weights_by_features(past: Past, features: Features | None) -> Array:
    """How much each past task counts for a new one with these meta-features."""
    described, new = feature_vectors(past, features)
    M = past.surfaces.at(past.space.encode_values(past.shared[0]))
    return feature_weights(M, described[past.surfaces.tasks], new)
