"""Fig. 6 and 7: can a distance between groups of data sets be learned?

For Fig. 7, a network with two-dimensional meta-features is trained on the first of the examples, as in the paper. The
paper shows the groups in pictures only. They are recreated here from what its text says about them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from headstart._support.types import Array
from headstart._support.types import Rows as Positions
from headstart.datasets.siamese import Pairs, Points, Training, fit, new_wing
from headstart.papers.siamese.common import POINTS, PUBLISHED, Effort, Rows, loss_rows, recipe, row


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
IN_THE_PLANE = "two circles"  # Fig. 7 is about Fig. 6(a)
PLANE = f"{PUBLISHED}, 2 dimensions"


def experiment(name: str, pooling: str, effort: Effort, seed: int, size: int | None = None) -> Rows:
    """Train on four fifths of the pairs: loss curves, and which of the held-out pairs are judged rightly.

    size: 2 for the embeddings of Fig. 7 before and after.
    """
    method = pooling if size is None else PLANE
    rng = np.random.default_rng([seed, list(GROUPS).index(name)])
    group = rng.integers(2, size=2 * effort.pairs)
    sets = [Points.of(GROUPS[name][g](rng=rng), 2) for g in group]
    left = np.arange(0, 2 * effort.pairs, 2)
    pairs = Pairs(left, left + 1, (group[left] != group[left + 1]).astype(float))
    cut = int(0.8 * effort.pairs)
    network = recipe("points", (2,), pooling)
    wing = new_wing(network if size is None else replace(network, size=size), seed=seed)
    shown = range(2 * cut, min(2 * cut + 100, 2 * effort.pairs))  # data sets of the held-out pairs
    before = np.array([wing.embed(sets[i]) for i in shown])
    training = Training(pairs=32, steps=effort.steps[0], every=max(1, effort.steps[0] // 12), patience=100)
    began = time.process_time()
    held_out = pairs.take(np.arange(cut, effort.pairs))
    curve = fit(wing, sets, pairs.take(np.arange(cut)), held_out, training, seed=seed)
    seconds = time.process_time() - began
    m = {i: wing.embed(sets[i]) for i in range(2 * cut, 2 * effort.pairs)}
    distance = np.array([np.linalg.norm(m[i] - m[j]) for i, j in zip(held_out.left, held_out.right, strict=True)])
    right = (distance > 0.5) == held_out.target
    rows = [
        *(row(name, method, "accuracy", float(one), item=i) for i, one in enumerate(right)),
        row(name, method, "seconds", seconds),
        *loss_rows(name, method, curve),
    ]
    if size is None:
        return rows
    for when, M in (("before", before), ("after", np.array([m[i] for i in shown]))):
        own = group[list(shown)]
        for axis, column in enumerate(M.T):
            named = f"{when}, axis {axis + 1}"
            rows += [
                row(name, method, named, x, item=i, step=int(g)) for i, x, g in zip(shown, column, own, strict=True)
            ]
        rows += [row(name, f"{when} training", "apart", r, item=i) for i, r in zip(shown, apart(M, own), strict=True)]
    return rows


def apart(M: Array, group: Positions) -> Array:
    """For each row of M, its mean distance to the rows of its own group, relative to that to the others: (n,)."""
    D = np.linalg.norm(M[:, None] - M[None], axis=2)
    same = group[:, None] == group[None]
    to_own = (D * same).sum(axis=1) / (same.sum(axis=1) - 1)
    return np.asarray(to_own / ((D * ~same).sum(axis=1) / (~same).sum(axis=1)))
