"""Shared by the experiments of the Siamese paper: how much to run, and the rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.datasets.siamese import Curve, Recipe
from headstart.history import History
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_distance, feature_vectors, nearest_by_metric

Rows = list[dict[str, Any]]
POINTS = 30  # of a data set, and τ
PUBLISHED = "lstm"
POOLINGS = (PUBLISHED, "mean", "attention")
K = 3  # starting points


@dataclass(frozen=True)
class Effort:
    """How much is done.

    steps: of training, for `synthetic`, `problems` and `searches`. subsets: data sets of each image source, besides the
        whole one.
    """

    pairs: int = 2000
    steps: tuple[int, int, int] = (100, 500, 150)
    per_problem: int = 50
    new_per_problem: int = 10
    subsets: int = 10
    trials: int = 20
    repetitions: int = 5
    cosines: int = 200


QUICK = Effort(
    pairs=200, steps=(15, 15, 6), per_problem=10, new_per_problem=3, subsets=4, trials=8, repetitions=2, cosines=50
)


def recipe(kind: str, shape: tuple[int, ...], pooling: str, points: int = POINTS) -> Recipe:
    """A network; the published pooling is read out as the paper's formulas say."""
    return Recipe(kind, shape, pooling, points=points, readout="printed" if pooling == PUBLISHED else "final")


def row(problem: str, method: str, measure: str, value: float, *, item: int = 0, step: int = 0) -> dict[str, Any]:
    """One number of a table."""
    named = {"problem": problem, "method": method, "measure": measure, "item": item, "step": step}
    return {**named, "value": float(value)}


def loss_rows(problem: str, method: str, curve: Curve) -> Rows:
    """The losses of a training, step by step."""
    rows = []
    for step, inside, outside in curve.rows():
        rows += [row(problem, method, "training loss", inside, step=int(step))]
        rows += [row(problem, method, "held-out loss", outside, step=int(step))]
    return rows


def nearest(history: History, init: str, features: Mapping[str, float]) -> list[str]:
    """The K data sets whose best configurations are the start."""
    models = TaskModels(history, rng=np.random.default_rng(0))
    if init == "metric":
        order = nearest_by_metric(models, features)
    else:
        order = np.argsort(feature_distance(*feature_vectors(models, features), 2.0), kind="stable")
    return [history.tasks[i] for i in order[:K]]


def share(names: Sequence[str], beginning: str) -> float:
    """The share of the names that begin like this."""
    return sum(name.startswith(beginning) for name in names) / len(names)
