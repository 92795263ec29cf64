"""Response surfaces of the past tasks, on a scale that magnifies differences between good losses.

A search is decided among good configurations, so a loss v, scaled to [0, 1], becomes

    y = log(1 + v / e) / log(1 + 1 / e).

| symbol | name      | shape  | meaning                                                     |
| ------ | --------- | ------ | ----------------------------------------------------------- |
| y      | `y`       |        | a loss on the stretched scale                               |
| e      | `STRETCH` |        | the smaller it is, the more good losses are magnified       |
| F      | `F`       | (m, T) | predictions of y for m configurations on the T past tasks   |
| s      | `spread`  | (m,)   | their standard deviation                                    |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart._support.types import Array, Rows
from headstart.gp import GP, Fit, Kernel, Matern, TaskGPs, fit_kernel

STRETCH = 0.2  # e above; chosen by leave-one-out results on the authors' SVM data (`benchmarks/README.md`)
FLOOR = 0.05  # standard deviation of a new task around a past one where that one is known exactly; a guess
OVERSHOOT = 0.1  # predictions may leave [0, 1] by this much; a guess

# Limits that bound the cost on large histories; all of them are guesses.
MOST_TASKS = 100  # tasks that get a surface
HOW = Fit(kind=Matern, max_total=1500)  # evaluations to which the hyperparameters are fitted
MOST_DESIGNS = 10  # designs over which the standard deviation is averaged
MOST_MEAN = 200  # configurations over which the level of the mean surface is averaged


def stretch(v: Array) -> Array:
    """Losses scaled to [0, 1] → y."""
    return np.asarray(np.log1p(np.asarray(v) / STRETCH) / math.log1p(1 / STRETCH))


def unstretch(y: Array) -> Array:
    """y → losses scaled to [0, 1]."""
    return np.asarray(STRETCH * np.expm1(np.asarray(y) * math.log1p(1 / STRETCH)))


def own_scale(losses: Array) -> Array:
    """The losses of a run, scaled by its best and worst so far, and stretched."""
    low, high = losses.min(), losses.max()
    return stretch((losses - low) / (high - low)) if high > low else np.zeros(len(losses))


@dataclass(frozen=True)
class Surfaces:
    """The response surfaces of the past tasks on the stretched scale."""

    gps: TaskGPs
    tasks: Rows  # positions of the tasks in the history
    spreads: tuple[GP, ...]  # processes without losses, which give the standard deviation on each design
    level: float  # average of the mean surface

    @classmethod
    def of(
        cls,
        designs: Sequence[Array],
        losses: Sequence[Array],
        *,
        rng: np.random.Generator,
        kernel: Kernel | None = None,
    ) -> Surfaces:
        """Fit surfaces to designs X and scaled losses, task by task; at most MOST_TASKS tasks, drawn at random.

        kernel: known hyperparameters; None fits them.
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
        """F at the rows of Z, clipped slightly outside [0, 1]."""
        return np.clip(self.gps.predict(Z), -OVERSHOOT, 1 + OVERSHOOT)

    def spread(self, Z: Array) -> Array:
        """Standard deviation at the rows of Z, averaged over designs, plus the part that no past task can explain."""
        stds = [design.predict(Z)[1] for design in self.spreads]
        return np.asarray(np.sqrt(np.mean(stds, axis=0) ** 2 + FLOOR**2))
