"""`auto`: the new task as a mixture of the past tasks, until the run's own Gaussian process knows better.

Each past task is a hypothesis about the new one (`hypotheses.py`), and so is its opposite, with a small share: it is
what a history with the wrong direction looks like, and it lets the search leave a region that all past tasks recommend
once every result there disappoints. Beside the hypotheses stands a Gaussian process that ignores the past tasks
(`gaussian.py`). Its share is decided by how well each side predicts every result from the others (leave-one-out
predictive densities: pseudo-BMA weights of Geisser and Eddy 1979; Yao et al. 2018). Once it is nearly certain, the
process goes on alone.

| symbol | name      | shape | meaning                                                                 |
| ------ | --------- | ----- | ----------------------------------------------------------------------- |
| v      | `v`       | (k,)  | losses of the k trials, warped to look normal (`warp.py`)               |
| w      | `weights` | (T,)  | weights of the hypotheses                                               |
| —      | `share`   |       | weight of the run's own process, beside that of all hypotheses together |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from scipy.special import expit

from headstart._support.types import Array
from headstart.gp.linalg import inverse
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.gaussian import Gaussian, GaussianModel, GaussianPosterior, refit_at
from headstart.surrogates.hypotheses import LEAST_VARIANCE, Hypotheses, log_density
from headstart.transfer.models import TaskModels
from headstart.transfer.population import Population

# Chosen on the tables of `benchmarks/suite.py`; its option --sweep prints what it is worth.
OPPOSITE = 0.005  # share of the opposites of the past tasks
ODDS = 5.0  # logarithm of the odds against the run's own process before any result

# Limits; guesses.
FARTHEST = 5.0  # |v| is clipped here
EARLIEST = 4  # results from which on the run's own process has a share
CERTAIN = 0.99  # share at which it goes on alone; below 1 − CERTAIN it has none
NAMED = 3  # tasks that `explain` names


@dataclass(frozen=True)
class Mixture:
    """auto: a mixture of the past tasks and the run's own Gaussian process; without a history, that process alone."""

    needs_history = False

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> Model:
        own = Gaussian(own=True).begin(space, None, features=features, rng=rng)
        return own if models is None else MixtureModel(models.population, own)


Found = TypeVar("Found")


class _Last(Generic[Found]):
    """The last answer for certain trials, since the same ones are asked about more than once."""

    def __init__(self) -> None:
        self._known: tuple[Array, Array, Found] | None = None

    def get(self, Z: Array, losses: Array, make: Callable[[Array, Array], Found]) -> Found:
        last = self._known
        if last is None or not (np.array_equal(last[1], losses) and np.array_equal(last[0], Z)):
            self._known = last = Z.copy(), losses.copy(), make(Z, losses)
        return last[2]


@dataclass(frozen=True, eq=False)
class MixtureModel:
    population: Population
    own: GaussianModel
    _last_fit: _Last[Posterior] = field(default_factory=_Last, repr=False)
    _last_share: _Last[float] = field(default_factory=_Last, repr=False)

    @cached_property
    def supposed(self) -> Population:
        """The tasks that the new one may be."""
        return self.population.with_opposites(OPPOSITE)

    def fit(self, Z: Array, losses: Array) -> Posterior:
        return self._last_fit.get(Z, losses, self._fitted)

    def _fitted(self, Z: Array, losses: Array) -> Posterior:
        known = refit_at(len(losses))
        share = self._last_share.get(Z[:known], losses[:known], self._share)
        own = self.own.fit(Z, losses)
        if share > CERTAIN:
            return own
        hypotheses = Hypotheses.of(self.supposed, Z, _values(own, losses))
        return MixturePosterior(hypotheses, own, share if share > 1 - CERTAIN else 0.0)

    def believing(self, Z: Array, losses: Array, running: Array) -> Posterior:
        """The posterior with further trials that are still running; each part expects for them what it predicts."""
        posterior = self.fit(Z, losses)
        for z in running:
            if isinstance(posterior, MixturePosterior):
                posterior = posterior.running(z)
            else:
                posterior = posterior.extend(z, float(posterior.predict(z[None])[0][0]))
        return posterior

    def is_alone(self, Z: Array, losses: Array) -> bool:
        """Whether the run's own process decides alone."""
        return not isinstance(self.fit(Z, losses), MixturePosterior)

    def explain(self, Z: Array, losses: Array, names: Sequence[str]) -> str:
        """What decides the next proposal, in a sentence. names: of the tasks of the history."""
        if not len(losses):
            kept = len(self.population)
            chosen = "" if kept == len(names) else f" ({kept} that stand for all)"
            return f"No result yet: all {len(names):,} past tasks{chosen} count, each with its share."
        results = f"After {len(losses)} result{'s' * (len(losses) > 1)}"
        posterior = self.fit(Z, losses)
        if not isinstance(posterior, MixturePosterior):
            return (
                f"{results}, the Gaussian process of this run decides alone: it predicts the results better than the "
                "past tasks do."
            )
        weights = posterior.hypotheses.weights
        top = [i for i in np.argsort(-weights, kind="stable")[:NAMED] if weights[i] > 0]
        closest = ", ".join(f"{self._name(i, names)} ({weights[i]:.0%})" for i in top)
        if np.count_nonzero(weights) > len(top):
            closest += " and others"
        if not posterior.share:
            return f"{results}, the past tasks decide, weighted by how well they predict the results: {closest}."
        return (
            f"{results}, the past tasks have a weight of {1 - posterior.share:.0%} ({closest}), the Gaussian process "
            f"of this run {posterior.share:.0%}."
        )

    def _name(self, i: int, names: Sequence[str]) -> str:
        name = names[self.supposed.tasks[i]]
        return name if i < len(self.population) else f"the opposite of {name}"

    def weights(self, Z: Array, losses: Array, names: Sequence[str]) -> dict[str, float]:
        """The weight of each past task that has one, largest first; the run's own process has the rest.

        names: of the tasks of the history.
        """
        share, weights = 0.0, self.population.shares
        if len(losses):
            posterior = self.fit(Z, losses)
            if not isinstance(posterior, MixturePosterior):
                return {}
            share, weights = posterior.share, posterior.hypotheses.weights
        order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
        return {self._name(i, names): float((1 - share) * weights[i]) for i in order}

    def _share(self, Z: Array, losses: Array) -> float:
        """The weight of the run's own process, given the trials up to the last refit of its hyperparameters."""
        if len(losses) < EARLIEST:
            return 0.0
        own = self.own.fit(Z, losses)
        hypotheses = Hypotheses.of(self.supposed, Z, _values(own, losses))
        return float(expit(_predictive(own) - hypotheses.predictive() - ODDS))


