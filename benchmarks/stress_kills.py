"""Workers killed at random moments: is anything lost, tried twice or never tried, and does anybody wait?

python benchmarks/stress_kills.py [--kills 334] [--others 60] [--storages sqlite journal postgresql] [--seed 0]

Four workers share a study with a start of twelve configurations. One of them after the other is killed (SIGKILL) at a
random moment, while it chooses, writes or evaluates, and replaced. When a study has had its share of kills, the workers
finish in peace. The storages have no heartbeat, so that only the sampler can find out who is dead.

Beside it, Optuna's TPESampler with the same configurations in its queue, and with all that Optuna offers against dead
workers: in databases a heartbeat of one second and its callback for another attempt; a journal has no heartbeat. Its
workers stop when all configurations are complete, or when there was nothing to wait for in five seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState

import headstart as hs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from postgres import server

WORKERS, STARTS, KILLS = 4, 12, 20  # KILLS: of one study
IN_VAIN = 5.0  # seconds without a configuration of the start after which a worker of TPESampler stops
SPACE = hs.Space({"x": hs.Float(0, 1), "y": hs.Float(1e-3, 1e3, log=True), "kind": hs.Categorical(["a", "b"])})
STORAGES = ("sqlite", "journal", "postgresql")


@dataclass
class Outcome:
    """What happened in some studies."""

    kills: int = 0
    finished: int = 0
    lost: int = 0
    twice: int = 0
    never: int = 0
    longest: float = 0.0  # seconds that a trial took to choose, with all its waiting

    def __add__(self, other: Outcome) -> Outcome:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Outcome(**{**sums, "longest": max(self.longest, other.longest)})


def opened(where: str, *, heartbeat: bool = False) -> optuna.storages.BaseStorage:
    if "://" in where:
        if not heartbeat:
            return optuna.storages.RDBStorage(where)
        again = optuna.storages.RetryHeartbeatStaleTrialCallback()
        return optuna.storages.RDBStorage(
            where, heartbeat_interval=1, grace_period=2, heartbeat_stale_trial_callback=again
        )
    lock = optuna.storages.journal.JournalFileSymlinkLock(where, grace_period=2)  # of those who die holding it
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(where, lock))


def work(where: str, name: str, start: hs.Start | None, log: Path, seed: int) -> None:
    """Run trials until all configurations of the start are complete. start: None if they are in Optuna's queue."""
    rng, out = random.Random(seed), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    last = time.monotonic()

    def note(kind: str, what: float) -> None:
        os.write(out, f"{kind} {what}\n".encode())  # one write of a short line is whole or not there

    def timed(sampler: type[optuna.samplers.BaseSampler]) -> type[optuna.samplers.BaseSampler]:
        class Timed(sampler):
            def before_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
                begin = time.monotonic()
                super().before_trial(study, trial)
                note("chose", time.monotonic() - begin)

        return Timed

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 1e-3, 1e3, log=True)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        time.sleep(0.1 * rng.random())
        return (x - 0.3) ** 2 + abs(y - 1) / 1000 + (kind == "b")

    def finished(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        nonlocal last
        note("finished", trial.number)
        if "headstart:start" in trial.user_attrs:
            last = time.monotonic()
        if len(complete_starts(study)) == STARTS or (start is None and time.monotonic() > last + IN_VAIN):
            study.stop()

    if start is not None:
        sampler, storage = timed(hs.optuna.HeadstartSampler)(start), opened(where)
    else:
        sampler, storage = timed(optuna.samplers.TPESampler)(seed=seed), opened(where, heartbeat=True)
    optuna.load_study(storage=storage, study_name=name, sampler=sampler).optimize(objective, callbacks=[finished])


def complete_starts(study: optuna.Study) -> Counter[int]:
    trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    return Counter(t.user_attrs["headstart:start"] for t in trials if "headstart:start" in t.user_attrs)


def fork(function, *arguments) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function(*arguments)
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return pid


def one_study(where: str, name: str, kills: int, seed: int, folder: Path, *, ours: bool = True) -> Outcome:
    rng, log = random.Random(seed), folder / f"{name}.txt"
    start = hs.Start(SPACE, SPACE.sample(STARTS, seed=seed))

    def create() -> None:
        study = optuna.create_study(storage=opened(where), study_name=name)
        for i, config in enumerate([] if ours else start.configs):
            study.enqueue_trial(config, user_attrs={"headstart:start": i})

    run_alone(create)
    given = start if ours else None
    begin = lambda: fork(work, where, name, given, log, rng.randrange(2**31))  # noqa: E731
    pids = [begin() for _ in range(WORKERS)]
    killed = 0
    while killed < kills:
        time.sleep(0.4 * rng.random() ** 2)
        i = rng.randrange(WORKERS)
        os.kill(pids[i], signal.SIGKILL)
        os.waitpid(pids[i], 0)
        killed += 1
        pids[i] = begin()
    for pid in pids:
        os.waitpid(pid, 0)
    notes = [line.split() for line in log.read_text().splitlines()]
    reported = {int(what) for kind, what in notes if kind == "finished"}
    waits = [float(what) for kind, what in notes if kind == "chose"]
    return run_alone(lambda: _counted(opened(where), name, reported, killed, max(waits)))


def _counted(storage: optuna.storages.BaseStorage, name: str, reported: set[int], kills: int, wait: float) -> Outcome:
    study = optuna.load_study(storage=storage, study_name=name)
    complete = {t.number for t in study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])}
    starts = complete_starts(study)
    twice = sum(n > 1 for n in starts.values())
    return Outcome(kills, len(complete), len(reported - complete), twice, STARTS - len(starts), wait)


