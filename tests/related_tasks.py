"""A family of related tasks, surrogates that learned from it, and trials of a new task for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import headstart as hs
from headstart._support.types import Array
from headstart.history import History, build
from headstart.space import Space
from headstart.surrogates.base import Acquisition, Model
from headstart.surrogates.names import SURROGATES
from headstart.transfer.models import TaskModels

JOINT = ("mklgp", "scot")
PLAIN = Space({"x": hs.Float(0.0, 1.0), "y": hs.Float(0.0, 1.0)})
MIXED = Space(
    {
        "kernel": hs.Categorical(["rbf", "poly", "linear"]),
        "C": hs.Float(2**-5, 2**6, log=True),
        "gamma": hs.Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": hs.Int(2, 10, when={"kernel": "poly"}),
        "shrink": hs.Categorical([True, False]),
    }
)
FEATURES = {"size": 0.5, "width": 0.1}


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


def slope(Z: Array, size: float = 0.5) -> Array:
    """A smooth task whose losses mostly fall along the first column; the last matters by `size`."""
    return np.asarray((1.0 - Z[:, 0]) ** 2 + 0.6 * size * Z[:, -1] + 0.1 * np.sin(4 * Z[:, 0] * Z[:, -1]))


def family(
    space: Space = PLAIN, tasks: int = 5, rows: int = 18, *, features: bool = True, ragged: bool = False
) -> History:
    """Tasks that differ in size, scale and offset; if `ragged`, also in their configurations and how many they have."""
    names, V, losses, known = [], [], [], {}
    for t in range(tasks):
        generator, size = rng(5, t if ragged else 0), t / max(tasks - 1, 1)
        v = space.sample_values(rows - 2 * t if ragged else rows, rng=generator)
        names += [f"task{t}"] * len(v)
        V.append(v)
        losses.append(10.0**t * (slope(space.encode_values(v), size) + t))
        known[f"task{t}"] = {"size": size, "width": 0.3 * t}
    described = known if features else None
    return build(space, tasks=names, V=np.concatenate(V), losses=np.concatenate(losses), features=described)


def constant_task(history: History) -> History:
    """The history with one more task, on which all losses are equal."""
    V = history.V[:6]
    return history.merge(build(history.space, tasks=["flat"] * len(V), V=V, losses=np.full(len(V), 3.0)))


HISTORIES: dict[str, Callable[[], History]] = {
    "shared": family,
    "without features": lambda: family(features=False),
    "ragged": lambda: family(ragged=True),
    "ragged, without features": lambda: family(ragged=True, features=False),
    "one task": lambda: family(tasks=1),
    "a constant task": lambda: constant_task(family()),
    "nothing but a constant task": lambda: constant_task(family()).only(["flat"]),
    "two rows": lambda: family(tasks=2, rows=2),
}


def begin(name: str, space: Space, history: History | None) -> Any:
    models = None if history is None else TaskModels(history, rng=rng(1))
    return SURROGATES[name]().begin(space, models, features=FEATURES, rng=rng(2))


@cache
def model(name: str, kind: str = "shared", mixed: bool = False) -> Any:
    """A surrogate at the beginning of a run."""
    return begin(name, MIXED, family(MIXED, rows=40)) if mixed else begin(name, PLAIN, HISTORIES[kind]())


def trials(n: int, space: Space = PLAIN, seed: int = 0) -> tuple[Array, Array]:
    """n trials of a task that is not in the history, in other units."""
    Z = space.encode_values(space.sample_values(n, rng=rng(9, seed)))
    return Z, 7.0 + 3.0 * slope(Z, 0.45)


def candidates(space: Space = PLAIN, n: int = 200) -> Array:
    """Encoded configurations to predict."""
    return space.encode_values(space.sample_values(n, rng=rng(11)))


def check(m: Model, Z: Array, losses: Array, at: Array) -> None:
    """Every number a posterior gives is finite, and every standard deviation positive."""
    posterior = m.fit(Z, losses)
    mean, std = posterior.predict(at)
    assert mean.shape == std.shape == (len(at),)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    for acquisition in Acquisition.NAMES:
        score = posterior.score(at, Acquisition(acquisition, len(losses), Z.shape[1]))
        assert score.shape == (len(at),)
        assert np.isfinite(score).all()
    climbed = posterior.climb(at, Acquisition())
    if climbed is not None:
        assert all(np.isfinite(part).all() for part in climbed)
