"""The content of a report, as plain data for JSON.

| symbol | name | shape  | meaning                                                           |
| ------ | ---- | ------ | ----------------------------------------------------------------- |
| f̂_D(λ) | `F`  | (m, T) | scaled loss of m configurations on T tasks, observed or predicted |
| u      | `U`  | (m, p) | points of the unit cube, from which configurations are made       |
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from headstart._support.threads import one_thread
from headstart._support.types import Array, Mask, Rows
from headstart._support.wording import counted
from headstart.history import History
from headstart.space import Categorical, Parameter, Space
from headstart.space.quasirandom import halton
from headstart.starts.evidence import ESTIMATE, Evidence
from headstart.starts.learning import learn
from headstart.starts.over_time import AFTER, LEAST_TASKS, fitting_unit, over_time, timed_tasks
from headstart.starts.start import Start
from headstart.starts.validation import evidence
from headstart.transfer.models import TaskModels

START = "headstart:start"  # the attribute that marks a trial of a start, as in `adapters/optuna/attributes.py`
METHODS = ("auto", "li", "rbi")
MOST_TASKS = 150  # in the map and the heat map
MOST_TIMED = 20  # over time, which takes longer than the rest
MOST_CONFIGS = 40  # of the history in the heat map, so that every row has room for its name
JUDGED = 400  # configurations of the history among which those are chosen
AVERAGED = 256  # configurations over which a slice averages the other parameters
STEPS = 25  # points of a slice along a numeric parameter


@dataclass(frozen=True)
class About:
    """What a page is about. date: on which it was made; source: where the runs were read; metric: their result."""

    title: str
    source: str = ""
    metric: str = ""
    date: str = ""

    def to_json(self) -> dict[str, str]:
        return {**asdict(self), "date": self.date or today()}


def today() -> str:
    """The day on which a page is made (UTC), the only part of it that is not reproducible.

    The environment variable SOURCE_DATE_EPOCH fixes it, as in other tools that write files.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch.isdigit() else datetime.now(timezone.utc)
    return moment.date().isoformat()


@one_thread
def content(
    history: History,
    *,
    about: About,
    n: int | None = None,
    method: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
    tasks: int | str | None = None,
) -> dict[str, Any]:
    """Everything that the page about a history shows."""
    methods = tuple(dict.fromkeys([method, *METHODS]))
    found = evidence(history, n=n, methods=methods, seed=seed, tasks=tasks, jobs=jobs, progress=progress)
    if found.interrupted:
        raise KeyboardInterrupt  # no page, rather than one that looks like the whole answer
    start = learn(history, n=found.n, method=method, seed=seed)
    rng = np.random.default_rng([seed, 7])
    shown = history.only(_some(found.tasks, MOST_TASKS, rng))
    models = TaskModels(shown, rng=np.random.default_rng([seed, 8]))
    return {
        "kind": "history",
        "title": about.title,
        "about": {**about.to_json(), "seed": seed},
        "facts": _facts(history),
        "verdict": _verdict(found),
        "evidence": _evidence(found),
        "time": _over_time(history, found, seed, jobs),
        "start": _start(history, start, models),
        "map": _map(models, found, method),
        "heat": _heat(models, start, rng),
        "slices": slices(models, start, rng=rng),
        "left_out": [str(note) for note in history.notes],
        "shown": {"tasks": len(shown), "of": len(history)},
    }


def _some(names: Sequence[str], most: int, rng: np.random.Generator) -> list[str]:
    if len(names) <= most:
        return list(names)
    return [names[i] for i in np.sort(rng.choice(len(names), most, replace=False))]


def _facts(history: History) -> dict[str, Any]:
    return {
        "tasks": len(history),
        "evaluations": sum(len(task) for task in history),
        "configurations": len(history.V),
        "parameters": [f"{name}: {history.space.describe(name)}" for name in history.space],
        "direction": history.direction,
        "features": len(history.feature_names),
    }


def _verdict(found: Evidence) -> dict[str, Any]:
    """The answer at a glance: whether past runs help, by how much, and where they do not."""
    gain, t = found.gain[0], min(5, found.n)
    answer = "yes" if found.helps else "unclear" if gain > 0 else "no"
    headlines = {
        "yes": f"Yes: {gain:.2f} of a task's range closer to the best over the first {counted(found.n, 'trial')}.",
        "unclear": f"Not clear: on {len(found.tasks)} tasks, the difference may be chance.",
        "no": "No: start without them.",
    }
    if found.helps and found.random_trials(found.method, t)[0] > t:
        headlines["yes"] = f"Yes: after {counted(t, 'trial')} you are {found.catches_up(t)}."
    some = f" (a random sample of {found.of:,})" if found.of else ""
    says = f"Measured on {len(found.tasks)} tasks{some}, each left out in turn and started by '{found.method}'."
    if found.best_method != found.method:
        says += f" Of the methods compared, '{found.best_method}' did best."
    return {
        "helps": found.helps,
        "answer": answer,
        "headline": headlines[answer],
        "says": says + (ESTIMATE if found.estimated else "") if found.helps else found.summary,
        "summary": found.summary,
        "method": found.method,
        "tested": len(found.tasks),
        "worse": [[task, round(by, 4)] for task, by in found.harm.items()],
    }


