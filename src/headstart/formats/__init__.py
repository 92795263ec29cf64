"""Histories in and out: tables, HPO-B's JSON, the files of the papers' authors.

Every importer says in two lines what it took and what it left out; they are the first notes of the history.
"""

from __future__ import annotations

from collections.abc import Sequence


def took_and_left(took: str, left: Sequence[str]) -> tuple[str, str]:
    """The two lines."""
    return f"took {took}", f"left out {'; '.join(left) or 'nothing'}"


def counted(n: int, thing: str) -> str:
    """1 row, 2 rows, 1,000 rows."""
    return f"{n:,} {thing}" + "s" * (n != 1)


def some(names: Sequence[str], most: int = 5) -> str:
    """A list of names, shortened."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
