"""From runs to the lines of a figure: tidy tables, paired comparisons, and their curves.

Uncertainty has two sources. Other repetitions would give other numbers (`se_repetitions`, which more repetitions
reduce), and so would other data sets (`se`, over tasks; the bands show it). Two methods are compared task by task,
because most of the latter is common to both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.files import existing, replacing, write_json
from headstart._support.types import Array
from headstart.report import figures
from headstart.starts.measures import adtm

EXACT = "exact"  # instead of a number of repetitions: the exact expectation
RESULTS, SUMMARY, CONTRASTS, ABOUT = "results.csv", "summary.csv", "contrasts.csv", "about.json"
AT = (1, 2, 3, 5, 6, 10, 15, 20, 30, 40, 50, 70)  # trials after which methods are compared
DISTANCE, RANK = "distance", "rank"


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    name: its label, a key of `figures.STYLES`. method, surrogate: what was run. values: the mean of the measure over
    repetitions, (tasks, trials). errors: its standard error.
    """

    figure: str
    name: str
    method: str
    surrogate: str
    tasks: tuple[str, ...]
    values: Array
    errors: Array
    repetitions: int | str
    measure: str = DISTANCE


def line(figure: str, name: str, tasks: Iterable[str], curves: Array, *, method: str, surrogate: str = "") -> Line:
    """A line from curves (repetitions, tasks, trials)."""
    mean, errors = curves.mean(axis=0), standard_error(curves)
    return Line(figure, name, method, surrogate, tuple(tasks), mean, errors, len(curves))


def exact(figure: str, name: str, tasks: Iterable[str], values: Array, *, method: str) -> Line:
    """A line whose expectation is known exactly: (tasks, trials)."""
    return Line(figure, name, method, "", tuple(tasks), values, np.zeros_like(values), EXACT)


def ranked(lines: Sequence[Line], curves: Sequence[Array]) -> list[Line]:
    """The same lines with ranks instead of distances; ties share the mean of their ranks.

    curves: (repetitions, tasks, trials) for each line. Repetitions of different methods are independent, so the r-th
    of each are ranked against each other; a method with fewer repetitions reuses its first ones.
    """
    from scipy.stats import rankdata

    most = max(map(len, curves))
    ranks = np.array([rankdata([c[r % len(c)] for c in curves], axis=0) for r in range(most)])
    return [
        Line(
            old.figure, old.name, old.method, old.surrogate, old.tasks, ranks[:, i].mean(axis=0),
            standard_error(ranks[:, i]), old.repetitions, RANK,
        )
        for i, old in enumerate(lines)
    ]  # fmt: skip


# -- tables --------------------------------------------------------------------------------------------------


def results(lines: Sequence[Line]) -> pd.DataFrame:
    """One row per line, task and trial."""
    frames = []
    for one in lines:
        tasks, trials = one.values.shape
        frames.append(
            pd.DataFrame(
                {
                    **_identity(one),
                    "task": np.repeat(np.array(one.tasks, dtype=object), trials),
                    "trial": np.tile(np.arange(1, trials + 1), tasks),
                    "value": one.values.ravel(),
                    "se_repetitions": one.errors.ravel(),
                    "repetitions": one.repetitions,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def summary(lines: Sequence[Line]) -> pd.DataFrame:
    """One row per line and trial: the mean over tasks (of distances: ADTM, eq. 9) and its standard errors."""
    frames = []
    for one in lines:
        tasks, trials = one.values.shape
        frames.append(
            pd.DataFrame(
                {
                    **_identity(one),
                    "trial": np.arange(1, trials + 1),
                    "mean": adtm(one.values),
                    "se": standard_error(one.values),
                    "se_repetitions": np.sqrt((one.errors**2).sum(axis=0)) / tasks,
                    "tasks": tasks,
                    "repetitions": one.repetitions,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def contrasts(lines: Sequence[Line]) -> pd.DataFrame:
    """The difference of any two lines of a figure after some of the trials, paired over tasks."""
    rows = []
    for first, second in combinations(lines, 2):
        if (first.figure, first.measure) != (second.figure, second.measure):
            continue
        shorter = min(first.values.shape[1], second.values.shape[1])
        for trial in (t for t in AT if t <= shorter):
            gap = first.values[:, trial - 1] - second.values[:, trial - 1]
            rows.append(
                {
                    "figure": first.figure,
                    "measure": first.measure,
                    "first": first.name,
                    "second": second.name,
                    "trial": trial,
                    "difference": gap.mean(),
                    "se": float(standard_error(gap[:, None])[0]),
                    "first_better": int((gap < -1e-12).sum()),
                    "second_better": int((gap > 1e-12).sum()),
                }
            )
    return pd.DataFrame(rows)


def _identity(one: Line) -> dict[str, str]:
    return {
        "figure": one.figure,
        "measure": one.measure,
        "line": one.name,
        "method": one.method,
        "surrogate": one.surrogate,
    }


def standard_error(values: Array) -> Array:
    """The standard error of the mean over the first axis; 0 if it has a single entry."""
    n = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n)) if n > 1 else np.zeros(values.shape[1:])


def description(
    paper: str, history: str, *, seed: int, quick: bool, tasks: int, repetitions: int | None = None
) -> dict[str, Any]:
    """Which runs the tables are about. repetitions: as requested; None: the paper's runs are not repeated."""
    about = {"paper": paper, "history": history, "seed": seed, "quick": quick, "tasks": tasks}
    return about if repetitions is None else {**about, "repetitions": repetitions}


def write(lines: Sequence[Line], out: Path, about: Mapping[str, Any]) -> pd.DataFrame:
    """Write the three tables as CSV files and their description as JSON; returns the summary."""
    with replacing(out / RESULTS) as temporary:
        results(lines).to_csv(temporary, index=False, float_format="%.6g")
    return aggregate(lines, out, about)


def aggregate(lines: Sequence[Line], out: Path, about: Mapping[str, Any]) -> pd.DataFrame:
    """The same without the results of single tasks: all that the page of claims needs."""
    shown = summary(lines)
    for name, frame in ((SUMMARY, shown), (CONTRASTS, contrasts(lines))):
        with replacing(out / name) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.6g")
    write_json(out / ABOUT, dict(about))
    return shown


def read(path: Path) -> pd.DataFrame:
    """A table that `write` wrote."""
    return pd.read_csv(existing(path), dtype={"surrogate": str, "repetitions": str}, keep_default_na=False)


# -- showing -------------------------------------------------------------------------------------------------


def panel(shown: pd.DataFrame, figure: str, names: Sequence[str], measure: str = DISTANCE) -> list[figures.Curve]:
    """The named lines of a figure that were run, from its summary."""
    here = shown[(shown["figure"] == figure) & (shown["measure"] == measure)]
    found: Mapping[str, pd.DataFrame] = {str(name): frame for name, frame in here.groupby("line", sort=False)}
    return [
        figures.Curve(
            name, found[name]["trial"].to_numpy(), found[name]["mean"].to_numpy(), found[name]["se"].to_numpy()
        )
        for name in names
        if name in found
    ]


def digest(shown: pd.DataFrame, figure: str, at: Sequence[int], measure: str = DISTANCE) -> str:
    """A figure as a table of numbers, for the terminal."""
    here = shown[(shown["figure"] == figure) & (shown["measure"] == measure) & shown["trial"].isin(at)]
    wide = here.pivot(index="line", columns="trial", values="mean").reindex(here["line"].unique())
    wide["repetitions"] = here.groupby("line")["repetitions"].first()
    wide.columns.name = wide.index.name = None
    return wide.to_string(float_format=lambda value: f"{value:.4f}")
