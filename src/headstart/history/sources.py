"""Past runs by name: a shipped history, a file, a folder or an Optuna storage, read into a `History`.

The command line accepts any of these names wherever it says HISTORY.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headstart._support.direction import VERBS
from headstart._support.files import read_json
from headstart.errors import ArgumentError, FormatError, HeadstartError, HistoryError
from headstart.history import shipped
from headstart.history.history import History
from headstart.history.reading import Reading
from headstart.space import Space, as_space

__all__ = ["Reading", "is_start", "read_adaboost", "read_history", "read_hpob", "read_svm"]

DATABASES = (".db", ".sqlite", ".sqlite3", ".log")
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", *JSON_LINES)
OTHERS = "runs of other tools"
ENDINGS = (".parquet", *TABLES, ".json", *DATABASES)

# The kinds of sources that leave an option open. Everywhere else the option is rejected, because it would do nothing.
OPEN_IN = {
    "task": ("tables", OTHERS),
    "value": ("tables", OTHERS),
    "cost": ("tables", OTHERS),
    "count": ("tables",),
    "step": ("tables",),
    "ignore": ("tables", OTHERS),
    "skip_bad_rows": ("tables",),
    "space": ("tables", "HPO-B files", "Optuna storages", "histories", OTHERS),
    "direction": ("tables", "Optuna storages", "histories", OTHERS),
    "studies": ("Optuna storages", OTHERS),
    "rename": ("tables", "HPO-B files", "Optuna storages", "histories", OTHERS),
    "fill": ("tables", "HPO-B files", "Optuna storages", "histories", OTHERS),
    "skip_damaged": ("Optuna storages",),
}


def read_history(name: str, how: Reading | None = None) -> History:
    """The history that a name stands for. Options that the source already settles are rejected."""
    how = how or Reading()
    kind = kind_of(name)
    check_options(how, {name: kind})
    how = replace(how, space=read_space(how.space))
    if kind == OTHERS:
        return _of_another_tool(name, how)
    if kind == "Optuna storages":
        return History.from_optuna(
            name,
            how.studies,
            direction=how.direction,
            space=how.space,
            rename=how.rename,
            fill=how.fill,
            skip_damaged=how.skip_damaged,
        )
    if kind == "tables":
        from headstart.history.formats.csv_files import read_csv
        from headstart.history.formats.json_lines import read_json_lines

        read = read_json_lines if Path(name).suffix.lower() in JSON_LINES else read_csv
        return History.from_evaluations(read(name, how))
    if kind == "HPO-B files":
        return _in_space(read_hpob(name, space=None if how.rename else how.space), how)
    history = _in_space(_complete(name, Path(name)), how)
    if how.direction not in (None, history.direction):
        raise HistoryError(
            f"{name} {VERBS[history.direction]} its values, so it cannot be read with direction {how.direction!r}",
            "if that is wrong, give {direction} when you import the runs",
        )
    return history


def _of_another_tool(name: str, how: Reading) -> History:
    from headstart.history.imports.runs import Wanted, read_runs
    from headstart.history.imports.tools import tool_of

    tool = tool_of(name)
    assert tool is not None
    return History.from_evaluations(read_runs(tool.read, name, Wanted.by(how)))


def check_options(how: Reading, kinds: Mapping[str, str]) -> None:
    """An error if an option applies to none of the sources, which are given as name → kind."""
    for option in how.given:
        if not set(kinds.values()) & set(OPEN_IN[option]):
            *others, last = OPEN_IN[option]
            open_in = f"{', '.join(others)} and {last}" if others else last
            names = " or ".join(kinds)
            raise ArgumentError(f"{option!r} applies only to {open_in}, not to {names}", f"leave out {{{option}}}")


def applicable(how: Reading, kind: str) -> Reading:
    """The options that apply to a kind of source."""
    return replace(how, **{option: getattr(Reading, option) for option in how.given if kind not in OPEN_IN[option]})


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


def kind_of(name: str) -> str:
    """The kind of source that a name looks like, in the words of `OPEN_IN`."""
    from headstart.history.imports.tools import tool_of

    if name not in shipped.names() and tool_of(name) is not None:
        return OTHERS
    ending = Path(name).suffix.lower()
    if "://" in name or ending in DATABASES:
        return "Optuna storages"
    return "tables" if ending in TABLES else "HPO-B files" if ending == ".json" else "histories"


def tables_in(folder: str | os.PathLike[str]) -> list[Path]:
    """The tables and histories in a folder, if it holds nothing else that could be meant."""
    path = Path(folder)
    if not path.is_dir():
        return []
    return sorted(file for file in path.iterdir() if file.suffix.lower() in (".parquet", *TABLES))


def is_storage(name: str) -> bool:
    """Whether a name looks like that of an Optuna storage."""
    return kind_of(name) == "Optuna storages"


def _in_space(history: History, how: Reading) -> History:
    """A history that came with its own space, with new names and in another space if the options say so."""
    if how.rename:
        history = history.renamed({old: new for old, new in how.rename.items() if old in history.space})
    return history if how.space is None else history.moved_to(how.space, fill=how.fill)[0]


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


def read_space(space: Any) -> Space | None:
    """The space, read from its file if it is a path."""
    if not isinstance(space, (str, os.PathLike)):
        return None if space is None else as_space(space)
    data: Any = read_json(space, "a space")
    if isinstance(data, dict) and isinstance(data.get("space"), dict):  # a start file has one, too
        data = data["space"]
    try:
        return Space.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{space} is not a space: {error}") from error
