"""Worker processes on one study: python optuna_workers.py STORAGE WORKERS TRIALS [START] [--die NUMBER].

The workers are forked from one process that has loaded everything, so they begin at the same moment. They follow the
start file, or without one learn from the studies past-* of the storage. --die: the worker that gets the trial with this
number is killed during it.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import optuna
import sqlalchemy

import headstart as hs
from past_studies import svm


def open_storage(where: str) -> optuna.storages.BaseStorage:
    if "://" in where:
        heartbeat = {"heartbeat_interval": 1, "grace_period": 2} if "--die" in sys.argv else {}
        return optuna.storages.RDBStorage(where, **heartbeat)
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(where))


def wait_for_heartbeat(storage: optuna.storages.BaseStorage, trial: int) -> None:
    """Return once the trial's first heartbeat is stored: without one, Optuna never declares a dead trial stale."""
    query = sqlalchemy.text("SELECT COUNT(*) FROM trial_heartbeats WHERE trial_id = :trial")
    engine = getattr(storage, "_backend", storage).engine
    for _ in range(600):
        with engine.connect() as connection:
            if connection.execute(query, {"trial": trial}).scalar():
                return
        time.sleep(0.05)


def work(where: str, trials: int, start: str | None, deadly: int) -> None:
    objective = svm(1.2)

    def evaluate(trial: optuna.Trial) -> float:
        loss = objective(trial)
        if trial.number == deadly:
            wait_for_heartbeat(storage, trial._trial_id)
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
        return loss

    storage = open_storage(where)
    past, studies = (hs.Start.load(start), None) if start else (where, "past-*")
    sampler = hs.optuna.HeadstartSampler(past, studies=studies)
    optuna.load_study(storage=storage, study_name="new", sampler=sampler).optimize(evaluate, n_trials=trials)


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    where, workers, trials = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    start = sys.argv[4] if len(sys.argv) > 4 and sys.argv[4].endswith(".json") else None
    deadly = int(sys.argv[-1]) if "--die" in sys.argv else -1
    warm_up = optuna.create_study(sampler=hs.optuna.HeadstartSampler(None, n_init=2))
    warm_up.optimize(svm(), n_trials=4)  # loads the modules that are imported on first use
    pids = []
    for _ in range(workers):
        pid = os.fork()
        if pid == 0:
            try:
                work(where, trials, start, deadly)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print(*codes)


if __name__ == "__main__":
    main()
