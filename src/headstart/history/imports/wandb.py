"""Weights & Biases: the runs table as CSV or JSON, or a frame of it.

Two layouts are common. The public API's documentation makes a table with the columns `config`, `summary` and `name`.
The CSV export of the web page has the columns of the table: its own first (Name, State, …), then the parameters in
alphabetical order, then the metrics in alphabetical order; where the order starts again, the metrics begin.

A run is an evaluation with its summary. The file is the task, unless `task` names a parameter or a column (Sweep,
Group); the runtime is the cost. Crashed and killed runs have failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.literals import printed_dict
from headstart.history.imports.metrics import direction_of, listed
from headstart.history.imports.runs import FAILED, FINISHED, UNFINISHED, Run, Runs, as_path, read_all
from headstart.history.imports.texts import (
    csv_header,
    first_object,
    flat,
    is_frame,
    json_lines,
    numbers,
    read_csv,
    records_of,
)

FORMS = "the runs table as a CSV or JSON file, or a frame with the columns config and summary"
STATES = {"finished": FINISHED, "failed": FAILED, "crashed": FAILED, "killed": FAILED}
# The columns of the web page that are neither parameters nor metrics.
OWN = (
    *("Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Agent", "Group", "Job Type", "ID"),
    *("Updated", "End Time", "Hostname", "Description", "Commit", "GitHub", "GPU Count", "GPU Type"),
)


def recognises(path: Path) -> bool:
    """Whether a path is a CSV or JSON file of the runs table."""
    header = set(csv_header(path))
    if header:
        return {"config", "summary"} <= header or {"Name", "State", "Created", "Runtime"} <= header
    if path.suffix.lower() not in (".json", ".jsonl") or not path.is_file():
        return False
    if {"config", "summary"} <= first_object(path).keys():
        return True
    with path.open("rb") as file:
        start = file.read(65_536)
    return start.lstrip()[:1] == b"[" and b'"config"' in start and b'"summary"' in start


def read(past: Any) -> Runs:
    """The runs of a file or a frame, of a list of these, or of a dict that names their tasks."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    if is_frame(past):
        return _runs(records_of(past), "the frame", "wandb", text=False)
    path = as_path(past, "Weights & Biases", FORMS)
    if not recognises(path):
        raise FormatError(
            f"{path} is not a runs table of Weights & Biases", f"Weights & Biases runs are read from {FORMS}"
        )
    if path.suffix.lower() == ".csv":
        return _runs(read_csv(path), path.name, path.stem, text=True)
    rows, damaged = _json_rows(path)
    return replace(_runs(rows, path.name, path.stem, text=False), left_out={"damaged line{s}": damaged})


def _json_rows(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The records of a JSON file: a list, one per line, or a column at a time as `DataFrame.to_json` writes them."""
    try:
        data = read_json(path, "a runs table of Weights & Biases")
    except FormatError:
        rows, damaged = json_lines(path)
        if not rows:
            raise
        return rows, damaged
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return data, 0
    columns = data if isinstance(data, dict) and isinstance(data.get("config"), dict) else {}
    if columns and all(isinstance(cell, dict) for cell in columns["config"].values()):
        return [{name: column.get(i) for name, column in columns.items()} for i in columns["config"]], 0
    raise FormatError(f"{path} is not a runs table of Weights & Biases: it has no records with config and summary")


def _runs(rows: list[dict[str, Any]], name: str, task: str, *, text: bool) -> Runs:
    source = f"{name} (Weights & Biases)"
    names = list(dict.fromkeys(key for row in rows for key in row))
    if {"config", "summary"} <= set(names):
        return Runs(source, [_api_run(row, task) for row in rows])
    if "State" not in names:
        raise FormatError(
            f"{name} is not a runs table of Weights & Biases: it needs the columns config and summary, or State",
            f"Weights & Biases runs are read from {FORMS}",
        )
    metrics, note = _metrics([key for key in names if key not in OWN])
    runs = [_page_run(row, metrics, task) for row in rows]
    return Runs(source, runs, text=text, notes=[note], guessed=True)


# -- the table of the API --------------------------------------------------------------------------------------


def _api_run(row: Mapping[str, Any], task: str) -> Run:
    config, summary = (_as_dict(row.get(part)) for part in ("config", "summary"))
    private = {key: value for key, value in summary.items() if key.startswith("_")}
    seconds = private.get("_runtime")
    return Run(
        task,
        flat({key: _unwrapped(value) for key, value in config.items() if not key.startswith("_")}, "."),
        numbers(flat({key: value for key, value in summary.items() if key not in private}, ".")),
        STATES.get(str(row.get("state", "finished")).lower(), UNFINISHED),
        as_float(seconds),
        {key: cell for key, cell in row.items() if isinstance(cell, (str, int, float))},
    )


def _as_dict(cell: Any) -> dict[str, Any]:
    """The dictionary in a cell, which may be JSON or what Python prints."""
    if isinstance(cell, Mapping):
        return dict(cell)
    if cell is None or cell == "":
        return {}
    try:
        found = json.loads(cell)
    except (TypeError, ValueError, RecursionError):
        found = printed_dict(cell) if isinstance(cell, str) else None
    if not isinstance(found, dict):
        raise FormatError(f"a cell of config or summary is not a dictionary: {cell!r:.80}")
    return found


def _unwrapped(value: Any) -> Any:
    """A raw config holds {"value": 0.1, "desc": None} for 0.1."""
    return value["value"] if isinstance(value, Mapping) and {"value"} <= value.keys() <= {"value", "desc"} else value


# -- the table of the web page ---------------------------------------------------------------------------------


def _metrics(names: Sequence[str]) -> tuple[list[str], str]:
    """Which columns are metrics: those after the alphabet starts again, or by their names if it does not, or twice."""
    for key in (str, str.casefold):
        breaks = [i for i in range(1, len(names)) if key(names[i]) < key(names[i - 1])]
        if len(breaks) == 1:
            metrics = list(names[breaks[0] :])
            return metrics, f"read as metrics, because they follow the parameters: {listed(metrics)}"
    metrics = [name for name in names if direction_of(name) is not None or "/" in name or name in ("epoch", "step")]
    return metrics, f"read as metrics by their names, not as parameters: {listed(metrics)}"


def _page_run(row: Mapping[str, Any], metrics: Sequence[str], task: str) -> Run:
    return Run(
        task,
        {key: cell for key, cell in row.items() if key not in OWN and key not in metrics and cell != ""},
        {key: number for key in metrics if (number := as_float(row.get(key))) is not None},
        STATES.get(str(row.get("State")).lower(), UNFINISHED),
        as_float(row.get("Runtime")),
        {key: cell for key, cell in row.items() if key in OWN and cell not in ("", "-")},
    )
