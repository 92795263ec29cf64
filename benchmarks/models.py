"""The models of the library on data sets that took part in nothing (`problems.SET_ASIDE`).

    python benchmarks/models.py [--models NAME ...] [--methods NAME ...] [--seeds 2] [--metric NAME] [--jobs 1]
        [--work DIR] [--write]

A third of each data set is the test set. A trial is one configuration: its validation loss is that of three-fold
cross-validation on the other two thirds, its test loss that of the model trained on them. A search is judged by the
trial with the best validation loss so far. The metric is the log loss, for support vector machines the error rate, and
for regression the RMSE.

`no search` is the configuration of `hs.defaults`. FLAML is its zero-shot configuration (`flaml.default`), where it has
the model; flaml has to be installed for it, and torch for GPSampler. Of a configuration that takes more than two
seconds, only the first fold is measured.

Tables show losses relative to the estimator's defaults: the geometric mean, over data sets and seeds, of the loss
divided by that of the defaults (below 1 is better), and on how many data sets the mean was better. Finished searches
are kept in the work folder, and the same command continues from there. --write keeps the figures of the models in
benchmarks/models.json, from which `no_search.py` takes the trials of the README's table.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
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
from headstart.library.landmarks import landmarks
from headstart.library.models import CLASSIFICATION, MODELS, Model, features
from headstart.library.portfolios import best_for

Config = Mapping[str, Any]
Losses = list[float]
TRIALS = {"FLAML": 1, "no search": 1, "headstart": 20, "random": 50, "TPE": 100, "GPSampler": 50}
COLUMNS = (
    ("FLAML", 1),
    ("no search", 1),
    ("headstart", 1),
    ("headstart", 5),
    ("headstart", 20),
    ("random", 20),
    ("random", 50),
    ("TPE", 20),
    ("TPE", 50),
    ("TPE", 100),
    ("GPSampler", 20),
    ("GPSampler", 50),
)
RESULTS = Path(__file__).with_name("models.json")
PARTS = ("validation", "test")
FLAML = {"lightgbm": "lgbm", "xgboost": "xgboost", "random-forest": "rf", "extra-trees": "extra_tree"}


def metric_of(model: Model, wanted: str | None) -> str:
    if wanted is not None:
        return wanted
    if model.kind != CLASSIFICATION:
        return "rmse"
    return "error" if model.name.startswith("svm") else "log_loss"


@cache
def past(name: str, metric: str) -> hs.History:
    return hs.library.load(name, metric)


class Problem:
    """A model on a data set: two thirds of the rows for cross-validation, the rest as the test set."""

    def __init__(self, model: Model, data: Dataset, metric: str, seed: int) -> None:
        classes = model.kind == CLASSIFICATION
        rows = np.arange(len(data.y))
        train, test = train_test_split(rows, test_size=1 / 3, stratify=data.y if classes else None, random_state=seed)
        self.part = Dataset(data.name, data.X.iloc[train].reset_index(drop=True), data.y[train], data.source)
        assert not classes or set(self.part.y) == set(data.y)
        self.model, self.metric = model, metric
        self.validation = folds.folds(self.part, model, seed=seed)
        self.held_out = [folds.fold(data, train, test, model)]
        self.sign = 1.0 if model.metrics[metric] == "minimize" else -1.0

    def __call__(self, config: Config) -> Losses:
        """Validation and test loss of a configuration."""
        found = [
            measuring.measure(self.model, config, parts)[self.metric] for parts in (self.validation, self.held_out)
        ]
        return [np.inf if value is None else self.sign * value for value in found]

    @property
    def features(self) -> dict[str, float]:
        return features(self.model.kind, self.part.X, self.part.y)

    @property
    def landmarks(self) -> dict[str, float]:
        return landmarks(self.model.kind, self.part.X, self.part.y)

    @property
    def defaults(self) -> Config:
        return self.model.default_for(self.held_out[0].X_train.shape[1])

    @property
    def by_flaml(self) -> Config | None:
        """The configuration that FLAML suggests without a search; None if it does not have the model."""
        short = FLAML.get(self.model.name.rpartition("-")[0])
        if short is None:
            return None
        from flaml.default import suggest_hyperparams

        first = self.held_out[0]
        found, _ = suggest_hyperparams(self.model.kind, first.X_train, first.y_train, short)
        return {name: value for name, value in found.items() if name not in ("verbose", "verbosity", "random_state")}


def search(key: str, *, metric: str | None) -> list[Losses]:
    """Validation and test loss of each trial."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, dataset, method, number = key.split("/")
    model = MODELS[name]
    metric = metric_of(model, metric)
    problem = Problem(model, folds.sample(problems.load(dataset), model.kind), metric, seed=int(number))
    seed = crc32(f"{dataset}/{number}".encode())
    if method == "defaults":
        return [problem(problem.defaults)]
    if method == "FLAML":
        return [] if (config := problem.by_flaml) is None else [problem(config)]
    if method == "no search":
        return [problem(best_for(name, metric, {**problem.features, **problem.landmarks}) or problem.defaults)]
    if method == "random":
        return [problem(config) for config in model.space.sample(TRIALS[method], seed=seed)]
    if method == "headstart":
        opt = hs.Optimizer(model.space, history=past(name, metric), features=problem.features, seed=seed)
        return by_headstart(problem, opt, TRIALS[method])
    samplers = {"TPE": optuna.samplers.TPESampler, "GPSampler": optuna.samplers.GPSampler}
    return by_optuna(problem, samplers[method](seed=seed), TRIALS[method])


