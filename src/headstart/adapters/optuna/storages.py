"""Optuna's storages, opened for reading: nothing is created, and what is wrong is said in one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna import Study
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from headstart._support.wording import closest, some
from headstart.adapters.optuna.trials import PastTrial, read_trials
from headstart.errors import FormatError

SCHEMES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")


@dataclass(frozen=True)
class PastStudy:
    """One study of a storage, its trials read when asked for."""

    name: str
    directions: tuple[str, ...]
    attributes: Mapping[str, Any]  # set by the user
    place: str
    trials: Callable[[], list[PastTrial]]


# -- what is meant by a past ---------------------------------------------------------------------------------


def is_past(past: Any) -> bool:
    """Whether this names studies: a URL, a file, a storage, a study, or a list of those."""
    if isinstance(past, (str, os.PathLike, BaseStorage, Study)):
        return True
    return isinstance(past, Iterable) and not isinstance(past, Mapping)


@contextmanager
def opened(past: Any, patterns: str | Sequence[str] | None = None) -> Iterator[list[PastStudy]]:
    """The studies meant by a past, by name; connections that were opened for them are closed afterwards."""
    close: list[Callable[[], None]] = []
    try:
        studies = [study for part in _parts(past) for study in _studies(part, close)]
        if not studies:
            raise FormatError(f"{describe(past)} holds no study")
        yield sorted(_matching(studies, patterns, past), key=lambda study: study.name)
    except sqlalchemy.exc.OperationalError as error:
        raise FormatError(_unreadable(past, error)) from error
    finally:
        for function in close:
            function()


def _parts(past: Any) -> list[Any]:
    if not is_past(past):
        raise FormatError(
            f"the past is a storage URL or object, a study or a list of studies, but got {type(past).__name__}"
        )
    parts = [past] if isinstance(past, (str, os.PathLike, BaseStorage, Study)) else list(past)
    if not parts:
        raise FormatError("the past is an empty list; pass at least one study")
    return parts


def _studies(part: Any, close: list[Callable[[], None]]) -> list[PastStudy]:
    if isinstance(part, Study):
        return [_past_study(part._storage, part._study_id, part.study_name, part.directions, part.user_attrs)]
    storage = part
    if isinstance(part, (str, os.PathLike)):
        storage = open_storage(os.fspath(part))
        if isinstance(storage, RDBStorage):
            close.append(storage.engine.dispose)
    if not isinstance(storage, BaseStorage):
        raise FormatError(f"a past is made of storages and studies, but got {type(part).__name__}: {part!r:.80}")
    return [
        _past_study(storage, study._study_id, study.study_name, study.directions, study.user_attrs)
        for study in storage.get_all_studies()
    ]


def _past_study(
    storage: BaseStorage, number: int, name: str, directions: Sequence[StudyDirection], attributes: Mapping[str, Any]
) -> PastStudy:
    def trials() -> list[PastTrial]:
        return read_trials(storage, number)

    return PastStudy(name, tuple(d.name.lower() for d in directions), dict(attributes), place(storage), trials)


def _matching(studies: list[PastStudy], patterns: str | Sequence[str] | None, past: Any) -> list[PastStudy]:
    """The studies with one of the names or patterns such as "svm-*"; each must match something."""
    if patterns is None:
        return studies
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    names = [study.name for study in studies]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            there = closest(pattern, names) or f"; there are {some(names)}"
            raise FormatError(f"{describe(past)} holds no study {pattern!r}{there}")
    return [study for study in studies if any(fnmatchcase(study.name, pattern) for pattern in patterns)]


# -- opening -------------------------------------------------------------------------------------------------


def open_storage(where: str) -> BaseStorage:
    """A storage that is there already: a database URL, an SQLite file or a journal file."""
    if "://" not in where:
        return _open_file(Path(where))
    try:
        url = sqlalchemy.engine.make_url(where)
        scheme = url.get_backend_name()
    except sqlalchemy.exc.ArgumentError:
        raise FormatError(f"{where!r} is not a storage URL, such as sqlite:///runs.db") from None
    if scheme not in SCHEMES:
        hint = closest(scheme, SCHEMES) or f"; there are {', '.join(SCHEMES)}"
        raise FormatError(f"{hidden(where)} has the unknown scheme {scheme!r}{hint}")
    file = url.database if scheme == "sqlite" else None
    if file and not file.startswith(("file:", ":memory:")) and not Path(file).is_file():
        raise FormatError(
            f"there is no storage {where}: no file {file} (make it with optuna.create_study(storage=...), "
            "or start without a past: past=None)"
        )
    return _open_database(where)


def _open_file(path: Path) -> BaseStorage:
    if not path.is_file():
        raise FormatError(f"there is no storage {str(path)!r}: neither a URL such as sqlite:///runs.db nor a file")
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        return _open_database(f"sqlite:///{path}")
    if head and not head.startswith(b"{"):
        raise FormatError(f"{path} is no storage of Optuna: neither an SQLite database nor a journal")
    try:
        return JournalStorage(JournalFileBackend(str(path)))
    except (LookupError, AssertionError, AttributeError, TypeError, ValueError) as error:  # whatever replaying it gives
        raise FormatError(f"{path} is no journal of Optuna, or it is damaged ({error!r:.80})") from error


def _open_database(url: str) -> RDBStorage:
    """A database that has Optuna's tables; RDBStorage alone would create them."""
    try:
        engine = sqlalchemy.create_engine(url)
    except (ImportError, sqlalchemy.exc.NoSuchModuleError) as error:
        raise FormatError(f"{hidden(url)} needs a database driver that is not installed: {error}") from error
    try:
        if not sqlalchemy.inspect(engine).has_table("studies"):
            raise FormatError(f"{hidden(url)} is no storage of Optuna: it has no table of studies")
        return RDBStorage(url)
    except sqlalchemy.exc.OperationalError as error:
        raise FormatError(_unreadable(url, error)) from error
    except sqlalchemy.exc.DatabaseError as error:
        raise FormatError(f"{hidden(url)} cannot be read as a database: {error.orig}") from error
    except RuntimeError as error:  # the tables are of another version of Optuna
        raise FormatError(f"{hidden(url)} cannot be read by this version of Optuna: {error}") from error
    finally:
        engine.dispose()


