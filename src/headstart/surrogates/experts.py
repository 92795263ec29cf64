"""`auto`: three experts on the past tasks take turns.

| symbol | name      | shape  | meaning                                                      |
| ------ | --------- | ------ | ------------------------------------------------------------ |
| F      | `F`       | (m, T) | the past tasks' surfaces at m configurations, stretched      |
| s      | `spread`  | (m,)   | their standard deviation                                     |
| —      | `reached` | (T,)   | the lowest value of each surface at the configurations tried |
| w      | `weights` | (T,)   | weights of the past tasks by how they rank the results       |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headstart._support.types import Array
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.acquisition import ei, lcb
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.prior import PriorPosterior
from headstart.transfer.models import TaskModels
from headstart.transfer.prior import LearnedPrior
from headstart.transfer.ranks import concordance
from headstart.transfer.surfaces import Surfaces, own_scale
from headstart.transfer.weights import rank_weights

# The turns were chosen on the authors' SVM data (benchmarks/README.md); nothing else backs these numbers.
KAPPA = 2.0  # weight of the standard deviation in the third expert's confidence bound
ENOUGH = 8  # with this many results, the first expert must earn its turn
TRUSTED = 0.6  # concordant share above which it does


@dataclass(frozen=True)
class Experts:
    """auto: three experts on the past tasks take turns; without a history, the independent Gaussian process.

    This surrogate brings its own criterion. With acquisition="auto", the default, one expert trusts single tasks:
    expected gain under those that rank the results as the new one does. One trusts their mean and covariance: expected
    improvement. One trusts only their mean, and explores: lower confidence bound. They fail on different tasks, so
    taking turns is safer than any one of them. The first steps aside if no past task ranks the results as the new one
    does. Any other acquisition is applied to the second expert alone.
    """

    needs_history = False

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> Model:
        if models is None:
            return Gaussian().begin(space, None, features=features, rng=rng)
        return ExpertsModel(models.surfaces)


@dataclass(frozen=True)
class ExpertsModel:
    surfaces: Surfaces

    def fit(self, Z: Array, losses: Array) -> Posterior:
        y = own_scale(losses)
        learned = LearnedPrior.equal(self.surfaces).condition(Z, y)
        plain = LearnedPrior.equal(self.surfaces, covariance=False).condition(Z, y)
        return ExpertsPosterior(self, PriorPosterior(learned, losses), PriorPosterior(plain, losses))


@dataclass(frozen=True)
class ExpertsPosterior:
    model: ExpertsModel
    learned: PriorPosterior
    plain: PriorPosterior

    def predict(self, Z: Array) -> tuple[Array, Array]:
        return self.learned.predict(Z)

    def extend(self, z: Array, loss: float) -> ExpertsPosterior:
        return replace(self, learned=self.learned.extend(z, loss), plain=self.plain.extend(z, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        if acquisition.name != "auto":
            return self.learned.score(Z, acquisition)
        turns = [self._gain, self._improvement, self._bound] if self._trusted else [self._improvement, self._bound]
        return turns[acquisition.trials % len(turns)](Z)

    def climb(self, Z: Array, acquisition: Acquisition) -> None:
        return None

    @property
    def _seen(self) -> Array:
        """F at the configurations tried."""
        return self.model.surfaces.at(self.learned.process.X)

    @property
    def _trusted(self) -> bool:
        """Whether the tasks with most weight rank the results as the new one does, or it is too early to tell."""
        losses = self.learned.losses
        if len(losses) < ENOUGH:
            return True
        weights = rank_weights(self._seen, losses)
        shares = concordance(self._seen, losses)
        return float(weights @ shares) > TRUSTED

    def _gain(self, Z: Array) -> Array:
        surfaces, seen = self.model.surfaces, self._seen
        weights = rank_weights(seen, self.learned.losses)
        return expected_gain(surfaces.at(Z), surfaces.spread(Z), seen.min(axis=0), weights)

    def _improvement(self, Z: Array) -> Array:
        return self.learned.score(Z, Acquisition("ei"))

    def _bound(self, Z: Array) -> Array:
        return lcb(*self.plain.process.predict(Z), KAPPA)


def expected_gain(F: Array, spread: Array, reached: Array, weights: Array) -> Array:
    """Expected improvement over `reached` under each past task, averaged with the weights: (m,).

    This is eq. 16 of Wistuba et al. (2015a) with the surrogates' uncertainty.
    """
    return np.asarray(ei(F, np.broadcast_to(spread[:, None], F.shape), reached) @ weights)
