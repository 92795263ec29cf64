"""A history as one Parquet file.

It has one row per task and configuration, with the columns `task`, `value`, `count`, `cost`, and `config.NAME` for each
parameter. Learning curves, if there are any, are further rows with the columns `step`, `run` and `ended`, which are
empty in the rows of evaluations. The space, the direction, the meta-features and the provenance are in the schema's
metadata as JSON. Choices that are not text are written as JSON. A file may hold several metrics of the same
evaluations: `value` is the first, the others are in columns `metric.NAME`, and the metadata has their names and
directions. Learning curves are those of the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headstart import __version__
from headstart._support.direction import checked_direction
from headstart._support.files import check_cells, existing, replacing, understanding
from headstart._support.types import Array
from headstart._support.wording import closest
from headstart.errors import FormatError, HistoryError
from headstart.history.curves import LARGEST_STEP, Curves
from headstart.history.evaluations import Evaluations, turned_by_task
from headstart.history.formats.frames import MOST, result_columns
from headstart.space import Categorical, Int, Space

_KEY = b"headstart"
# Of files with learning curves. Those in which tasks have directions of their own have format 2, all others 1.
_FORMAT = 3
_CURVES = ("step", "run", "ended")


def write(
    runs: Evaluations, path: str | os.PathLike[str], metrics: Mapping[str, Evaluations] = MappingProxyType({})
) -> None:
    """See `History.save`. metrics: the same evaluations by metric, the first of them `runs` itself."""
    header = {
        "format": _FORMAT if runs.curves is not None else 2 if runs.directions else 1,
        "version": __version__,
        "space": runs.space.to_json(),
        "direction": runs.direction,
        "features": {name: dict(features) for name, features in runs.features.items()},
        "info": dict(runs.info),
        "notes": list(runs.notes),
    }
    if runs.directions:
        header["directions"] = dict(runs.directions)
    if metrics:
        header["metrics"] = {name: other.direction for name, other in metrics.items()}
    columns = _arrow_columns(runs)
    for name, other in list(metrics.items())[1:]:
        columns[f"metric.{name}"] = pa.array(other.values, mask=np.isnan(other.values))
    table = pa.table(columns)
    if runs.curves is not None:
        table = pa.concat_tables([table, _points(runs, runs.curves)], promote_options="default")
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


def _points(runs: Evaluations, curves: Curves) -> pa.Table:
    """One row per step of a learning curve."""
    every = replace(
        runs,
        tasks=curves.tasks[curves.run],
        V=curves.V[curves.run],
        losses=curves.losses,
        counts=np.ones(len(curves.run), dtype=np.int64),
        costs=None if runs.costs is None else np.full(len(curves.run), np.nan),
    )
    columns = zip(_CURVES, (curves.steps, curves.run, curves.ended[curves.run].astype(np.int64)), strict=True)
    return pa.table({**_arrow_columns(every), **{name: pa.array(column) for name, column in columns}})


def _labels(parameter: Categorical) -> list[str]:
    """The choices as text: themselves if they are all text, JSON otherwise."""
    if all(isinstance(choice, str) for choice in parameter.choices):
        return [str(choice) for choice in parameter.choices]
    return [json.dumps(choice) for choice in parameter.choices]


def read_metrics(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metrics in a file with their directions, the one that is read by default first; empty if it names none."""
    path = existing(path)
    return _metrics(_read_header(pq.read_schema(path), path.name))


