"""File formats: data frames, CSV, Parquet, the JSON of HPO-B, and the files of the papers' authors.

Readers return `Evaluations`, from which a `History` builds itself, and writers take them.
"""

from __future__ import annotations

from collections.abc import Sequence


def read_and_skipped(read: str, skipped: Sequence[str]) -> tuple[str, str]:
    """The first two notes of a history: what was read from its source, and what was skipped there."""
    return f"read {read}", f"skipped {'; '.join(skipped) or 'nothing'}"
