"""Fig. 9: what starts and prior means are worth in a search on image data sets.

The model is trained on subsampled data sets, and the search is on a data set that it was not trained on: once with data
sets of the same source in the training (like MNIST and CIFAR-10 in the paper) and once without (CIFAR-100 and STL-10).
The paper searches on whole data sets only, four of them. Here, there are only as many whole ones as sources. So the
subsampled data sets are searched, too: those of the other sources after a training without theirs, and those with odd
numbers after a training on those with even ones, and the reverse.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from headstart import library
from headstart._support.types import Array
from headstart.datasets.siamese import Training, train
from headstart.errors import MissingPackageError
from headstart.history import History
from headstart.library import images
from headstart.papers.siamese.common import PUBLISHED, Effort, K, Rows, loss_rows, nearest, recipe, row, share
from headstart.search.optimizer import Optimizer
from headstart.search.replay import Table
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.prior import NearestPrior
from headstart.transfer.models import task_distances

EVERY = "every source"
HALVES = {"odd numbers": 1, "even numbers": 0}  # of the subsampled data sets to train on
PRINTED = "3 nearest, prior mean, EI"
OURS = "3 nearest, headstart's prior, EI"
CONTROL = "3 any, EI"
SEARCHES = ("random, EI", "random, GP-UCB", "3 nearest, EI", PRINTED, OURS, CONTROL)
"""Those of Fig. 9; headstart's own prior mean in place of the printed one; and a control that the paper does not have:
the best configurations of any three past data sets. It separates the effect of the learned distance from that of having
a history at all."""


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
    """What to train on: the data sets of all sources, half of them, or those of all sources but one."""
    return [EVERY, *HALVES, *(f"all but {source}" for source in there)] if there else []


def split(setting: str, there: Sequence[str], subsets: int) -> tuple[list[str], list[str]]:
    """The data sets to train on, and those to search on."""
    numbers = range(1, subsets + 1)
    whole = [f"{source}-whole" for source in there]
    every = [f"{source}-{k:02d}" for source in there for k in numbers]
    if setting == EVERY:
        return every, whole
    if setting in HALVES:
        trained = [f"{source}-{k:02d}" for source in there for k in numbers if k % 2 == HALVES[setting]]
        return trained, [name for name in every if name not in trained]
    left_out = f"{setting.removeprefix('all but ')}-"
    trained = [name for name in every if not name.startswith(left_out)]
    return trained, [name for name in (*every, *whole) if name.startswith(left_out)]


def experiment(setting: str, there: Sequence[str], effort: Effort, seed: int) -> Rows:
    """Train on some data sets, then search on others."""
    history = library.load("resnet")
    trained, new = split(setting, there, effort.subsets)
    runs = history.only([name for name in trained if name in history.tasks])
    target = task_distances(runs, "emd", rng=np.random.default_rng(seed))
    training = Training(pairs=16, steps=effort.steps[2], every=10, patience=5)
    seen = {name: images.images(name)[0] for name in runs.tasks}
    network = recipe("images", (1, images.SIZE, images.SIZE), PUBLISHED, points=20)
    model = train(seen, target, network, training, seed=seed, progress=False)
    rows = loss_rows(setting, PUBLISHED, model.curve)
    described = model.describe(runs)
    for name in new:
        source = name[: name.index("-") + 1]
        by_chance = share(runs.tasks, source)
        problem = f"{name}, {'known' if by_chance else 'unknown'} source"
        features = model.features(images.images(name)[0])
        if by_chance:
            own = share(nearest(described, "metric", features), source)
            rows += [row(problem, label, "own source", x) for label, x in (("metric", own), ("chance", by_chance))]
        table = Table.of(history, name)
        luck = crc32(f"{seed} {name}".encode()) >> 1  # draws of its own, or what they share would look significant
        for method in SEARCHES:
            for r, best in enumerate(_repeated(method, described, table, features, effort, luck)):
                rows += [row(problem, method, "error", e, item=r, step=t + 1) for t, e in enumerate(best)]
    return rows


def _repeated(
    method: str, runs: History, table: Table, features: Mapping[str, float], effort: Effort, seed: int
) -> list[Array]:
    """The searches of all repetitions; one, if the first two agree."""
    found: list[Array] = []
    for r in range(effort.repetitions):
        found.append(_search(method, runs, table, features, effort.trials, seed + r))
        if r == 1 and np.array_equal(found[0], found[1]):
            return found[:1]
    return found


def _search(method: str, runs: History, table: Table, features: Mapping[str, float], trials: int, seed: int) -> Array:
    """The lowest error after 1, 2, … trials."""
    plain = Gaussian(own=True)  # ignores the history, so that only starts and prior mean make a difference
    optimizer = Optimizer(
        table.space,
        history=runs,
        init="rbi" if method == CONTROL else "random" if method.startswith("random") else "metric",
        n_init=K,
        surrogate={PRINTED: NearestPrior(K, form="printed"), OURS: "prior"}.get(method, plain),
        acquisition="lcb" if method.endswith("UCB") else "ei",
        features=features,
        candidates=table.configs,
        seed=seed,
    )
    return np.minimum.accumulate(table.losses[table.search(optimizer, trials)])
