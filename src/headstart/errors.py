"""Every exception that headstart raises on purpose. All of them are ValueErrors.

    HeadstartError
    ├── ArgumentError          an argument has a value that cannot be used
    ├── SpaceError             a search space is invalid, or a configuration does not fit it
    ├── HistoryError           past runs cannot be used as asked
    │   └── EmptyHistoryError  there is a place for past runs, but no finished run in it
    ├── FormatError            a file or storage is of another format, damaged or unreadable
    ├── ExhaustedError         every configuration of the space has been tried
    └── MissingPackageError    an optional package is not installed; also an ImportError

An error says what is wrong (`problem`) and, where there is something to do about it, what (`remedy`). A remedy names
arguments in braces, as in "name the column with {task}", so that each front end can put it in its own words: Python
writes `task=`, the command line `--task`. Any other exception that escapes from headstart is a bug.
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

# How to write an argument in Python, where its name alone would not help.
IN_PYTHON = {"features": "features=hs.metafeatures(X, y)"}


@dataclass(frozen=True)
class Remedy:
    """What to do about an error: a sentence with the names of arguments in braces. Empty if nothing can be done."""

    text: str = ""

    @property
    def arguments(self) -> list[str]:
        """The arguments that the sentence names."""
        return [name for _, name, _, _ in Formatter().parse(self.text) if name]

    def worded(self, arguments: Mapping[str, str]) -> str:
        """The sentence with each argument written as `arguments` says; empty if one of them is not there."""
        known = all(name in arguments for name in self.arguments)
        return self.text.format_map(arguments) if known else ""

    def __str__(self) -> str:
        """The sentence in the words of Python."""
        return self.worded({name: IN_PYTHON.get(name, f"{name}=") for name in self.arguments})


class HeadstartError(ValueError):
    """The parent of all errors that headstart raises on purpose."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = problem, Remedy(remedy)
        super().__init__(self.message())

    def message(self, arguments: Mapping[str, str] | None = None) -> str:
        """Problem and remedy in one line, in the words of Python or with the given names of arguments."""
        remedy = str(self.remedy) if arguments is None else self.remedy.worded(arguments)
        return f"{self.problem}; {remedy}" if remedy else self.problem

    def __reduce__(self) -> tuple[Any, ...]:  # worker processes send errors home as pickles
        return type(self), (self.problem, self.remedy.text)


class ArgumentError(HeadstartError):
    """An argument has a value that cannot be used."""


class SpaceError(HeadstartError):
    """A search space is invalid, or a configuration does not fit it."""


class HistoryError(HeadstartError):
    """Past runs cannot be used as asked."""


class EmptyHistoryError(HistoryError):
    """There is a place for past runs, but no finished run in it."""


class FormatError(HeadstartError):
    """A file or storage is of another format, damaged or unreadable."""


class ExhaustedError(HeadstartError):
    """Every configuration of the space has been tried."""


class MissingPackageError(HeadstartError, ImportError):
    """An optional package is not installed; the remedy names the extra that brings it."""

    def __init__(self, problem: str, remedy: str = "", *, name: str | None = None) -> None:
        super().__init__(problem, remedy)
        self.name = name  # of the package, as in any ImportError

    def __reduce__(self) -> tuple[Any, ...]:
        return _missing_package, (self.problem, self.remedy.text, self.name)

    @classmethod
    def of(cls, what: str, package: str, extra: str) -> MissingPackageError:
        """`what` needs a package that comes with one of our extras."""
        return cls(f"{what} needs {package}", f"pip install 'headstart[{extra}]'", name=package)


def _missing_package(problem: str, remedy: str, name: str | None) -> MissingPackageError:
    return MissingPackageError(problem, remedy, name=name)
