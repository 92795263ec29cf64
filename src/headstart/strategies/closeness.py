"""c(D, D_new): how much each past task counts in the general meta-loss.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), eq. 16 and 18. The
paper asks for a cost function that is 1 for similar data sets and close to 0 for completely different ones, and leaves
its form open. Any distance between data sets can supply it: that of their meta-features (section V-B), the one that a
forest predicts (Wistuba et al. 2015b), or that of a Siamese network (Kim et al. 2017).

| symbol      | name       | shape | meaning                                |
| ----------- | ---------- | ----- | -------------------------------------- |
| δ(D, D_new) | `distance` | (T,)  | distance of each past task to the new  |
| c(D, D_new) | `weights`  | (T,)  | not negative, and not all of them zero |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.arguments import whole
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.history import Features, Task
from headstart.transfer.models import TaskModels
from headstart.transfer.similarity import check_distance, distance_to_new


@dataclass(frozen=True)
class Closeness:
    """Weights of the past tasks from their distance δ to the new one.

    by: "features", "forest" or "metric" (see `transfer/similarity.py`).
    nearest: 1 for this many nearest tasks and 0 for all others (eq. 18); "n" is as many as the start has
        configurations. None: exp(−½ (δ / δ̃)²), where δ̃ is the median distance; the paper does not give such a form.
    p, trees: of the first and second distance.
    """

    by: str = "features"
    nearest: int | str | None = None
    p: float = 2.0
    trees: int = 50

    def __post_init__(self) -> None:
        check_distance(self.by)
        if self.nearest not in (None, "n"):
            whole("nearest", self.nearest, 1)
        if not self.p > 0:
            raise ArgumentError(f"p must be above 0, but got {self.p}")
        whole("trees", self.trees, 1)

    def weights(self, models: TaskModels, features: Features | None, *, n: int, rng: np.random.Generator) -> Array:
        distance = distance_to_new(models, features, self.by, rng=rng, p=self.p, trees=self.trees)
        if self.nearest is not None:  # eq. 18
            closest = np.argsort(distance, kind="stable")[: n if self.nearest == "n" else int(self.nearest)]
            return np.isin(np.arange(len(distance)), closest).astype(float)
        known = distance[np.isfinite(distance)]
        typical = float(np.median(known)) if len(known) else 0.0
        return np.exp(-0.5 * (distance / typical) ** 2) if typical > 0 else np.ones(len(distance))


Cost: TypeAlias = Callable[[Task, Features | None], float]
"""c as a function of a past task and the new task's meta-features."""

Weights: TypeAlias = Closeness | Cost | Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64]
"""Whatever supplies c: by distance, a function, or numbers by name or in the order of `history.tasks`."""


def task_weights(
    weights: Weights | None, models: TaskModels, features: Features | None, *, n: int, rng: np.random.Generator
) -> Array:
    """c(D, D_new) for every past task: (T,); 1 for all of them if there are no weights."""
    if weights is None:
        return np.ones(len(models))
    tasks = list(models.history)
    if isinstance(weights, Closeness):
        found = weights.weights(models, features, n=n, rng=rng)
    elif isinstance(weights, Mapping):
        found = np.array([_of(weights, task.name) for task in tasks], dtype=float)
        if not found.any() and any(weights.values()):  # all that count are left out
            found = np.ones(len(tasks))
    elif callable(weights):
        found = np.array([weights(task, features) for task in tasks], dtype=float)
    else:
        found = np.asarray(weights, dtype=float)
    if found.shape != (len(tasks),):
        raise ArgumentError(f"weights must hold one number per past task ({len(tasks)}), but got {found.size}")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        wrong = [f"{task.name}: {c:g}" for task, c in zip(tasks, found, strict=True) if not (np.isfinite(c) and c >= 0)]
        raise ArgumentError(f"weights must be finite and not negative, but got {wrong[0] if wrong else 'only zeros'}")
    return found


def by_name(weights: Weights | None, tasks: Sequence[str]) -> Weights | None:
    """The same weights; numbers in the order of these tasks by name, so that tasks can be left out."""
    if weights is None or isinstance(weights, Closeness | Mapping) or callable(weights) or len(weights) != len(tasks):
        return weights
    return dict(zip(tasks, np.asarray(weights, dtype=float).tolist(), strict=True))


def _of(weights: Mapping[str, float], name: str) -> float:
    if name not in weights:
        raise ArgumentError(f"weights has no number for the past task {name!r}", "name every task; 0 leaves one out")
    return weights[name]
