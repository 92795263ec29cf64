"""A history by its name, whatever it is kept in: what the command line takes wherever it says HISTORY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import library
from headstart.files import existing, read_json
from headstart.history import History
from headstart.space import Space

DATABASES = (".db", ".sqlite", ".sqlite3", ".log")


@dataclass(frozen=True)
class Reading:
    """How a source is to be read, where it leaves that open.

    task, value, cost: columns of a CSV file; ignore: those that are neither these nor parameters. space: a JSON file
    (a space, or a start that has one); None: told from the columns. direction: of a CSV file's or an Optuna storage's
    values. studies: patterns of Optuna studies.
    """

    task: str = "task"
    value: str = "value"
    cost: str | None = None
    ignore: Sequence[str] = ()
    space: Path | None = None
    direction: str | None = None
    studies: Sequence[str] | None = None


def read_history(name: str, how: Reading | None = None) -> History:
    """The history that a name stands for; an error says which kinds there are."""
    how = how or Reading()
    path = Path(name)
    if name in library.names():
        return library.load(name)
    if "://" in name or path.suffix in DATABASES:
        return History.from_optuna(name, studies=how.studies, direction=how.direction, space=_space(how.space))
    if path.is_dir():
        from headstart.formats.authors import read_svm

        return read_svm(path)
    if path.suffix == ".csv":
        return _from_csv(path, how)
    if path.suffix == ".json":
        from headstart.formats.hpob import read_hpob

        return read_hpob(existing(path), space=_space(how.space))
    if path.suffix != ".parquet" and not path.exists():
        return library.load(name)  # says which there are
    return History.load(path)


def _from_csv(path: Path, how: Reading) -> History:
    return History.from_csv(
        path,
        _space(how.space),
        how.task,
        how.value,
        direction=how.direction or "minimize",
        cost=how.cost,
        ignore=how.ignore,
    )


def _space(path: Path | None) -> Space | None:
    if path is None:
        return None
    data: Any = read_json(path, "a space")
    if isinstance(data, dict) and isinstance(data.get("space"), dict):
        data = data["space"]
    try:
        return Space.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is not a space: {error}") from error
