"""A search replayed on a table of results: one task is left out, and its table answers instead of an experiment.

The optimiser learns from the other tasks and may try any configuration of the left-out task's table. A run is stored as
the rows of the table that it tried, in order; every measure can be computed from them later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headstart._support.types import Array
from headstart.history import History, Task
from headstart.search.optimizer import Optimizer
from headstart.space import Config, Space
from headstart.space.rows import keys
from headstart.starts.measures import scaled_dtm


@dataclass(frozen=True)
class Table:
    """The results of one task: configurations and their losses."""

    space: Space
    configs: list[Config]
    losses: Array

    @classmethod
    def of(cls, history: History, task: str) -> Table:
        return cls(history.space, history.configs(task), history[task].losses)

    def place(self, config: Mapping[str, Any]) -> int | None:
        """The row of this configuration in the table; None if it has none."""
        return self._places.get(keys(self.space.to_values([config]))[0])

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {key: i for i, key in enumerate(keys(self.space.to_values(self.configs)))}

    def nearest(self, config: Mapping[str, Any], tried: Sequence[int]) -> int:
        """The row closest to a configuration, among those that were not tried."""
        distance = ((self._Z - self.space.encode([config])) ** 2).sum(axis=1)
        distance[list(tried)] = np.inf
        return int(np.argmin(np.round(distance, 12)))  # ties up to rounding

    @cached_property
    def _Z(self) -> Array:
        return self.space.encode(self.configs)

    def random(self, trials: int, rng: np.random.Generator) -> list[int]:
        """The rows that random search tries: draws from the whole space, each moved to the nearest row left."""
        tried: list[int] = []
        for config in self.space.sample(min(trials, len(self)), seed=rng):
            tried.append(self.nearest(config, tried))
        return tried

    def search(self, optimizer: Optimizer, trials: int) -> list[int]:
        """The next `trials` that an optimiser with `configs` as its candidates makes; fewer if nothing is left."""
        tried = []
        for _ in range(min(trials, len(self) - len(optimizer.trials))):
            config = optimizer.ask()
            place = self.place(config)
            assert place is not None  # the optimiser's candidates are the table's configurations
            optimizer.tell(config, float(self.losses[place]))
            tried.append(place)
        return tried

    def __len__(self) -> int:
        return len(self.configs)


@dataclass(frozen=True)
class LeftOut:
    """A task that searches treat as new.

    history: has the task's table. others: the history that searches learn from, once the task is dropped; None: the
    same. described: whether searches know the task's meta-features.
    """

    history: History
    task: str
    seed: int
    others: History | None = None
    described: bool = True

    @cached_property
    def known(self) -> History:
        """The history that searches learn from."""
        return (self.history if self.others is None else self.others).drop(self.task)

    @cached_property
    def table(self) -> Table:
        return Table.of(self.history, self.task)

    def optimizer(self, init: Any, n: int, surrogate: Any = "auto") -> Optimizer:
        return Optimizer(
            self.history.space,
            history=self.known,
            init=init,
            n_init=n,
            surrogate=surrogate,
            features=self.history[self.task].features if self.described else None,
            candidates=self.table.configs,
            seed=self.seed,
        )

    def search(self, init: Any, n: int, surrogate: Any, trials: int) -> list[int]:
        """The first `trials` configurations of a search whose first `n` are a start by `init`."""
        return self.table.search(self.optimizer(init, n, surrogate), trials)

    def go_on(self, start: Sequence[int], surrogate: Any, trials: int) -> list[int]:
        """The same as `search`, but the trials of the start are known already."""
        optimizer = self.optimizer("random", len(start), surrogate)
        for place in start:
            optimizer.tell(self.table.configs[place], float(self.table.losses[place]))
        return [*start, *self.table.search(optimizer, trials - len(start))]


def distances(task: Task, places: Sequence[int], trials: int) -> Array:
    """Scaled distance to the task's minimum after 1 … trials; it stays the same once the whole table has been tried."""
    losses = task.losses[np.asarray(places, dtype=np.intp)]
    reached = scaled_dtm(losses, float(np.nanmin(task.losses)), float(np.nanmax(task.losses)))[:trials]
    return np.append(reached, np.full(trials - len(reached), reached[-1]))
