"""Ax: the JSON snapshot that `Client.save_to_json_file` writes, or `client.summarize()` as a frame or CSV file.

An arm of a trial is an evaluation; the experiment is the task, and the time from start to completion the cost. A
snapshot has the search space and the objective. A table has neither: it mixes metrics and parameters, so it needs
`value`, and columns that are empty wherever a trial has not completed are taken for metrics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError, SpaceError
from headstart.history.imports.columns import as_float
from headstart.history.imports.metrics import direction_of, listed
from headstart.history.imports.runs import FAILED, FINISHED, UNFINISHED, Run, Runs, as_path, parsing, read_all
from headstart.history.imports.texts import csv_header, is_frame, read_csv, records_of
from headstart.space import Categorical, Float, Int, Parameter, Space

FORMS = "the JSON file of Client.save_to_json_file, or client.summarize() as a frame or CSV file"
STATES = {"COMPLETED": FINISHED, "FAILED": FAILED, "ABANDONED": FAILED, "EARLY_STOPPED": FINISHED}
NO_CONFIG = (  # the columns of a summary that are neither parameters nor metrics
    *("trial_index", "arm_name", "trial_status", "generation_node"),
    *("generation_method", "fail_reason", "status_reason"),
)


def recognises(path: Path) -> bool:
    """Whether a path is a snapshot of Ax, or a CSV file of its summary."""
    if path.suffix.lower() == ".json" and path.is_file():
        with path.open("rb") as file:
            start = file.read(4096)
        return b'"Experiment"' in start and b'"__type"' in start
    return {"trial_index", "arm_name", "trial_status"} <= set(csv_header(path))


def read(past: Any) -> Runs:
    """The arms of a snapshot, a frame or a CSV file, of a list of these, or of a dict that names their tasks."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    if is_frame(past):
        return _from_table(records_of(past), "the frame", "ax", text=False)
    path = as_path(past, "Ax", FORMS)
    if path.suffix.lower() != ".json":
        if not csv_header(path):
            raise FormatError(f"{path} is not of Ax", f"Ax runs are read from {FORMS}")
        return _from_table(read_csv(path), path.name, path.stem, text=True)
    snapshot = read_json(path, "a snapshot of Ax")
    experiment = snapshot.get("experiment", snapshot) if isinstance(snapshot, dict) else {}
    if not isinstance(experiment, dict) or "trials" not in experiment:
        raise FormatError(f"{path} is not a snapshot of Ax: it has no experiment", f"Ax runs are read from {FORMS}")
    with parsing(path, "a snapshot of Ax"):
        return _from_experiment(experiment, path)


# -- the snapshot ----------------------------------------------------------------------------------------------


def _from_experiment(experiment: Mapping[str, Any], path: Path) -> Runs:
    task = str(experiment.get("name") or path.stem)
    data = {index: _last_data(entry) for index, entry in (experiment.get("data_by_trial") or {}).items()}
    runs = [
        run for index, trial in experiment["trials"].items() for run in _arms(task, trial, data.get(str(index), {}))
    ]
    metric, directions = _objective(experiment.get("optimization_config") or {})
    notes, space = [], None
    try:
        space = _space(experiment["search_space"]["parameters"])
    except SpaceError as error:
        notes.append(
            f"the space is inferred from the runs, because that of the experiment cannot be expressed: {error}"
        )
    return Runs(f"{path.name} (Ax)", runs, metric, directions, space, notes=notes)


def _arms(task: str, trial: Mapping[str, Any], data: Mapping[str, Mapping[str, float]]) -> list[Run]:
    generated = trial.get("generator_run") or {}
    arms = list(generated.get("arms", ()))
    for struct in trial.get("generator_run_structs") or trial.get("generator_runs") or ():
        arms += struct.get("generator_run", struct)["arms"]
    state = STATES.get(trial["status"]["name"], UNFINISHED)
    seconds = _seconds(trial.get("time_run_started"), trial.get("time_completed"))
    return [Run(task, dict(arm["parameters"]), data.get(arm["name"], {}), state, seconds) for arm in arms]


