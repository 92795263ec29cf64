"""Output of the command line: colours and rules on a terminal, plain text in a pipe or a file.

The text is the same in both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from headstart._support.wording import printable, text_table

if TYPE_CHECKING:
    from rich.console import Console

BARS = "▁▂▃▄▅▆▇█"


class Escaped:
    """A stream on which names from files cannot give orders to the terminal; `inner` takes our own orders."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        return self.inner.write(printable(text, keep="\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def console() -> Console:
    """The terminal, for text that is escaped already."""
    from rich.console import Console

    return Console(file=getattr(sys.stdout, "inner", sys.stdout))


def colourful() -> bool:
    """Whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()) -> None:
    """Print a table. Columns are aligned to the right, except those in `left`."""
    if not colourful():
        print(text_table(header, rows, left=left))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, name in enumerate(header):
        shown.add_column(Text(printable(name)), justify="left" if i in left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    console().print(shown)


def say(text: str, *, good: bool | None = None) -> None:
    """Print a sentence, on a terminal in green if it is good news and in yellow if it is bad."""
    if not colourful() or good is None:
        print(text)
        return
    from rich.text import Text

    console().print(Text(printable(text, keep="\n"), style="green" if good else "yellow"), soft_wrap=True)


def sparkline(values: Sequence[float], high: float) -> str:
    """A curve between 0 and `high` as one line of block characters."""
    top = len(BARS) - 1
    return "".join(BARS[min(top, max(0, round(top * value / high)))] if high > 0 else BARS[0] for value in values)
