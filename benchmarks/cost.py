"""Regret over time: searches that know what a trial costs, and searches that do not.

python benchmarks/cost.py                               the table of benchmarks/README.md
python benchmarks/cost.py --tables hpobench_mlp --tasks 4
python benchmarks/cost.py --tables adaboost svm lightgbm-regression --tasks 6
python benchmarks/cost.py --tables text_pipelines --methods "auto, cost" "auto, true cost" auto --tasks 4

On the tables of the suite that have seconds (../shared/suite, not part of this repository), and on histories that ship
with the package. Each data set is left out in turn; of every other one, a search knows the rows with their seconds, at
most 100 of a table. It may try the rows of the new one, and
a trial takes the seconds that the table gives. The budget is that of an average row times --budget. Regret is the
distance to the data set's best, scaled to [0, 1] as in the judge of the suite; a trial counts when it has ended, and
before the first one regret is 1. Only the seconds of trials count, not those of choosing them. Finished searches are
kept in --work, so a run can be interrupted and continued. The last column has the shares of the budget after which a
method has the regret that `auto` has after 0.4 of it and after all of it. "auto, true cost" is an oracle: "auto, cost"
with the seconds that each row will take, in place of the model of cost.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np
import optuna
import pandas as pd
from scipy.spatial.distance import cdist

import headstart as hs
from headstart.surrogates.costs import CostPosterior
from suite import SUITE, judge

TABLES = ("text_pipelines", "hpobench_mlp", "quantile_deepar")
LIBRARY = (
    "adaboost",
    "svm",
    "lightgbm-regression",
    "hist-gradient-boosting-regression",
    "random-forest-classification",
)
METHODS = ("auto, cost", "auto", "TPE", "GPSampler", "random")
MARKS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the budget
TIMES = np.arange(1, 401) / 400  # of the budget
N_INIT, MOST = 5, 100  # of the start; trials at most
RANDOM = 50  # repetitions of random search


class New:
    """A left-out data set. history: the others."""

    def __init__(self, name: str, space: hs.Space, configs: list[Any], budget: float) -> None:
        self.name, self.space, self.configs, self.trials = name, space, configs, budget
        self.places = {json.dumps(config, sort_keys=True): i for i, config in enumerate(configs)}

    def measured(self, losses: np.ndarray, seconds: np.ndarray, clip: float) -> None:
        self.losses, self.seconds = losses, seconds
        self.regrets = judge().scores(SimpleNamespace(clip=clip), losses)
        self.budget = self.trials * float(seconds.mean())

    def history(self) -> hs.History:
        raise NotImplementedError

    def value(self, i: int) -> float | None:
        return float(self.losses[i]) if np.isfinite(self.losses[i]) else None


class OfTable(New):
    def __init__(self, table: Any, name: str, budget: float) -> None:
        rows = table.new[name].dropna(subset=["seconds"]).reset_index(drop=True)
        super().__init__(name, table.space(hs), table.configs(rows), budget)
        self.table = table
        self.measured(rows.value.to_numpy(float), rows.seconds.to_numpy(float), table.clip)

    def history(self) -> hs.History:
        others = [self.table.past[other] for other in self.table.train if other != self.name]
        rows = pd.concat(others, ignore_index=True).astype({"dataset": str})
        columns = ["dataset", *self.table.columns, "value", "seconds"]
        return hs.History.from_frame(rows[columns], self.space, task="dataset", cost="seconds")


class OfHistory(New):
    def __init__(self, history: hs.History, name: str, budget: float) -> None:
        task = history[name]
        assert task.costs is not None
        configs = history.space.from_values(history.V[task.rows])
        super().__init__(name, history.space, configs, budget)
        self.whole = history
        self.measured(task.losses, np.maximum(task.costs, task.costs[task.costs > 0].min()), 1.0)

    def history(self) -> hs.History:
        return self.whole.drop(self.name)


def news_of(name: str, budget: float, tasks: int) -> list[New]:
    """Data sets of a table or a history, spread evenly."""
    if name in TABLES:
        table = judge().Table(SUITE / f"{name}.parquet")
        names, make = list(table.new), lambda task: OfTable(table, task, budget)
    else:
        history = hs.library.load(name)
        names, make = history.tasks, lambda task: OfHistory(history, task, budget)
    some = min(tasks or len(names), len(names))
    return [make(names[i]) for i in np.unique(np.linspace(0, len(names) - 1, some).astype(int))]


@contextmanager
def oracle(new: New) -> Iterator[None]:
    """While it lasts, the model of cost knows what each row will take."""
    Z, logs = new.space.encode_values(new.space.to_values(new.configs)), np.log(new.seconds)

    def log_cost(self: CostPosterior, asked: np.ndarray) -> np.ndarray:
        return np.asarray(logs[cdist(asked, Z).argmin(axis=1)])

    with mock.patch.object(CostPosterior, "log_cost", log_cost):
        yield


def headstart(new: New, seed: int, *, cost: bool) -> list[int]:
    paid: dict[str, Any] = {"cost": "seconds", "budget": new.budget} if cost else {}
    optimizer = hs.Optimizer(new.space, new.history(), n_init=N_INIT, candidates=new.configs, seed=seed, **paid)
    tried: list[int] = []
    while goes_on(new, tried):
        config = optimizer.ask()
        tried.append(new.places[json.dumps(config, sort_keys=True)])
        optimizer.tell(config, new.value(tried[-1]), float(new.seconds[tried[-1]]))
    return tried


def by_optuna(new: New, sampler: optuna.samplers.BaseSampler) -> list[int]:
    """Optuna searches the whole space; its proposal is moved to the nearest row that was not tried."""
    space = new.space
    distributions = hs.optuna.to_distributions(space)
    Z = space.encode_values(space.to_values(new.configs))
    study = optuna.create_study(sampler=sampler)
    tried: list[int] = []
    while goes_on(new, tried):
        asked = study.ask(distributions)
        distance = ((Z - space.encode_values(space.to_values([active(space, asked.params)]))) ** 2).sum(axis=1)
        distance[tried] = np.inf
        tried.append(int(distance.argmin()))
        value = new.value(tried[-1])
        study.tell(asked, state=optuna.trial.TrialState.FAIL) if value is None else study.tell(asked, value)
    return tried


def active(space: hs.Space, params: dict[str, Any]) -> dict[str, Any]:
    """Only the active parameters: Optuna's samplers do not know conditions."""
    kept: dict[str, Any] = {}
    for name in space.parents_first:
        when = space[name].when or {}
        if all(kept.get(parent) in allowed for parent, allowed in when.items()):
            kept[name] = params[name]
    return kept


