"""Data sets in files, for a learned distance: tables as CSV, TSV or Parquet, images as NumPy arrays (.npy).

A folder holds one file per task, named after it: `wine.csv` for the task "wine". Arrays have the shape (n, height,
width) or (n, channels, height, width). Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart._support.files import check_cells, existing, understanding
from headstart._support.wording import closest
from headstart.errors import ArgumentError, FormatError

TABLES, IMAGES = "tables", "images"
ENDINGS = {".csv": TABLES, ".tsv": TABLES, ".parquet": TABLES, ".npy": IMAGES}


class Data(NamedTuple):
    """A data set: X and y of a table, or images without y."""

    kind: str
    X: Any
    y: Any = None


def read_data(path: Path, target: str | None = None) -> Data:
    """The data set in a file. target: the column of a table that holds the classes (default: the last one)."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ArgumentError(f"{path} must end in one of {', '.join(ENDINGS)}")
    with understanding(f"{existing(path)} is not a readable {path.suffix} file"):
        if kind == IMAGES:
            return Data(kind, _pixels(path))
        frame = _frame(path)
    names = [str(name) for name in frame.columns]
    if len(names) < 2:
        raise FormatError(f"{path} needs a column of classes and at least one other, but has {len(names)}")
    column = names[-1] if target is None else target
    if column not in names:
        raise ArgumentError(f"{path} has no column {column!r}{closest(column, names)}")
    return Data(kind, frame.drop(columns=column), frame[column])


def _pixels(path: Path) -> Any:
    values = np.load(path, allow_pickle=False)
    if values.ndim not in (3, 4):
        raise FormatError(
            f"images have the shape (n, height, width) or (n, channels, height, width), not {values.shape}"
        )
    return values[:, None] if values.ndim == 3 else values


def _frame(path: Path) -> Any:
    import pandas as pd

    if path.suffix.lower() == ".parquet":
        from pyarrow.parquet import read_metadata

        about = read_metadata(path)
        check_cells(about.num_rows * about.num_columns, path.stat().st_size)
        return pd.read_parquet(path)
    return pd.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",")


def read_folder(folder: Path, tasks: Sequence[str], target: str | None = None) -> dict[str, Data]:
    """The data sets of those tasks that have a file in the folder; an error if there are none, or of both kinds."""
    if not folder.is_dir():
        raise ArgumentError(f"there is no folder {folder}")
    files = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in ENDINGS}
    found = {task: read_data(files[task], target) for task in tasks if task in files}
    if not found:
        some = ", ".join(tasks[:3])
        raise ArgumentError(
            f"{folder} has no file for any task of the history", f"name files after tasks, as in {some}"
        )
    kinds = {data.kind for data in found.values()}
    shapes = {data.X.shape[1:] for data in found.values() if data.kind == IMAGES}
    if len(kinds) > 1:
        raise ArgumentError(f"{folder} holds tables and images; a distance is learned between data sets of one kind")
    if len(shapes) > 1:
        raise ArgumentError(f"all images must have the same shape, but {folder} has {' and '.join(map(str, shapes))}")
    return found
