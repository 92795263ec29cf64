"""Starts from the data sets that are nearest by a learned distance.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Algorithm 3,
lines 1 to 6. The distance is Euclidean between the embeddings of a Siamese network. They are not standardised, since
the network was trained for this distance. Embeddings are stored as meta-features (`datasets/embedding.py`), so torch
is needed to compute them, but not to use them.

| symbol | name | meaning                             |
| ------ | ---- | ----------------------------------- |
| k      | `k`  | how many data sets count as nearest |
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

    k: how many of them give the prior mean of `surrogate="prior"`; a longer start continues with the next nearest.
    """

    k: int = 3  # as in the paper's experiments

    def __post_init__(self) -> None:
        whole("k", self.k, 1)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        return InOrder(models, nearest_by_metric(models, features), int(rng.integers(2**32)))


def surrogate_after(strategy: Strategy, surrogate: Any) -> Any:
    """The surrogate of a run that starts with this strategy; after `metric`, "prior" uses only the nearest tasks."""
    if surrogate == "prior" and isinstance(strategy, NearestByMetric):
        return NearestPrior(strategy.k)
    return surrogate
