"""A left-out task, prepared for many runs on it.

A run makes the same choices as `Optimizer` with the task's configurations as `candidates` (a test compares them), but
it handles rows of arrays instead of dictionaries, and runs share what they learn from the other tasks alone: the
hyperparameters, the surrogates SCoT and MKLGP, and the distances between tasks. Starts of several sizes by Algorithm 2
of the first paper are learned together, for they differ in nothing but their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from headstart._support.rounding import best_first
from headstart._support.types import Array
from headstart.errors import ExhaustedError
from headstart.history import Features
from headstart.history.task import moderate
from headstart.search.replay import LeftOut
from headstart.strategies.base import Planned, Run, Told, anywhere, fresh
from headstart.strategies.candidates import Candidates
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit, Reweighted, ask_together
from headstart.strategies.names import resolve_strategy
from headstart.strategies.random import stream
from headstart.surrogates.base import Acquisition, Model
from headstart.surrogates.names import resolve_surrogate
from headstart.transfer.models import TaskModels

BY_CHANCE = ("rf",)  # surrogates that draw random numbers in a run, so that runs do not share them


@dataclass
class Trials:
    """The trials of a run that takes configurations off the table, too: each is moved to the nearest that is left."""

    table: Candidates
    losses: Array
    places: list[int] = field(default_factory=list)
    moved: list[Array] = field(default_factory=list)

    @property
    def told(self) -> Told:
        losses = self.losses[self.places]
        if np.isfinite(losses).any():
            losses = np.where(np.isnan(losses), np.nanmax(losses), losses)
        moved = np.array(self.moved) if self.moved else None
        return Told(self.table.V[self.places].reshape(-1, self.table.V.shape[1]), losses, taken=moved)

    def take(self, v: Array) -> None:
        i = self.table.nearest(v, self.told)
        self.places.append(i)
        if not np.array_equal(v, self.table.V[i], equal_nan=True):
            self.moved.append(v)


@dataclass(frozen=True, eq=False)
class Prepared:
    """new.seed: of all that is learned from the other tasks alone. Runs have seeds of their own."""

    new: LeftOut
    _models: dict[str, Model] = field(default_factory=dict, repr=False)
    _learned: dict[tuple[Any, int, int], list[int]] = field(default_factory=dict, repr=False)

    @cached_property
    def table(self) -> Candidates:
        return Candidates(self.new.history.space, self.new.history.space.to_values(self.new.table.configs))

    @cached_property
    def losses(self) -> Array:
        return self.new.table.losses

    @cached_property
    def models(self) -> TaskModels:
        return TaskModels(self.new.known, rng=self._rng(2), allowed=self.table.V)

    @property
    def features(self) -> Features | None:
        return self.new.history[self.new.task].features if self.new.described else None

    def _rng(self, stream: int, seed: int | None = None) -> np.random.Generator:
        """The generators of `Optimizer`: 0 for the strategy, 1 for the surrogate, 2 for the models."""
        return np.random.default_rng([self.new.seed if seed is None else seed, stream])

    # -- starts ----------------------------------------------------------------------------------------------

    def start(self, init: Any, n: int, seed: int, others: Sequence[int] = ()) -> list[int]:
        """The places in the table of the first n trials by a strategy. others: seeds of later repetitions."""
        if isinstance(init, LearnedInit | AdaptiveLearnedInit) and init.recipe == "paper" and _unweighted(init):
            return self._by_algorithm_2(init, n, seed, others)
        strategy = resolve_strategy(init, seed=seed)
        run = strategy.begin(self.models, n=n, features=self.features, rng=self._rng(0, seed))
        return self._followed(run, n, seed)

    def _followed(self, run: Run, n: int, seed: int) -> list[int]:
        trials = Trials(self.table, self.losses)
        for _ in range(min(n, len(self.table))):
            trials.take(self._asked(run, trials.told, seed))
        return trials.places

    def _asked(self, run: Run, told: Told, seed: int) -> Array:
        try:
            return run.ask(told)
        except ExhaustedError:
            space, allowed = self.models.space, self.table.V
            return fresh(anywhere(space, stream(seed, allowed), allowed), told, space)

    def _by_algorithm_2(
        self, init: LearnedInit | AdaptiveLearnedInit, n: int, seed: int, others: Sequence[int]
    ) -> list[int]:
        """LI and aLI as published: the starts of all sizes and repetitions are learned together, and kept."""
        if (init, seed, n) not in self._learned:
            sizes = range(1, min(max(n, MOST_SIZES), len(self.table)) + 1)
            seeds = [s for s in dict.fromkeys([seed, *others]) if (init, s, n) not in self._learned]
            for s, found in zip(seeds, self._several(init, sizes, seeds), strict=True):
                self._learned.update({(init, s, size): places for size, places in zip(sizes, found, strict=True)})
        return self._learned[init, seed, n]

    def _several(
        self, init: LearnedInit | AdaptiveLearnedInit, sizes: Sequence[int], seeds: Sequence[int]
    ) -> list[list[list[int]]]:
        """For each seed and size, the places in the table."""
        rngs = [self._rng(0, seed) for seed in seeds]
        if isinstance(init, AdaptiveLearnedInit):
            runs = init.begin_several(self.models, sizes, rngs)
            found = iter(self._side_by_side([run for some in runs for run in some], [*sizes] * len(seeds)))
            return [[next(found) for _ in sizes] for _ in seeds]
        plans = init.plans(self.models, sizes, rngs)
        fillers = [int(rng.integers(2**32)) for rng in rngs]
        return [
            [
                self._followed(Planned(plan, self.models.space, self.table.V, filler), n, seed)
                for plan, n in zip(some, sizes, strict=True)
            ]
            for some, filler, seed in zip(plans, fillers, seeds, strict=True)
        ]

    def _side_by_side(self, runs: Sequence[Reweighted], sizes: Sequence[int]) -> list[list[int]]:
        """Several runs of aLI, trial by trial, so that their gradient steps are made together."""
        every = [Trials(self.table, self.losses) for _ in runs]
        for t in range(max(sizes)):
            live = [i for i, n in enumerate(sizes) if n > t]
            proposals = ask_together([runs[i] for i in live], [every[i].told for i in live])
            for i, v in zip(live, proposals, strict=True):
                every[i].take(v)
        return [trials.places for trials in every]

    # -- searches --------------------------------------------------------------------------------------------

    def go_on(self, start: Sequence[int], surrogate: str, trials: int, seed: int) -> list[int]:
        """The start and the trials of a search that continues it, up to `trials` in all."""
        model, places = self._model(surrogate, seed), list(start)
        Z, width = self.table.Z, self.models.space.width
        free = np.ones(len(self.table), dtype=bool)
        free[places] = False
        for t in range(len(places), min(trials, len(self.table))):
            losses = self.losses[places]
            losses = np.where(np.isnan(losses), np.nanmax(losses), losses) if np.isnan(losses).any() else losses
            score = model.fit(Z[places], moderate(losses)).score(Z, Acquisition("ei", t, width))
            left = np.flatnonzero(free)
            places.append(int(left[best_first(score[left])[0]]))
            free[places[-1]] = False
        return places

    def _model(self, surrogate: str, seed: int) -> Model:
        how, space = resolve_surrogate(surrogate), self.models.space
        if surrogate in BY_CHANCE:
            return how.begin(space, self.models, features=self.features, rng=self._rng(1, seed))
        if surrogate not in self._models:
            self._models[surrogate] = how.begin(space, self.models, features=self.features, rng=self._rng(1))
        return self._models[surrogate]


MOST_SIZES = 10  # sizes of a start that are learned together


def _unweighted(init: LearnedInit | AdaptiveLearnedInit) -> bool:
    """Whether all tasks have the same weight before the first trial."""
    return isinstance(init, AdaptiveLearnedInit) or init.weights is None
