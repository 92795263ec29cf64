"""Tables with one row per step of a learning curve, as trackers and training scripts write them.

The rows of one task and configuration are one run. Its result is that of its last step. A run that ends before the
longest of its task was stopped, so it was not going to be the best, and its end is unlikely to be worse than its last
step: it counts with its last result, but as no better than the best whole run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from headstart._support.direction import turned
from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.errors import ArgumentError, HistoryError
from headstart.history.curves import Curves
from headstart.history.evaluations import Evaluations
from headstart.history.formats.frames import TABLE, Source, check_columns, numbers_in, read_frame, reconciled
from headstart.history.formats.tidying import results
from headstart.history.reading import Reading
from headstart.space import as_space


def read_table(
    frame: pd.DataFrame,
    how: Reading,
    *,
    features: Any = None,
    info: Mapping[str, Any] | None = None,
    source: Source = TABLE,
    notes: Sequence[str] = (),
) -> Evaluations:
    """`read_frame`, or a table with one row per step if how.step names the column of the steps."""
    if how.step is None:
        return read_frame(frame, how, features=features, info=info, source=source, notes=notes)
    if how.skip_bad_rows:
        raise ArgumentError("skip_bad_rows does not go with step: a run would lose a part of its curve")
    given = None if how.space is None else as_space(how.space)
    frame, how = reconciled(frame, how, given), replace(how, rename=None, fill=None)
    assert how.step is not None
    check_columns(frame, [*how.columns.values(), *(given if given is not None else how.ignore)], how, source)
    steps, run = _steps(frame, how.step, source), _runs(frame, how, given)
    frame = frame.assign(**{how.step: steps})
    frame = frame.iloc[np.lexsort((steps, run))].reset_index(drop=True)
    run = np.sort(run)
    last = np.append(run[1:] != run[:-1], True)
    ends = frame[last].reset_index(drop=True)
    longest = ends.groupby(how.task, dropna=False)[how.step].transform("max")
    ended = (ends[how.step] == longest).to_numpy(dtype=bool)
    read = read_frame(
        ends.drop(columns=how.step), replace(how, step=None), features=features, info=info, source=source, notes=notes
    )
    losses = turned(results(frame[how.value])[0], read.direction)
    whole = ended & np.isfinite(losses[last])
    more = [f"{counted(len(frame), 'step')} of {counted(len(ends), 'run')}"]
    if gaps := int(np.isnan(losses).sum()):
        more.append(f"{counted(gaps, 'step')} without a number: left out of the learning curves")
    if stopped := int((~ended).sum()):
        count = "counts with its" if stopped == 1 else "count with their"
        more.append(
            f"{counted(stopped, 'run')} stopped before the longest of the task: "
            f"{count} last value, but as no better than a whole run"
        )
    return replace(
        read,
        losses=_bounded(read, ended),
        curves=_curves(read, whole, run, frame[how.step].to_numpy(), losses),
        notes=[*read.notes, *more],
    )


def _bounded(read: Evaluations, ended: Mask) -> Array:
    """The losses, where those of runs that were stopped are no better than those of whole runs of the same task."""
    whole = pd.Series(np.where(ended, read.losses, np.nan)).groupby(read.tasks).transform("min").to_numpy()
    return np.asarray(np.where(ended, read.losses, np.where(read.losses < whole, whole, read.losses)))


def _steps(frame: pd.DataFrame, column: str, source: Source) -> Any:
    numbers = numbers_in(frame, column, source)
    bad = ~((numbers >= 0) & (numbers == np.rint(numbers)) & (numbers < 2**53))
    if bad.any():
        where, more = source.first_cell(bad, column)
        got = "the cell is empty" if np.isnan(numbers[bad][0]) else f"got {numbers[bad][0]:g}"
        raise HistoryError(f"{where}: a step must be a whole number from 0 to 2^53, but {got}{more}")
    return numbers.astype(np.int64)


def _runs(frame: pd.DataFrame, how: Reading, space: Any) -> Any:
    """The number of the run of each row: a task and a configuration."""
    results_of = {how.value, how.cost, how.count, how.step}
    others = [name for name in frame.columns if name not in results_of and name not in how.ignore]
    keys = [how.task, *space] if space is not None else others
    return frame.groupby(keys, dropna=False, sort=False).ngroup().to_numpy()


def _curves(read: Evaluations, ended: Any, run: Any, steps: Any, losses: Array) -> Curves | None:
    """A step that a run reported several times counts with the last report; missing values are gaps."""
    reports: list[dict[int, float]] = [{} for _ in range(len(read))]
    for r, step, loss in zip(run, steps, losses, strict=True):
        reports[r][int(step)] = float(loss)
    return Curves.of(read.tasks.tolist(), read.V, ended, reports)
