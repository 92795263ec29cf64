"""A history as one Parquet file.

It holds one row per task and configuration (`task`, `value`, `count`, `cost`, and a column `config.NAME` per
parameter) and, as JSON in its schema, the space, the direction, the meta-features and the provenance. Choices
that are not text stand there as JSON.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from headstart import __version__
from headstart._support.direction import DIRECTIONS
from headstart._support.files import existing, replacing
from headstart._support.types import Array
from headstart.errors import FormatError
from headstart.history.formats.tables import results
from headstart.history.history import History, build
from headstart.space import Categorical, Int, Space

_KEY = b"headstart"
_FORMAT = 1


def write(history: History, path: str | os.PathLike[str]) -> None:
    """See `History.save`."""
    header = {
        "format": _FORMAT,
        "version": __version__,
        "space": history.space.to_json(),
        "direction": history.direction,
        "features": {task.name: dict(task.features) for task in history if task.features},
        "info": dict(history.info),
        "notes": list(history.notes),
    }
    table = pa.table(_arrow_columns(history))
    table = table.replace_schema_metadata({_KEY: json.dumps(header, allow_nan=False).encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _arrow_columns(history: History) -> dict[str, Any]:
    rows = np.concatenate([task.rows for task in history])
    codes = np.repeat(np.arange(len(history)), [len(task) for task in history]).astype(np.int32)
    columns: dict[str, Any] = {"task": pa.DictionaryArray.from_arrays(codes, history.tasks)}
    for j, (name, parameter) in enumerate(history.space.items()):
        v = history.V[rows, j]
        inactive = np.isnan(v)
        if isinstance(parameter, Categorical):
            indices = pa.array(np.where(inactive, 0, v).astype(np.int32), mask=inactive)
            columns[f"config.{name}"] = pa.DictionaryArray.from_arrays(indices, _labels(parameter))
        elif isinstance(parameter, Int):
            columns[f"config.{name}"] = pa.array(np.where(inactive, 0, v).astype(np.int64), mask=inactive)
        else:
            columns[f"config.{name}"] = pa.array(v, mask=inactive)
    for name, column in results(history).items():
        columns[name] = pa.array(column, mask=np.isnan(column) if column.dtype.kind == "f" else None)
    return columns


def _labels(parameter: Categorical) -> list[str]:
    """The choices as text: themselves if they are all text, JSON otherwise."""
    if all(isinstance(choice, str) for choice in parameter.choices):
        return [str(choice) for choice in parameter.choices]
    return [json.dumps(choice) for choice in parameter.choices]


def read(path: str | os.PathLike[str]) -> History:
    """See `History.load`."""
    path = existing(path)
    if path.suffix == ".csv":
        raise FormatError(f"{path.name} is a CSV file; read it with History.from_csv")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = "it is empty" if not path.stat().st_size else str(error)
        raise FormatError(f"{path.name} is not a Parquet file, is damaged or was cut off ({reason})") from error
    header = _read_header(table, path.name)
    try:
        return _read_history(table, header)
    except (KeyError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise FormatError(f"{path.name} is damaged: {error}") from error


def _read_header(table: pa.Table, name: str) -> dict[str, Any]:
    raw = (table.schema.metadata or {}).get(_KEY)
    if raw is None:
        raise FormatError(
            f"{name} is a Parquet file, but not a history saved by headstart; "
            "read it with pandas and pass the frame to History.from_frame with its space"
        )
    try:
        header = json.loads(raw)
    except ValueError as error:
        raise FormatError(f"{name} is damaged: its header is not JSON ({error})") from error
    found = header.get("format") if isinstance(header, dict) else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise FormatError(f"{name} is damaged: its header has no format number")
    if found > _FORMAT:
        raise FormatError(
            f"{name} was saved in format {found} by headstart {header.get('version')}; this is headstart "
            f"{__version__}, which reads format {_FORMAT}: install a newer one"
        )
    needed = ("space", "direction", "features", "info", "notes")
    if absent := [key for key in needed if key not in header]:
        raise FormatError(f"{name} is damaged: its header has no {absent[0]!r}")
    return dict(header)


def _read_history(table: pa.Table, header: dict[str, Any]) -> History:
    if header["direction"] not in DIRECTIONS:
        raise FormatError(f"the direction is {header['direction']!r}")
    space = Space.from_json(header["space"])
    needed = ["task", "value", "count", *(f"config.{name}" for name in space)]
    if absent := [name for name in needed if name not in table.column_names]:
        raise FormatError(f"it has no column {absent[0]!r}")
    V = np.column_stack([_read_parameter(table, name, space) for name in space])
    values = _floats(table, "value")
    return build(
        space,
        tasks=_task_names(table),
        V=space.checked(V, row_name="row"),
        losses=values if header["direction"] == "minimize" else -values,
        counts=_counts(table),
        costs=_floats(table, "cost") if "cost" in table.column_names else None,
        features=_features(header["features"]),
        direction=header["direction"],
        info=header["info"],
        notes=header["notes"],
    )


def _counts(table: pa.Table) -> npt.NDArray[np.int64]:
    counts = _floats(table, "count")
    bad = ~((counts >= 1) & (counts == np.rint(counts)))
    if bad.any():
        raise FormatError(f"a count is a whole number from 1, but one is {counts[bad][0]:g}")
    return counts.astype(np.int64)


def _features(by_task: Any) -> Any:
    for task, features in by_task.items():
        for name, value in (features or {}).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise FormatError(f"the meta-feature {name!r} of {task!r} is {value!r} instead of a number")
    return by_task


def _task_names(table: pa.Table) -> npt.NDArray[Any]:
    column = table["task"]
    if column.null_count:
        raise FormatError("an evaluation has no task")
    return np.asarray(column.cast(pa.string()).to_numpy(), dtype=object)


def _floats(table: pa.Table, name: str) -> Array:
    column = table[name]
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise FormatError(f"the column {name!r} holds {column.type} instead of numbers")
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)


def _read_parameter(table: pa.Table, name: str, space: Space) -> Array:
    parameter = space[name]
    if not isinstance(parameter, Categorical):
        return _floats(table, f"config.{name}")
    column = table[f"config.{name}"].combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # older versions of pyarrow keep the chunks
        column = pa.concat_arrays(column.chunks)
    column = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    positions = {label: i for i, label in enumerate(_labels(parameter))}
    labels = column.dictionary.to_pylist()
    if unknown := [label for label in labels if label not in positions]:
        raise FormatError(f"{name!r} is {unknown[0]!r}, which is not in {parameter.describe()}")
    codes = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=float)
    places = np.array([positions[label] for label in labels] + [np.nan])
    return np.asarray(places[np.where(np.isnan(codes), -1, codes).astype(int)])
