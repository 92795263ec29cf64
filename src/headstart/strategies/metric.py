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
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart.history import Features
from headstart.strategies.base import Run, Strategy
from headstart.strategies.best import InOrder
from headstart.surrogates.prior import NearestPrior
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import nearest_by_metric


@dataclass(frozen=True)
class NearestByMetric:
    """metric: the best configurations of the data sets nearest by a learned distance, the nearest first.

    k: how many of them give the prior mean of `surrogate="prior"`; a start longer than that goes on with the next.
    """

    k: int = 3

    def __post_init__(self) -> None:
        whole("k", self.k, 1)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return InOrder(models, nearest_by_metric(models, features), int(rng.integers(2**32)))


def surrogate_after(strategy: Strategy, surrogate: Any) -> Any:
    """The surrogate of a run that begins with this strategy: after `metric`, "prior" keeps to the nearest data sets."""
    if surrogate == "prior" and isinstance(strategy, NearestByMetric):
        return NearestPrior(strategy.k)
    return surrogate
