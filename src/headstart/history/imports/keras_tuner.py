"""Keras Tuner: a project folder with oracle.json and trial_*/trial.json, or a folder of several.

A trial is an evaluation with its score, which is the best value of the tuner's objective; the project is the task. The
other metrics count with their best value too. The search space is that of the oracle. There is no cost.

If a trial reported several steps, these are its learning curve. Hyperband goes on with a trial as a new one that has
`tuner/trial_id` of the first: both are one run, whose learning curve has a value for each number of epochs.
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
OWN = "tuner/"  # begins the names of what Keras Tuner adds to the values of a trial


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
    objective = _objective(trials)
    space, notes = None, []
    try:
        with parsing(folder / "oracle.json", "the oracle of a Keras Tuner project"):
            space = _space(oracle["hyperparameters"]["space"])
    except SpaceError as error:
        notes.append(f"the space is inferred from the runs, because that of the project cannot be expressed: {error}")
    return Runs(
        f"{folder.name} (Keras Tuner)",
        _runs(trials, folder.name, objective),
        SCORE,
        {name: MODES[mode] for name, mode in {**modes, SCORE: modes.get(objective or "")}.items() if mode},
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
    """The content of a trial.json file. means: by metric and step, where executions of a step are averaged.

    epochs, before: of Hyperband, how many epochs were made in total, and the id of the trial that this one continues.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.id = str(data["trial_id"])
        self.status = str(data["status"])
        values = data["hyperparameters"]["values"]
        self.values = {name: value for name, value in values.items() if not name.startswith(OWN)}
        self.epochs, self.before = values.get(f"{OWN}epochs"), values.get(f"{OWN}trial_id")
        self.score = data["score"]
        metrics = data["metrics"]["metrics"]
        self.modes = {name: entry["direction"] for name, entry in metrics.items() if entry["direction"] in MODES}
        self.means = {name: means for name, entry in metrics.items() if (means := _means(entry))}

    @property
    def best(self) -> dict[str, float]:
        """The best of each metric over the steps, as Keras Tuner computes a score."""
        return {
            name: float((max if self.modes.get(name) == "max" else min)(means.values()))
            for name, means in self.means.items()
        }

    def curves(self) -> dict[str, dict[int, float]]:
        """By metric and step. A trial of Hyperband that reported only its best is one point."""
        if self.epochs is None:
            return self.means
        best = self.best
        return {name: means if len(means) > 1 else {int(self.epochs): best[name]} for name, means in self.means.items()}


def _means(entry: Mapping[str, Any]) -> dict[int, float]:
    found = {int(seen["step"]): float(sum(seen["value"]) / len(seen["value"])) for seen in entry["observations"]}
    return {step: mean for step, mean in found.items() if not math.isnan(mean)}


def _objective(trials: Sequence[_Trial]) -> str | None:
    """The metric that equals the score in every trial; None if there is none, or several that disagree on direction."""
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        return None
    same = [name for name in scored[0].best if all(trial.best.get(name) == trial.score for trial in scored)]
    return same[0] if len({scored[0].modes.get(name) for name in same}) == 1 else None


def _runs(trials: Sequence[_Trial], task: str, objective: str | None) -> list[Run]:
    """A run for each trial that no other one continues."""
    by_id = {trial.id: trial for trial in trials}
    continued = {trial.before for trial in trials if STATES.get(trial.status) == FINISHED}
    runs = []
    for trial in trials:
        if trial.id in continued:
            continue
        curves: dict[str, dict[int, float]] = {}
        for part in _chain(trial, by_id):
            for name, points in part.curves().items():
                curves[name] = {**curves.get(name, {}), **points}
        if objective in curves:
            curves[SCORE] = curves[objective]
        metrics = trial.best if trial.score is None else {**trial.best, SCORE: trial.score}
        runs.append(Run(task, trial.values, metrics, STATES.get(trial.status, UNFINISHED), curves=curves))
    return runs


def _chain(trial: _Trial, by_id: Mapping[str, _Trial]) -> list[_Trial]:
    """The trial after those that it continues, the first one first."""
    chain = [trial]
    while (before := by_id.get(str(chain[0].before))) is not None and before not in chain:
        chain.insert(0, before)
    return chain


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