def _evidence(found: Evidence) -> list[dict[str, Any]]:
    table = found.table
    return [
        {"method": method, **{column: listed(rows[column]) for column in ("trials", "adtm", "low", "high")}}
        for method, rows in table.groupby("method", sort=False)
    ]


def _over_time(history: History, found: Evidence, seed: int, jobs: int) -> dict[str, Any] | None:
    """The same over time; None if the history has too few costs, or if its trials were chosen by searches.

    times: in `unit`. start, random: the mean distances. after, catches_up: when the two are level; catches_up is None
    if random search never gets there.
    """
    if found.estimated or len(timed_tasks(history)) < LEAST_TASKS:
        return None
    timed = over_time(history, seed, jobs=jobs, most=MOST_TIMED)
    size, unit = fitting_unit(AFTER * timed.unit)
    start, random, other = timed.start.mean(axis=0), timed.random.mean(axis=0), timed.catches_up()
    settled = timed.times[np.argmax(random <= random[-1] + 0.01)] if np.isinf(other) else other
    ends = max(1.6 * settled, 2 * AFTER)
    shown = (timed.times <= ends) & (timed.times >= timed.times[np.argmax(np.minimum(start, random) < 0.99)])
    scale = timed.unit / size
    return {
        "says": timed.summary,
        "unit": unit,
        "times": listed(timed.times[shown] * scale),
        "start": listed(start[shown]),
        "random": listed(random[shown]),
        "after": float(AFTER * scale),
        "level": float(start[np.searchsorted(timed.times, AFTER, side="right") - 1]),
        "catches_up": None if np.isinf(other) else float(other * scale),
    }


# -- the start ------------------------------------------------------------------------------------------------


def _start(history: History, start: Start, models: TaskModels) -> dict[str, Any]:
    F = models.responses(start.V)
    best = F.argmin(axis=0)
    tasks = np.array(models.history.tasks, dtype=object)
    return {
        "names": list(start.space),
        "configs": [{name: config.get(name) for name in start.space} for config in start],
        "serves": [tasks[best == i].tolist() for i in range(len(start))],
        "expected": listed(start.expected),
        "method": start.method,
        "copy": copies(start),
    }


def copies(start: Start) -> dict[str, str]:
    """The start as text to paste: JSON, Python, and lines that queue it in an Optuna study."""
    lines = [f"study.enqueue_trial({config!r}, user_attrs={{{START!r}: {i}}})" for i, config in enumerate(start)]
    return {
        "json": json.dumps(start.configs, indent=2),
        "python": "[\n" + "".join(f"    {config!r},\n" for config in start) + "]\n",
        "optuna": "\n".join(lines) + "\n",
    }


# -- the tasks ------------------------------------------------------------------------------------------------


def _map(models: TaskModels, found: Evidence, method: str) -> list[dict[str, Any]]:
    """Every task as a point, near those that rank configurations similarly."""
    xy = scaled_down(models.distances)
    reached = dict(zip(found.tasks, found.curves[method][:, -1], strict=True))
    lonely = outliers(models.distances)
    worse = set(found.outliers)
    return [
        {
            "task": task.name,
            "x": float(xy[i, 0]),
            "y": float(xy[i, 1]),
            "evaluations": len(task),
            "best": models.history.best(task.name),
            "reached": float(reached[task.name]),
            "outlier": bool(lonely[i]),
            "worse": task.name in worse,
        }
        for i, task in enumerate(models.history)
    ]


def scaled_down(D: Array) -> Array:
    """Classical multidimensional scaling: points in the plane with approximately the distances D (T, T)."""
    T = len(D)
    J = np.eye(T) - 1 / T
    values, vectors = np.linalg.eigh(-0.5 * J @ (D**2) @ J)
    top = np.argsort(values)[::-1][:2]
    XY = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))
    sign = np.sign(XY[np.abs(XY).argmax(axis=0), np.arange(XY.shape[1])])  # the sign of an eigenvector is arbitrary
    XY = XY * np.where(sign == 0, 1.0, sign)
    return np.pad(XY, ((0, 0), (0, 2 - XY.shape[1])))


def outliers(D: Array, k: int = 3) -> Mask:
    """Tasks far from their k nearest: above the upper quartile by more than 1.5 interquartile ranges."""
    near = np.sort(D + np.diag(np.full(len(D), np.inf)), axis=1)[:, : min(k, len(D) - 1)].mean(axis=1)
    low, high = np.quantile(near, [0.25, 0.75])
    return np.asarray(near > high + 1.5 * (high - low))