def _unreadable(past: Any, error: sqlalchemy.exc.OperationalError) -> str:
    reason = " ".join(str(error.orig).split())
    if "locked" in reason:
        return f"{describe(past)} is locked by another program; try again when it has finished writing"
    return f"{describe(past)} cannot be read: {reason}"


# -- names for people, and for telling storages apart --------------------------------------------------------


def hidden(url: str) -> str:
    """A URL without its password."""
    try:
        return sqlalchemy.engine.make_url(url).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return url


def describe(past: Any) -> str:
    """A past in a sentence."""
    if isinstance(past, (str, os.PathLike)):
        return hidden(os.fspath(past))
    if isinstance(past, Study):
        return f"the study {past.study_name!r}"
    if isinstance(past, BaseStorage):
        where = place(past)
        return where if "/" in where else f"the {type(past).__name__}"
    return "the list of studies"


def place(storage: BaseStorage) -> str:
    """Where a storage keeps its studies: equal for two objects that open the same one."""
    inner = getattr(storage, "_backend", storage)  # of the cache that Optuna puts before a database, or of a journal
    if isinstance(inner, RDBStorage):
        url = inner.engine.url
        if url.get_backend_name() != "sqlite":
            return url.render_as_string(hide_password=True)
        if url.database and url.database != ":memory:":
            return f"sqlite:///{Path(url.database).resolve()}"
    if isinstance(inner, JournalFileBackend):
        return str(Path(inner._file_path).resolve())
    return f"{type(storage).__name__} {id(storage)}"
