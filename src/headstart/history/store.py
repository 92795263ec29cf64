"""A past that fills itself: each finished run is added, and the next one starts from all of them.

Runs are kept as Optuna studies, one per run, so that Optuna's dashboard and samplers read them, too. The adapter is
reached by name, because adapters may import histories.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from headstart._support.log import log
from headstart.errors import ArgumentError, EmptyHistoryError
from headstart.history.history import History
from headstart.space import Space

if TYPE_CHECKING:
    from headstart.history.reading import Reading


class Recorder(Protocol):
    """Adds the trials of one run to a store, each as soon as it is finished."""

    def add(
        self, config: Mapping[str, Any], value: float | None, origin: str, seconds: float, why: str = ""
    ) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, repr=False)
class Store:
    """Past runs in one place, to which every finished trial is added. It may be empty or not exist yet.

    where: the path of an SQLite file such as "runs.db", of a journal such as "runs.log", or a storage URL such as
    "postgresql+psycopg2://...". Several processes may fill one store at the same time.
    """

    where: str

    def __init__(self, where: str | os.PathLike[str] | Store) -> None:
        if isinstance(where, Store):
            where = where.where
        if not isinstance(where, (str, os.PathLike)) or not os.fspath(where):
            raise ArgumentError(f"a store is the path of a file or a storage URL, but got {where!r}")
        object.__setattr__(self, "where", os.fspath(where))
        _adapter().check_store(self.where)

    def __repr__(self) -> str:
        return f"Store({_adapter().hidden(self.where)!r})"  # a URL may hold a password

    def history(
        self, space: Mapping[str, Any] | None = None, how: Reading | None = None, attributes: Mapping[str, Any] = {}
    ) -> History | None:
        """The runs as a history; None if there are none yet.

        space: the search space of the new run; only runs that share its parameters are read. attributes: those of the
        new run, such as its model.
        """
        try:
            found: History | None = _adapter().read_store(self.where, space, how, attributes)
        except EmptyHistoryError as error:
            log.info("%s", error)
            return None
        return found

    def record(
        self, task: str, space: Space, *, direction: str, attributes: Mapping[str, Any] | None = None
    ) -> Recorder:
        """Begin to add a run. Nothing is written before its first trial is finished, except an empty store."""
        if not isinstance(task, str) or not task:
            raise ArgumentError(
                f"a store needs the name of the task, but got {task!r}", "name the data set or the problem with {task}"
            )
        recorder: Recorder = _adapter().StoreRecorder(self.where, task, space, direction, dict(attributes or {}))
        return recorder


def _adapter() -> Any:
    return import_module("headstart.adapters.optuna.store")
