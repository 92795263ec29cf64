"""How many trials Optuna's samplers and ours need until a trained model is within 1 % of the best known error.

python benchmarks/optuna_search.py [--seeds 10] [--trials 50] [--work DIR]

Support vector machines on five data sets of the shipped history, each left out of the history in turn. To avoid a
choice by hand, they are every eighth in alphabetical order of those whose 288 evaluations took at most a minute. The
best known error is the lowest of the 288 in the history, on the same split; within 1 % of it means at most 1.01 times
as many errors. A search ends when it gets there, or after 50 trials.
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import headstart as hs
from headstart.library import datasets, pieces, svm

METHODS = ("TPE cold", "TPE, our start queued", "GPSampler cold", "HeadstartSampler")
STARTS = 10


def objective(trial: optuna.Trial, *, part: svm.Split) -> float:
    config: dict[str, Any] = {"kernel": trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])}
    config["C"] = trial.suggest_float("C", svm.C_VALUES[0], svm.C_VALUES[-1], log=True)
    if config["kernel"] == "rbf":
        config["gamma"] = trial.suggest_float("gamma", svm.GAMMAS[0], svm.GAMMAS[-1], log=True)
    elif config["kernel"] == "poly":
        config["degree"] = trial.suggest_int("degree", svm.DEGREES[0], svm.DEGREES[-1])
    return svm.evaluate(part, config)[0]


def sampler_of(method: str, past: hs.History, features: Any, seed: int) -> optuna.samplers.BaseSampler:
    if method == "HeadstartSampler":
        return hs.optuna.HeadstartSampler(past, features=features, seed=seed)
    if method == "GPSampler cold":
        return optuna.samplers.GPSampler(seed=seed)
    startup = 0 if "start" in method else 10  # the queued start replaces TPE's random trials
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)


def search(key: str, *, trials: int) -> list[float]:
    """The errors of one search in order, up to the first that is close enough."""
    task, method, seed = key.split("/")
    history = hs.library.load("svm")
    past, features = history.drop(task), history[task].features
    enough = 1.01 * history[task].losses.min()
    study = optuna.create_study(sampler=sampler_of(method, past, features, int(seed)))
    if "start" in method:
        hs.optuna.enqueue(study, hs.learn(past, n=STARTS, features=features, seed=int(seed)), space=past.space)

    def stop(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.value is not None and trial.value <= enough + 1e-12:
            study.stop()

    part = svm.split(datasets.load(task))
    study.optimize(functools.partial(objective, part=part), n_trials=trials, callbacks=[stop])
    return [float(trial.value) for trial in study.trials if trial.value is not None]  # some may still be queued


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("optuna_search"))
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    history = hs.library.load("svm")
    quick = [task.name for task in history if np.sum(task.costs) <= 60]
    tasks = quick[:: len(quick) // 5][:5]
    keys = [f"{task}/{method}/{seed}" for seed in range(args.seeds) for task in tasks for method in METHODS]
    compute = functools.partial(search, trials=args.trials)
    done = pieces.run(keys, compute, args.work, signature={"trials": args.trials, "rule": 1.01}, jobs=args.jobs)
    print_table(done, tasks, history, args.seeds, args.trials)


def print_table(done: dict[str, list[float]], tasks: list[str], history: hs.History, seeds: int, trials: int) -> None:
    """Mean trials needed (one more than the limit for searches that did not get there), and how many got there."""
    print(f"\n| data set | best known | {' | '.join(METHODS)} |\n| --- | --: | {' | '.join(['--:'] * len(METHODS))} |")
    total: dict[str, list[int]] = {method: [] for method in METHODS}
    for task in tasks:
        enough = 1.01 * history[task].losses.min() + 1e-12
        cells = []
        for method in METHODS:
            runs = [done[f"{task}/{method}/{seed}"] for seed in range(seeds)]
            needed = [len(run) if run[-1] <= enough else trials + 1 for run in runs]
            total[method] += needed
            cells.append(f"{np.mean(needed):.1f} ({sum(n <= trials for n in needed)} of {seeds})")
        print(f"| {task} | {history[task].losses.min():.4f} | {' | '.join(cells)} |")
    means = [f"**{np.mean(n):.1f}** ({sum(k <= trials for k in n)} of {len(n)})" for n in total.values()]
    print(f"| all | | {' | '.join(means)} |")


if __name__ == "__main__":
    main()
