"""Regret over epochs: a pruner that has seen past learning curves, and Optuna's pruners, which have not.

python benchmarks/pruning.py

On the learning curves of TaskSet (../shared/suite, not part of this repository): 12 tasks, 1,000 settings of Adam, 51
checkpoints each. Each task is left out in turn; of every other one, the pruner knows 100 runs. The new task's runs come
in random order, the same for all pruners, through a real Optuna study, until as many epochs are spent as --trials whole
runs have. Regret is the distance to the task's best final loss, scaled to [0, 1] as in the judge of the suite; only
complete runs count. The last column is the share of studies in which a run was stopped that would have been the best of
those begun, by more than 1 % of the range. Finished studies are kept in --work.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import optuna
import pandas as pd

import headstart as hs
from suite import SUITE, judge

NAME, LENGTH, PAST = "taskset_adam8p", 51, 100
MARKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of the epochs
NOTICEABLE = 0.01

Pruner = Callable[[hs.History], optuna.pruners.BasePruner]
PRUNERS: dict[str, Pruner] = {
    "HeadstartPruner, rate 5 %": lambda past: hs.optuna.HeadstartPruner(past, rate=0.05),
    "HeadstartPruner, rate 10 %": lambda past: hs.optuna.HeadstartPruner(past, rate=0.1),
    "HeadstartPruner, rate 20 %": lambda past: hs.optuna.HeadstartPruner(past, rate=0.2),
    "MedianPruner": lambda past: optuna.pruners.MedianPruner(),
    "HyperbandPruner": lambda past: optuna.pruners.HyperbandPruner(max_resource=LENGTH),
    "WilcoxonPruner": lambda past: optuna.pruners.WilcoxonPruner(),
    "none": lambda past: optuna.pruners.NopPruner(),
}


def table() -> tuple[Any, pd.DataFrame]:
    """The table of the suite, and its learning curves with one row per step."""
    found = judge().Table(SUITE / f"{NAME}.parquet")
    configs = pd.read_parquet(SUITE / f"{NAME}.parquet").drop(columns="value")
    wide = configs.merge(pd.read_parquet(SUITE / f"{NAME}_curves.parquet"), on=["dataset", "config_id"])
    keys = ["dataset", "config_id", *found.columns]
    rows = wide.melt(id_vars=keys, var_name="step", value_name="value")
    return found, rows.assign(step=rows["step"].str[1:].astype(int))


def past_of(found: Any, rows: pd.DataFrame, task: str) -> hs.History:
    rng = np.random.default_rng(crc32(task.encode()))
    shown = rng.choice(rows["config_id"].unique(), PAST, replace=False)
    others = rows[(rows["dataset"] != task) & rows["config_id"].isin(shown)].drop(columns="config_id")
    return hs.History.from_frame(others, found.space(hs), task="dataset", step="step")


def studied(curves: np.ndarray, order: np.ndarray, pruner: optuna.pruners.BasePruner, epochs: int) -> list[list[int]]:
    """Runs that were begun, and how many epochs of each were made."""
    study = optuna.create_study(study_name="new", pruner=pruner)
    done: list[list[int]] = []
    spent = 0
    for run in order:
        if spent >= epochs:
            break
        trial = study.ask({"run": optuna.distributions.IntDistribution(0, len(curves) - 1)})
        made, stopped = 0, False
        for step, loss in enumerate(curves[run]):
            made = step + 1
            trial.report(float(loss), step)
            if step < LENGTH - 1 and trial.should_prune():
                stopped = True
                break
        spent += made
        done.append([int(run), made])
        final = float(curves[run][-1])
        if stopped:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        elif np.isfinite(final):
            study.tell(trial, final)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return done


def curve(regrets: np.ndarray, done: list[list[int]], epochs: int) -> np.ndarray:
    """Regret of the best complete run at each mark; 1 before the first."""
    runs, made = np.array(done).T
    best = np.minimum.accumulate(np.where(made == LENGTH, regrets[runs], 1.0))
    ended = np.searchsorted(np.cumsum(made), np.array(MARKS) * epochs, side="right")
    return np.where(ended == 0, 1.0, best[np.maximum(ended, 1) - 1])


def was_wrong(regrets: np.ndarray, done: list[list[int]]) -> bool:
    runs, made = np.array(done).T
    complete = made == LENGTH
    return bool(regrets[runs].min() < np.min(regrets[runs[complete]], initial=1.0) - NOTICEABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pruners", nargs="*", default=list(PRUNERS), choices=list(PRUNERS))
    parser.add_argument("--tasks", type=int, default=6, help="how many to leave out, spread evenly (0: all)")
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("build/pruning"), help="where finished studies are kept")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", module="optuna")  # Wilcoxon's does not prune runs that diverged, and says so
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    arguments.work.mkdir(parents=True, exist_ok=True)
    found, rows = table()
    epochs = LENGTH * arguments.trials
    everything: dict[str, list[tuple[np.ndarray, bool]]] = {name: [] for name in arguments.pruners}
    names = sorted(rows["dataset"].unique())
    some = min(arguments.tasks or len(names), len(names))
    for task in (names[i] for i in np.linspace(0, len(names) - 1, some).astype(int)):
        own = rows[rows["dataset"] == task].pivot(index="config_id", columns="step", values="value").to_numpy(float)
        regrets = judge().scores(found, own[:, -1])
        pasts: list[hs.History] = []
        for name in arguments.pruners:
            file = arguments.work / f"{task} {name} {arguments.trials} {arguments.repeats}.json"
            if not file.exists():
                pasts = pasts or [past_of(found, rows, task)]
                pruner = PRUNERS[name](pasts[0])
                orders = [np.random.default_rng([r, crc32(task.encode())]) for r in range(arguments.repeats)]
                done = [studied(own, rng.permutation(len(own)), pruner, epochs) for rng in orders]
                file.write_text(json.dumps(done))
            for run in json.loads(file.read_text()):
                everything[name].append((curve(regrets, run, epochs), was_wrong(regrets, run)))
    print(f"\n| epochs, of {epochs:,} | {' | '.join(f'{mark:g}' for mark in MARKS)} | epochs to the same | wrong |")
    print(f"| --- |{' --- |' * (len(MARKS) + 2)}")
    marks = {name: np.mean([regret for regret, _ in runs], axis=0) for name, runs in everything.items()}
    for name, runs in everything.items():
        cells = " | ".join(f"{regret:.4f}" for regret in marks[name])
        wrong = np.mean([mistake for _, mistake in runs])
        print(f"| {name} | {cells} | {_needed(marks, name)} | {wrong:.0%} |", flush=True)


def _needed(marks: dict[str, np.ndarray], name: str) -> str:
    """The share of the epochs after which the regret is that of the best of Optuna's pruners with all of them."""
    rivals = [marks[other][-1] for other in marks if not other.startswith("Headstart") and other != "none"]
    if not rivals:
        return ""
    reached = np.flatnonzero(marks[name] <= min(rivals) + 1e-12)
    return f"{MARKS[reached[0]]:g}" if len(reached) else "more than 1"


if __name__ == "__main__":
    main()
