"""Learned starts: LI minimises the meta-loss of a whole start, aLI re-weights the past tasks as results come in.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section IV.

| symbol   | name      | shape  | meaning                                           |
| -------- | --------- | ------ | ------------------------------------------------- |
| Λ_I      | `Z`       | (I, d) | the start, encoded                                |
| f̂_D(λ_i) | `F`       | (I, T) | its losses on the T past tasks, by the surrogates |
| β        | `beta`    |        | sharpness of the softmin, negative                |
| σ_{D,i}  | `sigma`   | (I, T) | softmin weights, eq. 13                           |
| c(D)     | `weights` | (T,)   | weights of the past tasks, eq. 16; 1 for LI       |

Two equations are misprinted. Eq. 14 and 15 lack the terms of the other configurations' softmin weights; the gradient of
eq. 12 by f̂_D(λ_l) is σ_l (1 + β (f_l − Σ_i σ_i f_i)). Eq. 17 gives 1 to the least similar task, while the text asks for
the opposite; the weight used here is 1 minus that, the concordant share. Both printed forms remain available for
comparison.

Configurations are learned anywhere in the space. A list of candidates plays no part in this: like any proposal that is
not on it, a learned configuration is moved to the nearest candidate that was not tried yet (section V-D).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from headstart._support.arguments import whole
from headstart._support.rounding import CHOICE, DIGITS, best_first, settled
from headstart._support.rounding import descend as downhill
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space.rows import distinct, unrepeated
from headstart.strategies.base import Planned, Run, Told, anywhere, best_of, fresh
from headstart.strategies.closeness import Weights, task_weights
from headstart.transfer.models import TaskModels
from headstart.transfer.population import evenly
from headstart.transfer.ranks import concordance

# All of these are guesses.
STEPS = 60  # of L-BFGS-B for a whole start
NEXT_STEPS = 15  # the same for the next configuration alone
NEARBY = 0.05  # standard deviation of a restart around the greedy start, per coordinate
POWERS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # exponents of the concordant share to choose from
MOST_REHEARSED = 50  # tasks on which the powers are tried, with five times as many configurations


# -- the meta-loss -------------------------------------------------------------------------------------------


def softmin(F: Array, beta: float) -> Array:
    """σ_{D,i}: weights of I configurations (rows) that single out the smallest of each column, eq. 13."""
    E = np.exp(beta * (F - F.min(axis=0)))
    return np.asarray(E / E.sum(axis=0))


def meta_loss(F: Array, beta: float, weights: Array) -> float:
    """1/|D| Σ_D c(D) Σ_i σ_{D,i} f̂_D(λ_i): eq. 12 if all weights are 1, eq. 16 otherwise."""
    return float(weights @ (softmin(F, beta) * F).sum(axis=0) / F.shape[1])


def meta_gradient(F: Array, beta: float, weights: Array, form: str = "right") -> Array:
    """∂L / ∂f̂_D(λ_l), (I, T): the gradient of eq. 12 and 16, or eq. 14 as printed."""
    sigma = softmin(F, beta)
    if form == "printed":
        slope = sigma * (beta * (1 - sigma) * F + 1)  # eq. 14
    else:
        slope = sigma * (1 + beta * (F - (sigma * F).sum(axis=0)))
    return np.asarray(slope * weights / F.shape[1])


# -- LI ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedInit:
    """LI: the configurations that together minimise the expected best loss over the past tasks.

    recipe: "paper" follows Algorithm 2 to the letter: the best configurations of random tasks (those of RBI), then
        `epochs` plain gradient steps of size `eta`, and no other order. "default" begins with a greedy choice on the
        surrogates and `restarts` other starts near it, descends by L-BFGS-B within the bounds of the space, keeps the
        best, and puts the most useful configuration first.
    gradient: "right", or "printed" for eq. 14 as it stands, which only plain steps can follow.
    beta, eta, epochs: the paper's values by default.
    weights: how much each past task counts, c(D, D_new) of eq. 16: a `Closeness`, a function of a past task and the
        new task's meta-features, or numbers, by name or in the order of `history.tasks`. None: all the same.
    """

    recipe: str = "default"
    gradient: str = "right"
    beta: float = -100.0
    restarts: int = 2
    eta: float = 1e-3
    epochs: int = 1000
    weights: Weights | None = None

    def __post_init__(self) -> None:
        _check_recipe(self.recipe)
        if self.gradient not in ("right", "printed"):
            raise ArgumentError(f"gradient must be 'right' or 'printed', but got {self.gradient!r}")
        _check_beta(self.beta)
        whole("restarts", self.restarts, 0)
        whole("epochs", self.epochs, 0)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        plan = self.plan(models, n, rng, features)
        return Planned(plan, models.space, models.allowed, int(rng.integers(2**32)))

    def plan(self, models: TaskModels, n: int, rng: np.random.Generator, features: Features | None = None) -> Array:
        """V (n, p), in the order in which to try them; fewer if the space has fewer."""
        weights = task_weights(self.weights, models, features, n=n, rng=rng)
        return (
            self._by_algorithm_2(models, n, rng, weights)
            if self.recipe == "paper"
            else self._by_ours(models, n, rng, weights)
        )

    def _by_algorithm_2(self, models: TaskModels, n: int, rng: np.random.Generator, weights: Array) -> Array:
        order = rng.permutation(len(models))
        order = order[np.argsort(weights[order] == 0, kind="stable")]  # tasks that do not count give no start
        bests = unrepeated(np.array(list(islice(best_of(models, order), n + len(models)))))
        V = models.space.decode_values(self._steps(models, models.space.encode_values(bests[:n]), weights))
        return unrepeated(np.concatenate([V, bests]))[:n]  # like RBI, the next task's best takes a duplicate's place

    def _by_ours(self, models: TaskModels, n: int, rng: np.random.Generator, weights: Array) -> Array:
        first = models.pool[greedy(models.pool_losses, n, weighted_mean(weights))]
        starts = [models.space.encode_values(first)]
        starts += [_near(starts[0], rng) for _ in range(self.restarts)]
        if self.gradient == "printed":
            found = [models.space.decode_values(self._steps(models, Z, weights)) for Z in starts]
        else:
            found = [models.space.decode_values(descend(models, Z, weights, self.beta)) for Z in starts]
            found.append(first)  # decoding can undo what the descent gained
        best = min(found, key=lambda V: expected_loss(models, V, weights))
        spare = first[:0] if self.gradient == "printed" else first
        return _best_first(models, distinct(best)[0], spare, n, weights)

    def _steps(self, models: TaskModels, Z: Array, weights: Array) -> Array:
        """Algorithm 2, lines 4–8."""
        return gradient_steps(models, Z, weights, self.beta, self.eta, self.epochs, form=self.gradient)


def _check_recipe(recipe: str) -> None:
    if recipe not in ("default", "paper"):
        raise ArgumentError(f"recipe must be 'default' or 'paper', but got {recipe!r}")


def _check_beta(beta: float) -> None:
    if not -1e6 <= beta < 0:
        raise ArgumentError(f"beta must be negative and at least -1e6, below which exp overflows, but got {beta}")


def weighted_mean(weights: Array) -> Callable[[Array, list[int]], Array]:
    """The score of `greedy` in which every task has its weight."""
    if np.ptp(weights) == 0:
        return _mean
    return lambda best, chosen: settled(best @ weights / weights.sum(), DIGITS)


def expected_loss(models: TaskModels, V: Array, weights: Array) -> float:
    """Eq. 10 on the surrogates, weighted: the mean over past tasks of the best loss among these configurations."""
    best = models.predict(models.space.encode_values(V)).min(axis=0)
    mean = best.mean() if np.ptp(weights) == 0 else best @ weights / weights.sum()
    return float(settled(mean, CHOICE))


def gradient_steps(
    models: TaskModels,
    Z: Array,
    weights: Array,
    beta: float,
    eta: float,
    epochs: int,
    *,
    form: str = "right",
    fixed: Array | None = None,
) -> Array:
    """Minimise eq. 16 over the rows of Z by plain gradient steps. fixed: as for `descend`."""
    Z, k = Z.copy(), 0 if fixed is None else len(fixed)
    for _ in range(epochs):
        F, pull = models.surrogates.pullback(Z)
        both = F if fixed is None else np.vstack([fixed, F])
        Z -= eta * pull(meta_gradient(both, beta, weights, form)[k:])
    return settled(Z, DIGITS) if epochs else Z


def descend(
    models: TaskModels, Z: Array, weights: Array, beta: float, fixed: Array | None = None, steps: int = STEPS
) -> Array:
    """Minimise eq. 16 over the rows of Z within [0, 1] by L-BFGS-B.

    fixed: losses (k, T) of further configurations in the start, which do not move.
    """
    k = 0 if fixed is None else len(fixed)

    def objective(x: Array) -> tuple[float, Array]:
        F, pull = models.surrogates.pullback(x.reshape(Z.shape))
        both = F if fixed is None else np.vstack([fixed, F])
        return meta_loss(both, beta, weights), pull(meta_gradient(both, beta, weights)[k:]).ravel()

    return downhill(objective, Z.ravel(), [(0.0, 1.0)] * Z.size, maxiter=steps)[1].reshape(Z.shape)


def _near(Z: Array, rng: np.random.Generator) -> Array:
    """Another start close by. Distant starts reach lower losses on the surrogates, but not on new tasks."""
    return np.clip(Z + rng.normal(scale=NEARBY, size=Z.shape), 0.0, 1.0)


def _best_first(models: TaskModels, V: Array, spare: Array, n: int, weights: Array) -> Array:
    """The same configurations, ordered greedily by how much each adds; spare ones fill gaps."""
    V = distinct(np.concatenate([V, spare]))[0] if len(V) < n else V
    return V[greedy(models.predict(models.space.encode_values(V)), n, weighted_mean(weights))]


# -- the greedy choice ---------------------------------------------------------------------------------------


def _mean(best: Array, chosen: list[int]) -> Array:
    return np.asarray(best.mean(axis=1))


def greedy(F: Array, n: int, score: Callable[[Array, list[int]], Array] = _mean) -> list[int]:
    """n rows of F (m, T), one after another: each lowers the score of the chosen rows most.

    score: from the best losses so far with each row added, (m, T), and the rows chosen before, to (m,); by default, the
    mean over tasks.
    """
    chosen: list[int] = []
    lowest = np.full(F.shape[1], np.inf)
    for _ in range(min(n, len(F))):
        scores = score(np.minimum(F, lowest), chosen)
        scores[chosen] = np.inf
        chosen.append(int(np.argmin(scores)))
        lowest = np.minimum(lowest, F[chosen[-1]])
    return chosen


# -- aLI -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdaptiveLearnedInit:
    """aLI: LI in which tasks count for more if they rank the tried configurations as the new task does.

    recipe: "paper" follows section IV-G: LI by Algorithm 2, and after each result the next of its configurations is
        moved by `epochs` plain gradient steps of eq. 16, while those tried stay fixed. "default" takes the best of
        many candidates on the surrogates and moves it by L-BFGS-B.
    power: exponent of the concordant share; None chooses it by leave-one-out over the past tasks (1 in the paper's
        recipe and with printed weights).
    weights: "concordant", or "printed" for eq. 17 as it stands.
    beta, eta, epochs: as for LI.
    """

    power: float | None = None
    weights: str = "concordant"
    beta: float = -100.0  # as in the paper
    recipe: str = "default"
    eta: float = 1e-3
    epochs: int = 1000

    def __post_init__(self) -> None:
        if self.weights not in ("concordant", "printed"):
            raise ArgumentError(f"weights must be 'concordant' or 'printed', but got {self.weights!r}")
        if self.power is not None and not 0 <= self.power < np.inf:
            raise ArgumentError(f"power must be finite and not negative, but got {self.power}")
        _check_beta(self.beta)
        _check_recipe(self.recipe)
        whole("epochs", self.epochs, 0)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        li = LearnedInit(self.recipe, beta=self.beta, eta=self.eta, epochs=self.epochs)
        plan = li.plan(models, n, rng)
        power = self.power
        if power is None:
            power = 1.0 if self.weights == "printed" or self.recipe == "paper" else best_power(models, n)
        return Reweighted(models, plan, power, self, int(rng.integers(2**32)))


@dataclass(frozen=True)
class Reweighted:
    """A run of aLI: LI's plan while all weights are equal, then the next configuration by eq. 16."""

    models: TaskModels
    plan: Array
    power: float
    how: AdaptiveLearnedInit
    seed: int

    def ask(self, told: Told) -> Array:
        weights = self.task_weights(told)
        plan = iter(self.plan) if np.ptp(weights) == 0 else self._next(told, weights)
        rest = anywhere(self.models.space, self.seed, self.models.allowed)
        return fresh(chain(plan, iter(self.plan), rest), told, self.models.space)

    def task_weights(self, told: Told) -> Array:
        """c(D, D_new, Λ_t) to the chosen power; equal while there are fewer than two results."""
        known = told.known
        if len(known) < 2 or self.power == 0:
            return np.ones(len(self.models))
        c = concordance(self.models.predict(self.models.space.encode_values(known.V)), known.losses)
        return np.asarray((1 - c if self.how.weights == "printed" else c) ** self.power)

    def _next(self, told: Told, weights: Array) -> Iterator[Array]:
        tried = self.models.predict(self.models.space.encode_values(told.V))
        how = self._as_published if self.how.recipe == "paper" else self._among_candidates
        yield from how(told, weights, tried)

    def _as_published(self, told: Told, weights: Array, tried: Array) -> Iterator[Array]:
        """Section IV-G: LI's next configuration, moved along the gradient of eq. 16."""
        if len(told) >= len(self.plan):
            return
        space, how = self.models.space, self.how
        z = space.encode_values(self.plan[len(told) : len(told) + 1])
        moved = gradient_steps(self.models, z, weights, how.beta, how.eta, how.epochs, fixed=tried)
        yield from space.decode_values(moved)
        yield from self.plan[len(told) :]

    def _among_candidates(self, told: Told, weights: Array, tried: Array) -> Iterator[Array]:
        """The candidates by how much they lower eq. 16 given the tried ones; the first is moved downhill."""
        space, V, F = self.models.space, self.models.pool, self.models.pool_losses
        order = best_first(-np.minimum(F, tried.min(axis=0)) @ weights)
        first = next((v for v in V[order] if v not in told), None)
        if first is not None:
            z = descend(self.models, space.encode_values(first[None]), weights, self.how.beta, tried, steps=NEXT_STEPS)
            moved = space.decode_values(z)
            losses = self.models.predict(space.encode_values(np.vstack([moved, first])))
            if np.diff(settled(np.minimum(losses, tried.min(axis=0)) @ weights, DIGITS))[0] > 0:
                yield moved[0]
        yield from V[order]


def best_power(models: TaskModels, n: int) -> float:
    """The power with which aLI does best on the past tasks, each left out in turn; surrogates stand in for results."""
    F = models.pool_losses
    F = F[evenly(len(F), MOST_REHEARSED * 5)][:, evenly(F.shape[1], MOST_REHEARSED)]
    if F.shape[1] < 3:
        return 0.0
    return min(POWERS, key=lambda power: sum(_rehearse(F, t, n, power) for t in range(F.shape[1])))


def _rehearse(F: Array, left_out: int, n: int, power: float) -> float:
    """Sum of the best losses after each of n steps of aLI on one past task, learned from the others."""
    others, losses = np.delete(F, left_out, axis=1), F[:, left_out]

    def score(best: Array, tried: list[int]) -> Array:
        known = len(tried) > 1
        weights = concordance(others[tried], losses[tried]) ** power if known else np.ones(best.shape[1])
        return settled(best @ weights, DIGITS)

    tried = greedy(others, n, score)
    return float(np.cumsum(np.minimum.accumulate(losses[tried]))[-1])
