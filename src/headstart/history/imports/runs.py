"""The runs that a reader found, and how they become `Evaluations`.

A run that finished counts with its metric, one that failed as a failed trial. Unfinished runs and runs without the
metric are left out and counted.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from headstart._support.direction import checked_direction, turned
from headstart._support.files import existing, expanded
from headstart._support.wording import closest, some
from headstart.errors import ArgumentError, EmptyHistoryError, FormatError, HeadstartError, HistoryError
from headstart.history.curves import Curves, is_step
from headstart.history.evaluations import Evaluations
from headstart.history.imports.columns import columns_of, inferred_space
from headstart.history.imports.metrics import choose
from headstart.history.reading import Reading, check_mappings
from headstart.space import Space, as_space

FINISHED, FAILED, UNFINISHED = "finished", "failed", "unfinished"

PICKLES = (".pkl", ".pickle", ".p", ".dill", ".joblib", ".pbz2")


@dataclass(frozen=True)
class Run:
    """One run: its parameters (inactive ones are absent), its numbers, and the seconds that it took.

    tags: what else the tool recorded about the run; a task can be named after one of them. curves: what it reported on
    the way, by metric and step.
    """

    task: str
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    state: str = FINISHED
    seconds: float | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Runs:
    """The runs of a source.

    metric, directions: the metric that the tool optimised, and the directions that it recorded. space: its search
    space, if it recorded one. text: parameters are text, as in a CSV file. left_out: how many things the reader left
    out, by what they are, with {s} for the plural. guessed: the source does not tell metrics from parameters.
    """

    source: str
    runs: Sequence[Run]
    metric: str | None = None
    directions: Mapping[str, str] = field(default_factory=dict)
    space: Space | None = None
    text: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    guessed: bool = False


@dataclass(frozen=True)
class Wanted:
    """What the user asks for; None leaves it to the source. See `ReadsOtherTools` for the meaning of each."""

    space: Any = None
    task: str | None = None
    value: str | None = None
    direction: str | None = None
    cost: str | None = None
    ignore: Collection[str] = ()
    tasks: Collection[str] | None = None
    rename: Mapping[str, str] | None = None
    fill: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_mappings(rename=self.rename, fill=self.fill)
        for name in ("ignore", "tasks"):
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))
        if self.direction is not None:
            checked_direction(self.direction)

    @classmethod
    def by(cls, how: Reading) -> Wanted:
        """The same options as a `Reading`, where one at its default is not given."""
        task, value = (getattr(how, option) if option in how.given else None for option in ("task", "value"))
        return cls(how.space, task, value, how.direction, how.cost, how.ignore, how.studies, how.rename, how.fill)


# -- several sources in one ------------------------------------------------------------------------------------


def read_all(past: Any, read_one: Callable[[Any], Runs], *, is_one: Callable[[Any], bool] = lambda past: False) -> Runs:
    """The runs of one source, of a list of them, or of a dict that names the task of each."""
    if isinstance(past, Mapping) and not is_one(past):
        parts = [_named(read_one(part), str(task)) for task, part in past.items()]
    elif isinstance(past, (list, tuple)) and not is_one(past):
        parts = [read_one(part) for part in past]
    else:
        return read_one(past)
    return joined(parts)


def _named(found: Runs, task: str) -> Runs:
    return replace(found, runs=[replace(run, task=task) for run in found.runs])


def joined(parts: Sequence[Runs], source: str = "") -> Runs:
    """Several sources as one."""
    if not parts:
        raise HistoryError("there is no source to read from")
    if len(parts) == 1:
        return replace(parts[0], source=source or parts[0].source)
    spaces, metrics = {part.space for part in parts}, {part.metric for part in parts}
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    if len(spaces) > 1:
        notes.append("the recorded search spaces differ, so the space is inferred from the runs")
    shared = Counter(task for part in parts for task in {run.task for run in part.runs})
    if twice := sorted(task for task, n in shared.items() if n > 1):
        notes.append(f"the same task in several sources, read as one: {some(twice)}")
    return Runs(
        source or some([part.source for part in parts], 3),
        [run for part in parts for run in part.runs],
        metrics.pop() if len(metrics) == 1 else None,
        {name: direction for part in parts for name, direction in part.directions.items()},
        spaces.pop() if len(spaces) == 1 else None,
        any(part.text for part in parts),
        sum((Counter(part.left_out) for part in parts), Counter()),
        notes,
        any(part.guessed for part in parts),
    )


def as_path(past: Any, tool: str, forms: str) -> Path:
    """A path that exists; an error that says what the reader takes. A pickle is refused unopened."""
    if not isinstance(past, (str, os.PathLike)):
        raise ArgumentError(f"{tool} runs are read from {forms}, but got {type(past).__name__}")
    path = expanded(past)
    if path.suffix.lower() in PICKLES:
        raise FormatError(
            f"{path.name} is a pickle, which could run any code when it is opened", f"{tool} runs are read from {forms}"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if not path.is_dir():
        existing(path)
    return path if path.name else path.resolve()


@contextmanager
def parsing(path: Path, what: str) -> Iterator[None]:
    """Turns what goes wrong with the content of a file into an error that names the file."""
    try:
        yield
    except HeadstartError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise FormatError(f"{path} is not {what} that can be read: {error!r}") from error


def folders(root: Path, is_one: Callable[[Path], bool], depth: int = 1) -> list[Path]:
    """The folder itself if it is one of a kind, otherwise those below it that are."""
    if is_one(root):
        return [root]
    if not depth or not root.is_dir():
        return []
    below = sorted(child for child in root.iterdir() if child.is_dir() and not child.name.startswith("."))
    return [found for child in below for found in folders(child, is_one, depth - 1)]


# -- from runs to evaluations ----------------------------------------------------------------------------------


def read_runs(read: Callable[[Any], Runs], past: Any, wanted: Wanted) -> Evaluations:
    """What a reader finds, as `History` takes it. Whatever goes wrong with the content is one error that names it.

    Readers say themselves what they can say better; this is for the damage that none of them has thought of.
    """
    try:
        return evaluations(read(past), wanted)
    except (HeadstartError, OSError):
        raise
    except Exception as error:
        name = str(past) if isinstance(past, (str, os.PathLike)) else f"this {type(past).__name__}"
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{name} is damaged, or was written by another version of the tool: {reason:.300}") from error


def evaluations(found: Runs, wanted: Wanted) -> Evaluations:
    """The runs as `History` takes them."""
    left_out = Counter(found.left_out)
    found = _with_steps(_renamed(found, wanted.rename or {}), left_out)
    space = found.space if wanted.space is None else as_space(wanted.space)
    found = _sorted_out(found, wanted.value, space or ())
    runs = list(found.runs) if wanted.task is None else _with_task(found, wanted.task, left_out)
    if wanted.tasks is not None:
        runs = _only(runs, wanted.tasks, found.source, left_out)
    finished = [run.metrics for run in runs if run.state == FINISHED]
    choice = choose(found.source, finished, found.metric, found.directions, wanted.value, wanted.direction)
    runs = _recorded(_usable(runs, choice.metric, found.source, left_out), left_out)
    ignored = {*wanted.ignore, wanted.task, wanted.cost}
    if space is not None and wanted.space is None and ignored & set(space):
        space = None  # others may depend on what is ignored, so infer the space from the rest
    columns = columns_of([run.config for run in runs], ignored, space, text=found.text, fill=wanted.fill or {})
    space = inferred_space(columns) if space is None else space
    notes = [choice.note, *found.notes, *(column.note for column in columns.values())]
    frame = {name: column.series() for name, column in columns.items()}
    values = [_number(run.metrics.get(choice.metric)) if run.state == FINISHED else math.nan for run in runs]
    costs = _costs(runs, wanted.cost, found.source, left_out)
    results = {"task": [run.task for run in runs], "value": values} | ({} if costs is None else {"cost": costs})
    named = {role: _free(role, {*columns, choice.metric}) for role in results}
    named["value"] = _free(choice.metric, columns)
    table = frame | {named[role]: column for role, column in results.items()}
    how = Reading(
        task=named["task"],
        value=named["value"],
        cost=named.get("cost"),
        space=space,
        direction=choice.direction,
        fill=wanted.fill,
    )
    read = _table_read(table, how, found.source, [note for note in notes if note])
    return replace(read, skipped=[*lines(left_out), *read.skipped], curves=_curves(read, runs, choice.metric))


def _curves(read: Evaluations, runs: Sequence[Run], metric: str) -> Curves | None:
    """The learning curves of the runs. One that is shorter than the longest of its task was stopped early."""
    longest: dict[str, int] = {}
    for run in runs:
        steps = run.curves.get(metric, {})
        longest[run.task] = max(longest.get(run.task, 0), *steps, 0)
    reports = [
        {step: turned(value, read.direction) for step, value in run.curves.get(metric, {}).items()} for run in runs
    ]
    ended = [
        run.state == FINISHED and math.isfinite(report.get(longest[run.task], math.nan))
        for run, report in zip(runs, reports, strict=True)
    ]
    several = any(len(report) > 1 for report in reports)  # a single value is no curve
    return Curves.of(read.tasks.tolist(), read.V, ended, reports) if several else None


def _with_steps(found: Runs, left_out: Counter[str]) -> Runs:
    """The same runs without what was reported at numbers that no step can have, such as damaged ones."""

    def kept(run: Run) -> Run:
        impossible = {step for curve in run.curves.values() for step in curve if not is_step(step)}
        left_out["report{s} at an impossible step"] += len(impossible)
        curves = {name: {s: y for s, y in curve.items() if s not in impossible} for name, curve in run.curves.items()}
        return replace(run, curves=curves) if impossible else run

    return replace(found, runs=[kept(run) for run in found.runs])


def _table_read(table: Mapping[str, Any], how: Reading, source: str, notes: Sequence[str]) -> Evaluations:
    import pandas as pd

    from headstart.history.formats.frames import Source, read_frame

    return read_frame(pd.DataFrame(table), how, source=Source(source, "run"), notes=notes)


def check_renames(found: Runs, names: Collection[str]) -> None:
    """An error if a parameter that is to get another name is in none of the runs."""
    there = sorted({str(name) for run in found.runs for name in (*run.config, *(run.metrics if found.guessed else ()))})
    if absent := [name for name in names if name not in there]:
        hint = closest(absent[0], there) or f" (the parameters are {some(there, 20)})"
        raise ArgumentError(f"cannot rename {absent[0]!r}: no run of {found.source} has this parameter{hint}")


def _renamed(found: Runs, names: Mapping[str, str]) -> Runs:
    """The same runs with other names of parameters: old name → new name."""
    if not names:
        return found

    def moved(cells: Mapping[str, Any]) -> dict[str, Any]:
        new = {names.get(name, name): cell for name, cell in cells.items()}
        if len(new) < len(cells):
            raise ArgumentError(
                f"after renaming, a run of {found.source} has two parameters of one name: {dict(names)}"
            )
        return new

    runs = [
        replace(run, config=moved(run.config), metrics=moved(run.metrics) if found.guessed else run.metrics)
        for run in found.runs
    ]
    return replace(found, runs=runs, space=found.space and found.space.renamed(names))


def _sorted_out(found: Runs, value: str | None, parameters: Collection[str]) -> Runs:
    """The same runs, with metrics and parameters told apart by what the user names, where the source does not."""
    if not found.guessed:
        return found
    runs = []
    for run in found.runs:
        cells: dict[str, Any] = {**run.config, **run.metrics}
        metrics = {name: cells[name] for name in (*run.metrics, value) if name in cells and name not in parameters}
        config = {name: cell for name, cell in cells.items() if name not in metrics}
        runs.append(replace(run, config=config, metrics=metrics))
    return replace(found, runs=runs)


def lines(left_out: Mapping[str, int]) -> list[str]:
    """What was left out in words: "2 deleted runs"."""
    return [f"{n:,} {what.format(s='' if n == 1 else 's')}" for what, n in left_out.items() if n]


def _with_task(found: Runs, name: str, left_out: Counter[str]) -> list[Run]:
    """The runs, each with the task that a parameter or tag of this name holds."""
    tasks = [run.config.get(name, run.tags.get(name)) for run in found.runs]
    runs = [replace(run, task=str(task)) for run, task in zip(found.runs, tasks, strict=True) if task not in (None, "")]
    if not runs:
        names = sorted({str(key) for run in found.runs for key in (*run.config, *run.tags)})
        raise HistoryError(
            f"no run of {found.source} has {name!r}{closest(name, names)} (there are: {some(names, 20)})",
            "name a parameter or tag that holds the task with {task}",
        )
    left_out["run{s} without " + _plain(repr(name)) + ", which names the task"] = len(tasks) - len(runs)
    return runs


def _only(runs: Sequence[Run], patterns: Collection[str], source: str, left_out: Counter[str]) -> list[Run]:
    """The runs of the tasks that match a name or a pattern."""
    names = sorted({run.task for run in runs})
    if unused := [p for p in patterns if not any(fnmatchcase(name, p) for name in names)]:
        raise HistoryError(f"no task of {source} matches {unused[0]!r} (tasks: {some(names, 20) or 'none'})")
    kept = [run for run in runs if any(fnmatchcase(run.task, pattern) for pattern in patterns)]
    left_out["run{s} of other tasks"] = len(runs) - len(kept)
    return kept


def _usable(runs: Sequence[Run], metric: str, source: str, left_out: Counter[str]) -> list[Run]:
    """The runs that finished with the metric or failed, of the tasks in which one succeeded."""
    ended = [run for run in runs if run.state != UNFINISHED]
    kept = [run for run in ended if run.state == FAILED or run.metrics.get(metric) is not None]
    succeeded = {run.task for run in kept if run.state == FINISHED and math.isfinite(_number(run.metrics[metric]))}
    lost = sorted({run.task for run in kept} - succeeded)
    left_out["unfinished run{s}"] = len(runs) - len(ended)
    left_out["run{s} without the metric " + _plain(repr(metric))] = len(ended) - len(kept)
    left_out["task{s} without a successful run (" + _plain(some(lost)) + ")"] = len(lost)
    if not succeeded:
        reasons = "; ".join(lines(left_out))
        raise EmptyHistoryError(f"{source} has no finished run with a number for {metric!r} ({reasons or 'no runs'})")
    return [run for run in kept if run.task in succeeded]


def _plain(text: str) -> str:
    """A text without a meaning to `str.format`."""
    return text.replace("{", "{{").replace("}", "}}")


def _recorded(runs: Sequence[Run], left_out: Counter[str]) -> list[Run]:
    """The runs without those that failed before their parameters were recorded."""
    needed = set.intersection(*(set(run.config) for run in runs if run.state == FINISHED))
    kept = [run for run in runs if run.state == FINISHED or needed <= set(run.config)]
    left_out["run{s} that failed before the parameters were recorded"] = len(runs) - len(kept)
    return kept


def _costs(runs: Sequence[Run], name: str | None, source: str, left_out: Counter[str]) -> list[float] | None:
    """The seconds of each run, or what it recorded under a name; None if no run has any. Negative ones are unknown."""
    if name is None:
        costs = [_number(run.seconds) for run in runs]
    else:
        costs = [_number(run.metrics.get(name, run.config.get(name, run.tags.get(name)))) for run in runs]
        if all(math.isnan(cost) for cost in costs):
            raise HistoryError(f"no run of {source} has a number under {name!r}", "name the cost with {cost}")
    left_out["negative cost{s}"] = sum(cost < 0 for cost in costs)
    costs = [math.nan if cost < 0 else cost for cost in costs]
    return costs if any(math.isfinite(cost) for cost in costs) else None


def _number(value: Any) -> float:
    """A metric as a number; NaN if it is none or not finite, as for a failed trial."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _free(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)
