"""Learning curves: what runs reported on their way, whether they went to the end or were stopped before.

| symbol | name   | shape  | meaning                                                       |
| ------ | ------ | ------ | ------------------------------------------------------------- |
|        | tasks  | (r,)   | of each run, the name of its task                             |
| V      | V      | (r, p) | its configuration, as values                                  |
|        | ended  | (r,)   | whether it went to its end; False if it was stopped or failed |
|        | run    | (n,)   | of each reported value, the run, in ascending order           |
|        | steps  | (n,)   | its step, ascending within a run                              |
|        | losses | (n,)   | the loss, already turned to minimise; never NaN               |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Mask
from headstart.errors import HistoryError

Whole = npt.NDArray[np.int64]
LARGEST_STEP = 2**53  # every whole number up to here is a float, too, as files keep it


def is_step(number: float) -> bool:
    """Whether a number can be the step of a learning curve."""
    return abs(number) <= LARGEST_STEP and number == int(number)


def check_steps(steps: Iterable[float]) -> None:
    """An error if one of them cannot be the step of a learning curve."""
    for step in steps:
        if not is_step(step):
            raise HistoryError(
                f"a step of a learning curve must be a whole number of at most 2^53, but got {step!r:.30}"
            )


@dataclass(frozen=True, eq=False)
class Curves:
    """Learning curves in columns, as in the table above."""

    tasks: npt.NDArray[Any]
    V: Array
    ended: Mask
    run: Whole
    steps: Whole
    losses: Array

    def __post_init__(self) -> None:
        if not np.isfinite(self.losses).all():
            raise HistoryError("a learning curve has a loss that is not finite", "leave out such a step")
        back = (np.diff(self.run) == 0) & (np.diff(self.steps) <= 0)
        if back.any() or (np.diff(self.run) < 0).any():
            raise HistoryError("the steps of a learning curve must ascend")

    @classmethod
    def of(
        cls, tasks: Sequence[str], V: Array, ended: Sequence[bool], reports: Sequence[Mapping[int, float]]
    ) -> Curves | None:
        """From step → loss of each run. Losses that are not finite are left out; None if there is nothing at all."""
        kept = [{step: y for step, y in sorted(curve.items()) if math.isfinite(y)} for curve in reports]
        there = np.array([bool(curve) for curve in kept], dtype=bool)
        if not there.any():
            return None
        points = [curve for curve in kept if curve]
        for curve in points:
            check_steps(curve)
        return cls(
            np.asarray(tasks, dtype=object)[there],
            np.asarray(V, dtype=float)[there],
            np.asarray(ended, dtype=bool)[there],
            np.repeat(np.arange(len(points)), [len(curve) for curve in points]),
            np.array([step for curve in points for step in curve], dtype=np.int64),
            np.array([y for curve in points for y in curve.values()], dtype=float),
        )

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[tuple[Whole, Array]]:
        """Steps and losses of each run."""
        bounds = np.searchsorted(self.run, np.arange(len(self) + 1))
        for begin, end in pairwise(bounds):
            yield self.steps[begin:end], self.losses[begin:end]

    def where(self, keep: Mask) -> Curves | None:
        """Only the runs that a mask marks; None if there are none."""
        if not keep.any():
            return None
        points, moved = keep[self.run], np.cumsum(keep) - 1
        return replace(
            self,
            tasks=self.tasks[keep],
            V=self.V[keep],
            ended=self.ended[keep],
            run=moved[self.run[points]],
            steps=self.steps[points],
            losses=self.losses[points],
        )

    def of_tasks(self, names: Collection[str]) -> Curves | None:
        return self.where(np.array([name in names for name in self.tasks], dtype=bool))

    def renamed(self, names: Mapping[str, str]) -> Curves:
        """With other names of tasks: old name → new name."""
        return replace(self, tasks=np.array([names.get(name, name) for name in self.tasks], dtype=object))

    def and_(self, other: Curves | None) -> Curves:
        """These runs, followed by others."""
        if other is None:
            return self
        return Curves(
            np.concatenate([self.tasks, other.tasks]),
            np.concatenate([self.V, other.V]),
            np.concatenate([self.ended, other.ended]),
            np.concatenate([self.run, other.run + len(self)]),
            np.concatenate([self.steps, other.steps]),
            np.concatenate([self.losses, other.losses]),
        )
