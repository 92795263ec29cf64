"""Small histories of every kind, for tests that must hold on all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headstart import Categorical, Float, History, Int, Space
from headstart.history import build

FLAT = Space({"x": Float(0.0, 1.0), "y": Float(1e-3, 1e3, log=True)})
MIXED = Space(
    {
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "C": Float(2**-5, 2**6, log=True),
        "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": Int(2, 10, when={"kernel": "poly"}),
    }
)
FINITE = Space({"a": Int(0, 4), "b": Categorical(["u", "v"])})


def bowl(space: Space, V, centre: float, tilt: float):
    """A smooth loss on the encoding whose minimum moves with the task."""
    Z = space.encode_values(V)
    return ((Z - centre) ** 2) @ np.linspace(1.0, 1.0 + tilt, Z.shape[1])


def make(space=MIXED, tasks=6, evaluations=20, *, shared=True, features=True, failures=0, seed=0, constant=()):
    """A history of related tasks; evaluations may be a number or one per task."""
    rng = np.random.default_rng(seed)
    counts = [evaluations] * tasks if isinstance(evaluations, int) else list(evaluations)
    design = space.sample_values(max(counts), rng=rng)
    names, rows, losses, described = [], [], [], {}
    for i, count in enumerate(counts):
        V = design[:count] if shared else space.sample_values(count, rng=rng)
        centre = (i + 0.5) / tasks
        y = 10.0**i * (bowl(space, V, centre, i) + i)
        if i in constant:
            y = np.full(count, 3.0)
        y[1 : 1 + failures] = np.nan
        name = f"task{i}"
        names += [name] * count
        rows.append(V)
        losses.append(y)
        described[name] = {"centre": centre, "noise": float(rng.normal()), "size": float(10 * i)}
    return build(
        space,
        tasks=names,
        V=np.concatenate(rows),
        losses=np.concatenate(losses),
        features=described if features else None,
    )


def embedded(history: History) -> History:
    """With the meta-feature `centre` as if a Siamese network had found it: an embedding of one number."""
    tasks = {t.name: replace(t, features={**t.features, "metric 0a 0": t.features["centre"]}) for t in history}
    return replace(history, by_name=tasks)


KINDS: dict[str, History] = {
    "flat, shared design": make(FLAT),
    "mixed, shared design": make(),
    "mixed, ragged": make(evaluations=[5, 12, 20, 7, 16, 9], shared=False),
    "failed trials": make(failures=3),
    "one task": make(tasks=1),
    "two tasks": make(tasks=2),
    "constant tasks": make(constant=(0, 3)),
    "finite space": make(FINITE, tasks=4, evaluations=6),
}
