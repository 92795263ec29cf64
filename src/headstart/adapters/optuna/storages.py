"""Optuna's storages, opened for reading. Nothing is written, and every problem is an error of one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from optuna import Study
from optuna.storages import BaseStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from headstart._support.wording import closest, some
from headstart.adapters.optuna.damage import Damage
from headstart.adapters.optuna.databases import file_of, hidden, open_database, parsed
from headstart.adapters.optuna.journals import open_journal
from headstart.adapters.optuna.trials import Found, PastTrial, backend, read_studies, read_trials
from headstart.errors import ArgumentError, EmptyHistoryError, FormatError

SCHEMES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")
NO_STORAGE = "create it with optuna.create_study(storage=...), or pass {past}None to search without past runs"


@dataclass(frozen=True)
class PastStudy:
    """One study of a storage. Its trials are read when `trials` is called."""

    name: str
    directions: tuple[str, ...]
    attributes: Mapping[str, Any]  # set by the user
    place: str
    trials: Callable[[], list[PastTrial]]


def direction_of(study: Study, what: str, remedy: str = "") -> str:
    """The study's direction; an error that names `what` if the study has several objectives."""
    directions = study.directions
    if len(directions) > 1:
        problem = f"{what} is for one objective, but the study {study.study_name!r} has {len(directions)}"
        raise ArgumentError(problem, remedy)
    return _direction(directions[0])


def _direction(direction: StudyDirection) -> str:
    return direction.name.lower()


# -- past studies ----------------------------------------------------------------------------------------------


def is_past(past: Any) -> bool:
    """Whether this names studies: a URL, a file, a storage, a study, or a list of those."""
    if isinstance(past, (str, os.PathLike, BaseStorage, Study)):
        return True
    return isinstance(past, Iterable) and not isinstance(past, Mapping)


@contextmanager
def opened(
    past: Any, patterns: str | Sequence[str] | None = None, damage: Damage | None = None
) -> Iterator[list[PastStudy]]:
    """The past studies, sorted by name. Connections opened for them are closed afterwards."""
    damage = damage or Damage(describe(past))
    with ExitStack() as stack, damage.anywhere():
        studies = [study for part in _parts(past) for study in _studies(part, stack, damage)]
        if not studies:
            skipped = f": {'; '.join(damage.lines())}" if damage.parts else ""
            raise EmptyHistoryError(f"{describe(past)} holds no study{skipped}")
        yield sorted(_matching(studies, patterns, past), key=lambda study: study.name)


def _parts(past: Any) -> list[Any]:
    if not is_past(past):
        raise ArgumentError(
            f"past must be a storage URL or object, a study or a list of studies, but got {type(past).__name__}"
        )
    parts = [past] if isinstance(past, (str, os.PathLike, BaseStorage, Study)) else list(past)
    if not parts:
        raise ArgumentError("past is an empty list", "pass at least one study")
    return parts


def _studies(part: Any, stack: ExitStack, damage: Damage) -> list[PastStudy]:
    if isinstance(part, Study):
        found = [Found(part._study_id, part.study_name, tuple(part.directions), part.user_attrs)]
        return [_past_study(part._storage, study, damage) for study in found]
    if isinstance(part, (str, os.PathLike)):
        storage = stack.enter_context(open_storage(os.fspath(part), damage))
    elif isinstance(part, BaseStorage):
        storage = part
    else:
        raise ArgumentError(f"past must consist of storages and studies, but got {type(part).__name__}: {part!r:.80}")
    return [_past_study(storage, study, damage) for study in read_studies(storage, damage)]


def _past_study(storage: BaseStorage, study: Found, damage: Damage) -> PastStudy:
    ways = tuple(map(_direction, study.directions))

    def trials() -> list[PastTrial]:
        return read_trials(storage, study.id, study.name, ways[0], damage)

    return PastStudy(study.name, ways, dict(study.attributes), place(storage), trials)


def _matching(studies: list[PastStudy], patterns: str | Sequence[str] | None, past: Any) -> list[PastStudy]:
    """The studies that match a name or a pattern such as "svm-*". Every pattern must match something."""
    if patterns is None:
        return studies
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    names = [study.name for study in studies]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ArgumentError(no_study(past, pattern, names))
    return [study for study in studies if any(fnmatchcase(study.name, pattern) for pattern in patterns)]


def no_study(past: Any, name: str, names: Sequence[str]) -> str:
    """A sentence for an error: there is no study of this name, but these."""
    there = closest(name, names) or (f"; its studies are {some(names)}" if names else "")
    return f"{describe(past)} holds no study {name!r}{there}"


# -- opening -------------------------------------------------------------------------------------------------


@contextmanager
def open_storage(where: str, damage: Damage) -> Iterator[BaseStorage]:
    """An existing storage, given as a database URL, an SQLite file or a journal file, for reading only."""
    with damage.anywhere():
        storage = _open_url(where) if "://" in where else _open_file(Path(where), damage)
        try:
            yield storage
        finally:
            if isinstance(storage, RDBStorage):
                storage.engine.dispose()


def _open_url(where: str) -> BaseStorage:
    url = parsed(where)
    scheme = url.get_backend_name()
    if scheme not in SCHEMES:
        hint = closest(scheme, SCHEMES) or f"; use {', '.join(SCHEMES)}"
        raise ArgumentError(f"{hidden(where)} has the unknown scheme {scheme!r}{hint}")
    file = url.database if scheme == "sqlite" else None
    if file and not file.startswith(("file:", ":memory:")) and not Path(file).is_file():
        raise FormatError(f"there is no storage {where}: the file {file} does not exist", NO_STORAGE)
    return open_database(where)


def _open_file(path: Path, damage: Damage) -> BaseStorage:
    if not path.is_file():
        raise FormatError(
            f"there is no storage {str(path)!r}: it is neither a URL such as sqlite:///runs.db nor a file"
        )
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        return open_database(f"sqlite:///{path}")
    if head and not head.startswith(b"{"):
        raise FormatError(f"{path} is not an Optuna storage: it is neither an SQLite database nor a journal")
    return open_journal(path, damage)


# -- names of storages, for messages and for comparing -------------------------------------------------------


def describe(past: Any) -> str:
    """The argument `past` in words, for messages."""
    if isinstance(past, (str, os.PathLike)):
        return hidden(os.fspath(past))
    if isinstance(past, Study):
        return f"the study {past.study_name!r}"
    if isinstance(past, BaseStorage):
        where = place(past)
        return where if "/" in where else f"the {type(past).__name__}"
    return "the list of studies"


def place(storage: BaseStorage) -> str:
    """Where a storage keeps its studies. It is equal for two objects that open the same storage."""
    inner = backend(storage)
    if isinstance(inner, RDBStorage):
        url = inner.engine.url
        if url.get_backend_name() != "sqlite":
            return url.render_as_string(hide_password=True)
        if file := file_of(url):
            return f"sqlite:///{Path(file).resolve()}"
    if isinstance(inner, JournalFileBackend):
        return str(Path(inner._file_path).resolve())  # Optuna has no public access to the path
    return f"{type(storage).__name__} {id(storage)}"