def goes_on(new: New, tried: list[int]) -> bool:
    return len(tried) < min(MOST, len(new.configs)) and float(new.seconds[tried].sum()) < new.budget


def searched(new: New, method: str, seed: int) -> list[list[int]]:
    """The rows that a method tries, in order; several repetitions for random search."""
    if method == "random":
        rng = np.random.default_rng(seed)
        return [rng.permutation(len(new.configs))[:1000].tolist() for _ in range(RANDOM)]
    if method == "TPE":
        return [by_optuna(new, optuna.samplers.TPESampler(seed=seed))]
    if method == "GPSampler":
        return [by_optuna(new, optuna.samplers.GPSampler(seed=seed))]
    with oracle(new) if method == "auto, true cost" else nullcontext():
        return [headstart(new, seed, cost=method != "auto")]


def curve(new: New, tried: list[int], at: np.ndarray) -> np.ndarray:
    """Regret at some shares of the budget."""
    ends, best = np.cumsum(new.seconds[tried]), np.minimum.accumulate(new.regrets[tried])
    ended = np.searchsorted(ends, at * new.budget, side="right")
    return np.where(ended == 0, 1.0, best[np.maximum(ended, 1) - 1])


def mean_curve(news: list[New], runs: list[list[list[int]]], at: np.ndarray) -> np.ndarray:
    """Regret averaged over data sets, and over repetitions of each."""
    each = [np.mean([curve(new, run, at) for run in of], axis=0) for new, of in zip(news, runs, strict=True)]
    return np.asarray(np.mean(each, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=[*TABLES, *LIBRARY], choices=[*TABLES, *hs.library.names()])
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--tasks", type=int, default=8, help="data sets of each table, spread evenly (0: all)")
    parser.add_argument("--budget", type=float, default=15.0, help="in average trials")
    parser.add_argument("--work", type=Path, default=Path("build/cost"), help="where finished searches are kept")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    arguments.work.mkdir(parents=True, exist_ok=True)
    for name in arguments.tables:
        news = news_of(name, arguments.budget, arguments.tasks)
        found = {method: [kept(arguments, name, new, method) for new in news] for method in arguments.methods}
        report(name, news, found)


def kept(arguments: argparse.Namespace, table: str, new: New, method: str) -> list[list[int]]:
    """The searches of a method on a data set: from the folder, or made now."""
    file = arguments.work / f"{table} {new.name} {method} {arguments.budget:g}.json"
    if not file.exists():
        file.write_text(json.dumps(searched(new, method, crc32(new.name.encode()))))
    tried: list[list[int]] = json.loads(file.read_text())
    return tried


def report(name: str, news: list[New], found: dict[str, list[list[list[int]]]]) -> None:
    print(f"\n| {name} ({len(news)} data sets) | {' | '.join(f'{mark:g}' for mark in MARKS)} | auto's at 0.4, at 1 |")
    print(f"| --- |{' --- |' * (len(MARKS) + 1)}")
    for method, runs in found.items():
        regret = mean_curve(news, runs, np.array(MARKS))
        cells = " | ".join(f"{r:.4f}" for r in regret)
        print(f"| {method} | {cells} | {_compared(news, found, method)} |", flush=True)


def _compared(news: list[New], found: dict[str, list[list[list[int]]]], method: str) -> str:
    """The shares of the budget after which regret is what `auto` has after 0.4 of it, and after all of it."""
    if "auto" not in found:
        return ""
    own, reference = (mean_curve(news, found[name], TIMES) for name in (method, "auto"))
    shares = []
    for mark in (0.4, 1.0):
        reached = np.flatnonzero(own <= reference[np.searchsorted(TIMES, mark + 1e-9) - 1] + 1e-12)
        shares.append(f"{TIMES[reached[0]]:.2g}" if len(reached) else "> 1")
    return ", ".join(shares)


if __name__ == "__main__":
    main()
