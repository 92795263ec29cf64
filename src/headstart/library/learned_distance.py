"""A learned distance between the data sets behind a shipped history: `headstart build metric --history svm`.

The tabular Siamese network (`headstart.datasets.siamese`) is trained on the data sets, with the earth mover's distance
between their response surfaces as the target. The same seed gives the same model; an interrupted training continues
where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headstart._support.files import writable
from headstart._support.wording import closest
from headstart.datasets.siamese import Model, Recipe, Training, train
from headstart.errors import ArgumentError
from headstart.library import datasets, load
from headstart.library.building import versions
from headstart.transfer.models import task_distances

RECIPE = Recipe("tables", pooling="mean", points=32)
TRAINING = Training(pairs=64, steps=500, decay=0.1, every=20, patience=8)
HISTORIES = ("svm",)
"""The shipped histories whose tasks are data sets of `headstart.library.datasets`."""


def build(
    out: str | Path,
    *,
    history: str = "svm",
    seed: int = 0,
    work: str | Path | None = None,
    only: Sequence[str] | None = None,
    progress: bool = True,
    training: Training = TRAINING,
) -> Model:
    """Train on the data sets of a shipped history, save the model to `out` and return it.

    work: the folder for checkpoints, from which the same call continues an interrupted training (default: that of
    `out`). only: these data sets instead of all.
    """
    if history not in HISTORIES:
        raise ArgumentError(f"history must be one of {', '.join(HISTORIES)}, but got {history!r}")
    out = writable(out)
    runs = load(history)
    if only is not None:
        if unknown := [name for name in only if name not in runs.tasks]:
            raise ArgumentError(f"there is no data set {unknown[0]!r} in {history}{closest(unknown[0], runs.tasks)}")
        runs = runs.only(only)
    target = task_distances(runs, "emd", rng=np.random.default_rng(seed))
    folder = out.parent if work is None else Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    model = train(
        tables(runs.tasks),
        target,
        RECIPE,
        training,
        seed=seed,
        progress=progress,
        checkpoint=folder / f"{out.name}.training",
        info={"history": history, "target": "emd", "packages": versions(("torch", "POT", "numpy"))},
    )
    model.save(out)
    return model


def tables(names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """X and y of the data sets with these names."""
    loaded = (datasets.load(name) for name in names)
    return {data.name: (data.X, data.y) for data in loaded}