def run_alone(function):
    """The result of a function, called in a process of its own: this one must keep no connection when it forks."""
    read, write = os.pipe()

    def call() -> None:
        result = function()
        os.write(write, json.dumps(vars(result) if isinstance(result, Outcome) else None).encode())

    pid = fork(call)
    os.close(write)
    with os.fdopen(read) as pipe:
        result = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return None if result is None else Outcome(**result)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    """Where the studies of this kind of storage are kept."""
    if kind == "postgresql":
        with server() as url:
            yield url
    else:
        yield f"sqlite:///{folder}/runs.db" if kind == "sqlite" else f"{folder}/journal.log"


def campaign(kind: str, kills: int, seed: int, *, ours: bool = True) -> Outcome:
    total = Outcome()
    with tempfile.TemporaryDirectory() as folder, place(kind, Path(folder)) as where:
        while total.kills < kills:
            n = min(KILLS, kills - total.kills)
            total += one_study(where, f"study-{total.kills}", n, seed + total.kills, Path(folder), ours=ours)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=334, help="kills of each storage")
    parser.add_argument("--others", type=int, default=60, help="the same with Optuna's TPESampler")
    parser.add_argument("--storages", nargs="+", choices=STORAGES, default=STORAGES)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", "The value of `grace_period`")
    warnings.simplefilter("ignore", ExperimentalWarning)  # of Optuna's heartbeat
    warm_up = optuna.create_study(sampler=hs.optuna.HeadstartSampler(None, n_init=2, space=SPACE))
    warm_up.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)  # loads what is imported on first use
    wrong = 0
    print("| sampler | storage | kills | finished trials | lost | starts tried twice | never | longest choice |")
    print("| --- | --- | --: | --: | --: | --: | --: | --: |")
    for sampler, kills in (("HeadstartSampler", args.kills), ("TPESampler", args.others)):
        for kind in args.storages if kills else ():
            found = campaign(kind, kills, args.seed, ours=sampler == "HeadstartSampler")
            wrong += (found.lost + found.twice + found.never) * (sampler == "HeadstartSampler")
            counts = f"{found.kills} | {found.finished} | {found.lost} | {found.twice} | {found.never}"
            print(f"| {sampler} | {kind} | {counts} | {found.longest:.1f} s |", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
