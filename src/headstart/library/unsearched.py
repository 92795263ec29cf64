"""The configuration for a data set that is not to be searched at all: one that beats the estimator's own defaults.

Candidates are the configurations that were measured on all past data sets, the defaults among them. On past data set D,
configuration λ is worth

    a_D(λ) = [λ beats the defaults] + log(loss of the defaults / loss of λ),

so a small gain on most data sets counts as much as a large one on few. How much it is worth on the new data set is
predicted by a Gaussian process over candidates and past data sets at once (Bonilla et al., *Multi-task Gaussian
process prediction*, NIPS 2007),

    Cov(a_D(λ), a_D'(λ')) = S(λ, λ') k(D, D') + N [λ = λ', D = D'],    k(D, D') = exp(−‖r_D − r_D'‖² / (W² d)),

where r are the ranks of the meta-features and landmarks (`landmarks.py`) among the past data sets. The mean of a(λ) is
ā(λ), that over the past data sets, and S is the covariance of the candidates' worth, scaled to a mean variance of 1 and
shrunk towards the identity I: (1 − A) cov + A I. So most of what the candidates have in common is learned from all of
them. With S = Q diag(s) Qᵀ and K = V diag(κ) Vᵀ,

    â = ā + Q (C ∘ (Qᵀ (a − ā) V)) Vᵀ k,    C_ij = s_i / (s_i κ_j + N).

The best candidate is chosen, unless it is worth no more than the defaults themselves, 1/2. `benchmarks/no_search.py`
compares this rule with others, and prints what each constant is worth.

| symbol | name    | shape  | meaning                                                            |
| ------ | ------- | ------ | ------------------------------------------------------------------ |
| a      | `worth` | (n, T) | what the n candidates are worth on the T past data sets            |
| r      | —       | (T, d) | ranks of the d meta-features and landmarks, between 0 and 1        |
| K, k   | —       | (T, T), (T,) | how much past data sets resemble each other and the new one  |
| S      | —       | (n, n) | how much candidates resemble each other                            |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from headstart._support.rounding import best_first
from headstart._support.types import Array, Rows
from headstart.history import Features, History
from headstart.library.models import MODELS, Model
from headstart.space import Config
from headstart.transfer.ranks import normal_scores

GAIN = 1.0  # what the logarithm of the gain counts beside winning at all
MOST = 2.0  # larger logarithms of the gain, or of the loss, are cut off here
WIDTH = 0.5  # W: of the kernel
NOISE = 2.0  # N: what chance does to the worth on one data set
ALONE = 0.5  # A: the part of a candidate's worth that says nothing about the others
DEFAULTS = 0.5  # what the defaults are worth: they tie with themselves
ROUNDING = 1e-9
LEAST = 1e-9  # smaller losses count as this one; a guess
OWN = -1.0  # marks a parameter that has the task's own default
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
        """The position of the candidate for a data set with these features; None if the defaults are as good.

        tasks: those of the past data sets.
        """
        past, given = [tasks[name] for name in sorted(tasks)], features or {}
        names = [name for name, x in given.items() if math.isfinite(x) and all(name in known for known in past)]
        if not names:
            return preferred(self.worth.mean(axis=1))
        M = np.array([[known[name] for name in names] for known in past])
        return preferred(expected(self.worth, M, np.array([given[name] for name in names])))


def unsearched(name: str, metric: str, history: History) -> Unsearched | None:
    """What the past data sets of a history say about configurations; None if not all of them measured the defaults."""
    model = MODELS.get(name)
    measured = None if model is None else shared(model, metric, history)
    if measured is None:
        return None
    worth = worth_of(measured.losses, measured.defaults)
    best = candidates(worth)
    scores = [normal_scores(task.losses)[place] for task, place in zip(history, measured.places[best].T, strict=True)]
    return Unsearched([measured.configs[i] for i in best], worth[best], np.column_stack(scores))


class Shared(NamedTuple):
    """What all tasks of a history measured.

    configs: n configurations; one that has the estimator's default of `Model.inverse_columns` lacks this parameter.
    places (n, T): their positions among the runs of each task. losses (n, T), and those of the defaults (T,): above 0,
    1 − AUC, and 1 − R². A failed configuration has the highest loss of its task.
    """

    configs: list[Config]
    places: Rows
    losses: Array
    defaults: Array


def shared(model: Model, metric: str, history: History) -> Shared | None:
    """The configurations that all tasks measured; None if there are none, or not all of them measured the defaults."""
    each = [history.V[task.rows] for task in history]
    known = [_place_of_defaults(model, V) for V in each]
    if any(place is None for place in known):
        return None
    if model.inverse_columns is not None:
        j = list(model.space).index(model.inverse_columns)
        for V, place in zip(each, known, strict=True):
            V[V[:, j] == V[place, j], j] = OWN
    positions = [{row.tobytes(): i for i, row in enumerate(V)} for V in each]
    rows = [row for row in each[0] if all(row.tobytes() in known for known in positions)]
    if not rows:
        return None
    places = np.array([[where[row.tobytes()] for where in positions] for row in rows])
    filled = [np.where(np.isnan(task.losses), np.nanmax(task.losses), task.losses) for task in history]
    above = float(model.metrics[metric] == "maximize")
    losses = np.column_stack([y[place] for y, place in zip(filled, places.T, strict=True)])
    defaults = np.array([y[place] for y, place in zip(filled, known, strict=True)])
    return Shared([_config(model, row) for row in rows], places, losses + above, defaults + above)


def _config(model: Model, row: Array) -> Config:
    """A row of values as a configuration, without the parameter that has the task's own default."""
    own = row == OWN
    config = model.space.from_values(np.where(own, 1.0, row)[None])[0]
    return {name: value for name, value in config.items() if name != model.inverse_columns or not own.any()}


