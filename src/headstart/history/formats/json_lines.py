"""JSON lines: one evaluation per line, as an object. The parameters may be in an object of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pandas as pd

from headstart._support.files import existing
from headstart.errors import FormatError
from headstart.history.evaluations import Evaluations
from headstart.history.formats.frames import Source
from headstart.history.formats.steps import read_table
from headstart.history.reading import Reading

INNER = ("params", "config", "hyperparameters")  # objects whose entries count as if they were outside


def read_json_lines(path: str | os.PathLike[str], how: Reading) -> Evaluations:
    """A file with an object per line, read like a table with a column per key."""
    path = existing(path)
    rows, lines = [], []
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    rows.append(_row(json.loads(line), f"{path.name}, line {number}"))
                    lines.append(number)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        at = f", line {len(rows) + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise FormatError(f"{path.name}{at} is not a line of JSON or was cut off: {error}") from error
    if not rows:
        raise FormatError(f"{path.name} is empty")
    row_per_line = lines[-1] == len(lines)
    source = Source(path.name, *((f"{path.name}, line", 1) if row_per_line else (f"{path.name}, row", 1)))
    return read_table(pd.DataFrame(rows), how, source=source)


def _row(entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise FormatError(f"{where}: a line must be an object, but got {entry!r:.80}")
    row: dict[str, Any] = {}
    for key, value in entry.items():
        inner = value if isinstance(value, Mapping) else {key: value}
        prefix = "" if key in INNER or inner is not value else f"{key}."
        for name, cell in inner.items():
            if f"{prefix}{name}" in row:
                raise FormatError(f"{where}: {name!r} occurs twice")
            row[f"{prefix}{name}"] = json.dumps(cell) if isinstance(cell, (list, Mapping)) else cell
    return row
