"""`auto`: past tasks as hypotheses about the new one, beside the run's own Gaussian process.

The hypotheses (`hypotheses.py`) know what past tasks looked like. The process knows nothing of them. It borrows their
kernel, and once there are more results than hyperparameters, it takes its own (`gaussian.py`) as soon as these explain
the results better in spite of their number,

    log p(v) − ½ (d + 2) log k    (Schwarz 1978).

Both sides are weighted by their evidence, the probability of all results under each. Once the process is nearly
certain, it goes on alone.

| symbol | name    | meaning                                                          |
| ------ | ------- | ---------------------------------------------------------------- |
| v      | `v`     | (k,) losses of the k trials, warped to look normal (`warp.py`)   |
| —      | `share` | weight of the process, beside that of all hypotheses together    |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from headstart._support.types import Array
from headstart.gp import GP
from headstart.gp.linalg import cholesky
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.gaussian import Gaussian, GaussianModel, GaussianPosterior, refit_at
from headstart.surrogates.hypotheses import LEAST_VARIANCE, Hypotheses, explained, trusted
from headstart.surrogates.warp import Warp
from headstart.transfer.models import TaskModels
from headstart.transfer.population import Population

QUIET = (1.0, 0.1, 0.01, 0.001)  # noise of the run, relative to that of the past tasks: values to choose from
ODDS = 5.0  # logarithm of the odds against the run's own process before any result; see `benchmarks/suite.py --sweep`

# Limits; guesses.
TOLERANCE = 0.02  # errors of v below this count for nothing: with results that tie, a density could have any size
FARTHEST = 5.0  # |v| is clipped here
CERTAIN = 0.99  # share at which the process goes on alone; below 1 − CERTAIN it has none
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


@dataclass(frozen=True)
class _Decision:
    """What the results up to the last refit decide. fitted: the process has hyperparameters of its own."""

    Z: Array
    losses: Array
    warp: Warp
    share: float
    fitted: bool
    quiet: float

    def of(self, Z: Array, losses: Array) -> bool:
        return np.array_equal(self.losses, losses) and np.array_equal(self.Z, Z)


@dataclass(frozen=True, eq=False)
class MixtureModel:
    population: Population
    own: GaussianModel
    _last: list[_Decision] = field(default_factory=list, repr=False)

    def fit(self, Z: Array, losses: Array) -> Posterior:
        decision = self._decision(Z, losses)
        v = _values(decision.warp, losses)
        own = self.own.fit(Z, losses) if decision.fitted else self._borrowing(decision.warp, Z, v)[0]
        if decision.share > CERTAIN:
            return own
        share = decision.share if decision.share > 1 - CERTAIN else 0.0
        return MixturePosterior(Hypotheses.of(self.population, Z, v, decision.quiet), own, share)

    def believing(self, Z: Array, losses: Array, running: Array) -> Posterior:
        """The posterior with further trials that are still running; each part expects for them what it predicts."""
        posterior = self.fit(Z, losses)
        for z in running:
            if isinstance(posterior, MixturePosterior):
                posterior = posterior.running(z)
            else:
                posterior = posterior.extend(z, float(posterior.predict(z[None])[0][0]))
        return posterior

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
        closest = ", ".join(f"{names[self.population.tasks[i]]} ({weights[i]:.0%})" for i in top)
        if np.count_nonzero(weights) > len(top):
            closest += " and others"
        if not posterior.share:
            return f"{results}, the past tasks decide, weighted by how well they predict the results: {closest}."
        return (
            f"{results}, the past tasks have a weight of {1 - posterior.share:.0%} ({closest}), the Gaussian process "
            f"of this run {posterior.share:.0%}."
        )

    def _decision(self, Z: Array, losses: Array) -> _Decision:
        """The weight of the run's own process, and its hyperparameters, after their last refit."""
        known = refit_at(len(losses))
        Z, losses = Z[:known], losses[:known]
        if self._last and self._last[0].of(Z, losses):
            return self._last[0]
        warp = Warp.fit(losses)
        v = _values(warp, losses)
        evidence, fitted = self._borrowing(warp, Z, v)[1], False
        parameters = self.population.kernel.width + 2
        if known > parameters:
            own = self.own.fit(Z, losses)
            gram = own.gp.kernel.gram(Z) + TOLERANCE**2 * np.eye(known)
            best = explained(cholesky(gram)[0], v, np.zeros((known, 1)), np.ones(1)).evidence[0]
            best -= 0.5 * parameters * math.log(known)
            evidence, fitted = max(evidence, float(best)), best > evidence
        tasks = {quiet: Hypotheses.of(self.population, Z, v, quiet).evidence for quiet in QUIET}
        quiet = max(QUIET, key=lambda q: tasks[q])
        share = float(expit(trusted(known) * evidence - ODDS - tasks[quiet]))
        self._last[:] = [_Decision(Z.copy(), losses.copy(), warp, share, bool(fitted), quiet)]
        return self._last[0]

    def _borrowing(self, warp: Warp, Z: Array, v: Array) -> tuple[GaussianPosterior, float]:
        """The process with the kernel of the past tasks, on the scale that fits best, and its evidence."""
        kernel = self.population.kernel
        found = explained(cholesky(kernel.gram(Z))[0], v, np.zeros((len(v), 1)))
        shift, scale = float(found.shift[0]), float(found.scale[0])
        kernel = replace(kernel, amplitude=kernel.amplitude / scale**2, noise=kernel.noise / scale**2)
        return GaussianPosterior(GP.fit(kernel, Z, v, mean=-shift / scale), warp), float(found.evidence[0])


def _values(warp: Warp, losses: Array) -> Array:
    """v: the warped losses."""
    return np.clip(warp(losses), -FARTHEST, FARTHEST)


@dataclass(frozen=True)
class MixturePosterior:
    """The hypotheses and the run's own process, with its share."""

    hypotheses: Hypotheses
    own: GaussianPosterior
    share: float

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Median and half the width of the central 68 % in the user's units, from the moments of the mixture."""
        scored, alive = self.hypotheses.predict(Z), self.hypotheses.alive
        found = self.hypotheses.explained
        weights, shift, scale = self.hypotheses.weights[alive], found.shift[alive], found.scale[alive]
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
        v = float(_values(self.own.warp, np.array([loss]))[0])
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
        scored = self.hypotheses.predict(Z)
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

        All criteria are averaged in the units of v; a probability has none. Those of expected improvement are
        logarithms, so their average is a log-sum-exp.
        """
        w = (1 - self.share) * self.hypotheses.weights[self.hypotheses.alive]
        if acquisition.name != "pi":
            w = w / self.hypotheses.typical_scale
        parts = each if own is None else np.column_stack([each, own])
        w = w if own is None else np.append(w, self.share)
        if acquisition.name in ("lcb", "pi"):
            return parts @ w, np.broadcast_to(w, parts.shape)
        logs = parts + np.log(w)
        highest = logs.max(axis=1, keepdims=True)
        relative = np.exp(logs - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total
