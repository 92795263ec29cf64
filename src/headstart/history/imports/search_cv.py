"""scikit-learn: `cv_results_` of GridSearchCV, RandomizedSearchCV and the halving searches.

Takes a fitted search, its `cv_results_` as a dict or a frame, or that frame as a CSV file. A candidate is an evaluation
with its mean test score, which scikit-learn maximises; the cost is the mean time to fit and score, the number of splits
is not counted.

A candidate of a halving search is one run, whose learning curve has a score for each amount of resources. It counts
with the largest. One that was dropped was stopped early: it counts with its last score, but no better than any
candidate that went on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from headstart._support.wording import counted
from headstart.errors import ArgumentError, FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.literals import printed_dict
from headstart.history.imports.runs import Run, Runs, as_path, read_all
from headstart.history.imports.texts import csv_header, is_frame, read_csv, records_of
from headstart.space import Categorical, Float, Int, Parameter, Space

FORMS = "a fitted search, its cv_results_ as a dict or frame, or that frame as a CSV file"
TEST = "mean_test_"


def recognises(path: Path) -> bool:
    """Whether a path is a CSV file of cv_results_."""
    return _is_table(csv_header(path))


def _is_table(names: Any) -> bool:
    names = list(map(str, names))
    return any(name.startswith(TEST) for name in names) and any(name.startswith("param_") for name in names)


def read(past: Any) -> Runs:
    """The candidates of a search in any of its forms, of a list of these, or of a dict that names their tasks."""
    return read_all(past, _read_one, is_one=lambda past: isinstance(past, Mapping) and _is_table(past))


def _read_one(past: Any) -> Runs:
    if hasattr(past, "get_params") and not isinstance(past, type):
        return _from_search(past)
    if is_frame(past) and _is_table(past.columns):
        return _runs(records_of(past), "the frame", "search")
    if isinstance(past, Mapping) and _is_table(past):
        return _runs(_records(past), "cv_results_", "search")
    if is_frame(past) or isinstance(past, Mapping):
        raise FormatError("this is not cv_results_: it has no columns mean_test_* and param_*", f"pass {FORMS}")
    path = as_path(past, "scikit-learn", FORMS)
    if not recognises(path):
        raise FormatError(f"{path} is not a CSV file of cv_results_", f"pass {FORMS}")
    return _runs(read_csv(path), path.name, path.stem, text=True)


def _from_search(search: Any) -> Runs:
    name = type(search).__name__
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ArgumentError(f"this {name} is not fitted, so it has no cv_results_", "call fit first")
    space = _space(getattr(search, "param_distributions", None))
    return _runs(_records(results), name, "search", space=space)


def _records(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One record per candidate."""
    columns = {str(name): list(column) for name, column in results.items() if not str(name).startswith("param_")}
    if "params" not in columns:
        raise FormatError("this is not cv_results_: it has no 'params'", f"pass {FORMS}")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _runs(
    rows: Sequence[Mapping[str, Any]], name: str, task: str, *, space: Space | None = None, text: bool = False
) -> Runs:
    scores = sorted({key.removeprefix("mean_") for row in rows for key in row if key.startswith(TEST)})
    halving = bool(rows) and all("iter" in row and "n_resources" in row for row in rows)
    runs, notes = _halved(rows, task, scores) if halving else ([_run(row, task, scores) for row in rows], [])
    return Runs(
        f"{name} (scikit-learn)",
        runs,
        scores[0] if len(scores) == 1 else None,
        dict.fromkeys(scores, "maximize"),
        space,
        text and not all(isinstance(_params(row), dict) for row in rows),
        notes=notes,
    )


# -- halving -----------------------------------------------------------------------------------------------------


