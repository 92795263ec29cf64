"""Surrogates that go on using the past: a Gaussian process with a transferred prior, and three experts in turn.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Algorithm 3:
the prior mean of the new task's process is the average response surface of the data sets nearest to it. Here the
average is weighted (by meta-features, by how tasks rank the results, or equally), its offset and slope are
inferred with the process, and what the past cannot explain grows with the evidence for it. The formulas are in
`transfer.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headstart.acquisition import lcb
from headstart.history import Features
from headstart.parameters import Array
from headstart.past import Past
from headstart.space import Space
from headstart.strategies.best import weights_by_features
from headstart.strategies.metric import nearest_by_metric
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.gaussian import Gaussian
from headstart.transfer import (
    STRETCH,
    Conditioned,
    LearnedPrior,
    Surfaces,
    expected_gain,
    own_scale,
    rank_weights,
    unstretch,
)

KAPPA = 2.0


@dataclass(frozen=True)
class TransferredPrior:
    """prior: a Gaussian process whose mean is the weighted average of the past tasks' surfaces.

    weights: "ranks" (how well tasks rank the results), "features" (meta-features) or "equal".
    covariance: whether the past tasks' deviations from the mean count as likely shapes of the new one.
    """

    weights: str = "ranks"
    covariance: bool = True

    def __post_init__(self) -> None:
        if self.weights not in ("ranks", "features", "equal"):
            raise ValueError(f"weights must be 'ranks', 'features' or 'equal', but got {self.weights!r}")

    def begin(
        self, space: Space, past: Past | None, *, features: Features | None, rng: np.random.Generator
    ) -> PriorModel:
        if past is None:
            raise ValueError("surrogate='prior' learns from past runs; pass a history, or surrogate='gp'")
        prior = LearnedPrior.equal(past.surfaces, self.covariance)
        if self.weights == "features":
            prior = replace(prior, weights=weights_by_features(past, features))
        return PriorModel(prior, self.weights == "ranks")


@dataclass(frozen=True)
class NearestPrior:
    """prior in a run that starts from the nearest data sets: Algorithm 3, with a learned distance.

    The prior mean is the average surface of the k nearest data sets (line 8), on the scale of losses as everywhere;
    like above, its offset and slope are inferred with the process.
    """

    k: int = 3

    def begin(
        self, space: Space, past: Past | None, *, features: Features | None, rng: np.random.Generator
    ) -> PriorModel:
        if past is None:
            raise ValueError("surrogate='prior' learns from past runs; pass a history, or surrogate='gp'")
        nearest = nearest_by_metric(past, features)[: self.k]
        return PriorModel(LearnedPrior.equal(past.surfaces_of(nearest), covariance=False), ranked=False)


@dataclass(frozen=True)
class PriorModel:
    prior: LearnedPrior
    ranked: bool

    def fit(self, Z: Array, losses: Array) -> PriorPosterior:
        prior = self.prior
        if self.ranked:
            prior = replace(prior, weights=rank_weights(prior.surfaces.at(Z), losses))
        return PriorPosterior(prior.condition(Z, own_scale(losses)), losses)


@dataclass(frozen=True)
class PriorPosterior:
    """Predicts on the stretched scale of the run's own losses; the best so far is 0 there."""

    process: Conditioned
    losses: Array

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Turned back to the user's units: the mean through the map, the spread along its slope."""
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


@dataclass(frozen=True)
class Experts:
    """auto: three views of the same past, asked in turn; without a past, the independent Gaussian process.

    One trusts single tasks (expected gain under those that rank the results alike), one their mean and covariance
    (expected improvement), one only their mean, and explores (lower confidence bound). They fail on different
    tasks, so that taking turns is safer than any of them; the first steps aside where no task ranks the results
    alike.
    """

    def begin(self, space: Space, past: Past | None, *, features: Features | None, rng: np.random.Generator) -> Model:
        if past is None:
            return Gaussian().begin(space, None, features=features, rng=rng)
        return ExpertsModel(past.surfaces)


@dataclass(frozen=True)
class ExpertsModel:
    surfaces: Surfaces

    def fit(self, Z: Array, losses: Array) -> Posterior:
        z = own_scale(losses)
        learned = LearnedPrior.equal(self.surfaces).condition(Z, z)
        plain = LearnedPrior.equal(self.surfaces, covariance=False).condition(Z, z)
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
        if acquisition.name != "ei":
            return self.learned.score(Z, acquisition)
        turns = [self._gain, self._improvement, self._bound] if self._trusted else [self._improvement, self._bound]
        return turns[acquisition.trials % len(turns)](Z)

    @property
    def _seen(self) -> Array:
        return self.model.surfaces.at(self.learned.process.Z)

    @property
    def _trusted(self) -> bool:
        """Whether the tasks that count rank the results as the new one does, where there are results enough."""
        losses = self.learned.losses
        if len(losses) < 8:
            return True
        weights = rank_weights(self._seen, losses)
        shares = 1 - _discordance(self._seen, losses)
        return float(weights @ shares) > 0.6

    def _gain(self, Z: Array) -> Array:
        surfaces, seen = self.model.surfaces, self._seen
        weights = rank_weights(seen, self.learned.losses)
        return expected_gain(surfaces.at(Z), surfaces.spread(Z), seen.min(axis=0), weights)

    def _improvement(self, Z: Array) -> Array:
        return self.learned.score(Z, Acquisition("ei"))

    def _bound(self, Z: Array) -> Array:
        return lcb(*self.plain.process.predict(Z), KAPPA)


def _discordance(M: Array, losses: Array) -> Array:
    from headstart.metrics import discordant_share

    return discordant_share(M, losses[:, None])[:, 0]
