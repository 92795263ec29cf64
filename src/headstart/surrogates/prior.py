"""A Gaussian process with a transferred prior.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Algorithm 3: the
prior mean of the new task's process is the average response surface of the nearest data sets.
`NearestPrior(form="printed")` is this prior mean, as printed (`prior_mean.py`). In all other forms, the average is
weighted (by meta-features, by how tasks rank the results, or equally), surfaces are those of scaled and stretched
losses, offset and slope are inferred with the process, and the residual that the past tasks cannot explain has the most
likely size. The formulas are in `transfer/prior.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, need_history
from headstart.surrogates.prior_mean import MeanModel, shape_of
from headstart.transfer.models import TaskModels
from headstart.transfer.prior import Conditioned, LearnedPrior
from headstart.transfer.similarity import check_distance, distance_to_new
from headstart.transfer.surfaces import STRETCH, own_scale, unstretch
from headstart.transfer.weights import rank_weights, weights_by_features


@dataclass(frozen=True)
class TransferredPrior:
    """prior: a Gaussian process whose mean is a weighted average of the past tasks' surfaces.

    weights: "ranks" (how well tasks rank the results), "features" (meta-features) or "equal".
    covariance: whether the new task may deviate from the mean in the same ways as the past tasks do.
    """

    weights: str = "ranks"
    covariance: bool = True

    needs_history = True

    def __post_init__(self) -> None:
        if self.weights not in ("ranks", "features", "equal"):
            raise ArgumentError(f"weights must be 'ranks', 'features' or 'equal', but got {self.weights!r}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> PriorModel:
        models = need_history(models, "prior")
        prior = LearnedPrior.equal(models.surfaces, self.covariance)
        if self.weights == "features":
            compared = space.encode_values(models.shared[0])
            prior = replace(prior, weights=weights_by_features(models, features, models.surfaces, compared))
        return PriorModel(prior, self.weights == "ranks")


@dataclass(frozen=True)
class NearestPrior:
    """prior with the average surface of the k nearest data sets as its mean: Algorithm 3, after any start.

    by: the distance that decides which are nearest: "metric" (a Siamese network, as published), "features" or "forest"
        (see `transfer/similarity.py`).
    form: "fitted" infers offset and slope with the process, on stretched losses. "printed" is line 8 of Algorithm 3:
        the plain average of the data sets' own losses (in place of accuracies, so that both have one direction), which
        is only sensible if losses have the same scale on all data sets.
    """

    k: int = 3  # as in the paper's experiments
    by: str = "metric"
    form: str = "fitted"

    needs_history = True

    def __post_init__(self) -> None:
        whole("k", self.k, 1)
        check_distance(self.by)
        if self.form not in ("fitted", "printed"):
            raise ArgumentError(f"form must be 'fitted' or 'printed', but got {self.form!r}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> PriorModel | MeanModel:
        models = need_history(models, "prior")
        nearest = np.argsort(distance_to_new(models, features, self.by, rng=rng), kind="stable")[: self.k]
        if self.form == "printed":
            surfaces = models.own_surfaces_of(nearest)
            seed = int(rng.integers(2**32))
            return MeanModel(lambda Z: surfaces.predict(Z).mean(axis=1), shape_of(models), seed)  # line 8
        return PriorModel(LearnedPrior.equal(models.surfaces_of(nearest), covariance=False), ranked=False)


@dataclass(frozen=True)
class PriorModel:
    """ranked: whether the run's results set the weights of the past tasks."""

    prior: LearnedPrior
    ranked: bool

    def fit(self, Z: Array, losses: Array) -> PriorPosterior:
        prior = self.prior
        if self.ranked:
            prior = replace(prior, weights=rank_weights(prior.surfaces.at(Z), losses))
        return PriorPosterior(prior.condition(Z, own_scale(losses)), losses)


@dataclass(frozen=True)
class PriorPosterior:
    """The process on the stretched scale of the run's own losses, on which the best so far is 0."""

    process: Conditioned
    losses: Array

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """In the user's units: the mean through the inverse of the stretch, the spread along its slope."""
        mean, std = self.process.predict(Z)
        low, high = float(self.losses.min()), float(self.losses.max())
        width = (high - low) or 1.0
        v = unstretch(mean)
        slope = (np.maximum(v, 0.0) + STRETCH) * np.log1p(1 / STRETCH)
        return low + width * v, width * slope * std

    def extend(self, z: Array, loss: float) -> PriorPosterior:
        losses = np.append(self.losses, loss)
        return PriorPosterior(self.process.extend(z, own_scale(losses)), losses)

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.process.predict(Z), 0.0)

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None
