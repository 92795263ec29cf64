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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from headstart._support.arguments import whole
from headstart._support.rounding import CHOICE, DIGITS, best_first, settled
from headstart._support.rounding import descend as downhill
from headstart._support.types import Array, Mask
from headstart.errors import ArgumentError
from headstart.history import Features
from headstart.space.rows import distinct, unrepeated
from headstart.strategies.base import Planned, Run, Told, anywhere, best_of, fresh
from headstart.strategies.closeness import Weights, by_name, task_weights
from headstart.strategies.greedy import best_power, greedy, mean
from headstart.strategies.meta_loss import Rest, meta_gradient, meta_loss
from headstart.transfer.models import TaskModels
from headstart.transfer.ranks import concordance

# All of these are guesses.
STEPS = 60  # of L-BFGS-B for a whole start
NEXT_STEPS = 15  # the same for the next configuration alone
NEARBY = 0.05  # standard deviation of a restart around the greedy start, per coordinate
FAR = 1e6  # a loss that no configuration has


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
        new task's meta-features, or numbers, by name or in the order of `history.tasks`. None: all the same, as are all
        others if those that count are left out.
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

    def for_tasks(self, tasks: Sequence[str]) -> LearnedInit:
        """The same for a history of these tasks, of which some may be left out later on."""
        return replace(self, weights=by_name(self.weights, tasks))

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        plan = self.plan(models, n, rng, features)
        return Planned(plan, models.space, models.allowed, int(rng.integers(2**32)))

    def plan(self, models: TaskModels, n: int, rng: np.random.Generator, features: Features | None = None) -> Array:
        """V (n, p), in the order in which to try them; fewer if the space has fewer."""
        weights = task_weights(self.weights, models, features, n=n, rng=rng)
        return (
            self._by_algorithm_2(models, [n], [rng], weights)[0][0]
            if self.recipe == "paper"
            else self._by_ours(models, n, rng, weights)
        )

    def plans(self, models: TaskModels, sizes: Sequence[int], rngs: Sequence[np.random.Generator]) -> list[list[Array]]:
        """The paper's starts of several sizes for several draws, learned together: `plan` of each draw and size."""
        return self._by_algorithm_2(models, sizes, rngs, np.ones(len(models)))

    def _by_algorithm_2(
        self, models: TaskModels, sizes: Sequence[int], rngs: Sequence[np.random.Generator], weights: Array
    ) -> list[list[Array]]:
        space, most = models.space, max(sizes)
        drawn = [_random_bests(models, rng, weights, most + len(models)) for rng in rngs]
        Z = np.zeros((len(rngs), len(sizes), most, space.width))
        used = np.zeros(Z.shape[:3], dtype=bool)
        for i, bests in enumerate(drawn):
            for j, n in enumerate(sizes):
                Z[i, j, : len(bests[:n])], used[i, j, : len(bests[:n])] = space.encode_values(bests[:n]), True
        Z = self._steps(models, Z, np.broadcast_to(weights, (*Z.shape[:2], len(weights))), used)
        # Like RBI, the next task's best takes a duplicate's place.
        return [
            [
                unrepeated(np.concatenate([space.decode_values(z[u]), bests]))[:n]
                for z, u, n in zip(*some, sizes, strict=True)
            ]
            for bests, *some in zip(drawn, Z, used, strict=True)
        ]

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

    def _steps(self, models: TaskModels, Z: Array, weights: Array, used: Mask | None = None) -> Array:
        """Algorithm 2, lines 4–8."""
        return gradient_steps(models, Z, weights, self.beta, self.eta, self.epochs, form=self.gradient, used=used)


def _random_bests(models: TaskModels, rng: np.random.Generator, weights: Array, n: int) -> Array:
    """V of the first n bests of tasks in random order, those that do not count last."""
    order = rng.permutation(len(models))
    order = order[np.argsort(weights[order] == 0, kind="stable")]
    return unrepeated(np.array(list(islice(best_of(models, order), n))))


def _check_recipe(recipe: str) -> None:
    if recipe not in ("default", "paper"):
        raise ArgumentError(f"recipe must be 'default' or 'paper', but got {recipe!r}")


def _check_beta(beta: float) -> None:
    if not -1e6 <= beta < 0:
        raise ArgumentError(f"beta must be negative and at least -1e6, below which exp overflows, but got {beta}")


