"""The exceptions of headstart. All of them are ValueErrors.

    HeadstartError
    ├── ArgumentError          an argument has an unusable value
    ├── SpaceError             an invalid search space or configuration
    ├── HistoryError           past runs cannot be used as asked
    │   └── EmptyHistoryError  no run in the storage has finished
    ├── FormatError            a file is damaged or has another format
    ├── ExhaustedError         every configuration has been tried
    └── MissingPackageError    install an extra; also an ImportError

An error carries the `problem` and, if the user can do something about it, the `remedy`. A remedy names arguments in
braces, as in "name the column with {task}", and each front end writes them in its own way: Python as `task=`, the
command line as `--task`. The command line skips a remedy that names an argument it does not have.

Built-in exceptions keep their usual meaning: FileNotFoundError for a missing file, KeyError for a task that a history
does not have. Any other exception that escapes from headstart is a bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

__all__ = [
    "ArgumentError",
    "EmptyHistoryError",
    "ExhaustedError",
    "FormatError",
    "HeadstartError",
    "HistoryError",
    "MissingPackageError",
    "Remedy",
    "SpaceError",
]

# Python's words for an argument whose name alone would not help, or for a call that is a command elsewhere.
IN_PYTHON = {
    "features": "features=hs.metafeatures(X, y)",
    "load_start": "hs.Start.load",
    "skip_damaged": "skip_damaged=True",
}


@dataclass(frozen=True)
class Remedy:
    """A way for the user to fix an error: a sentence with arguments in braces, or nothing."""

    text: str = ""

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments in the sentence."""
        return [name for _, name, _, _ in Formatter().parse(self.text) if name]

    def worded(self, arguments: Mapping[str, str]) -> str:
        """The sentence with `arguments` in place of their names; empty if one of them is missing."""
        known = all(name in arguments for name in self.arguments)
        return self.text.format_map(arguments) if known else ""

    def __str__(self) -> str:
        """The sentence as Python words it."""
        return self.worded({name: IN_PYTHON.get(name, f"{name}=") for name in self.arguments})


class HeadstartError(ValueError):
    """The base class of all errors of headstart."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = problem, Remedy(remedy)
        super().__init__(self.message())

    def message(self, arguments: Mapping[str, str] | None = None) -> str:
        """Problem and remedy in one line. arguments: how to write each argument; by default as in Python."""
        remedy = str(self.remedy) if arguments is None else self.remedy.worded(arguments)
        return f"{self.problem}; {remedy}" if remedy else self.problem

    def __reduce__(self) -> tuple[Any, ...]:  # worker processes return errors as pickles
        return type(self), (self.problem, self.remedy.text)


class ArgumentError(HeadstartError):
    """An argument has a value that cannot be used."""


class SpaceError(HeadstartError):
    """A search space is invalid, or a configuration does not fit it."""


class HistoryError(HeadstartError):
    """Past runs cannot be used as asked."""


class EmptyHistoryError(HistoryError):
    """A storage of past runs exists, but no run in it has finished."""


class FormatError(HeadstartError):
    """A file or storage has another format, is damaged or unreadable."""


class ExhaustedError(HeadstartError):
    """Every configuration of the space has been tried."""


class MissingPackageError(HeadstartError, ImportError):
    """An optional package is not installed; the remedy names the extra that provides it."""

    def __init__(self, problem: str, remedy: str = "", *, name: str | None = None) -> None:
        super().__init__(problem, remedy)
        self.name = name  # the package, as in any ImportError

    def __reduce__(self) -> tuple[Any, ...]:
        return _missing_package, (self.problem, self.remedy.text, self.name)

    @classmethod
    def of(cls, what: str, package: str, extra: str) -> MissingPackageError:
        """`what` needs a package that one of our extras provides."""
        return cls(f"{what} needs {package}", f"pip install 'headstart[{extra}]'", name=package)


def _missing_package(problem: str, remedy: str, name: str | None) -> MissingPackageError:
    return MissingPackageError(problem, remedy, name=name)
