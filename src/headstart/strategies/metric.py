"""Starts from the data sets that are nearest by a learned distance.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Algorithm 3,
lines 1 to 6. The distance is Euclidean between embeddings as the Siamese network gave them, since that is what it
was trained for: nothing is standardised. The embeddings are meta-features like any other (`embedding.py`), so that
torch is needed to make them and not to use them.

| symbol | name | shape  | meaning                              |
| ------ | ---- | ------ | ------------------------------------ |
| m_D    | `M`  | (T, F) | embeddings of the past tasks          |
| k      | `k`  |        | how many data sets count as nearest   |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headstart.arguments import whole
from headstart.embedding import embedding_names
from headstart.history import Features
from headstart.past import Past
from headstart.strategies.base import Run
from headstart.strategies.best import InOrder


@dataclass(frozen=True)
class NearestByMetric:
    """metric: the best configurations of the data sets nearest by a learned distance, the nearest first.

    k: how many of them give the prior mean of `surrogate="prior"`; a start longer than that goes on with the next.
    """

    k: int = 3

    def __post_init__(self) -> None:
        whole("k", self.k, 1)

    def begin(self, past: Past, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return InOrder(past, nearest_by_metric(past, features), int(rng.integers(2**32)))


def nearest_by_metric(past: Past, features: Features | None) -> npt.NDArray[np.intp]:
    """The past tasks that have an embedding, the nearest to the new task first, then those that have none."""
    known = embedding_names(past.history.feature_names)
    if not known:
        raise ValueError(
            "init='metric' needs a history that was described by a trained Siamese network: "
            "history = model.describe(history)"
        )
    given = embedding_names(features or {})
    if not given:
        raise ValueError("init='metric' needs the embedding of the new data set: features=hs.embed(model, X, y)")
    shared = [fingerprint for fingerprint in given if given[fingerprint] == known.get(fingerprint)]
    if not shared:
        raise ValueError(
            f"the new data set was embedded by the model {', '.join(given)}, the history by {', '.join(known)}; "
            f"use one model for both: model.describe(history) and hs.embed(model, X, y)"
        )
    assert features is not None
    names = given[shared[0]]
    columns = [past.history.feature_names.index(name) for name in names]
    M = past.history.feature_matrix()[:, columns]
    distance = np.linalg.norm(M - np.array([features[name] for name in names]), axis=1)  # line 1
    return np.argsort(np.where(np.isnan(distance), np.inf, distance), kind="stable")
