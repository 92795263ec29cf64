"""MLflow: an `mlruns` folder, a tracking database (SQLite), or what `mlflow.search_runs` returns, as a frame or CSV.

A run is an evaluation with its latest metrics, its experiment is the task, and its duration the cost. What a metric was
at earlier steps is the run's learning curve, which a frame lacks. Left out are deleted and unfinished runs, and the
parents of nested runs, which are searches rather than evaluations. Parameters are text in MLflow. See
`mlflow/store/tracking/file_store.py` and `dbmodels/models.py` there.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from headstart._support.files import existing
from headstart._support.sqlite import computed
from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.runs import FAILED, FINISHED, UNFINISHED, Run, Runs, as_path, read_all
from headstart.history.imports.texts import csv_header, is_frame, read_csv, records_of

FORMS = "an mlruns folder, a tracking database (SQLite), or a frame of mlflow.search_runs"
STATES = {"FINISHED": FINISHED, "FAILED": FAILED, "KILLED": FAILED, "RUNNING": UNFINISHED, "SCHEDULED": UNFINISHED}
CODES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}  # in meta.yaml
PARENT = "mlflow.parentRunId"
_COLUMNS = {"run_id", "experiment_id", "status"}
_TABLES = {"experiments", "runs", "params", "latest_metrics", "tags"}


def recognises(path: Path) -> bool:
    """Whether a path is a folder, a database or a CSV file of MLflow."""
    if path.is_dir():
        return _is_experiment(path) or any(_is_experiment(child) for child in path.iterdir() if child.is_dir())
    header = csv_header(path)
    if header:
        return {"run_id", "experiment_id"} <= set(header) and any(name.startswith("params.") for name in header)
    return _is_database(path)


def read(past: Any) -> Runs:
    """The runs of a folder, a database, a CSV file or a frame, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    if is_frame(past):
        return _from_records(records_of(past), "the frame")
    if isinstance(past, str) and re.match(r"https?://|databricks", past):
        raise FormatError(
            f"{past} is a tracking server", "pass what it returns: mlflow.search_runs(experiment_names=[…])"
        )
    path = as_path(database_path(past) if isinstance(past, str) else past, "MLflow", FORMS)
    if path.is_dir():
        return _from_folder(path)
    if path.suffix.lower() == ".csv":
        return _from_records(read_csv(path), path.name)
    return _from_database(path)


def database_path(past: str) -> str:
    """The path in a URL such as sqlite:///mlflow.db or file:///path/to/mlruns; anything else unchanged."""
    url = re.fullmatch(r"sqlite(?:\+\w+)?:///(.+?)(?:\?.*)?|file:(?://)?(.+)", past)
    return unquote(url[1] or url[2]) if url else past


@dataclass(frozen=True)
class _Record:
    """A run in the terms of MLflow; times are in milliseconds."""

    id: str
    experiment: str
    status: str
    start: float | None
    end: float | None
    deleted: bool
    metrics: Mapping[str, Any]
    params: Mapping[str, str]
    tags: Mapping[str, Any]
    curves: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def run(self) -> Run:
        seconds = (self.end - self.start) / 1000 if self.start is not None and self.end is not None else None
        return Run(self.experiment, self.params, self.metrics, STATES[self.status], seconds, self.tags, self.curves)


def _runs(source: str, records: Sequence[_Record], damaged: int = 0) -> Runs:
    parents = {record.tags[PARENT] for record in records if PARENT in record.tags}
    kept = [record for record in records if not record.deleted]
    leaves = [record for record in kept if record.id not in parents]
    if unknown := [record.status for record in leaves if record.status not in STATES]:
        raise FormatError(f"{source}: a run has the unknown status {unknown[0]!r}")
    left_out = {
        "run{s} of which no id, experiment or status is recorded": damaged,
        "deleted run{s}": len(records) - len(kept),
        "run{s} with nested runs (searches, not evaluations)": len(kept) - len(leaves),
    }
    return Runs(source, [record.run() for record in leaves], text=True, left_out=left_out)


