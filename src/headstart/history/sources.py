"""Past runs by name: a shipped history, a file, a folder or an Optuna storage, read into a `History`.

The command line accepts any of these names wherever it says HISTORY.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from headstart._support.direction import VERBS
from headstart._support.files import read_json
from headstart.errors import ArgumentError, FormatError, HeadstartError, HistoryError
from headstart.history import shipped
from headstart.history.history import History
from headstart.history.reading import Reading
from headstart.space import Space

__all__ = ["Reading", "is_start", "read_adaboost", "read_history", "read_hpob", "read_svm"]

DATABASES = (".db", ".sqlite", ".sqlite3", ".log")
ENDINGS = (".parquet", ".csv", ".json", *DATABASES)

# The kinds of sources that leave an option open. Everywhere else the option is rejected, because it would do nothing.
OPEN_IN = {
    "task": ("CSV files",),
    "value": ("CSV files",),
    "cost": ("CSV files",),
    "count": ("CSV files",),
    "ignore": ("CSV files",),
    "space": ("CSV files", "HPO-B files", "Optuna storages"),
    "direction": ("CSV files", "Optuna storages", "histories"),
    "studies": ("Optuna storages",),
    "skip_damaged": ("Optuna storages",),
}


def read_history(name: str, how: Reading | None = None) -> History:
    """The history that a name stands for. Options that the source already settles are rejected."""
    how = how or Reading()
    kind = _kind(name)
    for option in how.given:
        if kind not in OPEN_IN[option]:
            *others, last = OPEN_IN[option]
            kinds = f"{', '.join(others)} and {last}" if others else last
            raise ArgumentError(f"{option!r} applies only to {kinds}, not to {name}", f"leave out {{{option}}}")
    how = replace(how, space=_space(how.space))
    if kind == "Optuna storages":
        return History.from_optuna(
            name, studies=how.studies, direction=how.direction, space=how.space, skip_damaged=how.skip_damaged
        )
    if kind == "CSV files":
        from headstart.history.formats.csv_files import read_csv

        return History.from_evaluations(read_csv(name, how))
    if kind == "HPO-B files":
        return read_hpob(name, space=how.space)
    history = _complete(name, Path(name))
    if how.direction not in (None, history.direction):
        raise HistoryError(
            f"{name} {VERBS[history.direction]} its values, so it cannot be read with direction {how.direction!r}",
            "if that is wrong, give {direction} when you import the runs",
        )
    return history


def read_hpob(path: str | os.PathLike[str], search_space: str | None = None, *, space: Any = None) -> History:
    """One search space of an HPO-B file; see `headstart.history.formats.hpob`."""
    from headstart.history.formats import hpob

    return History.from_evaluations(hpob.read_hpob(path, search_space, space=space))


def read_svm(folder: str | os.PathLike[str]) -> History:
    """The SVM data of the papers' authors; see `headstart.history.formats.authors`."""
    from headstart.history.formats import authors

    return History.from_evaluations(authors.read_svm(folder))


def read_adaboost(path: str | os.PathLike[str], features: Any = None) -> History:
    """The AdaBoost data of the papers' authors; see `headstart.history.formats.authors`."""
    from headstart.history.formats import authors

    return History.from_evaluations(authors.read_adaboost(path, features))


def is_start(name: str) -> bool:
    """Whether a name is the path of a start file."""
    if Path(name).suffix.lower() != ".json":
        return False
    data = read_json(name, "a start or an HPO-B file")
    return isinstance(data, dict) and data.get("headstart") == "start"


def _kind(name: str) -> str:
    """The kind of source that a name looks like, in the words of `OPEN_IN`."""
    ending = Path(name).suffix.lower()
    if "://" in name or ending in DATABASES:
        return "Optuna storages"
    return {".csv": "CSV files", ".json": "HPO-B files"}.get(ending, "histories")


def _complete(name: str, path: Path) -> History:
    """A history that settles its columns, its space and its direction itself."""
    ending = path.suffix.lower()
    if name in shipped.names() or (ending != ".parquet" and not path.exists()):
        return shipped.load(name)  # its error lists the shipped histories
    if path.is_dir():
        try:
            return read_svm(path)
        except HeadstartError as error:
            raise FormatError(f"{path} was taken for a folder of the authors' SVM files, but {error}") from error
    if ending != ".parquet":
        raise ArgumentError(f"cannot tell what {name} holds: it ends in none of {', '.join(ENDINGS)}")
    return History.load(path)


def _space(space: Any) -> Any:
    """The space itself, read from its file if it is a path."""
    if not isinstance(space, (str, os.PathLike)):
        return space
    data: Any = read_json(space, "a space")
    if isinstance(data, dict) and isinstance(data.get("space"), dict):  # a start file has one, too
        data = data["space"]
    try:
        return Space.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{space} is not a space: {error}") from error
