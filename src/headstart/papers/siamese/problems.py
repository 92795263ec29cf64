"""Fig. 4 and 5: does a new data set find its own kind, where hand-crafted features confuse the kinds?

The paper shows the problems in pictures only. They are recreated here from what its text says about them. Problems 1
and 2 have the same points and the same classes, side by side in one and crosswise in the other. Hand-crafted features
cannot tell them apart, because they never look at two columns at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.types import Array
from headstart.datasets.features import metafeatures
from headstart.datasets.siamese import Training, train
from headstart.history import History
from headstart.papers.siamese.common import Effort, K, Rows, loss_rows, nearest, recipe, row, share
from headstart.space import Float, Space
from headstart.starts.learning import learn
from headstart.transfer.models import task_distances

CENTRES = {"Problem 1": 0.2, "Problem 2": 0.8, "Problem 3": 0.5}
"""The best value of the one hyperparameter."""
LINE = Space({"h": Float(0.0, 1.0)})
STEPS = np.linspace(0, 1, 21)
HAND = "hand-crafted"
LEARNED = {"lstm": "points", "mean": "points", "tables": "tables"}
"""The methods that learn a distance, and the kind of data that their network takes."""


def problem(name: str, *, rng: np.random.Generator) -> tuple[Array, Any]:
    """A data set: points in the plane and their classes."""
    n = int(rng.integers(40, 81))
    if name == "Problem 3":
        return rng.exponential(size=(n, 2)), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    X = rng.uniform(-1, 1, size=(n, 2))
    side, crosswise = X[:, 0] > 0, (X[:, 0] > 0) != (X[:, 1] > 0)
    return X, (side if name == "Problem 1" else crosswise).astype(int)


def accuracies(name: str, *, rng: np.random.Generator) -> Array:
    """Accuracy over the hyperparameter, with noise."""
    centre = CENTRES[name] + 0.03 * rng.normal()
    bell = np.exp(-((STEPS - centre) ** 2) / (2 * 0.12**2))
    return np.asarray(0.55 + 0.4 * bell + 0.02 * rng.normal(size=len(STEPS)))


def experiment(method: str, effort: Effort, seed: int) -> Rows:
    """Three starting points for new data sets, by hand-crafted meta-features and by learned ones."""
    rng = np.random.default_rng([seed, 100])
    names = [f"{name}, {i:02d}" for name in CENTRES for i in range(effort.per_problem)]
    data = {name: problem(name.partition(",")[0], rng=rng) for name in names}
    history = _history({name: accuracies(name.partition(",")[0], rng=rng) for name in names}, data)
    target = task_distances(history, "emd", rng=np.random.default_rng(seed))
    kind = LEARNED[method]
    pooling = "mean" if kind == "tables" else method
    network = recipe(kind, (3,) if kind == "points" else (), pooling)
    training = Training(pairs=32, steps=effort.steps[1], every=10, patience=10)
    sets = {name: _seen(data[name], kind) for name in history.tasks}
    model = train(sets, target, network, training, seed=seed, progress=False)
    described = model.describe(history)
    rows = loss_rows("all", method, model.curve)
    for name in CENTRES:
        for i in range(effort.new_per_problem):
            X, y = problem(name, rng=rng)
            curve = accuracies(name, rng=rng)
            rows += [row(name, "truth", "curve", a, item=i, step=s) for s, a in enumerate(curve)]
            for label, init, features in (
                (HAND, "nbi", metafeatures(X, y)),
                (method, "metric", model.features(*_as_pair(_seen((X, y), kind)))),
            ):
                rows += _starts(name, label, described, init, features, curve, i)
    return rows


def _history(curves: Mapping[str, Array], data: Mapping[str, tuple[Array, Array]]) -> History:
    frame = pd.DataFrame(
        [{"task": n, "h": h, "value": a} for n, c in curves.items() for h, a in zip(STEPS, c, strict=True)]
    )
    features = pd.DataFrame({name: metafeatures(*pair) for name, pair in data.items()}).T
    return History.from_frame(frame, LINE, features=features, direction="maximize")


def _seen(data: tuple[Array, Array], kind: str) -> Any:
    """The input of the network: a table with classes, or points with their class as a third number."""
    return data if kind == "tables" else np.column_stack(data)


def _as_pair(data: Any) -> tuple[Any, Any]:
    return data if isinstance(data, tuple) else (data, None)


def _starts(
    name: str, method: str, history: History, init: str, features: Mapping[str, float], curve: Array, item: int
) -> Rows:
    """The starting points, their distance to the best accuracy, and how many come from the same kind of problem."""
    start = learn(history, n=K, method=init, features=features, estimate=False)
    h = np.array([config["h"] for config in start.configs])
    reached = curve[np.abs(STEPS[:, None] - h).argmin(axis=0)]
    owners = nearest(history, init, features)
    rows = [row(name, method, "start", x, item=item, step=k) for k, x in enumerate(h)]
    rows.append(row(name, method, "gap", (curve.max() - reached.max()) / (curve.max() - curve.min()), item=item))
    rows.append(row(name, method, "own kind", share(owners, name), item=item))
    return rows
