"""Fig. 6 and 7: can a distance between groups of data sets be learned?

The paper shows the groups in pictures only. They are recreated here from what its text says about them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from headstart._support.types import Array
from headstart.datasets.siamese import Pairs, Points, Recipe, Training, fit, new_wing
from headstart.papers.siamese.common import POINTS, Effort, Rows, loss_rows, row


def _noisy(x: Array, y: Array, *, rng: np.random.Generator) -> Array:
    return np.column_stack([x, y]) + 0.1 * rng.normal(size=(len(x), 2))


def _circle(radius: float, *, rng: np.random.Generator) -> Array:
    angle = rng.uniform(0, 2 * np.pi, POINTS)
    return _noisy(radius * np.cos(angle), radius * np.sin(angle), rng=rng)


def _moon(upper: bool, *, rng: np.random.Generator) -> Array:
    angle = rng.uniform(0, np.pi, POINTS)
    if upper:
        return _noisy(np.cos(angle), np.sin(angle), rng=rng)
    return _noisy(1 - np.cos(angle), 0.5 - np.sin(angle), rng=rng)


def _graph(function: Callable[[Array], Array], *, rng: np.random.Generator) -> Array:
    x = rng.uniform(-np.pi, np.pi, POINTS)
    return _noisy(x, function(x), rng=rng)


Group = Callable[..., Array]
GROUPS: dict[str, tuple[Group, Group]] = {
    "two circles": (partial(_circle, 1.0), partial(_circle, 0.5)),
    "two moons": (partial(_moon, True), partial(_moon, False)),
    "sin and cos": (partial(_graph, np.sin), partial(_graph, np.cos)),
    "tanh and cos": (partial(_graph, np.tanh), partial(_graph, np.cos)),
}


def experiment(name: str, pooling: str, effort: Effort, seed: int) -> Rows:
    """Train on four fifths of the pairs: loss curves, accuracy on the held-out pairs, embeddings before and after."""
    rng = np.random.default_rng([seed, list(GROUPS).index(name)])
    group = rng.integers(2, size=2 * effort.pairs)
    sets = [Points.of(GROUPS[name][g](rng=rng), 2) for g in group]
    left = np.arange(0, 2 * effort.pairs, 2)
    pairs = Pairs(left, left + 1, (group[left] != group[left + 1]).astype(float))
    cut = int(0.8 * effort.pairs)
    wing = new_wing(Recipe("points", (2,), pooling, points=POINTS), seed=seed)
    shown = range(2 * cut, min(2 * cut + 100, 2 * effort.pairs))  # data sets of the held-out pairs
    before = np.array([wing.embed(sets[i]) for i in shown])
    training = Training(pairs=32, steps=effort.steps[0], every=max(1, effort.steps[0] // 12), patience=100)
    began = time.process_time()
    held_out = pairs.take(np.arange(cut, effort.pairs))
    curve = fit(wing, sets, pairs.take(np.arange(cut)), held_out, training, seed=seed)
    seconds = time.process_time() - began
    m = {i: wing.embed(sets[i]) for i in range(2 * cut, 2 * effort.pairs)}
    distance = np.array([np.linalg.norm(m[i] - m[j]) for i, j in zip(held_out.left, held_out.right, strict=True)])
    rows = [
        row(name, pooling, "accuracy", float(np.mean((distance > 0.5) == held_out.target))),
        row(name, pooling, "seconds", seconds),
        *loss_rows(name, pooling, curve),
    ]
    for when, M in (("before", before), ("after", np.array([m[i] for i in shown]))):
        for axis, column in enumerate(_plane(M).T):
            named = f"{when}, axis {axis + 1}"
            rows += [
                row(name, pooling, named, x, item=i, step=int(group[i])) for i, x in zip(shown, column, strict=True)
            ]
    return rows


def _plane(M: Array) -> Array:
    """Vectors projected on the two directions in which they differ most, (n, 2)."""
    centred = M - M.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
