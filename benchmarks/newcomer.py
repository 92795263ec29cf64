"""A newcomer's script: eight LightGBM studies are in a storage, and a ninth begins.

python benchmarks/newcomer.py [--methods ...] [--seeds 3] [--trials 30] [--jobs 1] [--work DIR]

LightGBM is not a dependency of headstart: `pip install lightgbm` first. Ten data sets with two classes, in a circle.
Each is the target once, and the eight that follow it are its past. The past is one study of 30 trials by TPE per data
set, all in one SQLite storage. The objective is the mean log loss of a 3-fold cross-validation on at most 300 rows.

A score is the distance of the best value so far to the best value that anyone saw on the target, divided by the
distance of the worst of 30 random trials to it: 0 is the best known, 1 the worst of random search. The table shows
means over targets and seeds; the standard error is that of the targets' means. Every search has a seed of its own.
Finished studies and searches are kept in the work folder, and the same command continues from there.
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import optuna
from lightgbm import LGBMClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import headstart as hs
from headstart.library import datasets, pieces

DATA = (
    "australian",
    "bupa",
    "german-numer",
    "ionosphere",
    "mammographic",
    "phoneme",
    "pima",
    "saheart",
    "spambase",
    "wdbc",
)
METHODS = ("TPESampler", "GPSampler", "TPESampler, our 10 enqueued", "HeadstartSampler")
PAST, STARTS, ROWS = 8, 10, 300
AFTER = (1, 5, 10, 30)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most ROWS rows of a data set, categories as numbers."""
    data = datasets.load(name)
    rows = np.random.default_rng(0).permutation(len(data.X))[:ROWS]
    X = data.X.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
    return X.to_numpy(float)[rows], np.unique(data.y, return_inverse=True)[1][rows]


def objective(trial: optuna.Trial, *, data: tuple[np.ndarray, np.ndarray]) -> float:
    model = LGBMClassifier(
        n_estimators=trial.suggest_int("n_estimators", 10, 80, log=True),
        learning_rate=trial.suggest_float("learning_rate", 0.01, 0.5, log=True),
        num_leaves=trial.suggest_int("num_leaves", 3, 48, log=True),
        min_child_samples=trial.suggest_int("min_child_samples", 2, 50, log=True),
        colsample_bytree=trial.suggest_float("colsample_bytree", 0.3, 1.0),
        subsample=trial.suggest_float("subsample", 0.4, 1.0),
        reg_lambda=trial.suggest_float("reg_lambda", 0.001, 100.0, log=True),
        subsample_freq=1,
        random_state=0,
        n_jobs=1,
        verbose=-1,
    )
    X, y = data
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    return float(
        np.mean([log_loss(y[test], model.fit(X[train], y[train]).predict_proba(X[test])) for train, test in folds])
    )


def past_of(target: str) -> list[str]:
    """The names of the eight past studies: the data sets that follow the target in the circle."""
    i = DATA.index(target)
    return [DATA[(i + k) % len(DATA)] for k in range(1, PAST + 1)]


def fill_storage(url: str, trials: int) -> None:
    """The past: one finished study by TPE per data set; one that was interrupted continues."""
    for number, name in enumerate(DATA):
        sampler = optuna.samplers.TPESampler(seed=1000 + number)
        study = optuna.create_study(storage=url, study_name=name, sampler=sampler, load_if_exists=True)
        left = trials - sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))
        if left > 0:
            study.optimize(functools.partial(objective, data=table(name)), n_trials=left)


def search(key: str, *, url: str, trials: int) -> list[float]:
    """The values of one new study, in order."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    target, method, number = key.split("/")
    seed = 100 * DATA.index(target) + int(number)  # or TPE would begin with the same configurations on every target
    past = past_of(target)
    if method == "HeadstartSampler":
        sampler: optuna.samplers.BaseSampler = hs.optuna.HeadstartSampler(url, studies=past, seed=seed)
    elif method == "GPSampler":
        sampler = optuna.samplers.GPSampler(seed=seed)
    elif method == "random":
        sampler = optuna.samplers.RandomSampler(seed=2000 + seed)
    else:
        sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(sampler=sampler)
    if "enqueued" in method:
        history = hs.History.from_optuna(url, past)
        hs.optuna.enqueue(study, hs.learn(history, n=STARTS, seed=seed), space=history.space)
    study.optimize(functools.partial(objective, data=table(target)), n_trials=trials)
    return [float(value) for trial in study.trials if (value := trial.value) is not None]


def scores(
    done: dict[str, list[float]], past: dict[str, list[float]], methods: Sequence[str], seeds: int
) -> dict[str, np.ndarray]:
    """Per method an array targets × seeds × trials."""
    result: dict[str, list[np.ndarray]] = {method: [] for method in methods}
    for target in DATA:
        known = [values for key, values in done.items() if key.startswith(f"{target}/")]
        best = min(map(min, [*known, past[target]]))
        scale = max(done[f"{target}/random/0"]) - best
        for method in methods:
            runs = np.array([done[f"{target}/{method}/{seed}"] for seed in range(seeds)])
            result[method].append((np.minimum.accumulate(runs, axis=1) - best) / scale)
    return {method: np.array(arrays) for method, arrays in result.items()}


def print_table(result: dict[str, np.ndarray], trials: int) -> None:
    after = [n for n in AFTER if n <= trials]
    print(f"\n| sampler | {' | '.join(map(str, after))} |\n| --- | {' | '.join(['--:'] * len(after))} |")
    for method, array in result.items():
        targets = array.mean(axis=1)
        error = targets.std(axis=0, ddof=1) / np.sqrt(len(targets))
        cells = [f"{targets[:, n - 1].mean():.4f} ± {error[n - 1]:.4f}" for n in after]
        print(f"| {method} | {' | '.join(cells)} |")
    print()
    tpe = result["TPESampler"].mean(axis=1)
    for method, array in result.items():
        if method == "TPESampler":
            continue
        ours = array.mean(axis=1)
        reached = np.flatnonzero(tpe.mean(axis=0) <= ours[:, STARTS - 1].mean())
        worth = str(reached[0] + 1) if len(reached) else f"more than {trials}"
        ahead = [f"{np.sum(ours[:, n - 1] < tpe[:, n - 1])}" for n in after]
        print(
            f"{STARTS} trials of {method} are worth {worth} of TPE's; it is ahead of TPE after "
            f"{' / '.join(map(str, after))} trials on {' / '.join(ahead)} of {len(tpe)} targets"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="TPESampler is always run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("newcomer"))
    args = parser.parse_args()
    methods = [method for method in METHODS if method in {"TPESampler", *args.methods}]
    warnings.simplefilter("ignore")  # LightGBM was fitted without column names
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    args.work.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{args.work / 'past.db'}"
    fill_storage(url, args.trials)
    keys = [f"{target}/random/0" for target in DATA]
    keys += [f"{target}/{method}/{seed}" for seed in range(args.seeds) for target in DATA for method in methods]
    compute = functools.partial(search, url=url, trials=args.trials)
    done = pieces.run(keys, compute, args.work, signature={"trials": args.trials, "rows": ROWS}, jobs=args.jobs)
    past = {name: [t.value for t in optuna.load_study(storage=url, study_name=name).trials] for name in DATA}
    print_table(scores(done, past, methods, args.seeds), args.trials)


if __name__ == "__main__":
    main()
