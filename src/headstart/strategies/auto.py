"""An adaptive start: LI with uncertainty, weighted by ranks, that notices when the history misleads.

The first configuration is the best one on average over the past tasks. Each result then re-weights the tasks by how
they rank the tried configurations. The next configuration promises most under the weighted tasks (eq. 16 of Wistuba et
al. 2015a, with the surrogates' uncertainty) and under a Gaussian process with the mean and covariance of the past
tasks, half and half. After five results, the experts of `surrogates/experts.py` take over. Meta-features, if there are
any, decide which of the first two configurations comes first. If the new task ranks configurations unlike any past
task, the rest of the start fills the space. The formulas are in `transfer/`, the figures in `benchmarks/README.md`.

| symbol | name     | shape  | meaning                                                    |
| ------ | -------- | ------ | ---------------------------------------------------------- |
| F      | `F`      | (m, T) | the past tasks' surfaces at the m candidates, stretched    |
| s      | `spread` | (m,)   | their standard deviation                                   |
| —      | `seen`   | (k, T) | the same surfaces at the configurations that have a result |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from headstart._support.types import Array
from headstart.history import Features
from headstart.strategies.base import Run, Told, anywhere, fresh
from headstart.surrogates.acquisition import ei
from headstart.surrogates.base import Acquisition
from headstart.surrogates.experts import ExpertsModel, expected_gain
from headstart.transfer.models import TaskModels
from headstart.transfer.prior import LearnedPrior
from headstart.transfer.surfaces import Surfaces, own_scale, unstretch
from headstart.transfer.weights import has_features, is_unlike, rank_weights, weights_by_features

OPENING = 5  # results after which the experts take over; chosen on the authors' SVM data, see benchmarks/README.md


@dataclass(frozen=True)
class Auto:
    """auto: adapts to every result, works without meta-features, and fills the space if the history misleads."""

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        Z = models.space.encode_values(models.candidates)
        surfaces = models.surfaces
        run = AutoRun(models, surfaces, surfaces.at(Z), surfaces.spread(Z), Z, int(rng.integers(2**32)))
        if n < 2 or not has_features(models, features):
            return run
        return replace(run, pair=_ordered_pair(run, weights_by_features(models, features)))


def _ordered_pair(run: AutoRun, weights: Array) -> Array:
    """V of the first two configurations, in the order that the tasks with similar meta-features prefer.

    Meta-features decide only this order. The two are chosen to complement each other; a first one chosen freely by
    meta-features is better on the first trial, but worse on the next ones.
    """
    told = Told.nothing(run.models.space)
    for _ in range(2):
        told = told.and_(run.ask(told), 0.0)  # any value will do: a single result ranks nothing
    predicted = run.surfaces.at(run.models.space.encode_values(told.V)) @ weights
    return told.V[np.argsort(predicted, kind="stable")]


@dataclass(frozen=True)
class AutoRun:
    """Z (m, d): the candidates, encoded. pair: V of the first two configurations, if meta-features order them."""

    models: TaskModels
    surfaces: Surfaces
    F: Array
    spread: Array
    Z: Array
    seed: int
    pair: Array | None = None

    def ask(self, told: Told) -> Array:
        best = np.argsort(-self._promise(told), kind="stable")
        planned = self.pair if self.pair is not None and len(told) < 2 else self.models.candidates[:0]
        models = self.models
        rest = anywhere(models.space, self.seed, models.allowed)
        return fresh(chain(iter(planned), iter(models.candidates[best]), rest), told, models.space)

    def _promise(self, told: Told) -> Array:
        """How promising each candidate is: (m,)."""
        if not len(told):
            return np.asarray(-unstretch(np.clip(self.F, 0.0, 1.0)).mean(axis=1))
        known, encode = told.known, self.models.space.encode_values
        seen = self.surfaces.at(encode(known.V))
        if is_unlike(seen, known.losses):
            return self._distance(told)
        reached = self.surfaces.at(encode(told.V)).min(axis=0)
        gain = expected_gain(self.F, self.spread, reached, rank_weights(seen, known.losses))
        if not len(known):
            return gain
        if len(known) >= OPENING:
            experts = ExpertsModel(self.surfaces).fit(encode(known.V), known.losses)
            return experts.score(self.Z, Acquisition("auto", len(told)))
        process = LearnedPrior.equal(self.surfaces).condition(encode(known.V), own_scale(known.losses))
        improvement = ei(*process.predict(self.Z), 0.0)  # 0 is the best so far on the run's own scale
        return gain / max(float(gain.max()), 1e-300) + improvement / max(float(improvement.max()), 1e-300)

    def _distance(self, told: Told) -> Array:
        """Squared distance of each candidate to the nearest tried configuration; the largest fills the space."""
        tried = self.models.space.encode_values(told.V)
        return np.asarray(((self.Z[:, None] - tried[None]) ** 2).sum(axis=2).min(axis=1))