def read_features(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The meta-features of the tasks in a file."""
    path = existing(path)
    header = _read_header(pq.read_schema(path), path.name)
    with understanding(f"{path.name} is damaged"):
        return {task: dict(features) for task, features in _features(header["features"]).items()}


def read(path: str | os.PathLike[str], metric: str | None = None) -> Evaluations:
    """See `History.load`."""
    path = existing(path)
    if path.suffix == ".csv":
        raise FormatError(f"{path.name} is a CSV file", "read it with History.from_csv")
    try:
        file = pq.ParquetFile(path)
        header = _read_header(file.schema_arrow, path.name)
        with understanding(f"{path.name} is damaged"):
            space = Space.from_json(header["space"])
            metrics = _metrics(header)
        value = _value_column(metrics, metric, path.name)
        with understanding(f"{path.name} is damaged"):
            columns = _columns(file, space, value, path.stat().st_size)
        table = pq.read_table(path, columns=columns, read_dictionary=[c for c in columns if _is_text(file, c)])
    except (pa.ArrowException, OSError, UnicodeError) as error:  # the last for names of columns
        reason = "it is empty" if not path.stat().st_size else str(error)
        raise FormatError(f"{path.name} is not a Parquet file, is damaged or was cut off ({reason})") from error
    with understanding(f"{path.name} is damaged"):
        if metric is not None and metrics:
            header["direction"] = metrics[metric]
        if "step" not in table.column_names:
            return _read_evaluations(table, header, space, value)
        final = pc.is_null(table["step"])
        runs = _read_evaluations(table.filter(final), header, space, value)
        curves = _read_curves(table.filter(pc.invert(final)), header, space) if value == "value" else None
        return replace(runs, curves=curves)


def _read_curves(table: pa.Table, header: dict[str, Any], space: Space) -> Curves | None:
    if not len(table):
        return None
    points = _read_evaluations(table, header, space, "value")
    steps, run, ended = (_floats(table, name) for name in _CURVES)
    if not np.isfinite([steps, run, ended]).all():
        raise FormatError("a step of a learning curve has no number, run or end")
    if ((np.abs(steps) > LARGEST_STEP) | (steps != np.rint(steps))).any():
        raise FormatError("a step of a learning curve is not a whole number of at most 2^53")
    order = np.lexsort((steps, run))
    _, first, of = np.unique(run[order], return_index=True, return_inverse=True)
    chosen = order[first]
    return Curves(
        points.tasks[chosen],
        points.V[chosen],
        ended[chosen] > 0,
        of.astype(np.int64),
        steps[order].astype(np.int64),
        points.losses[order],
    )


def _metrics(header: dict[str, Any]) -> dict[str, str]:
    return {str(name): checked_direction(direction) for name, direction in header.get("metrics", {}).items()}


def _value_column(metrics: Mapping[str, str], metric: str | None, name: str) -> str:
    """The column of a metric."""
    if metric is None or metric == next(iter(metrics), None):
        return "value"
    if metric not in metrics:
        known = f"its metrics are {', '.join(metrics)}" if metrics else "it has only one"
        raise HistoryError(f"{name} has no metric {metric!r}: {known}{closest(metric, list(metrics))}")
    return f"metric.{metric}"


def _columns(file: pq.ParquetFile, space: Space, value: str, size: int) -> list[str]:
    """The columns to read. They are checked before a small file can fill the memory: a run of equal values is short."""
    names = file.schema_arrow.names
    needed = ["task", value, "count", *(f"config.{name}" for name in space)]
    if absent := [name for name in needed if name not in names]:
        raise FormatError(f"it has no column {absent[0]!r}")
    columns = [*needed, *(name for name in ("cost", *_CURVES) if name in names)]
    if nested := [name for name in columns if pa.types.is_nested(file.schema_arrow.field(name).type)]:
        raise FormatError(f"its column {nested[0]!r} is nested")
    check_cells(file.metadata.num_rows * len(columns), size)
    return columns


def _is_text(file: pq.ParquetFile, name: str) -> bool:
    kind = file.schema_arrow.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def _read_header(schema: pa.Schema, name: str) -> dict[str, Any]:
    raw = (schema.metadata or {}).get(_KEY)
    if raw is None:
        raise FormatError(
            f"{name} is a Parquet file, but not a history saved by headstart",
            "read it with pandas and pass it to History.from_frame as {frame}",
        )
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
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
    if not isinstance(header["notes"], list) or not all(isinstance(note, str) for note in header["notes"]):
        raise FormatError(f"{name} is damaged: the notes in its header are not text")
    if not isinstance(header["info"], dict) or not isinstance(header["features"], dict):
        raise FormatError(f"{name} is damaged: the info or the features in its header are not an object")
    return dict(header)


def _read_evaluations(table: pa.Table, header: dict[str, Any], space: Space, value: str) -> Evaluations:
    direction = checked_direction(header["direction"])
    V = np.column_stack([_read_parameter(table, name, space) for name in space])
    directions = {str(task): checked_direction(own) for task, own in header.get("directions", {}).items()}
    tasks = _task_names(table)
    return Evaluations(
        space,
        tasks,
        space.checked(V, row_name="row"),
        turned_by_task(_floats(table, value), tasks, direction, directions),
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
    bad = ~((counts >= 1) & (counts <= MOST) & (counts == np.rint(counts)))
    if bad.any():
        raise FormatError(f"a count must be a whole number from 1 to 2^53, but one is {counts[bad][0]:g}")
    return counts.astype(np.int64)


def _features(by_task: Any) -> Any:
    for task, features in by_task.items():
        for name, value in (features or {}).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise FormatError(f"the meta-feature {name!r} of {task!r} is {value!r}, not a number")
    return by_task


def _task_names(table: pa.Table) -> npt.NDArray[Any]:
    column = _dictionary(table["task"])
    if column.null_count:
        raise FormatError("an evaluation has no task")
    names = np.array([_text(name) for name in column.dictionary.to_pylist()], dtype=object)
    return np.asarray(names[column.indices.to_numpy(zero_copy_only=False)], dtype=object)


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise FormatError(f"the name of a task is {name!r:.40}, not text")
    return name


def _dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as its distinct values and, for each row, which of them it holds."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # older versions of pyarrow keep the chunks
        whole = pa.concat_arrays(whole.chunks)
    return whole


def _floats(table: pa.Table, name: str) -> Array:
    column = table[name]
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        raise FormatError(f"the column {name!r} holds {kind}, not numbers")
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)


def _read_parameter(table: pa.Table, name: str, space: Space) -> Array:
    parameter = space[name]
    if not isinstance(parameter, Categorical):
        return _floats(table, f"config.{name}")
    column = _dictionary(table[f"config.{name}"])
    positions = {label: i for i, label in enumerate(_labels(parameter))}
    labels = column.dictionary.to_pylist()
    if unknown := [label for label in labels if label not in positions]:
        raise FormatError(f"{name!r} is {unknown[0]!r}, which is not in {parameter.describe()}")
    codes = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=float)
    places = np.array([positions[label] for label in labels] + [np.nan])
    return np.asarray(places[np.where(np.isnan(codes), -1, codes).astype(int)])
