"""The cost of a sampler per trial, in CPU seconds: HeadstartSampler, TPESampler and GPSampler.

python benchmarks/optuna_overhead.py [--trials 100]

The objective is synthetic and costs nothing, on the space of the shipped SVM history. HeadstartSampler learns from that
history (55 tasks with 288 evaluations each); its first trial includes the learning.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import optuna

import headstart as hs


def objective(trial: optuna.Trial) -> float:
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])
    loss = math.log2(trial.suggest_float("C", 2**-5, 2**6, log=True)) ** 2 / 50
    if kernel == "rbf":
        return loss + math.log10(trial.suggest_float("gamma", 1e-4, 1e3, log=True)) ** 2 / 10
    return loss + (trial.suggest_int("degree", 2, 10) / 10 if kernel == "poly" else 0.5)


def cost(sampler: optuna.samplers.BaseSampler, trials: int) -> np.ndarray:
    """CPU seconds of each trial."""
    study = optuna.create_study(sampler=sampler)
    seconds = []
    for _ in range(trials):
        begin = time.process_time()
        trial = study.ask()
        value = objective(trial)
        study.tell(trial, value)
        seconds.append(time.process_time() - begin)
    return np.array(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {
        "TPESampler": optuna.samplers.TPESampler(seed=0),
        "GPSampler": optuna.samplers.GPSampler(seed=0),
        "HeadstartSampler, no history": hs.optuna.HeadstartSampler(None, seed=0),
        "HeadstartSampler, 55 past tasks": hs.optuna.HeadstartSampler(hs.library.load("svm"), seed=0),
    }
    cost(hs.optuna.HeadstartSampler(None, seed=0, n_init=2), 4)  # load everything that is imported on first use
    print("| sampler | first trial | trials 2-10 | 11-20 | 41-50 | 91-100 |\n| --- | --: | --: | --: | --: | --: |")
    for name, sampler in samplers.items():
        seconds = cost(sampler, args.trials)
        parts = [seconds[:1], seconds[1:10], seconds[10:20], seconds[40:50], seconds[90:100]]
        print(f"| {name} | {' | '.join(f'{part.mean():.3f}' if len(part) else '' for part in parts)} |", flush=True)


if __name__ == "__main__":
    main()
