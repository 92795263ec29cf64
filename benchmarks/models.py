"""The models of the library on data sets that took part in nothing (`problems.SET_ASIDE`).

python benchmarks/models.py [--models NAME ...] [--trials 50] [--seeds 2] [--metric NAME] [--jobs 1] [--work DIR]

A third of each data set is the test set. A trial is one configuration: its validation loss is that of three-fold
cross-validation on the other two thirds, its test loss that of the model trained on them. A search is judged by the
trial with the best validation loss so far. The metric is the log loss, for support vector machines the error rate, and
for regression the RMSE.

Tables show losses relative to the estimator's defaults: the geometric mean, over data sets and seeds, of the loss
divided by that of the defaults (below 1 is better), and on how many data sets the mean was better. Finished searches
are kept in the work folder, and the same command continues from there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import optuna
from sklearn.model_selection import train_test_split

import headstart as hs
from headstart.library import folds, measuring, pieces, problems
from headstart.library.datasets import Dataset
from headstart.library.models import CLASSIFICATION, MODELS, Model, features

Config = Mapping[str, Any]
Evaluate = Callable[[Config], tuple[float, float]]
METHODS = ("defaults", "headstart", "random", "TPE")
COLUMNS = (
    ("headstart", 1),
    ("headstart", 5),
    ("headstart", 20),
    ("random", 20),
    ("random", 50),
    ("TPE", 20),
    ("TPE", 50),
)


def metric_of(model: Model, wanted: str | None) -> str:
    if wanted is not None:
        return wanted
    if model.kind != CLASSIFICATION:
        return "rmse"
    return "error" if model.name.startswith("svm") else "log_loss"


@cache
def past(name: str, metric: str) -> hs.History:
    return hs.library.load(name, metric)


def evaluator(model: Model, data: Dataset, metric: str, seed: int) -> tuple[Evaluate, dict[str, float], Config]:
    """A function from configurations to validation and test loss, the meta-features, and the defaults."""
    classes = model.kind == CLASSIFICATION
    rows = np.arange(len(data.y))
    train, test = train_test_split(rows, test_size=1 / 3, stratify=data.y if classes else None, random_state=seed)
    part = Dataset(data.name, data.X.iloc[train].reset_index(drop=True), data.y[train], data.source)
    assert not classes or set(part.y) == set(data.y)
    validation = folds.folds(part, model, seed=seed)
    held_out = [folds.fold(data, train, test, model)]
    sign = 1.0 if model.metrics[metric] == "minimize" else -1.0

    def evaluate(config: Config) -> tuple[float, float]:
        found = [measuring.measure(model, config, parts)[metric] for parts in (validation, held_out)]
        return tuple(np.inf if value is None else sign * value for value in found)  # type: ignore[return-value]

    columns = held_out[0].X_train.shape[1]
    return evaluate, features(model.kind, part.X, part.y), model.default_for(columns)


def search(key: str, *, trials: int, metric: str | None) -> list[list[float]]:
    """Validation and test loss of each trial."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, dataset, method, number = key.split("/")
    model = MODELS[name]
    metric = metric_of(model, metric)
    data = folds.sample(problems.load(dataset), model.kind)
    evaluate, described, default = evaluator(model, data, metric, seed=int(number))
    seed = crc32(f"{dataset}/{number}".encode())
    if method == "defaults":
        return [list(evaluate(default))]
    if method == "headstart":
        return searched(
            evaluate, hs.Optimizer(model.space, history=past(name, metric), features=described, seed=seed), 20
        )
    if method == "random":
        return [list(evaluate(config)) for config in model.space.sample(trials, seed=seed)]
    return by_tpe(evaluate, model.space, trials, seed)


def searched(evaluate: Evaluate, opt: hs.Optimizer, trials: int) -> list[list[float]]:
    found = []
    for _ in range(trials):
        config = opt.ask()
        found.append(list(evaluate(config)))
        opt.tell(config, found[-1][0] if np.isfinite(found[-1][0]) else None)
    return found


def by_tpe(evaluate: Evaluate, space: hs.Space, trials: int, seed: int) -> list[list[float]]:
    found: list[list[float]] = []

    def objective(trial: optuna.Trial) -> float:
        found.append(list(evaluate(suggest(trial, space))))
        return min(found[-1][0], 1e6)

    optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)).optimize(objective, n_trials=trials)
    return found


def suggest(trial: optuna.Trial, space: hs.Space) -> Config:
    """A configuration of a space whose parents come before their children."""
    config: dict[str, Any] = {}
    for name, parameter in space.items():
        if not all(config.get(parent) in values for parent, values in parameter.conditions.items()):
            continue
        if isinstance(parameter, hs.Categorical):
            config[name] = trial.suggest_categorical(name, parameter.choices)
        elif isinstance(parameter, hs.Int):
            config[name] = trial.suggest_int(name, int(parameter.low), int(parameter.high), log=parameter.log)
        else:
            config[name] = trial.suggest_float(name, parameter.low, parameter.high, log=parameter.log)
    return config


def chosen(losses: Sequence[Sequence[float]], n: int) -> tuple[float, float]:
    """Validation and test loss of the best of the first n trials."""
    validation, test = min(losses[:n])
    return validation, test


def summary(done: Mapping[str, Sequence[Sequence[float]]], name: str, seeds: int) -> list[str]:
    """The rows of one model: validation and test."""
    aside = problems.SET_ASIDE[MODELS[name].kind]
    lines = []
    for which, label in enumerate(("validation", "test")):
        cells = []
        for method, n in COLUMNS:
            ratios = np.array(
                [
                    [
                        np.log(
                            chosen(done[f"{name}/{dataset}/{method}/{seed}"], n)[which]
                            / chosen(done[f"{name}/{dataset}/defaults/{seed}"], 1)[which]
                        )
                        for seed in range(seeds)
                    ]
                    for dataset in aside
                ]
            )
            better = int((ratios.mean(axis=1) < -1e-9).sum())
            cells.append(f"{np.exp(ratios.mean()):.3f} ({better})")
        lines.append(f"| {name if which == 0 else ''} | {label}, {len(aside)} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[name for name in MODELS if name in hs.library.names()])
    parser.add_argument("--trials", type=int, default=50, help="of random search and TPE")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--metric", help="instead of the log loss, the error rate or the RMSE")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("models.pieces"))
    args = parser.parse_args()
    print("| model | loss, data sets | " + " | ".join(f"{method}, {n}" for method, n in COLUMNS) + " |")
    print("| --- | --- |" + " --- |" * len(COLUMNS))
    for name in args.models:
        keys = [
            f"{name}/{dataset}/{method}/{seed}"
            for dataset in problems.SET_ASIDE[MODELS[name].kind]
            for method in METHODS
            for seed in range(args.seeds)
        ]
        signature = {"trials": args.trials, "metric": args.metric}
        compute = partial(search, trials=args.trials, metric=args.metric)
        done = pieces.run(keys, compute, args.work, signature=signature, jobs=args.jobs, label=name)
        print("\n".join(summary(done, name, args.seeds)), flush=True)


if __name__ == "__main__":
    main()