# -- the folder ------------------------------------------------------------------------------------------------


def _is_experiment(folder: Path) -> bool:
    return "artifact_location" in _meta(folder)


def _meta(folder: Path) -> dict[str, str]:
    """A meta.yaml file, which is flat: `key: value`, where text may be quoted."""
    try:
        text = existing(folder / "meta.yaml").read_text(encoding="utf-8")
    except (OSError, FormatError, UnicodeDecodeError):
        return {}
    pairs = re.findall(r"^(\w+): ?(.*)$", text, re.MULTILINE)
    return {key: _unquoted(value.strip()) for key, value in pairs}


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _from_folder(folder: Path) -> Runs:
    found = [folder] if _is_experiment(folder) else sorted(c for c in folder.iterdir() if _is_experiment(c))
    if not found:
        raise FormatError(
            f"{folder} is not an mlruns folder: no folder in it has a meta.yaml with an artifact_location",
            f"MLflow runs are read from {FORMS}",
        )
    records, damaged = [], 0
    for experiment in found:
        name = _meta(experiment).get("name", experiment.name)
        deleted = _meta(experiment).get("lifecycle_stage") == "deleted"
        for run in sorted(filter(_is_run, experiment.iterdir())):
            meta = _meta(run)
            if not {"status", "lifecycle_stage"} <= meta.keys():
                damaged += 1
                continue
            records.append(_run_in(run, meta, name, deleted))
    return _runs(f"{folder.name} (MLflow)", records, damaged)


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run, even if its meta.yaml is missing; traces and models are none."""
    return "run_id" in _meta(folder) or (folder / "params").is_dir() or (folder / "metrics").is_dir()


def _run_in(folder: Path, meta: Mapping[str, str], experiment: str, deleted: bool) -> _Record:
    metrics = {name: _points(text) for name, text in _files(folder / "metrics").items()}
    return _Record(
        meta.get("run_id", folder.name),
        experiment,
        CODES.get(meta["status"], meta["status"]),
        as_float(meta.get("start_time")),
        as_float(meta.get("end_time")),
        deleted or meta["lifecycle_stage"] == "deleted",
        {name: points[-1][2] if points else None for name, points in metrics.items()},
        _files(folder / "params"),
        _files(folder / "tags"),
        {name: {int(s): y for s, _, y in points if math.isfinite(s)} for name, points in metrics.items()},
    )


def _files(folder: Path) -> dict[str, str]:
    """The text of each file below a folder. A name with a slash, such as val/loss, is a file in a folder."""
    paths = sorted(Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").strip()
        for path in paths
        if path.is_file()
    }


def _points(text: str) -> list[tuple[float, float, float]]:
    """Steps, times and values of a metric file, the latest last. A half-written line is skipped."""
    points = []
    for line in text.splitlines():
        numbers = [as_float(part) for part in line.split()[:3]]
        if len(numbers) >= 2 and None not in numbers:
            time, value, *step = [number for number in numbers if number is not None]
            points.append(((*step, 0.0)[0], time, value))
    return sorted(points)


# -- the database ----------------------------------------------------------------------------------------------


def _is_database(path: Path) -> bool:
    try:
        with existing(path).open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                return False
        with closing(_opened(path)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except (OSError, FormatError, UnicodeDecodeError, sqlite3.Error):
        return False
    return tables >= _TABLES


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)


def _from_database(path: Path) -> Runs:
    if not _is_database(path):
        raise FormatError(f"{path} is not a tracking database of MLflow", f"MLflow runs are read from {FORMS}")
    try:
        with closing(_opened(path)) as database:
            if (found := database.execute(computed({*_TABLES, "metrics"})).fetchone()) is not None:
                raise FormatError(f"{path} is not read: its table {found[0]} computes what it shows")
            rows = database.execute(
                "SELECT run_uuid, e.name, status, start_time, end_time, r.lifecycle_stage, e.lifecycle_stage "
                "FROM runs r JOIN experiments e ON r.experiment_id = e.experiment_id ORDER BY start_time, run_uuid"
            ).fetchall()
            metrics = _by_run(
                database, "SELECT run_uuid, key, CASE is_nan WHEN 1 THEN NULL ELSE value END FROM latest_metrics"
            )
            params = _by_run(database, "SELECT run_uuid, key, value FROM params")
            tags = _by_run(database, "SELECT run_uuid, key, value FROM tags")
            curves = _reported(database)
    except (UnicodeDecodeError, sqlite3.Error) as error:
        raise FormatError(f"{path} cannot be read as a tracking database of MLflow: {error}") from error
    records = []
    for *names, start, end, r_stage, e_stage in rows:
        run, experiment, status = map(_text, names)
        recorded = (metrics.get(run, {}), params.get(run, {}), tags.get(run, {}), curves.get(run, {}))
        deleted = "deleted" in (r_stage, e_stage)
        records.append(_Record(run, experiment, status, as_float(start), as_float(end), deleted, *recorded))
    return _runs(f"{path.name} (MLflow)", records)


def _reported(database: sqlite3.Connection) -> dict[str, dict[str, dict[int, float]]]:
    """What runs reported: run → metric → step → value. The last value of a step counts."""
    curves: dict[str, dict[str, dict[int, float]]] = {}
    query = "SELECT run_uuid, key, step, value FROM metrics WHERE is_nan = 0 ORDER BY run_uuid, key, step, timestamp"
    for run, key, step, value in database.execute(query) if _has(database, "metrics") else ():
        number = as_float(value)
        if isinstance(step, int) and number is not None:
            curves.setdefault(_text(run), {}).setdefault(_text(key), {})[step] = number
    return curves


def _has(database: sqlite3.Connection, table: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return database.execute(query, (table,)).fetchone() is not None


def _by_run(database: sqlite3.Connection, query: str) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for run, key, value in database.execute(query):
        cell = _text(value) if isinstance(value, bytes) else value
        table.setdefault(_text(run), {})[_text(key)] = float("nan") if cell is None else cell
    return table


def _text(cell: Any) -> str:
    """The cell of a column of text. A column of SQLite can hold anything, if the file is damaged."""
    return cell if isinstance(cell, str) else str(cell)


# -- the frame -------------------------------------------------------------------------------------------------


def _from_records(rows: list[dict[str, Any]], name: str) -> Runs:
    """The rows of `mlflow.search_runs`."""
    if not rows or not set().union(*rows) >= _COLUMNS:
        raise FormatError(
            f"{name} is not a table of MLflow runs: it needs the columns run_id, experiment_id and status",
            f"MLflow runs are read from {FORMS}",
        )
    whole = [row for row in rows if row.keys() >= _COLUMNS]
    return _runs(f"{name} (MLflow)", [_row(row) for row in whole], len(rows) - len(whole))


def _row(row: Mapping[str, Any]) -> _Record:
    def below(prefix: str) -> dict[str, Any]:
        return {key.removeprefix(prefix): cell for key, cell in row.items() if key.startswith(prefix) and cell != ""}

    return _Record(
        str(row["run_id"]),
        str(row["experiment_id"]),
        str(row["status"]),
        _milliseconds(row.get("start_time")),
        _milliseconds(row.get("end_time")),
        False,
        {key: as_float(cell) for key, cell in below("metrics.").items()},
        {key: str(cell) for key, cell in below("params.").items()},
        below("tags."),
    )


def _milliseconds(cell: Any) -> float | None:
    """A time of the frame: a timestamp, or the same as text."""
    import pandas as pd

    time = pd.to_datetime(cell, errors="coerce", utc=True)
    return None if pd.isna(time) else float(time.timestamp() * 1000)
