"""A data set as a model sees it: a sample, split for cross-validation, each fold encoded by itself.

To keep the cost of a history in minutes, a sample has at most `ROWS` rows, of the `CLASSES` largest classes.

A model that takes categories and missing values gets them as they are. For all others, missing numbers become the
median and categories become indicator columns, of which rare ones share one; some also need columns of mean 0 and
variance 1. Everything is learned from the training part of a fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from headstart._support.types import Array, Rows
from headstart.library.datasets import AnyArray, Dataset
from headstart.library.models import CLASSIFICATION, Model

ROWS = 1000
CLASSES = 10
FOLDS = 3
SMALL = 300  # a data set of fewer rows is split twice
FEWEST = 2 * FOLDS  # rows of a class; smaller classes are left out, because a fold would miss them
MOST_CATEGORIES = 20  # indicator columns of one column


@dataclass(frozen=True, eq=False)
class Fold:
    """One split. y are class numbers or floats; the scale turns a model's predictions back into units of y."""

    X_train: Any
    y_train: AnyArray
    X_test: Any
    y_test: AnyArray
    mean: float = 0.0
    scale: float = 1.0


def sample(data: Dataset, kind: str, *, seed: int = 0) -> Dataset:
    """At most `ROWS` rows, stratified by class, without classes of fewer than `FEWEST` rows; columns are x0, x1, …"""
    rng = np.random.default_rng([seed, crc32(data.name.encode())])
    if kind != CLASSIFICATION:
        rows = np.sort(rng.permutation(len(data.y))[:ROWS])
    else:
        rows = _of_large_classes(data.y, 1)
        rows = np.sort(rows[_stratified(data.y[rows], rng)[:ROWS]])
        rows = rows[_of_large_classes(data.y[rows], FEWEST)]
    X = data.X.iloc[rows].reset_index(drop=True)
    X.columns = pd.Index([f"x{j}" for j in range(X.shape[1])])  # some libraries reject punctuation
    return Dataset(data.name, X, data.y[rows], data.source)


def _of_large_classes(y: AnyArray, fewest: int) -> Rows:
    """The rows of the largest classes, of those with so many rows."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    large = np.argsort(-counts, kind="stable")[:CLASSES]
    return np.flatnonzero(np.isin(codes, large) & (counts[codes] >= fewest))


def _stratified(y: AnyArray, rng: np.random.Generator) -> Rows:
    """All rows in an order in which every class has its share of any first part."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    order = rng.permutation(len(y))
    place = np.empty(len(y))
    for c in range(len(counts)):
        own = order[codes[order] == c]
        place[own] = (np.arange(len(own)) + rng.random()) / len(own)
    return np.argsort(place, kind="stable")


def folds(data: Dataset, model: Model, *, seed: int = 0) -> list[Fold]:
    """The folds of a sample for one model: three, or twice three for a small data set."""
    splits = _splits(data.y, classes=model.kind == CLASSIFICATION, seed=seed)
    return [fold(data, train, test, model) for train, test in splits]


def _splits(y: AnyArray, *, classes: bool, seed: int) -> Iterator[tuple[Rows, Rows]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = StratifiedKFold if classes else KFold
    for repeat in range(2 if len(y) < SMALL else 1):
        yield from splitter(FOLDS, shuffle=True, random_state=seed + repeat).split(np.zeros(len(y)), y)


def fold(data: Dataset, train: Rows, test: Rows, model: Model) -> Fold:
    """One split of a sample."""
    parts = encoded(data.X.iloc[train], data.X.iloc[test], model)
    y = np.unique(data.y, return_inverse=True)[1] if model.kind == CLASSIFICATION else data.y.astype(float)
    if not model.scaled_target:
        return Fold(parts[0], y[train], parts[1], y[test])
    mean, scale = float(y[train].mean()), float(y[train].std()) or 1.0
    return Fold(parts[0], (y[train] - mean) / scale, parts[1], y[test], mean, scale)


def encoded(train: pd.DataFrame, test: pd.DataFrame, model: Model) -> tuple[Any, Any]:
    """Both parts in the form that a model takes."""
    if model.categories:
        return (_named(train), _named(test)) if model.package == "catboost" else (train, test)
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    categorical = list(train.columns[train.dtypes == "category"])
    numeric = [label for label in train.columns if label not in categorical]
    numbers = "passthrough" if model.missing else SimpleImputer(strategy="median", keep_empty_features=True)
    indicators = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    columns = ColumnTransformer([("numbers", numbers, numeric), ("categories", indicators, categorical)])
    encode = make_pipeline(columns, StandardScaler()) if model.standardised else columns
    objects = dict.fromkeys(categorical, object)
    first: Array = np.asarray(encode.fit_transform(train.astype(objects)), dtype=float)
    return first, np.asarray(encode.transform(test.astype(objects)), dtype=float)


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """CatBoost takes categories as text, and a missing one as a category of its own."""
    categorical = list(X.columns[X.dtypes == "category"])
    return X.assign(**{label: X[label].astype(object).fillna("missing").astype(str) for label in categorical})
