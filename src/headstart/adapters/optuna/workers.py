"""Is the worker of a trial still alive? What a process can find out about another one.

A worker on this machine is looked up by its process number and the moment its process began, since numbers are used
again. The machine is named by its boot and by the process namespace, so that two containers are two machines. Nothing
is known about workers on other machines: only Optuna's heartbeat tells. Nor about a trial of ask and tell: whoever
tells its result may be another process than the one that asked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from optuna import Study
from optuna.storages import BaseStorage
from optuna.storages._heartbeat import BaseHeartbeat, get_heartbeat_thread, is_heartbeat_enabled
from optuna.trial import FrozenTrial

PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Worker:
    """The process that runs a trial from its beginning to its end."""

    machine: str
    pid: int
    born: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, entry: Any) -> Worker | None:
        """The worker that `to_json` described; None for anything else."""
        if not isinstance(entry, Mapping):
            return None
        machine, pid, born = (entry.get(name) for name in ("machine", "pid", "born"))
        if isinstance(machine, str) and isinstance(pid, int) and isinstance(born, str) and pid > 0:
            return cls(machine, pid, born)
        return None

    def is_here(self) -> bool:
        """Whether this machine can tell if the process has ended."""
        return self.machine == _machine()

    def has_ended(self) -> bool:
        """Whether the process is certainly gone. False if it is alive, or if this machine cannot tell."""
        if not self.is_here():
            return False
        try:
            os.kill(self.pid, 0)  # sends nothing; it only asks whether there is such a process
        except ProcessLookupError:
            return True
        except OSError:  # another user's
            return False
        born = _born(self.pid)
        return born is not None and born != self.born


def this_process() -> Worker | None:
    """This process; None if others cannot look it up."""
    machine, born = _machine(), _born(os.getpid())
    return None if machine is None or born is None else Worker(machine, os.getpid(), born)


def this_worker(study: Study) -> Worker | None:
    """This process, if it runs the study's trials itself; None under ask and tell, or if it cannot be looked up."""
    return this_process() if is_in_loop(study) else None


def is_in_loop(study: Study) -> bool:
    """Whether `study.optimize` runs in this thread, so that this process will finish the trial or die with it."""
    return bool(study._thread_local.in_optimize_loop)  # Study has no public getter


@lru_cache(maxsize=1)
def _machine() -> str | None:
    """A name for this machine while it is up and for this set of processes; None if it has no such name."""
    try:
        boot = (PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
        name = f"{boot} {(PROCESSES / 'self/ns/pid').stat().st_ino}"
        return hashlib.sha256(name.encode()).hexdigest()[:16]  # it is kept in storages that others read
    except OSError:  # not Linux
        return None


def _born(pid: int) -> str | None:
    """When a process began, in the system's own count; "" if it has ended and is only kept for its parent."""
    try:
        state, *fields = (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return "" if state in "ZX" else fields[18]


# -- heartbeats ------------------------------------------------------------------------------------------------


def has_heartbeat(storage: BaseStorage) -> bool:
    """Whether Optuna itself finds out which workers of this storage have died."""
    return is_heartbeat_enabled(storage)


@contextmanager
def heartbeat(study: Study, trial: FrozenTrial) -> Iterator[None]:
    """Optuna's heartbeat for the time before the objective runs, in which Optuna has none.

    The first beat is recorded before anything else, since Optuna never misses the heartbeat of a trial that had none.
    Optuna's thread alone may be slower than what follows, above all while others write to the database.
    """
    storage = study._storage
    if not (isinstance(storage, BaseHeartbeat) and has_heartbeat(storage) and is_in_loop(study)):
        yield
        return
    storage.record_heartbeat(trial._trial_id)
    with get_heartbeat_thread(trial._trial_id, storage):
        yield
