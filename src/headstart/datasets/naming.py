"""Embeddings as named numbers among the meta-features of a task: "metric <fingerprint> <i>".

The fingerprint identifies the model, since embeddings by different models cannot be compared. This module does not need
torch, so neither does any search that uses a history with embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from headstart.history import Features

_NAME = re.compile(r"metric ([0-9a-f]+) (\d+)")


def named(vector: npt.ArrayLike, fingerprint: str) -> dict[str, float]:
    """The numbers of an embedding, named after the model with this fingerprint."""
    return {f"metric {fingerprint} {i}": float(x) for i, x in enumerate(np.asarray(vector, dtype=float))}


def embedding_names(names: Iterable[str]) -> dict[str, list[str]]:
    """By fingerprint, those of the names that belong to embeddings, in the order of the embedding."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _NAME.fullmatch(name):
            found.setdefault(match[1], []).append((int(match[2]), name))
    return {fingerprint: [name for _, name in sorted(pairs)] for fingerprint, pairs in found.items()}


def described(features: Features, embedding: Mapping[str, float]) -> dict[str, float]:
    """Meta-features with this embedding in place of any earlier one."""
    old = {name for names in embedding_names(features).values() for name in names}
    return {**{name: x for name, x in features.items() if name not in old}, **embedding}
