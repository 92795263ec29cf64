"""The configuration for a data set that is not to be searched at all: one that beats the estimator's own defaults.

Candidates are the configurations that were measured on all past data sets, the defaults among them. On past data set D,
configuration λ is worth

    a_D(λ) = [λ beats the defaults] + log(loss of the defaults / loss of λ),

so a small gain on most data sets counts as much as a large one on few. The candidate with the highest mean is chosen,
unless it is worth no more than the defaults themselves, 1/2. Past data sets count by how much their meta-features
resemble those of the new one. `benchmarks/no_search.py` compares this rule with others, and prints what each constant
is worth.

| symbol | name    | shape  | meaning                                                            |
| ------ | ------- | ------ | ------------------------------------------------------------------ |
| a      | `worth` | (n, T) | what the n candidates are worth on the T past data sets            |
| M      | `M`     | (T, d) | meta-features of the past data sets                                |
| w      | —       | (T,)   | how much the past data sets count                                  |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headstart._support.types import Array, Rows
from headstart.history import Features, History
from headstart.library.models import MODELS, Model
from headstart.space import Config
from headstart.transfer.ranks import normal_scores

GAIN = 1.0  # what the logarithm of the gain counts beside winning at all
MOST = 2.0  # larger logarithms of the gain, or of the loss, are cut off here
NEAREST = 10  # past data sets that count noticeably
DEFAULTS = 0.5  # what the defaults are worth: they tie with themselves
ROUNDING = 1e-9
LEAST = 1e-9  # smaller losses count as this one; a guess
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
KEPT = 12  # candidates that are stored: those worth most on average; a guess


@dataclass(frozen=True)
class Unsearched:
    """The candidates and what they are worth.

    scores (n, T): their scores on the past data sets, as those of a portfolio.
    """

    configs: list[Config]
    worth: Array
    scores: Array

    def to_json(self) -> dict[str, Any]:
        tables = {"worth": np.round(self.worth, 3).tolist(), "scores": np.round(self.scores, 2).tolist()}
        return {"configs": self.configs, **tables}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Unsearched:
        worth, scores = (np.array(data[name], dtype=float) for name in ("worth", "scores"))
        return cls(list(data["configs"]), worth, scores)

    def best(self, tasks: Mapping[str, Features], features: Features | None) -> int | None:
        """The position of the candidate for a data set with these meta-features; None if the defaults are as good.

        tasks: those of the past data sets.
        """
        past, given = [tasks[name] for name in sorted(tasks)], features or {}
        names = [name for name, x in given.items() if math.isfinite(x) and all(name in known for known in past)]
        if not names:
            return preferred(self.worth, np.ones(self.worth.shape[1]))
        M = np.array([[known[name] for name in names] for known in past])
        return preferred(self.worth, closeness(M, np.array([given[name] for name in names])))


def unsearched(name: str, metric: str, history: History) -> Unsearched | None:
    """What the past data sets of a history say about configurations; None if not all of them measured the defaults."""
    model = MODELS.get(name)
    measured = None if model is None else shared(model, metric, history)
    if measured is None:
        return None
    rows, losses, defaults = measured
    worth = worth_of(losses, defaults)
    best = np.sort(np.argsort(-worth.mean(axis=1), kind="stable")[:KEPT])
    configs = history.space.from_values(history.V[rows[best]])
    scores = [normal_scores(task.losses)[np.searchsorted(task.rows, rows[best])] for task in history]
    return Unsearched(configs, worth[best], np.column_stack(scores))


def shared(model: Model, metric: str, history: History) -> tuple[Rows, Array, Array] | None:
    """The rows of V that all tasks measured, their losses (n, T), and those of the estimator's defaults (T,).

    Losses are above 0: 1 − AUC, and 1 − R². A failed configuration has the highest loss of its task.
    """
    rows = shared_rows(history)
    known = [row for task in history if (row := _row_of_defaults(model, history, task.rows)) is not None]
    if len(known) < len(history) or not len(rows):
        return None
    filled = [np.where(np.isnan(task.losses), np.nanmax(task.losses), task.losses) for task in history]
    tasks = list(zip(filled, history, known, strict=True))
    losses = np.column_stack([y[np.searchsorted(task.rows, rows)] for y, task, _ in tasks])
    defaults = np.array([y[np.searchsorted(task.rows, row)] for y, task, row in tasks])
    above = float(model.metrics[metric] == "maximize")
    return rows, losses + above, defaults + above


def _row_of_defaults(model: Model, history: History, rows: Rows) -> int | None:
    """The one of a task's rows of V that holds the estimator's defaults.

    A default of one over the number of columns differs between data sets, but all others tell which row it is.
    """
    given = np.array([name != model.inverse_columns for name in model.space])
    default, V = history.space.to_values([model.default_for(1)])[0][given], history.V[rows][:, given]
    same = (default == V) | (np.isnan(V) & np.isnan(default))
    found = np.flatnonzero(same.all(axis=1))
    return int(rows[found[0]]) if len(found) else None


def shared_rows(history: History) -> Rows:
    """The rows of V that every task tried."""
    counts = np.bincount(np.concatenate([task.rows for task in history]), minlength=len(history.V))
    return np.flatnonzero(counts == len(history))


def preferred(worth: Array, weights: Array) -> int | None:
    """The position of the candidate that is worth most, given worth (n, T) and weights (T,) of the past data sets.

    None if it is worth no more than the defaults.
    """
    each = worth @ weights / weights.sum()
    best = int(np.argmax(each))
    return best if each[best] > DEFAULTS + ROUNDING else None


def worth_of(losses: Array, defaults: Array) -> Array:
    """a (n, T), given the losses of n configurations (n, T) and of the defaults (T,) on T data sets."""
    losses, defaults = np.maximum(losses, LEAST), np.maximum(defaults, LEAST)
    gain = np.log(defaults / losses)
    return np.asarray((gain > 0) + 0.5 * (gain == 0) + GAIN * np.clip(gain, -MOST, MOST))


def closeness(M: Array, new: Array) -> Array:
    """How much the past data sets count for a new one: w (T,), by the distance of the ranks of the meta-features."""
    order = np.sort(M, axis=0)
    ranks, place = (_ranks(order, rows) for rows in (M, new[None]))
    squared = ((ranks - place) ** 2).sum(axis=1)
    width = np.sort(squared)[min(NEAREST, len(M)) - 1]
    return np.asarray(np.exp(-squared / width) if width > 0 else squared == 0, dtype=float)


def _ranks(order: Array, rows: Array) -> Array:
    """The share of the past values (sorted columns) below each value; half of those that are equal."""
    pairs = list(zip(order.T, rows.T, strict=True))
    below, most = (np.column_stack([np.searchsorted(known, x, side) for known, x in pairs]) for side in SIDES)
    return np.asarray((below + most) / (2 * len(order)))
