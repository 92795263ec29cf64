"""FLAML: the log of `AutoML.fit(log_file_name=…)`, one JSON object per line, or a folder of such logs.

A record is an evaluation with its validation loss, which FLAML minimises; the file is the task, the trial's seconds are
the cost. The learner is a parameter, and the parameters of one learner depend on it. By default FLAML logs only
improvements; with `log_type="all"` it logs every trial, which teaches more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.runs import Run, Runs, as_path, joined, read_all
from headstart.history.imports.texts import first_object, json_lines

FORMS = "a log file of AutoML.fit(log_file_name=…), or a folder of such files"
LOSS = "validation_loss"
_FIELDS = {"record_id", LOSS, "config", "learner"}


def recognises(path: Path) -> bool:
    """Whether a path is a log of FLAML, or a folder that holds one."""
    return bool(_logs(path))


def _logs(path: Path) -> list[Path]:
    files = sorted(child for child in path.iterdir() if child.is_file()) if path.is_dir() else [path]
    files = [file for file in files if file.suffix.lower() in (".log", ".json", ".jsonl", ".txt", "")]
    return [file for file in files if first_object(file).keys() >= _FIELDS]


def read(past: Any) -> Runs:
    """The trials of a log, of a folder of logs, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    path = as_path(past, "FLAML", FORMS)
    logs = _logs(path)
    if not logs:
        raise FormatError(
            f"{path} is not a log of FLAML: its first line is not a record with {', '.join(sorted(_FIELDS))}",
            f"FLAML runs are read from {FORMS}",
        )
    return joined([_log(log) for log in logs], f"{path.name} (FLAML)")


def _log(path: Path) -> Runs:
    records, damaged = json_lines(path)
    records = [record for record in records if "curr_best_record_id" not in record]
    whole = [record for record in records if record.keys() >= _FIELDS and isinstance(record["config"], dict)]
    damaged += len(records) - len(whole)
    return Runs(
        f"{path.name} (FLAML)",
        [_run(path.stem, record) for record in whole],
        LOSS,
        {LOSS: "minimize"},
        left_out={"damaged line{s}": damaged},
    )


def _run(task: str, record: Mapping[str, Any]) -> Run:
    config = {name: value for name, value in record["config"].items() if name != "FLAML_sample_size"}
    return Run(
        task,
        {"learner": str(record["learner"]), **config},
        {LOSS: record[LOSS]},
        seconds=as_float(record.get("trial_time")),
        tags={"sample_size": record.get("sample_size")},
    )
