"""Databases with Optuna's studies, opened so that nothing can be written to them."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import sqlalchemy
from optuna.storages import RDBStorage
from optuna.storages._rdb.models import BaseModel

from headstart._support.sqlite import computed
from headstart.adapters.optuna.damage import reason, unreadable
from headstart.errors import ArgumentError, FormatError, MissingPackageError

# What tells Optuna's database from any other that happens to have studies: tables and their columns.
TABLES = {
    "studies": {"study_id", "study_name"},
    "study_directions": {"study_id", "objective", "direction"},
    "trials": {"trial_id", "study_id", "state"},
    "trial_params": {"trial_id", "param_name", "param_value", "distribution_json"},
    "version_info": {"schema_version", "library_version"},
    "alembic_version": {"version_num"},
}
PREFIXES = ("study_", "trial_")  # of all further tables
ATTEMPTS, PAUSE = 10, 0.2  # how often, and after how many seconds, a database that is being created is tried again
FILLED = ("version_info", "alembic_version")  # Optuna would fill them


class _IncompleteError(FormatError):
    """Tables of Optuna are missing or empty, and there are no others: another process may be creating them."""


def open_database(where: str) -> RDBStorage:
    """An existing database of Optuna, for reading only. One that is being created is waited for."""
    for _ in range(ATTEMPTS - 1):
        with suppress(_IncompleteError):
            return _open_once(where)
        time.sleep(PAUSE)
    return _open_once(where)


def _open_once(where: str) -> RDBStorage:
    url = parsed(where)
    try:
        return _opened(read_only(url), where)
    except sqlalchemy.exc.OperationalError as error:
        # A writer that was killed left a half-written page. SQLite repairs that before it reads, which is writing.
        if url.get_backend_name() == "sqlite" and "unable to open" in str(error.orig) and _is_wal(file_of(url)):
            remedy = "copy it, with the files -wal and -shm beside it, into a folder that is not"
            raise FormatError(f"{hidden(where)} is in WAL mode, and its folder is read-only", remedy) from error
        if url.get_backend_name() != "sqlite" or "readonly" not in str(error.orig):
            raise unreadable(hidden(where), error) from error
    try:
        return _opened(read_only(url, "rw"), where)
    except sqlalchemy.exc.OperationalError as error:
        raise unreadable(hidden(where), error) from error


def _opened(url: sqlalchemy.URL, where: str) -> RDBStorage:
    try:
        engine = sqlalchemy.create_engine(url)
    except ImportError as error:
        problem = f"{hidden(where)} needs a database driver that is not installed: {error}"
        raise MissingPackageError(problem, name=error.name) from error
    except sqlalchemy.exc.NoSuchModuleError as error:
        raise ArgumentError(f"{hidden(where)} needs a database driver that is unknown: {error}") from error
    try:
        _check_tables(engine, hidden(where))
        # Without what was checked, RDBStorage would create it.
        storage = RDBStorage(url.render_as_string(hide_password=False), skip_table_creation=True)
    except sqlalchemy.exc.OperationalError:
        raise
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise FormatError(f"{hidden(where)} cannot be read as a database: {reason(error)}") from error
    except RuntimeError as error:  # another version of Optuna made the tables
        raise FormatError(f"{hidden(where)} cannot be read by this version of Optuna: {error}") from error
    finally:
        engine.dispose()
    if url.get_backend_name() == "postgresql":
        sqlalchemy.event.listen(storage.engine, "begin", _read_only_transaction)
    return storage


def _is_wal(file: str) -> bool:
    """Whether a file of SQLite has a log beside it, in which even readers note what they read."""
    with open(file, "rb") as content:
        return content.read(20)[18:20] == b"\2\2"


def _read_only_transaction(connection: sqlalchemy.Connection) -> None:
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")


def _check_tables(engine: sqlalchemy.Engine, where: str) -> None:
    if engine.url.get_backend_name() == "sqlite":
        _check_plain(engine, where)
    there = sqlalchemy.inspect(engine)
    others = [name for name in there.get_table_names() if name not in TABLES and not name.startswith(PREFIXES)]
    for table, columns in TABLES.items():
        if not there.has_table(table):
            kind = FormatError if others else _IncompleteError
            raise kind(f"{where} is not an Optuna storage: it has no table of {table.replace('_', ' ')}")
        missing = columns - {column["name"] for column in there.get_columns(table)}
        if missing:
            raise FormatError(
                f"{where} is not an Optuna storage that this version of Optuna can read: "
                f"its table {table} has no column {min(missing)}"
            )
    with engine.connect() as connection:
        for table in FILLED:
            if connection.execute(sqlalchemy.text(f"SELECT 1 FROM {table}")).first() is None:
                raise _IncompleteError(f"{where} is not a complete Optuna storage: its table {table} is empty")


def _check_plain(engine: sqlalchemy.Engine, where: str) -> None:
    """An error if a table computes what it shows: it may have no end."""
    query = computed({*TABLES, *BaseModel.metadata.tables})
    with engine.connect() as connection:
        found = connection.execute(sqlalchemy.text(query)).first()
    if found is not None:
        raise FormatError(f"{where} is not an Optuna storage: its table {found[0]} computes what it shows")


# -- URLs ------------------------------------------------------------------------------------------------------


def read_only(url: sqlalchemy.URL, mode: str = "ro") -> sqlalchemy.URL:
    """The same database, opened by SQLite in this mode; other databases are asked for it in each transaction."""
    file = url.database
    if url.get_backend_name() != "sqlite" or not file or file.startswith(":memory:"):
        return url
    if file.startswith("file:"):
        return url if url.query.get("mode") == "memory" else url.update_query_dict({"mode": mode})
    return url.set(database=Path(file).absolute().as_uri()).update_query_dict({"mode": mode, "uri": "true"})


def file_of(url: sqlalchemy.URL) -> str:
    """The file of an SQLite database, also if the URL comes from `read_only`; empty if it has none."""
    file = url.database or ""
    if file.startswith("file:"):
        file = url2pathname(urlsplit(file).path) if url.query.get("mode") != "memory" else ""
    return "" if file.startswith(":memory:") else file


def parsed(where: str) -> sqlalchemy.URL:
    """The URL of a storage."""
    try:
        url = sqlalchemy.engine.make_url(where)
    except sqlalchemy.exc.ArgumentError:
        raise ArgumentError(f"{hidden(where)!r} is not a storage URL such as sqlite:///runs.db") from None
    if "@" in (url.host or ""):  # drivers would repeat the rest of the password as the name of a host
        raise ArgumentError(f"{hidden(where)} has an @ in its password or user name; write it as %40")
    return url


def hidden(url: str) -> str:
    """A URL without its password, also if it is not a valid one but was meant as one."""
    with suppress(sqlalchemy.exc.ArgumentError):
        url = sqlalchemy.engine.make_url(url).render_as_string(hide_password=True)
    url = re.sub(r"(://[^:/@]*:).*@", r"\1***@", url)
    return re.sub(r"([?&][^=&]*(?:passw|pwd|secret|token)[^=&]*=)[^&]*", r"\1***", url, flags=re.IGNORECASE)