def _values(own: GaussianPosterior, losses: Array) -> Array:
    """v: the losses through the warp of the run's own process."""
    return np.clip(own.warp(losses), -FARTHEST, FARTHEST)


def _predictive(own: GaussianPosterior) -> float:
    """Log density of each result given all others, summed (Rasmussen and Williams 2006, eq. 5.10–5.12)."""
    variance = 1 / inverse(own.gp.L).diagonal()
    return float(log_density(own.gp.alpha[:, 0] * variance, variance).sum())


@dataclass(frozen=True)
class MixturePosterior:
    """The hypotheses and the run's own process, with its share."""

    hypotheses: Hypotheses
    own: GaussianPosterior
    share: float

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Median and half the width of the central 68% in the user's units, from the moments of the mixture."""
        scored, alive = self.hypotheses.predict(Z), self.hypotheses.alive
        weights, shift, scale = (part[alive] for part in self.hypotheses.fit[:3])
        means = (scored.mean - shift) / scale
        mean = means @ weights
        second = (means**2 + (scored.std[:, None] / scale) ** 2) @ weights
        own_mean, own_std = self.own.gp.predict(Z)
        both = (1 - self.share) * mean + self.share * own_mean
        second = (1 - self.share) * second + self.share * (own_mean**2 + own_std**2)
        std = np.sqrt(np.maximum(second - both**2, LEAST_VARIANCE))
        warp = self.own.warp
        return warp.inverse(both), 0.5 * (warp.inverse(both + std) - warp.inverse(both - std))

    def extend(self, z: Array, loss: float) -> MixturePosterior:
        v = float(np.clip(self.own.warp(np.array([loss]))[0], -FARTHEST, FARTHEST))
        return replace(self, hypotheses=self.hypotheses.extend(z, v), own=self.own.extend(z, loss))

    def running(self, z: Array) -> MixturePosterior:
        """With a trial at z (d,) that has no result yet: both sides expect what they predict."""
        expected = float(self.own.predict(z[None])[0][0])
        return replace(self, hypotheses=self.hypotheses.extend(z), own=self.own.extend(z, expected))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        scored = self.hypotheses.predict(Z)
        each = acquisition(scored.mean, scored.std[:, None], self.hypotheses.best)
        return self._together(acquisition, each, self.own.score(Z, acquisition) if self.share else None)[0]

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        if acquisition.name == "pi":  # it has the slopes of log EI
            acquisition = replace(acquisition, name="ei")
        scored = self.hypotheses.predict(Z, slope=True)
        best = np.broadcast_to(self.hypotheses.best, scored.mean.shape)
        std = np.broadcast_to(scored.std[:, None], scored.mean.shape)
        each, by_mean, by_std = acquisition.slopes(scored.mean, std, best)
        own = self.own.climb(Z, acquisition) if self.share else None
        value, parts = self._together(acquisition, each, None if own is None else own[0])
        by_each = parts[:, : each.shape[1]]
        slope = self.hypotheses.pull(Z, scored, by_each * by_mean, (by_each * by_std).sum(axis=1))
        if own is not None:
            slope = slope + parts[:, -1:] * own[1]
        return value, slope

    def _together(self, acquisition: Acquisition, each: Array, own: Array | None) -> tuple[Array, Array]:
        """The score of the mixture (m,), and its derivatives by the scores of its parts (m, T), the process last.

        All criteria are averaged in the units of v; a probability has none. Those of expected improvement count with
        what is at stake, and are logarithms, so their average is a log-sum-exp.
        """
        w = (1 - self.share) * self.hypotheses.weights[self.hypotheses.alive]
        if acquisition.name != "pi":
            w = w / self.hypotheses.typical_scale
        is_gain = acquisition.name not in ("lcb", "pi")
        if is_gain:
            w = w * self.hypotheses.stakes
        parts = each if own is None else np.column_stack([each, own])
        w = w if own is None else np.append(w, self.share)
        if not is_gain:
            return parts @ w, np.broadcast_to(w, parts.shape)
        logs = parts + np.log(w)
        highest = logs.max(axis=1, keepdims=True)
        relative = np.exp(logs - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total
