"""A history by its name, whatever it is kept in: what the command line takes wherever it says HISTORY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart._support.files import existing, read_json
from headstart.errors import ArgumentError
from headstart.history import shipped
from headstart.history.history import History
from headstart.space import Space

DATABASES = (".db", ".sqlite", ".sqlite3", ".log")
ENDINGS = (".parquet", ".csv", ".json", *DATABASES)


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
    """The history that a name stands for; an error says which kinds there are.

    What a source says itself cannot be said otherwise: an option that would change nothing is refused.
    """
    how = how or Reading()
    path = Path(name)
    ending = path.suffix.lower()
    if "://" in name or ending in DATABASES:
        _refuse(name, how, "task", "value", "cost", "ignore")
        return History.from_optuna(name, studies=how.studies, direction=how.direction, space=_space(how.space))
    if ending == ".csv":
        _refuse(name, how, "studies")
        return _from_csv(path, how)
    if ending == ".json":
        from headstart.history.formats.hpob import read_hpob

        _refuse(name, how, "task", "value", "cost", "ignore", "direction", "studies")
        if is_start(name):
            raise ArgumentError(f"{name} is a start, learned already: headstart suggest or export take it")
        return read_hpob(existing(path), space=_space(how.space))
    _refuse(name, how, "task", "value", "cost", "ignore", "space", "studies")
    history = _complete(name, path)
    if how.direction not in (None, history.direction):
        raise ArgumentError(
            f"--direction {how.direction}: {name} holds values to {history.direction}; if that is wrong, "
            "give --direction when the runs are imported"
        )
    return history


def is_start(name: str) -> bool:
    """Whether a path is that of a start file."""
    if Path(name).suffix.lower() != ".json":
        return False
    data = read_json(name, "a start or an HPO-B file")
    return isinstance(data, dict) and data.get("headstart") == "start"


def _complete(name: str, path: Path) -> History:
    """A history that says itself what its columns, its space and its direction are."""
    if name in shipped.names() or (path.suffix.lower() != ".parquet" and not path.exists()):
        return shipped.load(name)  # says which there are
    if path.is_dir():
        from headstart.history.formats.authors import read_svm

        try:
            return read_svm(path)
        except ValueError as error:
            raise ArgumentError(f"{path} was taken for a folder of the authors' SVM files, but {error}") from error
    if path.suffix.lower() != ".parquet":
        raise ArgumentError(f"{name} ends in none of {', '.join(ENDINGS)}, so it is not known what it holds")
    return History.load(path)


def _refuse(name: str, how: Reading, *options: str) -> None:
    for option in options:
        if getattr(how, option) and getattr(how, option) != getattr(Reading(), option):
            kind = "Optuna storages" if option == "studies" else "CSV files"
            kind += ", HPO-B files and Optuna storages" if option == "space" else ""
            raise ArgumentError(f"--{option} is for {kind}; {name} is none")


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
        raise ArgumentError(f"{path} is not a space: {error}") from error
