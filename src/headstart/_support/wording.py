"""The wording of messages, and tables as plain text.

Names come from users' files and may hold anything. Wherever they are shown, `printable` keeps them from giving orders
to a terminal, and from reordering the text around them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def printable(text: str, keep: str = "") -> str:
    """The text with control characters, marks for the direction of writing and the like as escapes: \\u001b.

    keep: characters that stay as they are, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else _escaped(c) for c in text)


def _escaped(c: str) -> str:
    """As JSON writes it, so that JSON stays JSON."""
    units = c.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def markdown(text: str) -> str:
    """The text as Markdown that shows it, whatever it contains: no markup, no HTML, no end of a table's cell or row."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(text))


def counted(n: int, thing: str, things: str | None = None) -> str:
    """A number with its noun: 1 row, 2 rows, 1,000 rows. things: the plural, if it is irregular."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + more


def closest(name: str, names: Sequence[str], cutoff: float = 0.5) -> str:
    """'; did you mean …?' for an error message, or nothing.

    Names that contain the given one come first; of the others, those that are about as similar as the best.
    """
    from difflib import SequenceMatcher

    text, scores = str(name).lower(), dict[str, float]()
    for known in names:
        within = len(text) > 2 and text in known.lower()
        scores[known] = 1.0 if within else SequenceMatcher(None, known.lower(), text).ratio()
    best = max(scores.values(), default=0.0)
    matches = [known for known in sorted(scores, key=lambda k: -scores[k]) if scores[known] >= max(cutoff, best - 0.1)]
    return f"; did you mean {' or '.join(map(repr, matches[:3]))}?" if matches else ""


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()) -> str:
    """A table as plain text. Columns are aligned to the right, except those in `left`."""
    everything = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[j]) for row in everything) for j in range(len(header))]
    lines = []
    for row in everything:
        cells = [c.ljust(w) if j in left else c.rjust(w) for j, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
