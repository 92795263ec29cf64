"""Files of text as records: CSV with every cell as text, JSON lines, and nested records made flat."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart._support.files import existing
from headstart.errors import FormatError


def csv_header(path: Path) -> list[str]:
    """The names of the columns of a CSV file; nothing if it is not one."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return next(csv.reader(file), [])
    except (csv.Error, UnicodeDecodeError, OSError):
        return []


def csv_records(lines: Any, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file by column. lines: an open file, or its lines."""
    try:
        rows = [row for row in csv.reader(lines, strict=True) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError(f"{name} is not a readable CSV file or was cut off: {error}") from error
    if len(rows) < 2:
        raise FormatError(f"{name} has no row below its header")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise FormatError(
                f"{name}, row {number}: {len(row)} fields instead of {len(rows[0])}; the file is damaged or was cut off"
            )
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with existing(path).open(newline="", encoding="utf-8-sig") as file:
        return csv_records(file, path.name)


def records_of(frame: Any) -> list[dict[str, Any]]:
    """The rows of a data frame, without its empty cells."""
    return [{str(name): cell for name, cell in row.items() if not _is_empty(cell)} for row in frame.to_dict("records")]


def _is_empty(cell: Any) -> bool:
    return cell is None or (cell != cell) is True or type(cell).__name__ in ("NAType", "NaTType")


def is_frame(past: Any) -> bool:
    """Whether an object is a pandas data frame; does not import pandas."""
    return hasattr(past, "columns") and hasattr(past, "iloc")


def json_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The objects of a file with one JSON object per line, and how many lines are damaged."""
    good, bad = [], 0
    for line in existing(path).read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip():
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if isinstance(entry, dict):
                good.append(entry)
            else:
                bad += 1
    return good, bad


def csv_lines(path: Path) -> tuple[list[dict[str, str]], int]:
    """The rows of a CSV file that is written a line at a time, and how many are damaged."""
    text = existing(path).read_text(encoding="utf-8-sig", errors="replace")
    text = text.replace("\0", "")  # which csv refuses in Python 3.10
    try:
        rows = [next(csv.reader([line]), []) for line in text.splitlines() if line.strip()]
    except csv.Error:  # a cell beyond any sensible length
        return [], 1
    header, *rows = rows or [[]]
    good = [dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header)]
    return good, len(rows) - len(good)


def first_object(path: Path) -> dict[str, Any]:
    """The JSON object in the first line of a file; empty if there is none."""
    try:
        with existing(path).open(encoding="utf-8") as file:
            entry = json.loads(file.readline(1_000_000))
    except (ValueError, RecursionError, OSError):
        return {}
    return entry if isinstance(entry, dict) else {}


def flat(nested: Mapping[str, Any], separator: str) -> dict[str, Any]:
    """A nested dictionary as one level: {"net": {"depth": 3}} becomes {"net/depth": 3}."""
    level: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping) and value:
            level |= {f"{key}{separator}{below}": cell for below, cell in flat(value, separator).items()}
        else:
            level[str(key)] = value
    return level


def numbers(record: Mapping[str, Any], without: Sequence[str] = ()) -> dict[str, int | float]:
    """The entries of a record that are numbers; True and False are not."""
    return {
        name: value
        for name, value in record.items()
        if name not in without and isinstance(value, (int, float)) and not isinstance(value, bool)
    }