def _halved(rows: Sequence[Mapping[str, Any]], task: str, scores: Sequence[str]) -> tuple[list[Run], list[str]]:
    """The candidates of a halving search, and notes on them."""
    resource = _resource(rows)
    candidates: dict[str, list[tuple[int, Run]]] = {}
    for row in sorted(rows, key=lambda row: as_float(row["iter"]) or 0.0):
        run = _run(row, task, scores)
        run = replace(run, config={name: cell for name, cell in run.config.items() if name != resource})
        candidates.setdefault(str(run.config), []).append((int(as_float(row["n_resources"]) or 0), run))
    tried = sorted(candidates.values(), key=lambda runs: -runs[-1][0])  # those that went farthest first
    most = tried[0][-1][0]
    runs: list[Run] = []
    ahead: dict[str, float] = {}  # the worst score of those that went farther
    for _, group in groupby(tried, key=lambda runs: runs[-1][0]):
        found = [_with_curve(steps, ahead) for steps in group]
        runs += found
        ahead = {score: min([run.metrics[score] for run in runs], key=_nan_last) for score in scores}
    dropped = sum(steps[-1][0] < most for steps in tried)
    notes = [f"{resource!r} is the resource of the search, not a parameter"] if resource else []
    if dropped:
        notes.append(
            f"{counted(dropped, 'candidate')} dropped before the full resources: counted with the last score, but no "
            f"better than any candidate that went on"
        )
    return runs, notes


def _with_curve(steps: Sequence[tuple[int, Run]], ahead: Mapping[str, float]) -> Run:
    """A candidate as one run. ahead: the worst scores of those that went farther."""
    last = steps[-1][1]
    curves = {score: {step: run.metrics[score] for step, run in steps} for score in last.metrics}
    metrics = {score: min(number, ahead.get(score, math.inf)) for score, number in last.metrics.items()}
    return replace(last, metrics=metrics, curves=curves)


def _nan_last(number: float) -> float:
    return math.inf if math.isnan(number) else number


def _resource(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The parameter that is the resource, such as n_estimators; None if the resource is the number of samples."""
    amounts = [as_float(row["n_resources"]) for row in rows]
    if len(set(amounts)) < 2:
        return None
    configs = [_config(row) for row in rows]
    same = [
        name
        for name in configs[0]
        if all(as_float(config.get(name)) == amount for config, amount in zip(configs, amounts, strict=True))
    ]
    return same[0] if same else None


# -- candidates --------------------------------------------------------------------------------------------------


def _params(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cell `params`, in which None is a value and an inactive parameter is absent."""
    cell = row.get("params")
    return printed_dict(cell) if isinstance(cell, str) else cell if isinstance(cell, dict) else None


def _config(row: Mapping[str, Any]) -> dict[str, Any]:
    params = _params(row)
    if params is not None:
        return params
    cells = {key.removeprefix("param_"): cell for key, cell in row.items() if key.startswith("param_")}
    return {key: cell for key, cell in cells.items() if cell != ""}


def _run(row: Mapping[str, Any], task: str, scores: Sequence[str]) -> Run:
    """A candidate. One without a score could not be fitted, so it counts as failed."""
    found = {score: as_float(row.get(f"mean_{score}")) for score in scores}
    times = [as_float(row.get(key)) for key in ("mean_fit_time", "mean_score_time")]
    return Run(
        task,
        _config(row),
        {score: math.nan if number is None else number for score, number in found.items()},
        seconds=None if None in times else sum(time for time in times if time is not None),
    )


def _space(distributions: Any) -> Space | None:
    """The space of RandomizedSearchCV; None if it has a distribution or a list that ours cannot express."""
    if not isinstance(distributions, Mapping):
        return None
    parameters = {name: _parameter(entry) for name, entry in distributions.items()}
    known = {name: parameter for name, parameter in parameters.items() if parameter is not None}
    return Space(known) if known and len(known) == len(parameters) else None


def _parameter(entry: Any) -> Parameter | None:
    kind = getattr(getattr(entry, "dist", None), "name", None)  # SciPy's frozen distributions
    if kind == "randint":
        low, high = entry.support()
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        low, high = entry.support()
        return Float(float(low), float(high), log=kind != "uniform")
    if isinstance(entry, (list, tuple)) and all(cell is None or isinstance(cell, (str, bool)) for cell in entry):
        return Categorical(list(entry))
    return None
