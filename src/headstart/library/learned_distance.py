"""A learned distance between the data sets behind a history: `headstart build metric`.

A Siamese network (`headstart.datasets.siamese`) is trained on the data sets, with the earth mover's distance between
their response surfaces as the target. The history is a shipped one whose data sets come with packages, or any other
with its data sets in a folder: tables or images. The same seed gives the same model; an interrupted training continues
where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headstart._support.files import writable
from headstart._support.log import log
from headstart._support.wording import closest
from headstart.datasets.folders import IMAGES, read_folder
from headstart.datasets.siamese import Model, Recipe, Training, train
from headstart.errors import ArgumentError
from headstart.history.past import read_past, required
from headstart.library import datasets
from headstart.library.building import versions
from headstart.transfer.models import task_distances

RECIPE = Recipe("tables", pooling="mean", points=32)
TRAINING = Training(pairs=64, steps=500, decay=0.1, every=20, patience=8)
IMAGE_POINTS = 20  # τ for images
IMAGE_TRAINING = Training(pairs=16, steps=150, every=10, patience=5)
HISTORIES = ("svm", "adaboost")
"""The shipped histories whose tasks are data sets of `headstart.library.datasets`."""


def build(
    out: str | Path,
    *,
    history: str = "svm",
    data: str | Path | None = None,
    target: str | None = None,
    seed: int = 0,
    work: str | Path | None = None,
    only: Sequence[str] | None = None,
    progress: bool = True,
    training: Training | None = None,
) -> Model:
    """Train on the data sets of a history, save the model to `out` and return it.

    history: the name of a shipped history, or past runs in a file or storage. data: the folder of its data sets, one
    file per task (`datasets/folders.py`); needed unless the history is one of HISTORIES. target: the column of tables
    that holds the classes (default: the last one). work: the folder for checkpoints, from which the same call continues
    an interrupted training (default: that of `out`). only: these data sets instead of all.
    """
    if data is None and history not in HISTORIES:
        raise ArgumentError(
            f"the data sets behind {history} are not known", "name the folder that holds one file per task with {data}"
        )
    if data is None and target is not None:
        raise ArgumentError("target names a column of the files in a folder", "name the folder with {data}")
    out = writable(out)
    runs = required(read_past(history))
    if only is not None:
        if unknown := [name for name in only if name not in runs.tasks]:
            raise ArgumentError(f"there is no data set {unknown[0]!r} in {history}{closest(unknown[0], runs.tasks)}")
        runs = runs.only(only)
    recipe, how = RECIPE, TRAINING
    if data is None:
        sets = tables(runs.tasks)
    else:
        found = read_folder(Path(data), runs.tasks, target)
        log.info("learning from %d of %d tasks, which have a file in %s", len(found), len(runs), data)
        runs = runs.only(list(found))
        first = found[runs.tasks[0]]
        if first.kind == IMAGES:
            recipe, how = Recipe("images", first.X.shape[1:], "mean", points=IMAGE_POINTS), IMAGE_TRAINING
        sets = {name: found[name].X if first.kind == IMAGES else found[name][1:] for name in runs.tasks}
    distances = task_distances(runs, "emd", rng=np.random.default_rng(seed))
    folder = out.parent if work is None else Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    model = train(
        sets,
        distances,
        recipe,
        training or how,
        seed=seed,
        progress=progress,
        checkpoint=folder / f"{out.name}.training",
        info={"history": Path(history).name, "target": "emd", "packages": versions(("torch", "POT", "numpy"))},
    )
    model.save(out)
    return model


def tables(names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """X and y of the data sets with these names."""
    loaded = (datasets.load(name) for name in names)
    return {data.name: (data.X, data.y) for data in loaded}
