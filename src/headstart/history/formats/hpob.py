"""The JSON layout of HPO-B: search space → data set → {"X": rows in the unit cube, "y": accuracies}.

Pineda Arango, Jomaa, Wistuba, Grabocka: HPO-B: A Large-Scale Reproducible Benchmark for Black-Box HPO (2021).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headstart._support.direction import turned
from headstart._support.files import read_json
from headstart._support.types import Array
from headstart._support.wording import closest, counted, some
from headstart.errors import FormatError
from headstart.history.evaluations import Evaluations
from headstart.space import Float, Space, as_space


def read_hpob(path: str | os.PathLike[str], search_space: str | None = None, *, space: Any = None) -> Evaluations:
    """One search space of an HPO-B file, to be maximised as published.

    space: the space whose encoding the rows are; by default x0, x1, … on [0, 1].
    """
    data = read_json(path, "an HPO-B file")
    if isinstance(data, dict) and data.get("headstart") == "start":
        raise FormatError(f"{path} is a start file, not past runs", "load it with {load_start}")
    if not isinstance(data, dict) or not data or not all(isinstance(e, dict) and e for e in data.values()):
        raise FormatError(f"{path} is not an HPO-B file: it must be an object of search spaces with data sets")
    if search_space is None and len(data) > 1:
        raise FormatError(
            f"{path} holds {len(data)} search spaces: {some(sorted(data), 20)}", "name one with {search_space}"
        )
    search_space = next(iter(data)) if search_space is None else search_space
    if search_space not in data:
        raise FormatError(f"{path} has no search space {search_space!r}{closest(search_space, list(data))}")
    entries = {str(name): _read_entry(name, entry) for name, entry in data[search_space].items()}
    widths = sorted({X.shape[1] for X, _ in entries.values()})
    if len(widths) != 1:
        raise FormatError(f"search space {search_space!r} has rows of different lengths: {widths}")
    space = _unit_cube(widths[0]) if space is None else as_space(space)
    Z, y = (np.concatenate(parts) for parts in zip(*entries.values(), strict=True))
    return Evaluations(
        space,
        np.repeat(np.array(list(entries), dtype=object), [len(y) for _, y in entries.values()]),
        _values(space, Z),
        turned(y, "maximize"),
        np.ones(len(y), dtype=np.int64),
        direction="maximize",
        source=f"search space {search_space!r}",
        skipped=[counted(len(data) - 1, "other search space")] if len(data) > 1 else [],
    )


def _read_entry(name: str, entry: Any) -> tuple[Array, Array]:
    try:
        X = np.array(entry["X"], dtype=float)
        y = np.array(entry["y"], dtype=float).reshape(-1)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"data set {name!r} must hold numbers in X and y: {error!r}") from error
    if X.ndim != 2 or len(X) != len(y):
        raise FormatError(f"data set {name!r} has X of shape {X.shape} and {len(y)} values in y")
    if not np.isfinite(X).all() or np.isinf(y).any():
        raise FormatError(f"data set {name!r} has infinite values, or missing ones in X")
    return X, y


def _unit_cube(d: int) -> Space:
    return Space({f"x{j}": Float(0.0, 1.0) for j in range(d)})


def _values(space: Space, Z: Array) -> Array:
    """The values that the rows encode; an error if they are not an encoding of this space."""
    if space.width != Z.shape[1]:
        raise FormatError(f"the file has {Z.shape[1]} columns, but the space encodes to {space.width}")
    if space == _unit_cube(space.width):
        return space.checked(Z, row_name="evaluation")
    V = space.decode_values(Z)
    off = np.abs(space.encode_values(V) - Z).max(axis=1)
    if (off > 1e-6).any():
        row = int(np.flatnonzero(off > 1e-6)[0])
        raise FormatError(
            f"evaluation {row} is not a configuration of this space: its encoding is off by {off[row]:.3g}"
        )
    return V
