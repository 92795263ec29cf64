"""Journal files of Optuna, opened for reading only.

A journal is a list of operations, one JSON object a line. It has no numbers of studies and trials: they are counted
while it is replayed. So behind a line that cannot be understood, no number is certain any more, and reading ends there.
A line that changes a trial, however, can be skipped together with that trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from headstart.adapters.optuna.damage import LINE, Damage
from headstart.errors import FormatError

CHANGES_A_TRIAL = (5, 6, 7, 8, 9)  # op codes; see Optuna's JournalOperation


class Journal(JournalFileBackend):
    """The lines of a journal file, each read once. Nothing is locked or written."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.damaged: set[int] = set()  # ids of the trials that a damaged line was to change
        self.lines: Iterator[bytes] = iter(())
        self.number = 0  # of the latest line, from 1
        self.latest: Any = None  # its operation

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        for line in self.lines:
            self.number, self.latest = self.number + 1, None
            if not line.endswith(b"\n"):
                return  # its writer is not done, or died
            self.latest = json.loads(line)
            yield self.latest

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        raise FormatError(f"{self._file_path} is open for reading only")


def open_journal(path: Path, damage: Damage) -> JournalStorage:
    """A journal, replayed as far as it can be read."""
    journal = Journal(path)
    storage = JournalStorage(journal)
    with path.open("rb") as file:
        journal.lines = iter(file)
        while (error := _replayed(storage)) is not None:
            trial = _changed_trial(storage, journal.latest)
            if trial is None:
                _stop(journal, damage, error)
            else:
                _skip(storage, journal, trial, damage, error)
    journal.lines = iter(())
    return storage


def _replayed(storage: JournalStorage) -> Exception | None:
    """Replay what is left; returns the error that ended it, if any."""
    try:
        storage._sync_with_backend()  # there is no public way to go on behind an error
    except OSError:
        raise
    except Exception as error:
        return error
    return None


def _changed_trial(storage: JournalStorage, log: Any) -> int | None:
    """The id of the trial that an operation changes; None if it is not certain that it changes nothing else."""
    if not isinstance(log, dict) or log.get("op_code") not in CHANGES_A_TRIAL:
        return None
    trial = log.get("trial_id")
    return trial if isinstance(trial, int) and trial in storage._replay_result._trials else None


def _skip(storage: JournalStorage, journal: Journal, trial: int, damage: Damage, error: Exception) -> None:
    if trial not in journal.damaged:
        replayed = storage._replay_result
        study = replayed._studies.get(replayed._trial_id_to_study_id[trial])
        damage.trial(study.study_name if study else "?", replayed._trials[trial].number, error)
        journal.damaged.add(trial)


def _stop(journal: Journal, damage: Damage, error: Exception) -> None:
    number = journal.number
    rest = sum(1 for _ in journal.lines)
    damage.found(f"line {number}", LINE, error, 1 + rest)
