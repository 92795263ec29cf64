"""Learned starts: LI minimises the meta-loss of a whole start, aLI re-weights the past as results come in.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section IV.

| symbol   | name      | shape     | meaning                                                     |
| -------- | --------- | --------- | ----------------------------------------------------------- |
| Λ_I      | `Z`       | (I, d)    | the start, encoded                                           |
| f̂_D(λ_i) | `F`       | (I, T)    | what the surrogates of the T past tasks say of it            |
| β        | `beta`    |           | sharpness of the softmin, negative                           |
| σ_{D,i}  | `S`       | (I, T)    | softmin weights, eq. 13                                      |
| c(D)     | `weights` | (T,)      | influence of each past task, eq. 16; equal for LI            |

Two equations are misprinted. Eq. 14 and 15 lack what the other configurations' softmin weights contribute; the
gradient of eq. 12 by f̂_D(λ_l) is σ_l (1 + β (f_l − Σ_i σ_i f_i)). Eq. 17 gives 1 to the most unlike task, while
the text asks for the opposite; the weight is the concordant share, 1 minus that. Both printed forms remain
available for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space.rows import distinct
from headstart.strategies.base import Planned, Run, Told, anywhere, fresh
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import concordance

POWERS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
MOST_REHEARSED = 50  # tasks on which a power is tried out, on five times as many configurations


# -- the meta-loss -------------------------------------------------------------------------------------------


def softmin(F: Array, beta: float) -> Array:
    """σ_{D,i}: weights of I configurations (rows) that single out the smallest of each column, eq. 13."""
    E = np.exp(beta * (F - F.min(axis=0)))
    return np.asarray(E / E.sum(axis=0))


def meta_loss(F: Array, beta: float, weights: Array) -> float:
    """1/|D| Σ_D c(D) Σ_i σ_{D,i} f̂_D(λ_i): eq. 12 with equal weights 1, eq. 16 otherwise."""
    return float(weights @ (softmin(F, beta) * F).sum(axis=0) / F.shape[1])


def meta_gradient(F: Array, beta: float, weights: Array, form: str = "right") -> Array:
    """∂L / ∂f̂_D(λ_l), (I, T): of eq. 12, or as eq. 14 prints it."""
    S = softmin(F, beta)
    if form == "printed":  # noqa: SIM108
        slope = S * (beta * (1 - S) * F + 1)  # eq. 14
    else:
        slope = S * (1 + beta * (F - (S * F).sum(axis=0)))
    return np.asarray(slope * weights / F.shape[1])


# -- LI ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedInit:
    """LI: the configurations that together minimise the expected best loss over the past tasks.

    recipe: "paper" is Algorithm 2 to the letter: best configurations of random tasks, then `epochs` plain
        gradient steps of size `eta`. "default" starts from a greedy choice on the surrogates and from
        `restarts` others near it, descends by L-BFGS-B within the bounds of the space, and keeps the best.
    gradient: "right", or "printed" for eq. 14 as it stands (which only plain steps can follow).
    """

    recipe: str = "default"
    gradient: str = "right"
    beta: float = -100.0
    restarts: int = 2
    eta: float = 1e-3
    epochs: int = 1000

    def __post_init__(self) -> None:
        if self.recipe not in ("default", "paper"):
            raise ArgumentError(f"recipe must be 'default' or 'paper', but got {self.recipe!r}")
        if self.gradient not in ("right", "printed"):
            raise ArgumentError(f"gradient must be 'right' or 'printed', but got {self.gradient!r}")
        check_beta(self.beta)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        plan = self.plan(models, n, rng)
        return Planned(plan, models.space, models.allowed, int(rng.integers(2**32)))

    def plan(self, models: TaskModels, n: int, rng: np.random.Generator) -> Array:
        """V (n, p), the most useful configuration first; fewer if the space has fewer."""
        first = models.candidates[greedy(models.candidate_losses, n)]
        if models.allowed is not None and self.recipe == "default" and self.gradient == "right":
            return first
        if self.recipe == "default":
            starts = [models.space.encode_values(first)]
            starts += [_near(models, starts[0], rng) for _ in range(self.restarts)]
        else:
            starts = [_random_best(models, n, rng)]
        plain = self.recipe == "paper" or self.gradient == "printed"
        descend: Callable[[TaskModels, Array], Array] = self._steps if plain else self._quasi_newton
        found = [models.space.decode_values(descend(models, Z)) for Z in starts]
        if not plain:
            found.append(first)  # a descent can lose in the projection what it gained before
        best = min(found, key=lambda V: expected_loss(models, V))
        spare = first[:0] if plain else first  # as published, tasks with the same best leave gaps
        return _best_first(models, distinct(best)[0], spare, n)

    def _steps(self, models: TaskModels, Z: Array) -> Array:
        """Algorithm 2, lines 4–8."""
        ones = np.ones(len(models))
        Z = Z.copy()
        for _ in range(self.epochs):
            F, pull = models.surrogates.pullback(Z)
            Z -= self.eta * pull(meta_gradient(F, self.beta, ones, self.gradient))
        return Z

    def _quasi_newton(self, models: TaskModels, Z: Array) -> Array:
        return descend(models, Z, np.ones(len(models)), self.beta)


def check_beta(beta: float) -> None:
    if not -1e6 <= beta < 0:
        raise ArgumentError(f"beta must be negative and not below -1e6, where the softmin overflows, but got {beta}")


def expected_loss(models: TaskModels, V: Array) -> float:
    """Eq. 10 on the surrogates: the mean over past tasks of the best loss among these configurations."""
    return float(models.predict(models.space.encode_values(V)).min(axis=0).mean())


def descend(
    models: TaskModels, Z: Array, weights: Array, beta: float, fixed: Array | None = None, steps: int = 60
) -> Array:
    """Minimise eq. 16 over the rows of Z within [0, 1] by L-BFGS-B; losses of `fixed` (k, T) take part unmoved."""
    from scipy.optimize import minimize

    k = 0 if fixed is None else len(fixed)

    def objective(x: Array) -> tuple[float, Array]:
        F, pull = models.surrogates.pullback(x.reshape(Z.shape))
        both = F if fixed is None else np.vstack([fixed, F])
        return meta_loss(both, beta, weights), pull(meta_gradient(both, beta, weights)[k:]).ravel()

    result = minimize(
        objective, Z.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * Z.size, options={"maxiter": steps}
    )
    return np.asarray(result.x.reshape(Z.shape))


def greedy(F: Array, n: int) -> list[int]:
    """n rows of F (m, T), each the one that lowers the mean over tasks of the best loss most, given those before it."""
    chosen: list[int] = []
    lowest = np.full(F.shape[1], np.inf)
    for _ in range(min(n, len(F))):
        total = np.minimum(F, lowest).mean(axis=1)
        total[chosen] = np.inf
        chosen.append(int(np.argmin(total)))
        lowest = np.minimum(lowest, F[chosen[-1]])
    return chosen


def _near(models: TaskModels, Z: Array, rng: np.random.Generator) -> Array:
    """Another start close by. Starts from afar find lower losses on the surrogates, but not on new tasks."""
    return np.clip(Z + rng.normal(scale=0.05, size=Z.shape), 0.0, 1.0)


def _random_best(models: TaskModels, n: int, rng: np.random.Generator) -> Array:
    """Line 3 of Algorithm 2: the best configurations of random tasks, encoded; tasks repeat if there are few."""
    tasks = list(models.history)
    drawn = np.resize(rng.permutation(len(tasks)), n)
    return np.array([models.history.Z[tasks[i].rows[tasks[i].best]] for i in drawn])


def _best_first(models: TaskModels, V: Array, spare: Array, n: int) -> Array:
    """The same configurations, ordered greedily by what each adds; gaps are filled from the spare ones."""
    V = distinct(np.concatenate([V, spare]))[0] if len(V) < n else V
    return V[greedy(models.predict(models.space.encode_values(V)), n)]


# -- aLI -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdaptiveLearnedInit:
    """aLI: LI in which the tasks that rank the tried configurations as the new one does count for more.

    power: exponent of the concordant share; None: chosen by leaving out one past task after another.
    weights: "concordant", or "printed" for eq. 17 as it stands.
    """

    power: float | None = None
    weights: str = "concordant"
    beta: float = -100.0

    def __post_init__(self) -> None:
        if self.weights not in ("concordant", "printed"):
            raise ArgumentError(f"weights must be 'concordant' or 'printed', but got {self.weights!r}")
        if self.power is not None and not 0 <= self.power < np.inf:
            raise ArgumentError(f"power must be 0 or above, but got {self.power}")
        check_beta(self.beta)

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        plan = LearnedInit(beta=self.beta).plan(models, n, rng)
        power = self.power
        if power is None:
            power = 1.0 if self.weights == "printed" else best_power(models, n)
        return Reweighted(models, plan, power, self.weights == "printed", self.beta, int(rng.integers(2**32)))


@dataclass(frozen=True)
class Reweighted:
    """A run of aLI: the plan of LI while nothing sets the tasks apart, eq. 16 for the next one when it does."""

    models: TaskModels
    plan: Array
    power: float
    printed: bool
    beta: float
    seed: int

    def ask(self, told: Told) -> Array:
        weights = self.task_weights(told)
        plan = iter(self.plan) if np.ptp(weights) == 0 else self._next(told, weights)
        rest = anywhere(self.models.space, self.seed, self.models.allowed)
        return fresh(chain(plan, iter(self.plan), rest), told, self.models.space)

    def task_weights(self, told: Told) -> Array:
        """c(D, D_new, Λ_t) to the chosen power; equal before two results are known."""
        known = told.known
        if len(known) < 2 or self.power == 0:
            return np.ones(len(self.models))
        c = concordance(self.models.predict(self.models.space.encode_values(known.V)), known.losses)
        return np.asarray((1 - c if self.printed else c) ** self.power)

    def _next(self, told: Told, weights: Array) -> Iterator[Array]:
        """The candidate that lowers eq. 16 most with the tried ones kept, moved downhill if the space allows."""
        space, V, F = self.models.space, self.models.candidates, self.models.candidate_losses
        tried = self.models.predict(space.encode_values(told.V))
        order = np.argsort(np.minimum(F, tried.min(axis=0)) @ weights, kind="stable")
        first = next((v for v in V[order[: len(told) + 1]] if v not in told), None)
        if first is not None and self.models.allowed is None:
            z = descend(self.models, space.encode_values(first[None]), weights, self.beta, tried, steps=15)
            moved = space.decode_values(z)
            losses = self.models.predict(space.encode_values(np.vstack([moved, first])))
            if np.diff(np.minimum(losses, tried.min(axis=0)) @ weights)[0] > 0:
                yield moved[0]
        yield from V[order]


def best_power(models: TaskModels, n: int) -> float:
    """The power with which aLI does best on the past tasks, each left out in turn (its surrogate is the truth)."""
    F = models.candidate_losses
    F = F[_spread(len(F), MOST_REHEARSED * 5)][:, _spread(F.shape[1], MOST_REHEARSED)]
    if F.shape[1] < 3:
        return 0.0
    return min(POWERS, key=lambda power: sum(_rehearse(F, t, n, power) for t in range(F.shape[1])))


def _spread(n: int, most: int) -> npt.NDArray[np.intp]:
    """At most so many of 0 … n − 1, evenly spread."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def _rehearse(F: Array, left_out: int, n: int, power: float) -> float:
    """Mean best loss over n steps of aLI on one past task, learned from the others."""
    others = np.delete(F, left_out, axis=1)
    losses = F[:, left_out]
    tried: list[int] = []
    lowest = np.full(others.shape[1], np.inf)
    best, total = np.inf, 0.0
    for _ in range(min(n, len(F))):
        weights = concordance(others[tried], losses[tried]) ** power if len(tried) > 1 else np.ones(len(lowest))
        score = np.minimum(others, lowest) @ weights
        score[tried] = np.inf
        tried.append(int(np.argmin(score)))
        lowest = np.minimum(lowest, others[tried[-1]])
        best = min(best, float(losses[tried[-1]]))
        total += best
    return total
