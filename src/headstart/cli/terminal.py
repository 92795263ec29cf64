"""Output of the command line: colours and rules on a terminal, plain text in a pipe or a file.

The text is the same in both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from headstart._support.wording import text_table

BARS = "▁▂▃▄▅▆▇█"


def colourful() -> bool:
    """Whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()) -> None:
    """Print a table. Columns are aligned to the right, except those in `left`."""
    if not colourful():
        print(text_table(header, rows, left=left))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, name in enumerate(header):
        shown.add_column(Text(name), justify="left" if i in left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    Console().print(shown)


def say(text: str, *, good: bool | None = None) -> None:
    """Print a sentence, on a terminal in green if it is good news and in yellow if it is bad."""
    if not colourful() or good is None:
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(text, style="green" if good else "yellow"), soft_wrap=True)


def sparkline(values: Sequence[float], high: float) -> str:
    """A curve between 0 and `high` as one line of block characters."""
    top = len(BARS) - 1
    return "".join(BARS[min(top, max(0, round(top * value / high)))] if high > 0 else BARS[0] for value in values)
