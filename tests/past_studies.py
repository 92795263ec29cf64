"""Past Optuna studies for tests: related tasks with one conditional objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import optuna

import headstart as hs
from headstart._support.direction import turned

Objective = Callable[[optuna.Trial], float]
SPACE = hs.Space(
    {
        "kernel": hs.Categorical(["rbf", "poly", "linear"]),
        "C": hs.Float(2**-5, 2**6, log=True),
        "gamma": hs.Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": hs.Int(2, 10, when={"kernel": "poly"}),
    }
)


def svm(centre: float = 0.0, *, direction: str = "minimize") -> Objective:
    """A stand-in for a support vector machine, with the space SPACE: a bowl whose minimum moves with the task."""

    def objective(trial: optuna.Trial) -> float:
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])
        loss = (math.log2(trial.suggest_float("C", 2**-5, 2**6, log=True)) - centre) ** 2 / 50
        if kernel == "rbf":
            loss += (math.log10(trial.suggest_float("gamma", 1e-4, 1e3, log=True)) + 1) ** 2 / 10
        elif kernel == "poly":
            loss += 0.2 + abs(trial.suggest_int("degree", 2, 10) - 3) / 10
        else:
            loss += 0.5
        return turned(loss, direction)

    return objective


def fill(
    storage: Any,
    n: int = 4,
    trials: int = 15,
    *,
    name: str = "past",
    direction: str = "minimize",
    objective: Callable[[int], Objective] | None = None,
    pruner: optuna.pruners.BasePruner | None = None,
) -> Any:
    """Run n studies by random search in a storage; returns the storage. objective: of each study, instead of `svm`."""
    for i in range(n):
        study = optuna.create_study(
            storage=storage,
            study_name=f"{name}-{i}",
            direction=direction,
            sampler=optuna.samplers.RandomSampler(seed=i),
            pruner=pruner,
        )
        study.optimize(objective(i) if objective else svm(i / 2, direction=direction), n_trials=trials)
    return storage


def memory(**settings: Any) -> Any:
    return fill(optuna.storages.InMemoryStorage(), **settings)
