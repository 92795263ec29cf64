"""Eight workers on one study with an objective that costs nothing: is anything tried twice, and is it faster than one?

python benchmarks/stress_workers.py [--trials 1000] [--storages sqlite journal postgresql] [--seed 0]

Trials per second of HeadstartSampler and of Optuna's TPESampler, and the processor time of a trial in its worker, which
depends less on what else the machine does. "Twice" counts configurations that two finished trials have in common. A
worker fails if it ends with an exception, for instance since a database is locked, or takes longer than LIMIT seconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import optuna
from optuna.trial import TrialState

import headstart as hs
from stress_kills import SPACE, STARTS, STORAGES, Outcome, fork, opened, place, run_alone

WORKERS, LIMIT = (1, 8), 900
SAMPLERS = ("HeadstartSampler", "TPESampler")


def objective(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 1e-3, 1e3, log=True)
    return (x - 0.3) ** 2 + abs(y - 1) / 1000 + (trial.suggest_categorical("kind", ["a", "b"]) == "b")


def sampler(kind: str, seed: int) -> optuna.samplers.BaseSampler:
    if kind == "TPESampler":
        return optuna.samplers.TPESampler()
    return hs.optuna.HeadstartSampler(hs.Start(SPACE, SPACE.sample(STARTS, seed=seed)))


def work(where: str, name: str, kind: str, trials: int, seed: int) -> None:
    signal.alarm(LIMIT)  # a deadlock would end the worker
    study = optuna.load_study(storage=opened(where), study_name=name, sampler=sampler(kind, seed))
    study.optimize(objective, n_trials=trials)


def one_study(
    where: str, name: str, kind: str, workers: int, trials: int, seed: int
) -> tuple[Outcome, int, float, float]:
    """What was tried twice, the workers that failed, trials per second, and processor seconds per trial."""
    run_alone(lambda: optuna.create_study(storage=opened(where), study_name=name))
    begin = time.monotonic()
    pids = [fork(work, where, name, kind, trials // workers, seed) for _ in range(workers)]
    ends = [os.wait4(pid, 0) for pid in pids]
    seconds = time.monotonic() - begin
    found = run_alone(lambda: counted(where, name))
    failed = sum(code != 0 for _, code, _ in ends)
    busy = sum(used.ru_utime + used.ru_stime for _, _, used in ends)
    return found, failed, found.finished / seconds, busy / max(found.finished, 1)


def counted(where: str, name: str) -> Outcome:
    trials = optuna.load_study(storage=opened(where), study_name=name).get_trials(
        deepcopy=False, states=[TrialState.COMPLETE]
    )
    times = Counter(tuple(sorted(t.params.items())) for t in trials)
    return Outcome(finished=len(trials), twice=sum(n > 1 for n in times.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="of eight workers; one worker runs an eighth")
    parser.add_argument("--storages", nargs="+", choices=STORAGES, default=STORAGES)
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=SAMPLERS)
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", "The value of `grace_period`")
    hs.optuna.HeadstartSampler(None, n_init=2, space=SPACE)
    warm_up = optuna.create_study(sampler=hs.optuna.HeadstartSampler(None, n_init=2))
    warm_up.optimize(objective, n_trials=4)  # loads what is imported on first use
    print(
        "| storage | sampler | workers | trials | twice | failed workers | trials per second | processor ms per trial |"
    )
    print("| --- | --- | --: | --: | --: | --: | --: | --: |")
    faults = 0
    for kind in args.storages:
        with tempfile.TemporaryDirectory() as folder, place(kind, Path(folder)) as where:
            for name in args.samplers:
                for workers in args.workers:
                    trials = args.trials if workers > 1 else max(args.trials // 8, 1)
                    found, failed, speed, busy = one_study(where, f"{name}-{workers}", name, workers, trials, args.seed)
                    counts = (
                        f"{workers} | {found.finished} | {found.twice} | {failed} | {speed:.1f} | {1000 * busy:.0f}"
                    )
                    print(f"| {kind} | {name} | {counts} |", flush=True)
                    faults += (found.twice + failed) * (name == "HeadstartSampler")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
