"""Ray Tune: an experiment folder, such as ~/ray_results/NAME, or a folder of several.

A trial is an evaluation with its last reported metrics; the experiment is the task, and `time_total_s` the cost. The
status of the trials is in experiment_state-*.json, their parameters in TRIAL/params.json, and what they reported in
TRIAL/result.json, one JSON object per line: the trial's learning curve. Where that file is missing or damaged, the
same is in TRIAL/progress.csv. Metric and mode of the search are in a pickle, so they are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.runs import (
    FAILED,
    FINISHED,
    UNFINISHED,
    Run,
    Runs,
    as_path,
    folders,
    joined,
    parsing,
    read_all,
)
from headstart.history.imports.texts import csv_lines, flat, json_lines, numbers

FORMS = "an experiment folder with experiment_state-*.json, or a folder of such folders"
STATES = {"TERMINATED": FINISHED, "ERROR": FAILED, "PENDING": UNFINISHED, "RUNNING": UNFINISHED, "PAUSED": UNFINISHED}
# What Ray itself adds to every result; an id may look like a number in progress.csv.
NO_METRIC = (
    *("trial_id", "experiment_id", "experiment_tag"),
    *("timestamp", "training_iteration", "pid", "time_this_iter_s", "time_total_s", "time_since_restore"),
    *("iterations_since_restore", "timesteps_total", "timesteps_since_restore", "episodes_total", "warmup_time"),
)


def recognises(path: Path) -> bool:
    """Whether a path is an experiment folder, or a folder of such folders."""
    return path.is_dir() and bool(folders(path, _is_experiment))


def _is_experiment(folder: Path) -> bool:
    return any(folder.glob("experiment_state-*.json"))


def read(past: Any) -> Runs:
    """The trials of an experiment folder, of a folder of several, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    path = as_path(past, "Ray Tune", FORMS)
    found = folders(path, _is_experiment)
    if not found:
        raise FormatError(
            f"{path} is not an experiment folder of Ray Tune: it has no experiment_state-*.json",
            f"Ray Tune runs are read from {FORMS}",
        )
    return joined([_experiment(folder) for folder in found], f"{path.name} (Ray Tune)")


def _experiment(folder: Path) -> Runs:
    """One experiment. The state written last counts: a resumed experiment has several."""
    latest = sorted(folder.glob("experiment_state-*.json"))[-1]
    notes = []
    try:
        with parsing(latest, "the state of a Ray Tune experiment"):
            entries = read_json(latest, "the state of a Ray Tune experiment")["trial_data"]
            trials = [_trial(folder, *map(json.loads, entry)) for entry in entries]
    except FormatError:  # damaged, or of an older version
        notes.append(f"{latest.name} cannot be read, so a trial counts as finished if it has a result and no error")
        trials = [_trial(folder, *_facts(path)) for path in sorted(folder.glob("*/params.json"))]
    left_out = {"damaged line{s} of result files": sum(damaged for _, damaged in trials)}
    return Runs(f"{folder.name} (Ray Tune)", [run for run, _ in trials], left_out=left_out, notes=notes)


def _facts(params: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the files of a trial tell about it, in the words of an experiment's state."""
    folder = params.parent
    status = "ERROR" if (folder / "error.txt").is_file() else "TERMINATED" if _results(folder)[0] else "PENDING"
    with parsing(params, "the parameters of a trial"):
        config = dict(read_json(params, "the parameters of a trial"))
    return {"config": config, "status": status, "relative_logdir": folder.name}, {}


def _trial(folder: Path, trial: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[Run, int]:
    """A trial, and the number of damaged lines in its results."""
    results, damaged = _results(folder / str(trial.get("relative_logdir") or ""))
    last = results[-1] if results else facts.get("last_result") or {}
    run = Run(
        folder.name,
        flat(trial["config"], "/"),
        numbers(flat({key: value for key, value in last.items() if key != "config"}, "/"), NO_METRIC),
        STATES[trial["status"]],
        as_float(last.get("time_total_s")),
        {"trial_id": trial.get("trial_id"), "experiment_tag": trial.get("experiment_tag")},
        _curves(results),
    )
    return run, damaged


def _results(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """What a trial reported, and how many reports are damaged."""
    path, table = folder / "result.json", folder / "progress.csv"
    results, damaged = json_lines(path) if path.is_file() else ([], 0)
    if (damaged or not results) and table.is_file():
        rows, cut = csv_lines(table)
        if len(rows) > len(results):
            return [{name: _parsed(cell) for name, cell in row.items()} for row in rows], cut
    return results, damaged


def _parsed(cell: str) -> Any:
    """A cell of progress.csv: the number that it stands for, or its text."""
    number = as_float(cell)
    return cell if number is None else int(number) if cell.isdigit() else number


def _curves(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, float]]:
    """The reported numbers by metric and iteration."""
    curves: dict[str, dict[int, float]] = {}
    for result in results:
        iteration = result.get("training_iteration")
        if not isinstance(iteration, int) or isinstance(iteration, bool):
            continue
        reported = flat({key: value for key, value in result.items() if key != "config"}, "/")
        for name, value in numbers(reported, NO_METRIC).items():
            if (number := as_float(value)) is not None:
                curves.setdefault(name, {})[iteration] = number
    return curves
