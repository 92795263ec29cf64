"""How far a long job is: a bar on a terminal, a line now and then in a log. Always on standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from types import TracebackType
from typing import TextIO, TypeVar

from headstart.errors import ArgumentError

T = TypeVar("T")

BAR = 24  # characters
REDRAW = 0.1  # seconds between two drawings on a terminal
LOG = 15.0  # seconds between two lines in a log


def track(iterable: Iterable[T], total: int | None = None, label: str = "") -> Iterator[T]:
    """The same elements, with progress shown.

    >>> for task in track(tasks, label="training"):
    ...     work(task)
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with Progress(total, label) as progress:
        for element in iterable:
            yield element
            progress.advance()


class Progress:
    """Progress by hand, for work that is not one loop.

    >>> with Progress(total=300, label="training") as progress:
    ...     progress.advance(note="wine")
    """

    def __init__(self, total: int | None = None, label: str = "", *, stream: TextIO | None = None) -> None:
        """total: how many steps there will be, if that is known; stream: standard error unless given."""
        if total is not None and total < 0:
            raise ArgumentError(f"total must not be negative, but got {total}")
        self.total, self.label, self.done, self.note = total, label, 0, ""
        self._stream = sys.stderr if stream is None else stream
        self._terminal = _is_terminal(self._stream)
        self._start = self._shown = time.monotonic()
        self._closed = False
        if self._terminal:
            self._draw()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps more are done; note: a word on the latest."""
        self.done, self.note = self.done + steps, note
        now = time.monotonic()
        if now - self._shown >= (REDRAW if self._terminal else LOG):
            self._shown = now
            self._draw()

    def close(self) -> None:
        """Show the final state and end the line."""
        if self._closed:
            return
        self._closed, self.note = True, ""
        if self._terminal or self.done:
            self._draw()
        if self._terminal:
            self._write("\n")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def text(self) -> str:
        """One line without the bar: `training 12/40, 0:31, about 1:12 left, wine`."""
        elapsed = time.monotonic() - self._start
        parts = [f"{self.label} {self.done}".strip() + ("" if self.total is None else f"/{self.total}")]
        parts.append(clock(elapsed))
        if not self._closed and self.total is not None and 0 < self.done < self.total:
            parts.append(f"about {clock(elapsed / self.done * (self.total - self.done))} left")
        return ", ".join([*parts, *([self.note] if self.note else [])])

    def _draw(self) -> None:
        if not self._terminal:
            self._write(self.text() + "\n")
            return
        columns = shutil.get_terminal_size().columns
        line = (self._bar() + self.text())[: columns - 1]
        self._write(f"\r{line}\x1b[K")  # back to the margin, and erase what an earlier, longer line left

    def _bar(self) -> str:
        if not self.total:
            return ""
        full, empty = ("█", "░") if _can_write(self._stream, "█░") else ("#", ".")
        filled = min(BAR, BAR * self.done // self.total)
        return full * filled + empty * (BAR - filled) + " "

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (AttributeError, OSError, ValueError):  # nobody is looking any more; the work goes on
            pass


def clock(seconds: float) -> str:
    """A duration as people write it.

    >>> clock(75), clock(3600)
    ('1:15', '1:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
