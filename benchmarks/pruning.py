"""Regret over epochs: a pruner that has seen past learning curves, and Optuna's pruners, which have not.

python benchmarks/pruning.py --jobs 2                             random configurations, on TaskSet
python benchmarks/pruning.py --curves networks --jobs 2           the same on small networks, trained here
python benchmarks/pruning.py --sampler TPESampler HeadstartSampler --trials 10 --repeats 1     samplers beside pruners

TaskSet (../shared/suite, not part of this repository): 12 tasks, 1,000 settings of Adam, 51 checkpoints each. The small
networks (curves_networks.py): 17 data sets, 500 settings, 40 epochs. Each task is left out in turn; of every other one,
the pruner knows 100 runs. The new task's runs come in random order, the same for all pruners, or as a sampler proposes
(moved to the nearest run that was not made), through a real Optuna study, until as many epochs are spent as --trials
whole runs have. Regret is the distance to the task's best final loss, scaled to [0, 1] as in the judge of the suite;
only complete runs count. "wrong" is the share of studies in which a run was stopped that would have been the best of
those begun, and in brackets by more than 1 % of the range. "to the same" is the share of the epochs after which the
regret is that of the best of Optuna's pruners at the end, with the same sampler; "to TPE's" compares with the best of
them beside TPE. "begun" is the mean number of runs. Finished studies are kept in --work.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import optuna
import pandas as pd
from joblib import Parallel, delayed

import headstart as hs
from curves_networks import networks
from suite import SUITE, judge

NAME, PAST = "taskset_adam8p", 100
MARKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of the epochs
SHARES = np.arange(1, 101) / 100
NOTICEABLE = 0.01

Pruner = Callable[[hs.History, int], optuna.pruners.BasePruner]
OURS: dict[str, Pruner] = {
    f"HeadstartPruner, rate {rate} %": lambda past, length, rate=rate: hs.optuna.HeadstartPruner(past, rate=rate / 100)
    for rate in (20, 30, 40)
}
RIVALS: dict[str, Pruner] = {
    "MedianPruner": lambda past, length: optuna.pruners.MedianPruner(),
    "PercentilePruner(25)": lambda past, length: optuna.pruners.PercentilePruner(25),
    "PatientPruner(MedianPruner, 2)": lambda past, length: optuna.pruners.PatientPruner(
        optuna.pruners.MedianPruner(), 2
    ),
    "SuccessiveHalvingPruner": lambda past, length: optuna.pruners.SuccessiveHalvingPruner(),
    "SuccessiveHalvingPruner, 3": lambda past, length: optuna.pruners.SuccessiveHalvingPruner(reduction_factor=3),
    "SuccessiveHalvingPruner, 2": lambda past, length: optuna.pruners.SuccessiveHalvingPruner(reduction_factor=2),
    "HyperbandPruner": lambda past, length: optuna.pruners.HyperbandPruner(max_resource=length),
    "WilcoxonPruner": lambda past, length: optuna.pruners.WilcoxonPruner(),
}
PRUNERS: dict[str, Pruner] = {**OURS, **RIVALS, "none": lambda past, length: optuna.pruners.NopPruner()}
Row = tuple[str, str]  # sampler and pruner
Sampler = Callable[[hs.History, int], optuna.samplers.BaseSampler]
SAMPLERS: dict[str, Sampler] = {
    "TPESampler": lambda past, seed: optuna.samplers.TPESampler(seed=seed),
    "HeadstartSampler": lambda past, seed: hs.optuna.HeadstartSampler(past, seed=seed),
}


class Family:
    """Tasks with the same configurations. curves: of each task, a row for each configuration, NaN where it diverged."""

    def __init__(self, space: hs.Space, configs: list[dict[str, Any]], curves: dict[str, np.ndarray], clip: float):
        self.space, self.configs, self.curves, self.clip = space, configs, curves, clip
        self.length = next(iter(curves.values())).shape[1]
        self.Z = space.encode_values(space.to_values(configs))

    def past_of(self, task: str) -> hs.History:
        rng = np.random.default_rng(crc32(task.encode()))
        shown = rng.choice(len(self.configs), PAST, replace=False)
        rows = [
            {"dataset": other, "step": step, "value": value, **self.configs[i]}
            for other, losses in self.curves.items()
            if other != task
            for i in shown
            for step, value in enumerate(losses[i])
        ]
        return hs.History.from_frame(pd.DataFrame(rows), self.space, task="dataset", step="step")

    def regrets(self, task: str) -> np.ndarray:
        return np.asarray(judge().scores(self, self.curves[task][:, -1]))


def taskset() -> Family:
    found = judge().Table(SUITE / f"{NAME}.parquet")
    frame = pd.read_parquet(SUITE / f"{NAME}.parquet").sort_values("config_id")
    wide = pd.read_parquet(SUITE / f"{NAME}_curves.parquet").sort_values("config_id")
    configs = found.configs(frame[frame["dataset"] == frame["dataset"].iloc[0]])
    steps = wide.columns.drop(["dataset", "config_id"])
    curves = {str(name): rows[steps].to_numpy(float) for name, rows in wide.groupby("dataset")}
    return Family(found.space(hs), configs, curves, found.clip)


FAMILIES: dict[str, Callable[[], Family]] = {
    "taskset": taskset,
    "networks": lambda: Family(*networks(Path("build/networks.npz")), clip=0.5),
}


class Order:
    """Which runs a study makes: in random order, or those nearest to what a sampler proposes."""

    def __init__(self, family: Family, rng: np.random.Generator, sampler: optuna.samplers.BaseSampler | None) -> None:
        self.family, self.sampler = family, sampler
        self.random = rng.permutation(len(family.configs))
        self.distributions = hs.optuna.to_distributions(family.space)

    def next(self, study: optuna.Study, done: list[list[int]]) -> tuple[optuna.Trial, int]:
        if self.sampler is None:
            run = int(self.random[len(done)])
            study.enqueue_trial(self.family.configs[run])
            return study.ask(self.distributions), run
        trial, space = study.ask(self.distributions), self.family.space
        distance = ((self.family.Z - space.encode_values(space.to_values([trial.params]))) ** 2).sum(axis=1)
        distance[[run for run, _ in done]] = np.inf
        return trial, int(distance.argmin())


def studied(curves: np.ndarray, order: Order, pruner: optuna.pruners.BasePruner, epochs: int) -> list[list[int]]:
    """Runs that were begun, and how many epochs of each were made."""
    sampler = order.sampler or optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(study_name="new", sampler=sampler, pruner=pruner)
    done: list[list[int]] = []
    while sum(made for _, made in done) < epochs and len(done) < len(curves):
        trial, run = order.next(study, done)
        made, stopped = 0, False
        for step, loss in enumerate(curves[run]):
            made = step + 1
            trial.report(float(loss), step)
            if made < len(curves[run]) and trial.should_prune():
                stopped = True
                break
        done.append([run, made])
        final = float(curves[run][-1])
        if stopped:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        elif np.isfinite(final):
            study.tell(trial, final)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return done


class Study(NamedTuple):
    """regret: of the best complete run at each share of the epochs; 1 before the first.

    missed: how much better a stopped run would have been than the best complete one.
    """

    regret: np.ndarray
    missed: float
    begun: int

    @classmethod
    def of(cls, regrets: np.ndarray, done: list[list[int]], epochs: int, length: int) -> Study:
        runs, made = np.array(done).T
        best = np.minimum.accumulate(np.where(made == length, regrets[runs], 1.0))
        ended = np.searchsorted(np.cumsum(made), SHARES * epochs, side="right")
        regret = np.where(ended == 0, 1.0, best[np.maximum(ended, 1) - 1])
        missed = float(np.min(regrets[runs[made == length]], initial=1.0) - regrets[runs].min())
        return cls(regret, missed, len(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", default="taskset", choices=list(FAMILIES))
    parser.add_argument("--pruners", nargs="*", default=list(PRUNERS), choices=list(PRUNERS))
    parser.add_argument("--sampler", nargs="*", default=["random"], choices=["random", *SAMPLERS])
    parser.add_argument("--tasks", type=int, default=0, help="how many to leave out, spread evenly (0: all)")
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("build/pruning"), help="where finished studies are kept")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    family = FAMILIES[arguments.curves]()
    names = sorted(family.curves)
    some = min(arguments.tasks or len(names), len(names))
    tasks = [names[i] for i in np.linspace(0, len(names) - 1, some).astype(int)]
    rows = [(sampler, name) for sampler in arguments.sampler for name in arguments.pruners]
    jobs = [(task, *row) for task in tasks for row in rows]
    made = Parallel(arguments.jobs)(delayed(kept)(arguments, family, *job) for job in jobs)
    epochs = family.length * arguments.trials
    found: dict[Row, list[Study]] = {row: [] for row in rows}
    for (task, *row), runs in zip(jobs, made, strict=True):
        regrets = family.regrets(task)
        found[row[0], row[1]] += [Study.of(regrets, run, epochs, family.length) for run in runs]
    report(found, epochs)


def kept(arguments: argparse.Namespace, family: Family, task: str, by: str, name: str) -> list[list[list[int]]]:
    """The studies of a sampler and a pruner on a task: from the folder, or made now."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", module="optuna")  # Wilcoxon's does not prune runs that diverged, and says so
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    epochs = family.length * arguments.trials
    what = f"{arguments.curves} {by} {task} {name} {arguments.trials}"
    past, studies = None, []
    for repeat in range(arguments.repeats):
        file = arguments.work / f"{what} {repeat}.json"
        if not file.exists():
            past = past or family.past_of(task)
            pruner = PRUNERS[name](past, family.length)  # anew: some of Optuna's keep what they saw
            sampler = SAMPLERS[by](past, repeat) if by in SAMPLERS else None
            order = Order(family, np.random.default_rng([repeat, crc32(task.encode())]), sampler)
            file.write_text(json.dumps(studied(family.curves[task], order, pruner, epochs)))
        studies.append(json.loads(file.read_text()))
    return studies


