"""A store: the runs of headstart's own searches, kept as Optuna studies.

Every run is a study. The first one of a task has the name of the task, later ones have a number behind it, as in
"churn (2)"; the attribute `headstart:task` holds the name itself, and a history has all runs of a task as one. Only the
creation of a study can collide with another process, and the storage decides who was first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy
from optuna import Study, create_study
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from headstart._support.files import is_special, writable
from headstart._support.log import log
from headstart._support.wording import counted
from headstart.adapters.optuna.attributes import ORIGIN, RUN, TASK, WHY
from headstart.adapters.optuna.damage import Damage, reason
from headstart.adapters.optuna.databases import file_of, hidden, parsed, read_only
from headstart.adapters.optuna.distributions import to_distributions
from headstart.adapters.optuna.reading import read_as
from headstart.adapters.optuna.storages import open_storage
from headstart.errors import ArgumentError, EmptyHistoryError, FormatError
from headstart.history import History, Reading
from headstart.space import Space

JOURNAL = ".log"
PATIENCE = 60.0  # seconds that SQLite waits for another process to finish writing
ATTEMPTS = 10  # to create the tables of a database that other processes create at the same time


# -- where it is -----------------------------------------------------------------------------------------------


def check_store(where: str) -> None:
    """An error if there can be no store at this place."""
    path = _file(where)
    if path is None:
        parsed(where)
        return
    if path.is_dir():
        raise FormatError(f"{where} is a folder, not a store", "name a file in it, such as runs.db")
    if is_special(path):
        raise FormatError(f"{where} is a device, a pipe or a socket, not a store")
    if path.suffix.lower() in (".csv", ".tsv", ".json", ".jsonl", ".parquet"):
        raise ArgumentError(f"{where} is a table, not a store", "use a name such as runs.db, or pass it as {history}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there can be no store {where}: the folder {path.parent} does not exist")


def is_blank(where: str) -> bool:
    """Whether nothing is stored here yet: there is no file, it is empty, or the database has no tables."""
    path = _file(where)
    if path is not None and path.suffix.lower() == JOURNAL:
        return not path.exists() or not path.stat().st_size
    if path is not None and (not path.exists() or not path.stat().st_size):
        return True
    if path is not None and "://" not in where:
        with path.open("rb") as file:
            if not file.read(16).startswith(b"SQLite format 3"):
                return False
        where = f"sqlite:///{path}"
    return not _tables(where)


def _tables(url: str) -> list[str]:
    try:
        engine = sqlalchemy.create_engine(read_only(parsed(url)))
        try:
            return list(sqlalchemy.inspect(engine).get_table_names())
        finally:
            engine.dispose()
    except (sqlalchemy.exc.SQLAlchemyError, ImportError):
        return ["unknown"]  # opening it for reading says what is wrong


def _file(where: str) -> Path | None:
    """The file behind a path or an SQLite URL; None for a server, or a database in memory."""
    if "://" not in where:
        return Path(where)
    url = parsed(where)
    file = file_of(url) if url.get_backend_name() == "sqlite" else ""
    return Path(file) if file else None


# -- reading ---------------------------------------------------------------------------------------------------


def read_store(
    where: str, like: Mapping[str, Any] | None, how: Reading | None, attributes: Mapping[str, Any]
) -> History:
    """The finished runs as a history; an EmptyHistoryError if there are none."""
    if is_blank(where):
        raise EmptyHistoryError(f"{hidden(where)} holds no run yet")
    return read_as(where, how or Reading(), like, attributes)


# -- writing ---------------------------------------------------------------------------------------------------


def created(where: str) -> BaseStorage:
    """The storage at this place, created if it does not exist. The database of another program is rejected."""
    path = _file(where)
    if path is not None:
        writable(path)
    if path is not None and path.suffix.lower() == JOURNAL and "://" not in where:
        if not is_blank(where):
            with open_storage(where, Damage(hidden(where))):  # rejects files of another kind
                pass
        return JournalStorage(JournalFileBackend(str(path)))
    if not is_blank(where):
        with open_storage(where, Damage(hidden(where))):
            pass
    url = where if "://" in where else f"sqlite:///{path}"
    options = {"connect_args": {"timeout": PATIENCE}} if path is not None else None
    return _database(url, options, ATTEMPTS)


def _database(url: str, options: dict[str, Any] | None, attempts: int) -> RDBStorage:
    try:
        return RDBStorage(url, engine_kwargs=options)
    except (sqlalchemy.exc.OperationalError, sqlalchemy.exc.IntegrityError, RuntimeError) as error:
        if attempts == 1:
            raise FormatError(f"{hidden(url)} cannot be created or opened: {reason(error)}") from error
    time.sleep(0.2)  # another process may be creating the same tables
    return _database(url, options, attempts - 1)


class StoreRecorder:
    """Adds the trials of one run to a store, each as soon as it is finished.

    If the storage fails in the middle, the search goes on. The trials are kept and added with the next one, or when the
    run ends. If the storage was lost altogether, it is created again with all trials of this run.
    """

    def __init__(self, where: str, task: str, space: Space, direction: str, attributes: Mapping[str, Any]) -> None:
        self._where, self._task, self._direction = where, task, direction
        self._attributes = {**attributes, TASK: task, RUN: uuid4().hex}
        self._space, self._distributions = space, to_distributions(space)
        self._trials: list[FrozenTrial] = []
        self._stored = 0  # how many of them are in the study
        self._study: Study | None = None
        self._storage: BaseStorage | None = created(where)

    def add(self, config: Mapping[str, Any], value: float | None, origin: str, seconds: float, why: str = "") -> None:
        """Add one finished trial; value None: it failed. why: what the configuration was chosen for."""
        trial = create_trial(
            state=TrialState.FAIL if value is None else TrialState.COMPLETE,
            value=value,
            params=(params := self._space.from_values(self._space.to_values([config]))[0]),
            distributions={name: self._distributions[name] for name in params},
            user_attrs={ORIGIN: origin, **({WHY: why} if why else {})},
        )
        assert trial.datetime_complete is not None
        trial.datetime_start = trial.datetime_complete - timedelta(seconds=seconds)
        self._trials.append(trial)
        self._write(final=False)

    def close(self) -> None:
        """Add everything that could not be added before."""
        self._write(final=True)
        if isinstance(self._storage, RDBStorage):
            self._storage.engine.dispose()

    def _write(self, *, final: bool) -> None:
        if self._stored == len(self._trials):
            return
        try:
            study = self._study or self._opened()
            for trial in self._trials[self._stored :]:
                study.add_trial(trial)
                self._stored += 1
        except Exception as error:  # whatever a database raises: a search must not be lost with it
            self._study = self._storage = None
            left = counted(len(self._trials) - self._stored, "trial")
            reason = " ".join(str(getattr(error, "orig", error)).split())
            text = "%s could not be added to %s: %s" if final else "%s not yet added to %s, to be tried again: %s"
            log.warning(text, left, hidden(self._where), reason)

    def _opened(self) -> Study:
        """The study of this run: a new one, or the one it had before the storage failed."""
        storage = self._storage or created(self._where)
        mine = next((s for s in storage.get_all_studies() if s.user_attrs.get(RUN) == self._attributes[RUN]), None)
        if mine is not None:
            study = Study(study_name=mine.study_name, storage=storage)
            self._stored = len(study.get_trials(deepcopy=False))
        else:
            study, self._stored = _new_study(storage, self._task, self._direction), 0
            for name, value in self._attributes.items():
                study.set_user_attr(name, value)
        self._storage, self._study = storage, study
        return study


def _new_study(storage: BaseStorage, task: str, direction: str) -> Study:
    """A study with the name of the task, or with the first number behind it that is free."""
    number = 1
    while True:
        name = task if number == 1 else f"{task} ({number})"
        try:
            return create_study(storage=storage, study_name=name, direction=StudyDirection[direction.upper()])
        except DuplicatedStudyError:
            number += 1
