"""The past tasks as response surfaces on a scale that magnifies the good end, where a search is decided.

y = log(1 + v / e) / log(1 + 1 / e), v being the loss scaled to [0, 1].

| symbol | name     | shape  | meaning                                                         |
| ------ | -------- | ------ | --------------------------------------------------------------- |
| F      | `F`      | (m, T) | what the models of the T past tasks say of m configurations, y   |
| s      | `spread` | (m,)   | how unsure they are of it                                       |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart._support.types import Array, Rows
from headstart.gp import GP, Fit, Kernel, Matern, TaskGPs, fit_kernel

STRETCH = 0.2  # e above
MOST_TASKS = 100  # surfaces of more tasks add nothing but cost
MOST_DESIGNS = 10  # designs whose uncertainty is averaged
MOST_MEAN = 200  # configurations over which the average height of the mean surface is taken
HOW = Fit(kind=Matern, max_total=1500)  # evaluations to which the hyperparameters are fitted
FLOOR = 0.05  # what the past cannot know of a new task, as a standard deviation


def stretch(v: Array) -> Array:
    """Scaled losses → y."""
    return np.asarray(np.log1p(np.asarray(v) / STRETCH) / math.log1p(1 / STRETCH))


def unstretch(y: Array) -> Array:
    """y → scaled losses."""
    return np.asarray(STRETCH * np.expm1(np.asarray(y) * math.log1p(1 / STRETCH)))


def own_scale(losses: Array) -> Array:
    """A run's own losses, scaled by the best and worst so far, and stretched."""
    low, high = losses.min(), losses.max()
    return stretch((losses - low) / (high - low)) if high > low else np.zeros(len(losses))


@dataclass(frozen=True)
class Surfaces:
    """The response surfaces of the past tasks on the stretched scale."""

    gps: TaskGPs
    tasks: Rows  # which tasks of the history they belong to
    spreads: tuple[GP, ...]  # the designs alone, for their uncertainty
    level: float  # average height of the mean surface

    @classmethod
    def of(
        cls,
        designs: Sequence[Array],
        losses: Sequence[Array],
        *,
        rng: np.random.Generator,
        kernel: Kernel | None = None,
    ) -> Surfaces:
        """From encoded configurations and scaled losses, task by task; at most 100 tasks, drawn by rng.

        kernel: known hyperparameters; without, they are fitted.
        """
        kept = np.arange(len(designs))
        if len(kept) > MOST_TASKS:
            kept = np.sort(rng.choice(kept, MOST_TASKS, replace=False))
        X, Y = [designs[int(i)] for i in kept], [stretch(losses[int(i)]) for i in kept]
        if kernel is None:
            kernel = fit_kernel(list(zip(X, Y, strict=True)), HOW, rng=rng)
        gps = TaskGPs.fit(X, Y, kernel)
        few = [gps.rows[group.rows] for group in gps.groups[:MOST_DESIGNS]]
        spreads = tuple(GP.fit(kernel, design, np.zeros((len(design), 0))) for design in few)
        some = gps.rows[np.linspace(0, len(gps.rows) - 1, min(len(gps.rows), MOST_MEAN)).astype(int)]
        return cls(gps, kept, spreads, float(gps.predict(some).mean()))

    @property
    def kernel(self) -> Kernel:
        return self.gps.kernel

    def __len__(self) -> int:
        return len(self.gps)

    def at(self, Z: Array) -> Array:
        """F at the rows of Z; predictions beyond the scale are overshoot, and cut off."""
        return np.clip(self.gps.predict(Z), -0.1, 1.1)

    def spread(self, Z: Array) -> Array:
        """Standard deviation at the rows of Z, averaged over designs, with what no past can know."""
        stds = [design.predict(Z)[1] for design in self.spreads]
        return np.asarray(np.sqrt(np.mean(stds, axis=0) ** 2 + FLOOR**2))
