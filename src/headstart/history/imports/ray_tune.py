"""Ray Tune: an experiment folder, such as ~/ray_results/NAME, or a folder of several.

A trial is an evaluation with its last reported metrics; the experiment is the task, and `time_total_s` the cost. The
status of the trials is in experiment_state-*.json, their parameters in TRIAL/params.json, and what they reported in
TRIAL/result.json, one JSON object per line. Metric and mode of the search are in a pickle, so they are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError
from headstart.history.imports.runs import FAILED, FINISHED, UNFINISHED, Run, Runs, as_path, folders, joined, read_all
from headstart.history.imports.texts import flat, json_lines, numbers

FORMS = "an experiment folder with experiment_state-*.json, or a folder of such folders"
STATES = {"TERMINATED": FINISHED, "ERROR": FAILED, "PENDING": UNFINISHED, "RUNNING": UNFINISHED, "PAUSED": UNFINISHED}
# Numbers that Ray itself adds to every result.
NO_METRIC = (
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
    state = read_json(latest, "the state of a Ray Tune experiment")
    entries = state.get("trial_data") if isinstance(state, dict) else None
    if not isinstance(entries, list):
        raise FormatError(f"{latest} is not the state of a Ray Tune experiment: it has no list trial_data")
    try:
        trials = [_trial(folder, *map(json.loads, entry)) for entry in entries]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{latest} has a trial that cannot be read: {error!r}") from error
    cut = sum(damaged for _, damaged in trials)
    return Runs(
        f"{folder.name} (Ray Tune)", [run for run, _ in trials], left_out={"damaged line{s} of result.json files": cut}
    )


def _trial(folder: Path, trial: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[Run, int]:
    """A trial, and the number of damaged lines in its results."""
    place = folder / str(trial.get("relative_logdir") or "")
    results, bad = json_lines(place / "result.json") if (place / "result.json").is_file() else ([], 0)
    last = results[-1] if results else facts.get("last_result") or {}
    seconds = last.get("time_total_s")
    return (
        Run(
            folder.name,
            flat(trial["config"], "/"),
            numbers(flat({key: value for key, value in last.items() if key != "config"}, "/"), NO_METRIC),
            STATES[trial["status"]],
            float(seconds) if isinstance(seconds, (int, float)) else None,
            {"trial_id": trial.get("trial_id"), "experiment_tag": trial.get("experiment_tag")},
        ),
        bad,
    )