def completed(model: Model, config: Config, columns: float) -> Config:
    """The configuration with the default of `Model.inverse_columns` for so many columns, if it lacks this parameter."""
    name = model.inverse_columns
    if name is None or name in config:
        return config
    if any(config.get(parent) not in values for parent, values in model.space[name].conditions.items()):
        return config
    given = {**config, name: model.default_for(max(round(columns), 1))[name]}
    return {key: given[key] for key in model.space if key in given}


def _place_of_defaults(model: Model, V: Array) -> int | None:
    """The one of a task's rows (n, p) that holds the estimator's defaults.

    A default of one over the number of columns differs between data sets, but all others tell which row it is; of the
    rows that agree in those, it is the first.
    """
    given = np.array([name != model.inverse_columns for name in model.space])
    default = model.space.to_values([model.default_for(1)])[0][given]
    same = (default == V[:, given]) | (np.isnan(V[:, given]) & np.isnan(default))
    found = np.flatnonzero(same.all(axis=1))
    return int(found[0]) if len(found) else None


def shared_rows(history: History) -> Rows:
    """The rows of V that every task tried."""
    counts = np.bincount(np.concatenate([task.rows for task in history]), minlength=len(history.V))
    return np.flatnonzero(counts == len(history))


def preferred(worth: Array) -> int | None:
    """The position of the candidate that is worth most (n,); None if it is worth no more than the defaults."""
    best = int(best_first(worth)[0])
    return best if worth[best] > DEFAULTS + ROUNDING else None


def candidates(worth: Array) -> Rows:
    """The rows of the configurations (n, T) that are kept."""
    return np.sort(np.argsort(-worth.mean(axis=1), kind="stable")[:KEPT])


def expected(worth: Array, M: Array, new: Array) -> Array:
    """â (n,), given the worth (n, T), the features M (T, d) of the past data sets, and those of the new one (d,)."""
    r, place = ranked(M, new)
    K = np.exp(-((r[:, None] - r) ** 2).sum(axis=2) / (WIDTH**2 * M.shape[1]))
    k = np.exp(-((r - place) ** 2).sum(axis=1) / (WIDTH**2 * M.shape[1]))
    mean = worth.mean(axis=1)
    rest = worth - mean[:, None]
    s, Q = np.linalg.eigh(rest @ rest.T)
    s = (1 - ALONE) * s.clip(min=0.0) / (s.mean() or 1.0) + ALONE
    kappa, V = np.linalg.eigh(K)
    shrunk = s[:, None] / (s[:, None] * kappa + NOISE) * (Q.T @ rest @ V)
    return np.asarray(mean + Q @ (shrunk @ (V.T @ k)))


def worth_of(losses: Array, defaults: Array) -> Array:
    """a (n, T), given the losses of n configurations (n, T) and of the defaults (T,) on T data sets."""
    losses, defaults = np.maximum(losses, LEAST), np.maximum(defaults, LEAST)
    gain = np.log(defaults / losses)
    return np.asarray((gain > 0) + 0.5 * (gain == 0) + GAIN * np.clip(gain, -MOST, MOST))


def ranked(M: Array, new: Array) -> tuple[Array, Array]:
    """The ranks (T, d) of the past features among themselves, and those of the new ones (d,)."""
    order = np.sort(M, axis=0)
    return _ranks(order, M), _ranks(order, new[None])[0]


def _ranks(order: Array, rows: Array) -> Array:
    """The share of the past values (sorted columns) below each value; half of those that are equal."""
    pairs = list(zip(order.T, rows.T, strict=True))
    below, most = (np.column_stack([np.searchsorted(known, x, side) for known, x in pairs]) for side in SIDES)
    return np.asarray((below + most) / (2 * len(order)))