def weighted_mean(weights: Array) -> Callable[[Array, list[int]], Array]:
    """The score of `greedy` in which every task has its weight."""
    if np.ptp(weights) == 0:
        return mean
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
    used: Mask | None = None,
) -> Array:
    """Minimise eq. 16 over the rows of Z by plain gradient steps.

    Z (I, d) with weights (T,), or B starts at once: Z (B, I, d), weights (B, T). fixed: as for `descend`, (k, T) or
    (B, k, T). used (B, I): the rows of Z that the starts have, if some have fewer than I; None: all.
    """
    used = np.ones(Z.shape[:-1], dtype=bool) if used is None else used
    F = np.full((*Z.shape[:-1], len(models)), FAR)  # the softmin weight of a row that is FAR is 0
    rest = None if fixed is None else Rest.of(fixed, beta)
    rows, Z = Z[used], Z.copy()
    for _ in range(epochs):
        F[used], pull = models.surrogates.pullback(rows)
        rows = rows - eta * pull(meta_gradient(F, beta, weights[..., None, :], form, rest)[used])
    Z[used] = settled(rows, DIGITS) if epochs else rows
    return Z


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
        plan = self._li.plan(models, n, rng)
        power = self.power
        if power is None:
            power = 1.0 if self.weights == "printed" or self.recipe == "paper" else best_power(models, n)
        return Reweighted(models, plan, power, self, int(rng.integers(2**32)))

    def begin_several(
        self, models: TaskModels, sizes: Sequence[int], rngs: Sequence[np.random.Generator]
    ) -> list[list[Reweighted]]:
        """The paper's runs of several sizes for several draws: what `begin` gives for each draw and size."""
        power = 1.0 if self.power is None else self.power
        plans = self._li.plans(models, sizes, rngs)
        seeds = [int(rng.integers(2**32)) for rng in rngs]
        return [
            [Reweighted(models, plan, power, self, seed) for plan in p] for p, seed in zip(plans, seeds, strict=True)
        ]

    @property
    def _li(self) -> LearnedInit:
        return LearnedInit(self.recipe, beta=self.beta, eta=self.eta, epochs=self.epochs)


class Aim(NamedTuple):
    """Eq. 16 as it is after some trials: the tasks' weights (T,) and the losses of the tried configurations (k, T)."""

    weights: Array
    tried: Array


@dataclass(frozen=True)
class Reweighted:
    """A run of aLI: LI's plan while all weights are equal, then the next configuration by eq. 16."""

    models: TaskModels
    plan: Array
    power: float
    how: AdaptiveLearnedInit
    seed: int

    def ask(self, told: Told) -> Array:
        return ask_together([self], [told])[0]

    def task_weights(self, told: Told) -> Array:
        """c(D, D_new, Λ_t) to the chosen power; equal while there are fewer than two results."""
        known = told.known
        if len(known) < 2 or self.power == 0:
            return np.ones(len(self.models))
        c = concordance(self.models.predict(self.models.space.encode_values(known.V)), known.losses)
        return np.asarray((1 - c if self.how.weights == "printed" else c) ** self.power)

    def aim(self, told: Told) -> Aim | None:
        """What the next configuration is moved for; None while the plan is followed as it is."""
        weights = self.task_weights(told)
        if np.ptp(weights) == 0 or (self.how.recipe == "paper" and len(told) >= len(self.plan)):
            return None
        return Aim(weights, self.models.predict(self.models.space.encode_values(told.V)))

    def propose(self, told: Told, aim: Aim | None, moved: Array | None) -> Array:
        """The next configuration. moved: LI's next one, after the steps of the paper's recipe for the aim."""
        first: Iterator[Array] = iter(())
        if moved is not None:
            first = chain(self.models.space.decode_values(moved), self.plan[len(told) :])
        elif aim is not None:
            first = self._among_candidates(told, aim.weights, aim.tried)
        rest = anywhere(self.models.space, self.seed, self.models.allowed)
        return fresh(chain(first, iter(self.plan), rest), told, self.models.space)

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


def ask_together(runs: Sequence[Reweighted], told: Sequence[Told]) -> list[Array]:
    """The next configurations of several runs with the same models, parameters and number of trials.

    In the paper's recipe (section IV-G), LI's next configuration is moved along the gradient of eq. 16.
    """
    aims = [run.aim(trials) for run, trials in zip(runs, told, strict=True)]
    moved: dict[int, Array] = {}
    some = [(i, aim) for i, aim in enumerate(aims) if aim is not None]
    if some and runs[0].how.recipe == "paper":
        models, how, k = runs[0].models, runs[0].how, len(told[0])
        Z = np.stack([models.space.encode_values(runs[i].plan[k : k + 1]) for i, _ in some])
        weights, tried = np.stack([aim.weights for _, aim in some]), np.stack([aim.tried for _, aim in some])
        steps = gradient_steps(models, Z, weights, how.beta, how.eta, how.epochs, fixed=tried)
        moved = {i: z for (i, _), z in zip(some, steps, strict=True)}
    return [run.propose(told[i], aims[i], moved.get(i)) for i, run in enumerate(runs)]
