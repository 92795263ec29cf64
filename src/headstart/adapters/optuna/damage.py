"""Damage found while a storage is read: one error that names the place, or a count of what is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy
from optuna.exceptions import StorageInternalError

from headstart._support.wording import counted
from headstart.errors import FormatError, HeadstartError

REMEDY = "leave out what is damaged with {skip_damaged}"
STUDY, TRIAL, LINE = "damaged study", "damaged trial", "line from the first damaged one on"
PLURALS = {STUDY: "damaged studies", LINE: "lines from the first damaged one on"}


@dataclass
class Damage:
    """The damage found in one storage. skip: count it instead of raising an error."""

    where: str
    skip: bool = False
    parts: dict[str, int] = field(default_factory=dict)  # what → how many of it were skipped

    def found(self, what: str, kind: str, error: BaseException, n: int = 1) -> None:
        """Report that something cannot be read. what: as in "the study 'svm'"; kind: as in "damaged study"."""
        if not self.skip:
            raise FormatError(f"{self.where} is damaged: {what} cannot be read ({reason(error)})", REMEDY) from error
        self.parts[kind] = self.parts.get(kind, 0) + n

    def trial(self, study: str, number: Any, error: BaseException) -> None:
        self.found(f"trial {number} of the study {study!r}", TRIAL, error)

    def study(self, study: Any, error: BaseException) -> None:
        self.found(f"the study {study!r:.80}", STUDY, error)

    def lines(self) -> list[str]:
        """What was skipped, for the notes of a history."""
        return [counted(n, kind, PLURALS.get(kind)) for kind, n in self.parts.items()]

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Whatever goes wrong here and has no name yet becomes an error of ours."""
        try:
            yield
        except (HeadstartError, OSError, MemoryError):
            raise
        except Exception as error:
            if isinstance(inner := _inner(error), sqlalchemy.exc.OperationalError):
                raise unreadable(self.where, inner) from error
            remedy = "" if self.skip else REMEDY
            raise FormatError(f"{self.where} is damaged and cannot be read ({reason(error)})", remedy) from error


def unreadable(where: str, error: sqlalchemy.exc.OperationalError) -> FormatError:
    """The database does not answer."""
    if "locked" in str(error.orig):
        return FormatError(f"{where} is locked by another program", "try again when it has finished writing")
    return FormatError(f"{where} cannot be read: {reason(error)}")


def _inner(error: BaseException) -> BaseException:
    """The error of the database that Optuna's own error stands for."""
    return error.__cause__ or error if isinstance(error, StorageInternalError) else error


def reason(error: BaseException) -> str:
    """An exception in a few words: one line, without what Optuna and SQLAlchemy add to it."""
    error = _inner(error)
    if isinstance(error, sqlalchemy.exc.DBAPIError) and error.orig is not None:
        return " ".join(str(error.orig).split())[:200]
    text = " ".join(str(error).split())[:100]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
