"""Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), Fig. 1.

Expected improvement minimises a noisy cosine on [−6, 6] from two random points: once with a Gaussian process whose
prior mean is zero, once with a piecewise constant prior mean that is roughly right. The paper shows three iterations
from one pair of points. Here there are more iterations and any number of pairs, the same for all processes, and a third
process whose prior mean has no steps.

The paper does not give kernel and noise. Here the noise is .1, the amplitude that of a cosine (½ is the mean of its
square), and the lengthscale 1, the standard deviation of a bell with the curvature of the cosine at its top.

| symbol | here            | meaning                                                                    |
| ------ | --------------- | -------------------------------------------------------------------------- |
| θ      | `GRID` (601,)   | where the function may be evaluated                                        |
| θ†     | the lowest `y`  | the best point so far; improvement is measured against its mean, μ(θ†)     |
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart._support.types import Array
from headstart.gp import GP, SquaredExponential
from headstart.report import figures
from headstart.surrogates.acquisition import ei

GRID = np.linspace(-6.0, 6.0, 601)
EDGES = np.pi / 6 * np.array([-10, -9, -8, -4, -3, -2, 2, 3, 4, 8, 9])
LEVELS = np.array([0.75, 0.25, -0.25, -0.75, -0.25, 0.25, 0.75, 0.25, -0.25, -0.75, -0.25, 0.25])
NOISE = 0.1
KERNEL = SquaredExponential(0.5, np.array([1.0]), NOISE**2)
POINTS, ITERATIONS, SHOWN = 2, 10, 3
TIE = 1e-6

ZERO, PIECEWISE, CONNECTED = METHODS = ("zero prior mean", "piecewise prior mean", "piecewise, connected")


def prior_mean(method: str, x: Array) -> Array:
    """The prior mean at x: as in the caption of Fig. 1, or interpolated between the middles of its steps."""
    if method == CONNECTED:
        bounds = np.concatenate([GRID[:1], EDGES, GRID[-1:]])
        return np.asarray(np.interp(x, (bounds[1:] + bounds[:-1]) / 2, LEVELS))
    return LEVELS[np.searchsorted(EDGES, x)] if method == PIECEWISE else np.zeros_like(x)


class Step(NamedTuple):
    """The points so far, the prediction on the whole grid, and the point chosen next."""

    x: Array
    y: Array
    mean: Array
    std: Array
    chosen: float


def search(method: str, *, rng: np.random.Generator) -> Iterator[Step]:
    """One search; with the same rng, all methods have the same first points and the same noise, trial by trial."""
    x = rng.choice(GRID, POINTS, replace=False)
    noise = NOISE * rng.normal(size=POINTS + ITERATIONS)
    lots = rng.random(len(noise) + 1)  # the steps of the prior mean are flat: a draw decides between equal points
    y = np.cos(x) + noise[:POINTS]
    while True:
        process = GP.fit(KERNEL, x[:, None], y, mean=0.0, prior=prior_mean(method, x))
        mean, std = process.predict(GRID[:, None], prior=prior_mean(method, GRID))
        best = mean[np.searchsorted(GRID, x[y.argmin()])]
        score = ei(mean, std, best)
        equal = GRID[score >= (1 - TIE) * score.max()]
        chosen = float(equal[int(lots[len(x)] * len(equal))])
        yield Step(x, y, mean, std, chosen)
        if len(x) == len(noise):
            return
        x, y = np.append(x, chosen), np.append(y, np.cos(chosen) + noise[len(x)])


def distances(method: str, *, rng: np.random.Generator) -> Array:
    """Scaled distance of the apparently best point to the minimum after 1, 2, … points: 0 best, 1 worst."""
    *_, last = search(method, rng=rng)
    looked_best = [int(last.y[: t + 1].argmin()) for t in range(len(last.y))]
    return (np.cos(last.x[looked_best]) + 1) / 2


def experiment(repetitions: int, seed: int) -> list[dict[str, Any]]:
    """A row for each method, repetition and number of points."""
    return [
        {"problem": "cos", "method": method, "measure": "distance", "item": r, "step": t + 1, "value": float(d)}
        for method in METHODS
        for r in range(repetitions)
        for t, d in enumerate(distances(method, rng=np.random.default_rng([seed, r])))
    ]


def draw(out: Path, seed: int = 0, ending: str = "") -> None:
    """Fig. 1: the first two points and three iterations, without and with the prior mean.

    ending: of the only kind of picture to draw, such as ".svg".
    """
    with figures.canvas(out / f"figure1{ending}", rows=2, columns=SHOWN + 1, size=(3.3, 2.7)) as axes:
        panels = iter(axes)
        for method in (ZERO, PIECEWISE):
            steps = search(method, rng=np.random.default_rng([seed, 0]))
            for iteration in range(SHOWN + 1):
                panel, step = next(panels), next(steps)
                panel.plot(GRID, np.cos(GRID), color="#009e73", lw=1, label="cos")
                panel.plot(GRID, prior_mean(method, GRID), color="#8a8a8a", lw=1, ls=":", label="prior mean")
                panel.plot(GRID, step.mean, color="#0072b2", label="posterior")
                low, high = step.mean - 2 * step.std, step.mean + 2 * step.std
                panel.fill_between(GRID, low, high, color="#0072b2", alpha=0.13, lw=0)
                panel.plot(step.x, step.y, "x", color="#d55e00", ms=7, mew=2, label="points")
                panel.axvline(step.chosen, color="#e69f00", lw=1.2, label="chosen next")
                title = f"{method}: two points" if iteration == 0 else f"iteration {iteration}"
                panel.set(title=title, ylim=(-2.6, 2.6), xlim=(-6, 6))
        axes[0].legend(fontsize=7, ncols=2, loc="upper center", frameon=False)
