"""Optuna studies that stand for a past, for tests: related tasks on one conditional objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import optuna

Objective = Callable[[optuna.Trial], float]
DIRECTION = optuna.study.StudyDirection


def svm(centre: float = 0.0, *, sign: float = 1.0) -> Objective:
    """A stand-in for a support vector machine: a bowl whose minimum moves with the task."""

    def objective(trial: optuna.Trial) -> float:
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])
        loss = (math.log2(trial.suggest_float("C", 2**-5, 2**6, log=True)) - centre) ** 2 / 50
        if kernel == "rbf":
            loss += (math.log10(trial.suggest_float("gamma", 1e-4, 1e3, log=True)) + 1) ** 2 / 10
        elif kernel == "poly":
            loss += 0.2 + abs(trial.suggest_int("degree", 2, 10) - 3) / 10
        else:
            loss += 0.5
        return sign * loss

    return objective


def fill(storage: Any, n: int = 4, trials: int = 15, *, name: str = "past", maximize: bool = False) -> Any:
    """n studies in a storage, each by random search; the storage."""
    for i in range(n):
        study = optuna.create_study(
            storage=storage,
            study_name=f"{name}-{i}",
            direction="maximize" if maximize else "minimize",
            sampler=optuna.samplers.RandomSampler(seed=i),
        )
        study.optimize(svm(i / 2, sign=-1.0 if maximize else 1.0), n_trials=trials)
    return storage


def memory(**settings: Any) -> Any:
    return fill(optuna.storages.InMemoryStorage(), **settings)
