"""An adaptive start: the past tasks as hypotheses (`surrogates/hypotheses.py`), from the first trial on.

The first configuration is the one with the lowest loss on average over the past tasks, each scaled by itself. Each
further one maximises the expected improvement under the past tasks, weighted by how likely they make the results so
far and by what is at stake. Without any result (in `learn`, or with many workers) all tasks keep their weight, and the
start is a portfolio: each configuration is the one that adds most to those before it. Meta-features, if there are any,
decide which of the first two configurations comes first.

| symbol | name | shape  | meaning                                             |
| ------ | ---- | ------ | --------------------------------------------------- |
| F      | `F`  | (m, T) | expected scores of m candidates on the T past tasks |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from headstart._support.rounding import best_first
from headstart._support.types import Array
from headstart.history import Features
from headstart.strategies.base import Run, Told, anywhere, fresh
from headstart.surrogates.base import Acquisition
from headstart.surrogates.hypotheses import Hypotheses
from headstart.surrogates.mixture import Mixture, MixtureModel
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import has_features, weights_by_features

NO_GAIN = 1e-9  # in normal scores: candidates below this are last


@dataclass(frozen=True)
class Auto:
    """auto: adapts to every result, works without meta-features, and steps aside if the history misleads."""

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        model = Mixture().begin(models.space, models, features=features, rng=rng)
        assert isinstance(model, MixtureModel)  # there is a history
        run = AutoRun(models, model, models.space.encode_values(models.candidates), int(rng.integers(2**32)))
        if n < 2 or not has_features(models, features):
            return run
        population = models.population
        weights = weights_by_features(models, features, population, population.points)
        return replace(run, pair=_ordered_pair(run, weights))


def _ordered_pair(run: AutoRun, weights: Array) -> Array:
    """V of the first two configurations, in the order that the tasks with similar meta-features prefer.

    Meta-features decide only this order. The two are chosen to complement each other; a first one chosen freely by
    meta-features is better on the first trial, but worse on the next ones.
    """
    told = Told.nothing(run.models.space)
    for _ in range(2):
        told = told.and_(run.ask(told))
    predicted = run.model.population.losses_at(run.models.space.encode_values(told.V)) @ weights
    return told.V[best_first(-predicted)]


@dataclass(frozen=True)
class AutoRun:
    """Z (m, d): the candidates, encoded. pair: V of the first two configurations, if meta-features order them."""

    models: TaskModels
    model: MixtureModel
    Z: Array
    seed: int
    pair: Array | None = None

    def ask(self, told: Told) -> Array:
        return self._next(told, None)

    def ask_per_cost(self, told: Told, penalty: Array) -> Array:
        """The next configuration. penalty (m,): what costs take from the logarithm of the gain."""
        return self._next(told, penalty)

    def _next(self, told: Told, penalty: Array | None) -> Array:
        models = self.models
        planned = self.pair if self.pair is not None and len(told) < 2 and penalty is None else models.candidates[:0]
        promise = self._promise(told) if penalty is None else self._log_gain(told) - penalty
        best = best_first(promise)
        rest = anywhere(models.space, self.seed, models.allowed)
        return fresh(chain(iter(planned), iter(models.candidates[best]), rest), told, models.space)

    def _promise(self, told: Told) -> Array:
        """How promising each candidate is: (m,)."""
        if not len(told):
            population = self.model.population
            return -population.losses_at(self.Z) @ population.shares
        encode, known = self.models.space.encode_values, told.known
        if not len(known):
            return Hypotheses.of(self.model.population, encode(told.V), np.empty(0)).expected_gain(self.Z)
        running = encode(told.V[np.isnan(told.losses)])
        posterior = self.model.believing(encode(known.V), known.losses, running)
        return posterior.score(self.Z, Acquisition("ei", len(told), self.models.space.width))

    def _log_gain(self, told: Told) -> Array:
        """The logarithm of the expected gain of each candidate, (m,). The first one gains on an average candidate."""
        promise = self._promise(told)
        if len(told.known):
            return promise  # the logarithm of expected improvement already
        gain = promise if len(told) else promise - promise.mean()
        return np.log(np.maximum(gain, NO_GAIN))
