"""File formats: data frames, CSV, Parquet, the JSON of HPO-B, and the files of the papers' authors.

Readers return `Evaluations`, from which a `History` builds itself, and writers take them.
"""

from __future__ import annotations

from collections.abc import Sequence


def took_and_left(took: str, left: Sequence[str]) -> tuple[str, str]:
    """The first two notes of every history that was read from elsewhere."""
    return f"took {took}", f"left out {'; '.join(left) or 'nothing'}"
