"""Learns a start from a history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted
from headstart.errors import ArgumentError
from headstart.history import Features, History
from headstart.history.past import past_runs, required
from headstart.history.task import checked_features
from headstart.space import Space
from headstart.starts.start import Start
from headstart.strategies.base import Strategy, Told
from headstart.strategies.names import for_tasks, resolve_strategy, strategy_name
from headstart.transfer.models import TaskModels

MOST = 10  # configurations of a start whose number is learned
FOLDS = 5  # groups of tasks left out in turn for the estimate, which takes so many times as long as learning; a guess
LONGEST = 1_000  # configurations of a start; a guess: nobody tries more, and choosing them takes minutes
NOTICEABLE = 0.01  # of a task's range: a smaller gain serves nobody; a guess


@one_thread
def learn(
    history: Any,
    n: int = 10,
    method: Any = "auto",
    features: Features | None = None,
    seed: int = 0,
    *,
    space: Any = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    estimate: bool = True,
) -> Start:
    """Learn the n configurations to try first on a new task.

    history: past runs: a History, the name of a shipped one, a file, a folder, a storage URL or object, a study, a data
        frame, a Store, or a list of these.
    method: the name of a strategy, or a strategy object. Adaptive methods propose as if no results came in.
    features: the new task's meta-features, for methods that use them.
    space: the search space of the new task, if it differs from theirs.
    rename, fill: for the conversion to it, as for `reconcile`.
    estimate: whether to estimate `Start.expected` on tasks that are left out. It takes several times as long as
        learning alone.
    """
    features = checked_features(features)
    history = required(past_runs(history, space, rename=rename, fill=fill))
    n, seed = number_of(n, history.space), whole("seed", seed, 0)
    strategy = for_tasks(resolve_strategy(method), history.tasks)
    V, models = _planned(strategy, history, n, features, seed)
    F, shares = models.sampled_responses(V)
    served = np.bincount(F.argmin(axis=0), weights=shares, minlength=len(V))
    return Start(
        history.space,
        history.space.from_values(V),
        serves=apportioned(np.asarray(served, dtype=float), len(models)),
        expected=_expected(strategy, models, n, features is not None, seed) if estimate else [],
        method=strategy_name(method),
        seed=seed,
        tasks=len(models),
    )


def _planned(
    strategy: Strategy, history: History, n: int, features: Features | None, seed: int
) -> tuple[Array, TaskModels]:
    """V of the n configurations that a strategy proposes, and the models behind them."""
    models_rng, rng = (np.random.default_rng([seed, i]) for i in range(2))
    models = TaskModels(history, rng=models_rng)
    return _proposed(strategy, models, n, features, rng), models


def _proposed(
    strategy: Strategy, models: TaskModels, n: int, features: Features | None, rng: np.random.Generator
) -> Array:
    """V of the n configurations that a strategy proposes if no results come in."""
    run = strategy.begin(models, n=n, features=features, rng=rng)
    told = Told.nothing(models.space)
    for _ in range(n):
        told = told.and_(run.ask(told))
    return told.V


def _expected(strategy: Strategy, models: TaskModels, n: int, with_features: bool, seed: int) -> list[float]:
    """For 1 … n configurations, the lowest loss on tasks that took no part in choosing them, averaged over tasks.

    The tasks are left out in FOLDS groups, or one by one if there are few; of very many, those of the population. A
    configuration that a task did not try has the loss that the population predicts for this task. A single task cannot
    be left out: no estimate.
    """
    if len(models) < 2:
        return []
    population = models.population
    history = models.history.only([models.history.tasks[t] for t in population.tasks])
    names, folds = history.tasks, min(len(history), FOLDS)
    reached = np.empty((n, len(history)))
    for fold in range(folds):
        left_out = range(fold, len(history), folds)
        others = history.drop([names[t] for t in left_out])
        for group in [[t] for t in left_out] if with_features else [left_out]:
            features = history[names[group[0]]].features if with_features else None
            V, _ = _planned(strategy, others, n, features, seed)
            reached[:, group] = np.minimum.accumulate(models.population_responses(V)[:, group])
    return [round(max(0.0, float(x)), 6) for x in reached @ population.shares]


def number_of(n: Any, space: Space) -> int:
    """The number of configurations to propose; an error if the space has fewer, or if nobody could want so many."""
    number = whole("n", n, 1)
    if number > LONGEST:
        raise ArgumentError(
            f"n={number:,}, but a start has at most {LONGEST:,} configurations", "ask for fewer with {n}"
        )
    if number > space.size:
        there = counted(int(space.size), "configuration")
        raise ArgumentError(
            f"n={number}, but the space has only {there}", f"ask for at most {int(space.size):,} with {{n}}"
        )
    return number


def worthwhile(
    strategy: Strategy, models: TaskModels, features: Features | None, rng: np.random.Generator, most: int = MOST
) -> int:
    """How many configurations of a start are worth trying: all before the first that serves nobody.

    A configuration serves a past task if it is better there than all before it, by at least NOTICEABLE.
    """
    most = int(min(most, models.space.size))
    F, shares = models.sampled_responses(_proposed(strategy, models, most, features, rng))
    better = F[1:] < np.minimum.accumulate(F, axis=0)[:-1] - NOTICEABLE
    nobody = np.flatnonzero(better @ shares * len(models) < 0.5)  # shares of tasks need not be whole tasks
    return int(nobody[0]) + 1 if len(nobody) else len(F)


def apportioned(shares: Array, total: int) -> list[int]:
    """Whole numbers that add up to `total`, in proportion to the shares (which sum to 1), by largest remainder."""
    exact = shares * total
    counts = np.floor(exact + 1e-9)
    left = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    return [int(count) for count in counts]