def by_headstart(problem: Problem, opt: hs.Optimizer, trials: int) -> list[Losses]:
    found = []
    for _ in range(trials):
        config = opt.ask()
        found.append(problem(config))
        opt.tell(config, found[-1][0] if np.isfinite(found[-1][0]) else None)
    return found


def by_optuna(problem: Problem, sampler: optuna.samplers.BaseSampler, trials: int) -> list[Losses]:
    found: list[Losses] = []

    def objective(trial: optuna.Trial) -> float:
        found.append(problem(suggest(trial, problem.model.space)))
        return min(found[-1][0], 1e6)

    optuna.create_study(sampler=sampler).optimize(objective, n_trials=trials)
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


def figures(
    done: Mapping[str, Sequence[Sequence[float]]], name: str, columns: Sequence[tuple[str, int]], seeds: int
) -> dict[str, Any]:
    """For validation and test, method and number of trials: the relative loss, and on how many data sets it is lower.

    A method that does not have the model is left out.
    """
    aside = problems.SET_ASIDE[MODELS[name].kind]
    found: dict[str, Any] = {"data_sets": len(aside), "seeds": seeds}
    for which, part in enumerate(PARTS):
        found[part] = {}
        for method, n in columns:
            runs = [[f"{name}/{dataset}/{method}/{seed}" for seed in range(seeds)] for dataset in aside]
            if all(done[key] for keys in runs for key in keys):
                ratios = np.array([[relative(done, key, n, which) for key in keys] for keys in runs])
                better = int((ratios.mean(axis=1) < -1e-9).sum())
                found[part][f"{method}, {n}"] = [round(float(np.exp(ratios.mean())), 4), better]
    return found


def lines(name: str, found: Mapping[str, Any], columns: Sequence[tuple[str, int]]) -> list[str]:
    """The rows of one model: validation and test."""
    rows = []
    for part in PARTS:
        cells = [found[part].get(f"{method}, {n}") for method, n in columns]
        shown = ["—" if cell is None else f"{cell[0]:.3f} ({cell[1]})" for cell in cells]
        title = name if part == PARTS[0] else ""
        rows.append(f"| {title} | {part}, {found['data_sets']} | {' | '.join(shown)} |")
    return rows


def keep(name: str, found: Mapping[str, Any]) -> None:
    """Write a model's figures beside those of the others, and of methods that were measured in another run."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    before = known.get(name, {})
    if all(before.get(key) == found[key] for key in ("data_sets", "seeds")):
        found = {**found, **{part: {**before[part], **found[part]} for part in PARTS}}
    known[name] = found
    ordered = {one: known[one] for one in MODELS if one in known}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def relative(done: Mapping[str, Sequence[Sequence[float]]], key: str, n: int, which: int) -> float:
    """Logarithm of the loss after n trials, divided by that of the defaults."""
    name, dataset, _, seed = key.split("/")
    defaults = chosen(done[f"{name}/{dataset}/defaults/{seed}"], 1)[which]
    return float(np.log(chosen(done[key], n)[which] / defaults))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[name for name in MODELS if name in hs.library.names()])
    parser.add_argument("--methods", nargs="+", choices=tuple(TRIALS), default=tuple(TRIALS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--metric", help="instead of the log loss, the error rate or the RMSE")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("models.pieces"))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    columns = [(method, n) for method, n in COLUMNS if method in args.methods]
    titles = [method if method in ("FLAML", "no search") else f"{method}, {n}" for method, n in columns]
    print(f"| model | loss, data sets | {' | '.join(titles)} |")
    print("| --- | --- |" + " --- |" * len(columns))
    for name in args.models:
        keys = [
            f"{name}/{dataset}/{method}/{seed}"
            for dataset in problems.SET_ASIDE[MODELS[name].kind]
            for method in ("defaults", *args.methods)
            for seed in range(args.seeds)
        ]
        signature = {"trials": TRIALS, "metric": args.metric}
        compute = partial(search, metric=args.metric)
        done = pieces.run(keys, compute, args.work, signature=signature, jobs=args.jobs, label=name)
        found = figures(done, name, columns, args.seeds)
        print("\n".join(lines(name, found, columns)), flush=True)
        if args.write:
            keep(name, found)


if __name__ == "__main__":
    main()
