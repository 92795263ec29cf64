"""Keras Tuner: a project folder with oracle.json and trial_*/trial.json, or a folder of several.

A trial is an evaluation with its score, which is the best value of the tuner's objective; the project is the task. The
other metrics count with their best value too. The search space is that of the oracle. There is no cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import FormatError, SpaceError
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
from headstart.space import Categorical, Float, Int, Parameter, Space

FORMS = "a project folder with oracle.json, or a folder of such folders"
STATES = {"COMPLETED": FINISHED, "FAILED": FAILED, "INVALID": FAILED}
MODES = {"min": "minimize", "max": "maximize"}
SCORE = "score"


def recognises(path: Path) -> bool:
    """Whether a path is a project folder, or a folder of such folders."""
    return path.is_dir() and bool(folders(path, _is_project))


def _is_project(folder: Path) -> bool:
    return (folder / "oracle.json").is_file()


def read(past: Any) -> Runs:
    """The trials of a project folder, of a folder of several, or of a list of these."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    path = as_path(past, "Keras Tuner", FORMS)
    found = folders(path, _is_project)
    if not found:
        raise FormatError(f"{path} has no oracle.json", f"Keras Tuner runs are read from {FORMS}")
    return joined([_project(folder) for folder in found], f"{path.name} (Keras Tuner)")


def _project(folder: Path) -> Runs:
    oracle = read_json(folder / "oracle.json", "the oracle of a Keras Tuner project")
    entries = [_trial(path) for path in sorted(folder.glob("trial_*/trial.json"))]
    trials = [entry for entry in entries if entry is not None]
    modes: dict[str, str] = {}
    for trial in trials:
        modes |= trial.modes
    space, notes = None, []
    try:
        with parsing(folder / "oracle.json", "the oracle of a Keras Tuner project"):
            space = _space(oracle["hyperparameters"]["space"])
    except SpaceError as error:
        notes.append(f"the space is inferred from the runs, because that of the project cannot be expressed: {error}")
    return Runs(
        f"{folder.name} (Keras Tuner)",
        [trial.run(folder.name) for trial in trials],
        SCORE,
        {name: MODES[mode] for name, mode in modes.items()} | _direction_of_score(trials),
        space,
        left_out={"trial{s} with a damaged trial.json": len(entries) - len(trials)},
        notes=notes,
    )


def _trial(path: Path) -> _Trial | None:
    """A trial; None if its file is damaged, as when the tuner was stopped while it wrote."""
    try:
        return _Trial(read_json(path, "a trial of Keras Tuner"))
    except (FormatError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


class _Trial:
    """The content of a trial.json file."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.status = str(data["status"])
        self.values = dict(data["hyperparameters"]["values"])
        self.score = data["score"]
        metrics = data["metrics"]["metrics"]
        self.modes = {name: entry["direction"] for name, entry in metrics.items() if entry["direction"] in MODES}
        self.best = {name: best for name, entry in metrics.items() if (best := _best(entry)) is not None}

    def run(self, task: str) -> Run:
        metrics = self.best if self.score is None else {**self.best, SCORE: self.score}
        return Run(task, self.values, metrics, STATES.get(self.status, UNFINISHED))


def _best(entry: Mapping[str, Any]) -> float | None:
    """The best of a metric over the steps, as Keras Tuner computes a score: executions of a step are averaged."""
    means = [sum(seen["value"]) / len(seen["value"]) for seen in entry["observations"]]
    means = [mean for mean in means if not math.isnan(mean)]
    if not means:
        return None
    return float(max(means) if entry["direction"] == "max" else min(means))


def _direction_of_score(trials: Sequence[_Trial]) -> dict[str, str]:
    """The direction of the metrics that equal the score in every trial, if there are any and they agree."""
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        return {}
    same = [name for name in scored[0].best if all(trial.best.get(name) == trial.score for trial in scored)]
    modes = {scored[0].modes.get(name) for name in same}
    mode = modes.pop() if len(modes) == 1 else None
    return {SCORE: MODES[mode]} if mode else {}


def _space(entries: Sequence[Mapping[str, Any]]) -> Space:
    parameters: dict[str, Parameter] = {}
    for entry in entries:
        options = entry["config"]
        when: dict[str, list[Any]] = {}
        for condition in options["conditions"]:
            parent = condition["config"]
            when[parent["name"]] = list(parent["values"])
        if entry["class_name"] != "Fixed":  # was never varied
            if options["name"] in parameters:
                raise SpaceError(f"{options['name']!r} is defined more than once")
            parameters[options["name"]] = _parameter(entry["class_name"], options, when or None)
    return Space(parameters)


def _parameter(kind: str, options: Mapping[str, Any], when: dict[str, list[Any]] | None) -> Parameter:
    if kind == "Choice":
        return Categorical(options["values"], when=when)
    if kind == "Boolean":
        return Categorical([True, False], when=when)
    log, step = options.get("sampling") == "log", options.get("step")
    if options.get("sampling") == "reverse_log" or (log and step not in (None, 1)):
        raise SpaceError(f"{options['name']!r} has a sampling that ours does not have")
    if kind == "Int":
        return Int(options["min_value"], options["max_value"], log=log, step=None if step == 1 else step, when=when)
    if kind == "Float":
        return Float(options["min_value"], options["max_value"], log=log, step=step, when=when)
    raise SpaceError(f"{options['name']!r} is of the unknown kind {kind!r}")
