"""A history in a notebook: its tasks as a table, and how their losses are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headstart._support.direction import turned
from headstart._support.display import LINES, Picture, Series, card

if TYPE_CHECKING:
    from headstart.history.history import History

SHOWN = 60  # losses of a task in a picture


def as_html(history: History) -> str:
    """One row per task, and the picture."""
    rows = [
        [task.name, len(task), turned(float(task.losses[task.best]), history.direction_of(task.name))]
        for task in history
    ]
    title = f"{history!r}, {history.direction}"
    return card(title, ["task", "evaluations", "best"], rows, picture_of(history))


def picture_of(history: History) -> Picture:
    """The scaled losses of each task: of LINES tasks and SHOWN losses each at most, evenly from best to worst."""
    tasks = list(history)[:LINES]
    x: list[float] = []
    y: list[float] = []
    for i, task in enumerate(tasks):
        losses = np.sort(task.scaled())
        shown = losses[np.unique(np.linspace(0, len(losses) - 1, SHOWN).round().astype(int))]
        x, y = [*x, *shown.tolist()], [*y, *[float(i)] * len(shown)]
    some = f"; {len(tasks)} of {len(history)} tasks" if len(tasks) < len(history) else ""
    title = f"loss, from the best of a task (0) to its worst (1){some}"
    return Picture([Series("losses", x, y, marks=True)], x=title, names=[task.name for task in tasks])
