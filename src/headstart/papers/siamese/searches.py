"""Fig. 9: what starts and prior means are worth in a search on image data sets.

The model is trained on the subsampled data sets, and the search is on a whole one: once with data sets of its own
source in the training (like MNIST and CIFAR-10 in the paper) and once without (CIFAR-100 and STL-10).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from headstart import library
from headstart._support.types import Array
from headstart.datasets.siamese import Recipe, Training, train
from headstart.errors import MissingPackageError
from headstart.history import History
from headstart.library import images
from headstart.papers.siamese.common import PUBLISHED, Effort, K, Rows, loss_rows, nearest, row, share
from headstart.search.optimizer import Optimizer
from headstart.search.replay import Table
from headstart.surrogates.gaussian import Gaussian
from headstart.transfer.models import task_distances

EVERY = "every source"
CONTROL = "3 any, EI"
SEARCHES = ("random, EI", "random, GP-UCB", "3 nearest, EI", "3 nearest, prior mean, EI", CONTROL)
"""Those of Fig. 9, and a control that the paper does not have: the best configurations of any three past data sets. It
separates the effect of the learned distance from that of having a history at all."""


def sources() -> list[str]:
    """The sources of images that are installed, if they suffice for Fig. 9; prints what is missing."""
    there = [source for source in images.SOURCES if _is_there(source)]
    if len(there) > 1:
        return there
    print("skipped Fig. 9: it needs images of at least two sources", file=sys.stderr)
    return []


def _is_there(source: str) -> bool:
    try:
        images.whole(source)
    except MissingPackageError as error:
        print(f"skipped {source}: {error}", file=sys.stderr)
        return False
    return True


def settings(there: Sequence[str]) -> list[str]:
    """The sources to train on: all that are installed, or all but one."""
    return [EVERY, *(f"all but {source}" for source in there)] if there else []


def experiment(setting: str, there: Sequence[str], effort: Effort, seed: int) -> Rows:
    """Train on the subsampled data sets of these sources, then search on the whole data set of each or of the other."""
    left_out = [source for source in there if setting == f"all but {source}"]
    trained = [source for source in there if source not in left_out]
    history = library.load("resnet")
    names = [f"{source}-{k:02d}" for source in trained for k in range(1, effort.subsets + 1)]
    runs = history.only([name for name in names if name in history.tasks])
    target = task_distances(runs, "emd", rng=np.random.default_rng(seed))
    recipe = Recipe("images", (1, images.SIZE, images.SIZE), PUBLISHED, points=20)
    training = Training(pairs=16, steps=effort.steps[2], every=10, patience=5)
    seen = {name: images.images(name)[0] for name in runs.tasks}
    model = train(seen, target, recipe, training, seed=seed, progress=False)
    rows = loss_rows(setting, PUBLISHED, model.curve)
    described = model.describe(runs)
    for source in left_out or trained:
        name = f"{source}-whole"
        problem = f"{name}, {'known' if source in trained else 'unknown'} source"
        features = model.features(images.images(name)[0])
        if source in trained:
            own = nearest(described, "metric", features)
            rows += [row(problem, "metric", "own source", share(own, source))]
            rows += [row(problem, "chance", "own source", sum(n.startswith(source) for n in runs.tasks) / len(runs))]
        table = Table.of(history, name)
        for method in SEARCHES:
            for r in range(effort.repetitions):
                best = _search(method, described, table, features, effort.trials, seed + r)
                rows += [row(problem, method, "error", e, item=r, step=t + 1) for t, e in enumerate(best)]
    return rows


def _search(method: str, runs: History, table: Table, features: Mapping[str, float], trials: int, seed: int) -> Array:
    """The lowest error after 1, 2, … trials."""
    plain = Gaussian(own=True)  # ignores the history, so that only starts and prior mean make a difference
    optimizer = Optimizer(
        table.space,
        history=runs,
        init="rbi" if method == CONTROL else "random" if method.startswith("random") else "metric",
        n_init=K,
        surrogate="prior" if "prior" in method else plain,
        acquisition="lcb" if method.endswith("UCB") else "ei",
        features=features,
        candidates=table.configs,
        seed=seed,
    )
    return np.minimum.accumulate(table.losses[table.search(optimizer, trials)])
