"""File formats: tables (data frames, CSV), Parquet, HPO-B's JSON, and the files of the papers' authors.

Every reader says in two lines what it took and what it left out. They are the first notes of the history.
"""

from __future__ import annotations

from collections.abc import Sequence


def took_and_left(took: str, left: Sequence[str]) -> tuple[str, str]:
    """The two lines."""
    return f"took {took}", f"left out {'; '.join(left) or 'nothing'}"
