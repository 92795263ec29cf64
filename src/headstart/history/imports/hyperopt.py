"""hyperopt: a frame of its trials, or the same as a CSV file. hyperopt itself saves pickles only, which are refused.

A trial is an evaluation with its loss, which hyperopt minimises; the frame is the task, unless `task` names a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.errors import FormatError
from headstart.history.imports.columns import as_float
from headstart.history.imports.runs import FAILED, FINISHED, PICKLES, UNFINISHED, Run, Runs, as_path, read_all
from headstart.history.imports.texts import csv_header, flat, is_frame, read_csv, records_of

FORMS = "a frame of the trials or its CSV file"
TWO_LINES = (
    "make a frame of the trials in two lines: "
    'rows = [{{**space_eval(space, {{k: v[0] for k, v in t["misc"]["vals"].items() if v}}), **t["result"]}} '
    "for t in trials.trials]; frame = pd.json_normalize(rows)"
)
STATES = {"ok": FINISHED, "fail": FAILED, "new": UNFINISHED, "running": UNFINISHED, "suspended": UNFINISHED}
# What a result may hold besides the loss; see hyperopt.base.
NO_PARAMETER = (
    *("loss", "status", "loss_variance", "true_loss", "true_loss_variance"),
    *("eval_time", "time", "tid", "attachments"),
)


def recognises(path: Path) -> bool:
    """Whether a path is a CSV file with a loss and with a status as hyperopt writes it."""
    if not {"loss", "status"} <= set(csv_header(path)):
        return False
    try:
        return {row["status"] for row in read_csv(path)} <= STATES.keys()
    except FormatError:
        return False


def read(past: Any) -> Runs:
    """The trials of a frame or a CSV file, of a list of these, or of a dict that names their tasks."""
    return read_all(past, _read_one)


def _read_one(past: Any) -> Runs:
    if is_frame(past):
        return _runs([flat(row, ".") for row in records_of(past)], "the frame", "hyperopt", text=False)
    if hasattr(past, "trials") or (isinstance(past, (str, Path)) and Path(past).suffix.lower() in PICKLES):
        what = f"{past} is a pickle" if isinstance(past, (str, Path)) else "the trials hold choices as indices"
        raise FormatError(f"{what}, which is not read", TWO_LINES)
    path = as_path(past, "hyperopt", FORMS)
    if not csv_header(path):
        raise FormatError(f"{path} is not a CSV file of hyperopt's trials", TWO_LINES)
    return _runs(read_csv(path), path.name, path.stem, text=True)


def _runs(rows: list[dict[str, Any]], name: str, task: str, *, text: bool) -> Runs:
    if not rows or not {"loss", "status"} <= set().union(*rows):
        raise FormatError(
            f"{name} is not a table of hyperopt's trials: it needs the columns loss and status", TWO_LINES
        )
    if odd := [row.get("status") for row in rows if str(row.get("status")) not in STATES]:
        raise FormatError(f"{name}: the status {odd[0]!r} is not one of hyperopt's: {', '.join(STATES)}")
    return Runs(f"{name} (hyperopt)", [_run(row, task) for row in rows], "loss", {"loss": "minimize"}, text=text)


def _run(row: Mapping[str, Any], task: str) -> Run:
    config = {key: cell for key, cell in row.items() if key not in NO_PARAMETER and cell != ""}
    metrics = {key: number for key in NO_PARAMETER if (number := as_float(row.get(key))) is not None}
    return Run(task, config, metrics, STATES[str(row["status"])])
