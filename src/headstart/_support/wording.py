"""The wording of messages, and tables as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def counted(n: int, thing: str, things: str | None = None) -> str:
    """A number with its noun: 1 row, 2 rows, 1,000 rows. things: the plural, if it is irregular."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def closest(name: str, names: Sequence[str]) -> str:
    """'; did you mean …?' for an error message, or nothing."""
    from difflib import get_close_matches

    matches = get_close_matches(str(name), list(names), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()) -> str:
    """A table as plain text. Columns are aligned to the right, except those in `left`."""
    everything = [header, *rows]
    widths = [max(len(row[j]) for row in everything) for j in range(len(header))]
    lines = []
    for row in everything:
        cells = [c.ljust(w) if j in left else c.rjust(w) for j, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