def report(found: dict[Row, list[Study]], epochs: int) -> None:
    curves = {row: np.mean([study.regret for study in studies], axis=0) for row, studies in found.items()}
    samplers = list(dict.fromkeys(sampler for sampler, _ in found))
    tpe = len(samplers) > 1 and "TPESampler" in samplers
    heads = ["to the same", *(["to TPE's"] if tpe else []), "wrong", "begun"]
    print(f"\n| epochs, of {epochs:,} | {' | '.join(f'{mark:g}' for mark in MARKS)} | {' | '.join(heads)} |")
    print(f"| --- |{' --- |' * (len(MARKS) + len(heads))}")
    for (sampler, name), studies in found.items():
        curve = curves[sampler, name]
        cells = [f"{curve[np.searchsorted(SHARES, mark - 1e-9)]:.3f}" for mark in MARKS]
        cells += [until(curve, curves, rival) for rival in (sampler, *(["TPESampler"] if tpe else []))]
        wrong = [np.mean([study.missed > least for study in studies]) for least in (0.0, NOTICEABLE)]
        cells += [f"{wrong[0]:.0%} ({wrong[1]:.0%})", f"{np.mean([study.begun for study in studies]):.0f}"]
        label = name if len(samplers) == 1 else f"{sampler}, {name}"
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def until(curve: np.ndarray, curves: dict[Row, np.ndarray], sampler: str) -> str:
    """The share of the epochs after which a curve is where the best of Optuna's pruners beside a sampler ends."""
    ends = [other[-1] for (by, name), other in curves.items() if by == sampler and name in RIVALS]
    reached = np.flatnonzero(curve <= min(ends) + 1e-12) if ends else []
    return f"{SHARES[reached[0]]:.2f}" if len(reached) else "> 1"


if __name__ == "__main__":
    main()