def _last_data(entry: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The means by arm and metric; of several reports of a metric the last one counts."""
    versions = entry["value"] if "value" in entry else list(entry.items())
    table: dict[str, dict[str, float]] = {}
    for _, data in versions:
        columns = json.loads(data["df"]["value"])
        for row in columns.get("arm_name", {}):
            mean = columns["mean"][row]
            if mean is not None:
                table.setdefault(columns["arm_name"][row], {})[columns["metric_name"][row]] = float(mean)
    return table


def _objective(config: Mapping[str, Any]) -> tuple[str | None, dict[str, str]]:
    """The metric that is optimised and its direction; none if there are several."""
    objective = config.get("objective") or {}
    if "expression" in objective:  # such as "-loss"
        name = str(objective["expression"]).strip()
        metric = name.removeprefix("-").strip()
        if metric.replace("_", "").replace("/", "").replace(".", "").isalnum():
            return metric, {metric: "minimize" if name.startswith("-") else "maximize"}
        return None, {}
    metric_entry = objective.get("metric")
    if not isinstance(metric_entry, Mapping):
        return None, {}
    metric = str(metric_entry["name"])
    return metric, {metric: "minimize" if objective.get("minimize") else "maximize"}


def _seconds(start: Any, end: Any) -> float | None:
    if not start or not end:
        return None
    try:
        times = [datetime.fromisoformat(str(time.get("value"))) for time in (start, end)]
    except (ValueError, AttributeError):
        return None
    return (times[1] - times[0]).total_seconds()


def _space(entries: Sequence[Mapping[str, Any]]) -> Space:
    when: dict[str, dict[str, list[Any]]] = {}
    for entry in entries:
        for value, children in (entry.get("dependents") or {}).items():
            choice = next((choice for choice in entry.get("values", ()) if str(choice) == str(value)), value)
            for child in children:
                when.setdefault(child, {}).setdefault(entry["name"], []).append(choice)
    return Space({entry["name"]: _parameter(entry, when.get(entry["name"])) for entry in entries})


def _parameter(entry: Mapping[str, Any], when: dict[str, list[Any]] | None) -> Parameter:
    kind = entry["__type"]
    if kind == "ChoiceParameter":
        return Categorical(entry["values"], when=when)
    if kind == "FixedParameter":
        return Categorical([entry["value"]], when=when)
    if kind != "RangeParameter":
        raise SpaceError(f"{entry['name']!r} is a {kind}")
    make = Int if entry["parameter_type"]["name"] == "INT" else Float
    return make(entry["lower"], entry["upper"], log=bool(entry["log_scale"]), when=when)


# -- the table -------------------------------------------------------------------------------------------------


def _from_table(rows: list[dict[str, Any]], name: str, task: str, *, text: bool) -> Runs:
    names = list(dict.fromkeys(key for row in rows for key in row))
    if not {"arm_name", "trial_status"} <= set(names):
        raise FormatError(
            f"{name} is not a summary of Ax: it needs the columns arm_name and trial_status",
            f"Ax runs are read from {FORMS}",
        )
    pending = [row for row in rows if row.get("trial_status") != "COMPLETED"]

    def is_metric(key: str) -> bool:
        empty = bool(pending) and all(row.get(key) in (None, "") for row in pending)
        return empty or direction_of(key) is not None

    metrics = [key for key in names if key not in NO_CONFIG and is_metric(key)]
    runs = [
        Run(
            task,
            {key: cell for key, cell in row.items() if key not in NO_CONFIG and key not in metrics},
            {key: number for key in metrics if (number := as_float(row.get(key))) is not None},
            STATES.get(str(row.get("trial_status")), UNFINISHED),
        )
        for row in rows
    ]
    note = f"taken for metrics, not parameters: {listed(metrics)}"
    return Runs(f"{name} (Ax)", runs, text=text, notes=[note], guessed=True)
