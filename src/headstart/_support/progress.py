"""The progress of a long job on standard error: a bar on a terminal, a line every 15 seconds in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import TextIO, TypeVar, cast

from headstart._support.wording import printable
from headstart.errors import ArgumentError

T = TypeVar("T")

INTERVAL = 15.0  # seconds between two lines in a log
WIDE = 100  # columns of a terminal from which on the bar is long


def track(iterable: Iterable[T], total: int | None = None, label: str = "") -> Iterator[T]:
    """The same elements, with progress shown.

    >>> [2 * i for i in track(range(3), label="training")]
    [0, 2, 4]
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with Progress(total, label) as progress:
        for element in iterable:
            yield element
            progress.advance()


class Progress:
    """Progress for work that is not one loop.

    >>> with Progress(total=300, label="training") as progress:
    ...     progress.advance(note="wine")
    """

    def __init__(self, total: int | None = None, label: str = "", *, stream: TextIO | None = None) -> None:
        """total: the number of steps, if known. stream: where to write, by default standard error."""
        if total is not None and total < 0:
            raise ArgumentError(f"total must not be negative, but got {total}")
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        self._stream = _Lenient(sys.stderr if stream is None else stream)
        console = Console(file=cast(TextIO, self._stream))
        self._live = self._stream.isatty() and not console.is_dumb_terminal
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24 if console.width >= WIDE else 10),  # the note should fit, too
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            expand=True,
            speed_estimate_period=3600.0,  # a step may take minutes
            redirect_stdout=False,  # that output belongs to the work, and may go to a file
            get_time=time.monotonic,
            disable=not self._live,
        )
        self._id = self._bar.add_task(label, total=total, note="")
        self._last_line = time.monotonic()
        self._last_note = ""

    def advance(self, steps: int = 1, note: str = "", *, lasting: bool = False) -> None:
        """Count steps as done. note: the name or the result of the latest one. lasting: show it after the end, too."""
        self._last_note = printable(note) if lasting else ""
        self._bar.update(self._id, advance=steps, note=printable(note))
        if not self._live and time.monotonic() - self._last_line >= INTERVAL:
            self._last_line = time.monotonic()
            self._write_line()

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._bar.update(self._id, note=self._last_note)
        self._bar.stop_task(self._id)
        self._bar.stop()
        if not self._live and self._bar.tasks[0].completed:
            self._write_line()

    def _write_line(self) -> None:
        """One line for a log: `training 12/40, 0:00:31, about 0:01:12 left, wine`."""
        task = self._bar.tasks[0]
        steps = f"{task.completed:.0f}" if task.total is None else f"{task.completed:.0f}/{task.total:.0f}"
        parts = [f"{task.description} {steps}".strip(), clock(task.elapsed or 0.0)]
        if task.stop_time is None and task.time_remaining:
            parts.append(f"about {clock(task.time_remaining)} left")
        self._stream.write(", ".join([*parts, *filter(None, [task.fields["note"]])]) + "\n")
        self._stream.flush()


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds: 0:01:12."""
    return str(timedelta(seconds=round(seconds)))


class _Lenient:
    """A stream that drops text it cannot write: a closed stream must not stop the work."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        with suppress(AttributeError, OSError, ValueError):
            self._stream.write(text)  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        with suppress(AttributeError, OSError, ValueError):
            self._stream.flush()  # type: ignore[union-attr]

    def isatty(self) -> bool:
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:
            return False
