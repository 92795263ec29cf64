"""The histories that ship with the package, as files in `headstart/library`."""

from __future__ import annotations

from importlib.resources import as_file, files

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.history.history import History

LIBRARY = "headstart.library"
SUFFIX = ".parquet"


def names() -> list[str]:
    """The names of the shipped histories."""
    entries = (entry.name for entry in files(LIBRARY).iterdir())
    return sorted(entry.removesuffix(SUFFIX) for entry in entries if entry.endswith(SUFFIX))


def load(name: str) -> History:
    """Load a shipped history by name."""
    there = names()
    if name not in there:
        known = ", ".join(map(repr, there)) or "none"
        raise ArgumentError(f"no history {name!r} ships with headstart{closest(name, there)} (choose from: {known})")
    with as_file(files(LIBRARY) / f"{name}{SUFFIX}") as path:
        return History.load(path)
