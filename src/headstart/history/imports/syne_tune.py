"""Syne Tune: an experiment folder with results.csv.zip and metadata.json, or a folder of several.

A trial is an evaluation with its last reported metrics. The folder is the task, unless `task` names an entry of the
metadata; `st_worker_time` or `elapsed_time` is the cost. A trial that ended without a report has failed.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart._support.files import most_text, read_json
from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.runs import FAILED, UNFINISHED, Run, Runs, as_path, folders, joined, parsing, read_all
from headstart.history.imports.texts import csv_records
from headstart.space import Categorical, Float, Int, Parameter, Space

FORMS = "an experiment folder with results.csv.zip and metadata.json, or a folder of such folders"
RESULTS = "results.csv.zip"
MODES = {"min": "minimize", "max": "maximize"}
SECONDS = ("elapsed_time", "st_worker_time")


def recognises(path: Path) -> bool:
    """Whether a path is an experiment, its results.csv.zip, or a folder of experiments."""
    return path.name == RESULTS or (path.is_dir() and bool(folders(path, _is_experiment)))


def _is_experiment(folder: Path) -> bool:
    return (folder / RESULTS).is_file()


def read(past: Any) -> Runs:
    """The trials of an experiment, of a folder of several, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    path = as_path(past, "Syne Tune", FORMS)
    path = path.parent if path.name == RESULTS else path
    found = folders(path, _is_experiment)
    if not found:
        raise FormatError(f"{path} has no {RESULTS}", f"Syne Tune runs are read from {FORMS}")
    return joined([_experiment(folder) for folder in found], f"{path.name} (Syne Tune)")


def _experiment(folder: Path) -> Runs:
    rows = _rows(folder / RESULTS)
    if "trial_id" not in rows[0]:
        raise FormatError(f"{folder / RESULTS} is not a result of Syne Tune: it has no column trial_id")
    metadata = _metadata(folder / "metadata.json")
    tags = {key: value for key, value in metadata.items() if isinstance(value, (str, int, float))}
    last = {row["trial_id"]: row for row in rows}  # rows are in the order of time
    runs = [_run(folder.name, row, tags) for row in last.values()]
    directions = metadata["directions"]
    return Runs(
        f"{folder.name} (Syne Tune)",
        [*runs, *_without_report(folder, set(last), tags)],
        next(iter(directions)) if len(directions) == 1 else None,
        directions,
        _space(metadata.get("config_space")),
        text=True,
        notes=[] if directions else [f"{folder.name} has no metadata.json"],
    )


def _metadata(path: Path) -> dict[str, Any]:
    """The metadata, and in it the directions of the metrics."""
    if not path.is_file():
        return {"directions": {}}
    with parsing(path, "the metadata of Syne Tune"):
        metadata = dict(read_json(path, "the metadata of Syne Tune"))
        names, modes = metadata["metric_names"], metadata["metric_mode"]
        modes = [modes] * len(names) if isinstance(modes, str) else modes
        return {**metadata, "directions": {name: MODES[mode] for name, mode in zip(names, modes, strict=True)}}


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        most = most_text(path.stat().st_size)
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise ValueError(f"it holds more than {most:,} bytes of text")
        text = content.decode("utf-8")
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, IndexError, ValueError, EOFError) as error:
        raise FormatError(f"{path} is damaged or was cut off ({error})") from error
    return csv_records(io.StringIO(text, newline=""), path.name)


def _run(task: str, row: Mapping[str, str], tags: Mapping[str, Any]) -> Run:
    config = {name.removeprefix("config_"): cell for name, cell in row.items() if name.startswith("config_")}
    others = {name: as_float(cell) for name, cell in row.items() if not name.startswith(("config_", "st_"))}
    metrics = {name: number for name, number in others.items() if number is not None and name != "trial_id"}
    seconds = next((number for name in SECONDS if (number := as_float(row.get(name))) is not None), None)
    return Run(task, config, metrics, seconds=seconds, tags=tags)


def _without_report(folder: Path, known: set[str], tags: Mapping[str, Any]) -> list[Run]:
    """The trials of the local backend that reported nothing: failed if they ended, otherwise unfinished."""
    runs = []
    for path in sorted(folder.glob("*/config.json")):
        if path.parent.name.isdigit() and path.parent.name not in known:
            with parsing(path, "the configuration of a trial"):
                entries = read_json(path, "the configuration of a trial").items()
            state = FAILED if (path.parent / "end").is_file() else UNFINISHED
            runs.append(Run(folder.name, {name: str(value) for name, value in entries}, {}, state, tags=tags))
    return runs


def _space(text: Any) -> Space | None:
    """The recorded space; None if there is none, or ours cannot express it."""
    try:
        entries = json.loads(text)
        parameters = {name: _parameter(entry) for name, entry in entries.items() if isinstance(entry, dict)}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    known = {name: parameter for name, parameter in parameters.items() if parameter is not None}
    return Space(known) if known and len(known) == len(parameters) else None


def _parameter(entry: Mapping[str, Any]) -> Parameter | None:
    kind, options, sampler = entry["domain_cls"], entry["domain_kwargs"], entry["sampler_cls"]
    if kind == "Categorical":
        return Categorical(options["categories"])
    if sampler not in ("Uniform", "LogUniform") or kind not in ("Float", "Integer"):
        return None
    make = Float if kind == "Float" else Int
    return make(options["lower"], options["upper"], log=sampler == "LogUniform")
