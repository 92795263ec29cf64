"""SMAC3, versions 2.x: a folder with runhistory.json and configspace.json, or a folder of several (smac3_output).

A trial is an evaluation, and repeats with other seeds are averaged. The task is the name of the scenario, or the
instance if there are instances; the cost is the time. Everything is minimised. Of a multi-fidelity run only the trials
at the largest budget are read. Up to version 2.2 a trial is a list, from 2.3 on an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError, SpaceError
from headstart.history.imports.columns import as_float
from headstart.history.imports.configspace_json import read_space
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

FORMS = "a folder with runhistory.json, such as smac3_output/NAME/SEED, or a folder of such folders"
FIELDS = (
    *("config_id", "instance", "seed", "budget", "cost", "time"),
    *("status", "starttime", "endtime", "additional_info"),
)
STATES = {0: UNFINISHED, 1: FINISHED, 2: FAILED, 3: FAILED, 4: FAILED}  # running, success, crashed, timeout, memory


def recognises(path: Path) -> bool:
    """Whether a path is a run of SMAC, its runhistory.json, or a folder of runs."""
    if path.name == "runhistory.json":
        return True
    return path.is_dir() and bool(folders(path, _is_run, depth=2))


def _is_run(folder: Path) -> bool:
    return (folder / "runhistory.json").is_file()


def read(past: Any) -> Runs:
    """The trials of a run, of a folder of runs, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    path = as_path(past, "SMAC", FORMS)
    path = path.parent if path.name == "runhistory.json" else path
    found = folders(path, _is_run, depth=2)
    if not found:
        raise FormatError(f"{path} has no runhistory.json", f"SMAC runs are read from {FORMS}")
    return joined([_run(folder) for folder in found], f"{path.parent.name}/{path.name} (SMAC)")


def _run(folder: Path) -> Runs:
    path = folder / "runhistory.json"
    with parsing(path, "a run history of SMAC 2"):
        history = read_json(path, "a run history of SMAC")
        trials = [_as_object(entry) for entry in history["data"]]
        configs = {int(key): dict(config) for key, config in history["configs"].items()}
        scenario = _scenario(folder)
        budgets = {trial["budget"] for trial in trials if trial["budget"] is not None}
        kept = [trial for trial in trials if trial["budget"] is None or trial["budget"] == max(budgets)]
        runs = [_trial(trial, configs[trial["config_id"]], scenario) for trial in kept]
    space, notes = None, []
    try:
        space = read_space(folder / "configspace.json")
    except FileNotFoundError:
        notes.append("there is no configspace.json, so the space is inferred from the runs")
    except SpaceError as error:
        notes.append(f"the space is inferred from the runs, because configspace.json cannot be expressed: {error}")
    objectives = _objectives(scenario)
    return Runs(
        f"{folder.name} (SMAC)",
        runs,
        objectives[0] if len(objectives) == 1 else None,
        dict.fromkeys(objectives, "minimize"),
        space,
        left_out={"trial{s} below the largest budget": len(trials) - len(kept)},
        notes=notes,
    )


def _as_object(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else dict(zip(FIELDS, entry, strict=True))


def _scenario(folder: Path) -> dict[str, Any]:
    path = folder / "scenario.json"
    scenario = read_json(path, "the scenario of SMAC") if path.is_file() else {}
    return {"name": folder.parent.name, **scenario}


def _objectives(scenario: Mapping[str, Any]) -> list[str]:
    objectives = scenario.get("objectives", "cost")
    return [objectives] if isinstance(objectives, str) else list(objectives)


def _trial(trial: Mapping[str, Any], config: Mapping[str, Any], scenario: Mapping[str, Any]) -> Run:
    objectives = _objectives(scenario)
    costs = trial["cost"] if isinstance(trial["cost"], list) else [trial["cost"]]
    return Run(
        str(scenario["name"]) if trial["instance"] is None else str(trial["instance"]),
        config,
        dict(zip(objectives, costs, strict=True)),
        STATES[trial["status"]],
        as_float(trial["time"]),
        {"scenario": scenario["name"], "instance": trial["instance"], "seed": trial["seed"]},
    )
