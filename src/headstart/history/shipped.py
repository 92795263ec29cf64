"""The histories that ship with the package, as files in `headstart/library`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path
from zlib import crc32

from headstart._support.files import nearby
from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.history.history import History

LIBRARY = "headstart.library"
SUFFIX = ".parquet"


def names() -> list[str]:
    """The names of the shipped histories."""
    entries = (entry.name for entry in files(LIBRARY).iterdir())
    return sorted(entry.removesuffix(SUFFIX) for entry in entries if entry.endswith(SUFFIX))


def load(name: str, metric: str | None = None) -> History:
    """Load a shipped history by name.

    metric: which of its metrics the values are, such as "auc", if the history has several; by default its first one,
    the error rate or the RMSE. `hs.library.metrics(name)` lists them.
    """
    with _file(name) as path:
        return History.load(path, metric)


def metrics(name: str) -> dict[str, str]:
    """The metrics of a shipped history with their directions, the default first; empty if it has only its value."""
    from headstart.history.formats.parquet import read_metrics

    with _file(name) as path:
        return read_metrics(path)


def task_features(name: str) -> dict[str, dict[str, float]]:
    """The meta-features of a shipped history's tasks, by task, without reading its runs."""
    from headstart.history.formats.parquet import read_features

    with _file(name) as path:
        return read_features(path)


def fingerprint(name: str) -> str:
    """A number that changes with the file of a shipped history."""
    with _file(name) as path:
        return f"{crc32(path.read_bytes()):08x}"


def _file(name: str) -> AbstractContextManager[Path]:
    there = names()
    if name not in there:
        hint = closest(name, there) or nearby(Path(name)) or f" (choose from: {', '.join(map(repr, there)) or 'none'})"
        raise ArgumentError(f"no history {name!r} ships with headstart{hint}")
    return as_file(files(LIBRARY) / f"{name}{SUFFIX}")
