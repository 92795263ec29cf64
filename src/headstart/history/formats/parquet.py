"""A history as one Parquet file.

It has one row per task and configuration, with the columns `task`, `value`, `count`, `cost`, and `config.NAME` for each
parameter. The space, the direction, the meta-features and the provenance are in the schema's metadata as JSON. Choices
that are not text are written as JSON.
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
from headstart._support.direction import checked_direction
from headstart._support.files import existing, replacing
from headstart._support.types import Array
from headstart.errors import FormatError
from headstart.history.evaluations import Evaluations, turned_by_task
from headstart.history.formats.frames import result_columns
from headstart.space import Categorical, Int, Space

_KEY = b"headstart"
_FORMAT = 2  # of files in which tasks have directions of their own; all others are written in format 1


def write(runs: Evaluations, path: str | os.PathLike[str]) -> None:
    """See `History.save`."""
    header = {
        "format": _FORMAT if runs.directions else 1,
        "version": __version__,
        "space": runs.space.to_json(),
        "direction": runs.direction,
        "features": {name: dict(features) for name, features in runs.features.items()},
        "info": dict(runs.info),
        "notes": list(runs.notes),
    }
    if runs.directions:
        header["directions"] = dict(runs.directions)
    table = pa.table(_arrow_columns(runs))
    table = table.replace_schema_metadata({_KEY: json.dumps(header, allow_nan=False).encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _arrow_columns(runs: Evaluations) -> dict[str, Any]:
    columns: dict[str, Any] = {"task": pa.array(runs.tasks, pa.string()).dictionary_encode()}
    for v, (name, parameter) in zip(runs.V.T, runs.space.items(), strict=True):
        inactive = np.isnan(v)
        if isinstance(parameter, Categorical):
            indices = pa.array(np.where(inactive, 0, v).astype(np.int32), mask=inactive)
            columns[f"config.{name}"] = pa.DictionaryArray.from_arrays(indices, _labels(parameter))
        elif isinstance(parameter, Int):
            columns[f"config.{name}"] = pa.array(np.where(inactive, 0, v).astype(np.int64), mask=inactive)
        else:
            columns[f"config.{name}"] = pa.array(v, mask=inactive)
    for name, column in result_columns(runs).items():
        columns[name] = pa.array(column, mask=np.isnan(column) if column.dtype.kind == "f" else None)
    return columns


def _labels(parameter: Categorical) -> list[str]:
    """The choices as text: themselves if they are all text, JSON otherwise."""
    if all(isinstance(choice, str) for choice in parameter.choices):
        return [str(choice) for choice in parameter.choices]
    return [json.dumps(choice) for choice in parameter.choices]


def read(path: str | os.PathLike[str]) -> Evaluations:
    """See `History.load`."""
    path = existing(path)
    if path.suffix == ".csv":
        raise FormatError(f"{path.name} is a CSV file", "read it with History.from_csv")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = "it is empty" if not path.stat().st_size else str(error)
        raise FormatError(f"{path.name} is not a Parquet file, is damaged or was cut off ({reason})") from error
    header = _read_header(table, path.name)
    try:
        return _read_evaluations(table, header)
    except (KeyError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise FormatError(f"{path.name} is damaged: {error}") from error


def _read_header(table: pa.Table, name: str) -> dict[str, Any]:
    raw = (table.schema.metadata or {}).get(_KEY)
    if raw is None:
        raise FormatError(
            f"{name} is a Parquet file, but not a history saved by headstart",
            "read it with pandas and pass it to History.from_frame as {frame}",
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
            f"{name} was saved in format {found} by headstart {header.get('version')}, but headstart {__version__} "
            f"reads only format 1 to {_FORMAT}",
            "install a newer headstart",
        )
    needed = ("space", "direction", "features", "info", "notes")
    if absent := [key for key in needed if key not in header]:
        raise FormatError(f"{name} is damaged: its header has no {absent[0]!r}")
    return dict(header)


def _read_evaluations(table: pa.Table, header: dict[str, Any]) -> Evaluations:
    direction = checked_direction(header["direction"])
    space = Space.from_json(header["space"])
    needed = ["task", "value", "count", *(f"config.{name}" for name in space)]
    if absent := [name for name in needed if name not in table.column_names]:
        raise FormatError(f"it has no column {absent[0]!r}")
    V = np.column_stack([_read_parameter(table, name, space) for name in space])
    directions = {str(task): checked_direction(own) for task, own in header.get("directions", {}).items()}
    tasks = _task_names(table)
    return Evaluations(
        space,
        tasks,
        space.checked(V, row_name="row"),
        turned_by_task(_floats(table, "value"), tasks, direction, directions),
        _counts(table),
        costs=_floats(table, "cost") if "cost" in table.column_names else None,
        features=_features(header["features"]),
        direction=direction,
        info=header["info"],
        notes=header["notes"],
        directions=directions,
    )


def _counts(table: pa.Table) -> npt.NDArray[np.int64]:
    counts = _floats(table, "count")
    bad = ~((counts >= 1) & (counts == np.rint(counts)))
    if bad.any():
        raise FormatError(f"a count must be a whole number of at least 1, but one is {counts[bad][0]:g}")
    return counts.astype(np.int64)


def _features(by_task: Any) -> Any:
    for task, features in by_task.items():
        for name, value in (features or {}).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise FormatError(f"the meta-feature {name!r} of {task!r} is {value!r}, not a number")
    return by_task


def _task_names(table: pa.Table) -> npt.NDArray[Any]:
    column = table["task"]
    if column.null_count:
        raise FormatError("an evaluation has no task")
    return np.asarray(column.cast(pa.string()).to_numpy(), dtype=object)


def _floats(table: pa.Table, name: str) -> Array:
    column = table[name]
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise FormatError(f"the column {name!r} holds {column.type}, not numbers")
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