def _heat(models: TaskModels, start: Start, rng: np.random.Generator) -> dict[str, Any]:
    """Configurations × tasks: the best configurations at the top, similar tasks side by side, the start among them."""
    V = _shown_configs(models, rng)
    shown = len(V)
    V = np.concatenate([start.V, V])
    F, measured = np.clip(models.responses(V), 0.0, 1.0), ~np.isnan(models.observed(V))
    columns = side_by_side(models.distances)
    configs = models.space.from_values(V)
    return {
        "tasks": [models.history.tasks[i] for i in columns],
        "rows": [
            {
                "config": configs[i],
                "start": int(i) + 1 if i < len(start) else None,
                "loss": [round(float(x), 3) for x in F[i, columns]],
                "measured": [int(x) for x in measured[i, columns]],
            }
            for i in np.argsort(F.mean(axis=1), kind="stable")
        ],
        "shown": shown,
        "of": len(models.history.V),
    }


def _shown_configs(models: TaskModels, rng: np.random.Generator) -> Array:
    """V of some configurations of the history, evenly from the best on average to the worst."""
    V = models.history.V
    if len(V) <= MOST_CONFIGS:
        return V
    if len(V) > JUDGED:
        V = V[np.sort(rng.choice(len(V), JUDGED, replace=False))]
    ranked = np.argsort(models.responses(V).mean(axis=1), kind="stable")
    return np.asarray(V[ranked[np.linspace(0, len(V) - 1, MOST_CONFIGS).round().astype(int)]])


def side_by_side(D: Array) -> Rows:
    """An order in which similar tasks are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    return np.asarray(leaves_list(linkage(squareform(D), "average", optimal_ordering=True)), dtype=np.intp)


# -- the parameters -------------------------------------------------------------------------------------------


def slices(models: TaskModels, start: Start, *, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The response surface along each parameter, averaged over the others, most important parameter first.

    importance: the share of a task's variance that this parameter alone explains (its main effect in a functional
    analysis of variance), averaged over the tasks; an inactive parameter explains nothing.
    """
    space = models.space
    U = halton(AVERAGED, len(space), rng=rng)
    whole = models.predict(space.encode_values(space.from_cube(U))).var(axis=0)
    starts = start.V
    heights = models.responses(starts).mean(axis=1)
    out = []
    for j, (name, parameter) in enumerate(space.items()):
        u, labels = _along(parameter)
        means, share = _main_effect(models, space, U, j, u)
        importance = np.mean(share * means.var(axis=0) / np.maximum(whole, 1e-12))
        low, high = np.quantile(means, [0.25, 0.75], axis=1)
        active = np.flatnonzero(~np.isnan(starts[:, j]))
        out.append(
            {
                "name": name,
                "importance": float(min(importance, 1.0)),
                "choices": [str(c) for c in parameter.choices] if isinstance(parameter, Categorical) else None,
                "log": not isinstance(parameter, Categorical) and bool(parameter.log),
                "x": labels,
                "mean": listed(means.mean(axis=1)),
                "low": listed(low),
                "high": listed(high),
                "start": [
                    {"i": int(i) + 1, "x": _plain(parameter, starts[i, j]), "y": float(heights[i])} for i in active
                ],
            }
        )
    return sorted(out, key=lambda entry: -entry["importance"])


def _along(parameter: Parameter) -> tuple[Array, list[Any]]:
    """Points of the unit interval along a parameter, and the parameter's values there."""
    if isinstance(parameter, Categorical):
        count = len(parameter.choices)
        return (np.arange(count) + 0.5) / count, [str(choice) for choice in parameter.choices]
    u = np.linspace(0.0, 1.0, STEPS)
    v = parameter.draw(u)
    first = np.concatenate([[True], np.diff(v) > 0])  # integers repeat
    return u[first], [parameter.native(float(x)) for x in v[first]]


def _main_effect(models: TaskModels, space: Space, U: Array, j: int, u: Array) -> tuple[Array, float]:
    """Mean prediction with parameter j at each point of u, (len(u), T), and how often it is active."""
    means, counts = [], []
    for place in u:
        at = U.copy()
        at[:, j] = place
        V = space.from_cube(at)
        V = V[~np.isnan(V[:, j])]
        counts.append(len(V))
        means.append(models.predict(space.encode_values(V)).mean(axis=0) if len(V) else np.zeros(len(models)))
    return np.array(means), float(np.mean(counts)) / len(U)


def _plain(parameter: Parameter, v: float) -> Any:
    value = parameter.native(float(v))
    return str(value) if isinstance(parameter, Categorical) else value


def listed(values: Any) -> list[Any]:
    """Numbers with as many digits as a picture can show."""
    return [float(f"{value:.5g}") if isinstance(value, float) else value for value in np.asarray(values).tolist()]
