"""scikit-learn: `cv_results_` of GridSearchCV, RandomizedSearchCV and the halving searches.

Takes a fitted search, its `cv_results_` as a dict or a frame, or that frame as a CSV file. A candidate is an evaluation
with its mean test score, which scikit-learn maximises; the cost is the mean time to fit and score, the number of splits
is not counted. A candidate that a halving search tried with several resources counts with the largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    kept = _largest(rows)
    return Runs(
        f"{name} (scikit-learn)",
        [_run(row, task, scores) for row in kept],
        scores[0] if len(scores) == 1 else None,
        dict.fromkeys(scores, "maximize"),
        space,
        text and not all(isinstance(_params(row), dict) for row in rows),
        left_out={"evaluation{s} with fewer resources than the candidate's last": len(rows) - len(kept)},
    )


def _largest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last row of each candidate; only a halving search has more than one."""
    if not all("iter" in row and "n_resources" in row for row in rows):
        return list(rows)
    ordered = sorted(rows, key=lambda row: as_float(row["iter"]) or 0.0)
    return list({str(_config(row)): row for row in ordered}.values())


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
