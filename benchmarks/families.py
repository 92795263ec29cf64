"""What a constant of `auto` is worth on 31 families: those of the suite, the authors' two, and the histories that ship.

python benchmarks/families.py BLEND=0 OPPOSITE=0 OPPOSITE=0.02 [--tasks 10] [--work DIR]

Each task is left out in turn and searched for 20 trials among its own configurations (at most 300), with the other
tasks as the history (at most 100 evaluations each). Printed is the ratio of ADTM to that of `auto` as it is, as the
geometric mean over 3, 5, 7, 10, 14 and 20 trials and over families: below 1, the change is better. Its standard error
comes from drawing the tasks of every family anew (bootstrap). Every value sees the same tasks, configurations and
histories, so it shows differences that the suite cannot show. Constants are those of `suite.py --sweep`, except those
of the population, which is learned once for each left-out task. Finished families are kept in --work, so a run can be
interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import headstart as hs
from headstart.history.formats import authors
from headstart.strategies.auto import Auto
from headstart.strategies.base import Told
from headstart.transfer.models import TaskModels
from headstart.transfer.quantiles import Quantiles
from protocol import SHARED, history_named
from suite import QUANTILES, SUITE, SWEEP, _left_out, _table, changed, judge, kept, overall

PAST, CANDIDATES, TRIALS = 100, 300, 20
MARKS = (3, 5, 7, 10, 14, 20)
RESAMPLES = 500
FLOOR = 0.002  # added to ADTM, as the judge does


class New(NamedTuple):
    """A left-out task: what is known of the others, and its own configurations with their losses and scores."""

    history: hs.History
    V: np.ndarray
    losses: np.ndarray
    scores: np.ndarray  # 0: the best, 1: the worst


def families() -> list[str]:
    shipped = [f"library/{name}" for name in hs.library.names()]
    published = [f"authors/{name}" for name in ("authors-svm", "authors-adaboost")] if SHARED.exists() else []
    suite = [f"suite/{path.name[:-11]}" for path in sorted(SUITE.glob("*_space.json"))]
    if not suite or not published:
        print("without the suite or the authors' data, which are not part of the repository", file=sys.stderr)
    return [*suite, *published, *shipped]


def left_out(family: str, tasks: int) -> Iterator[New]:
    kind, _, name = family.partition("/")
    return _of_suite(name, tasks) if kind == "suite" else _of_history(name, tasks, coarse=kind == "authors")


def _of_suite(name: str, tasks: int) -> Iterator[New]:
    j = judge()
    table = _table(j, name)
    space = table.space(hs)
    columns = ["dataset", *table.columns, "value"]
    for task in _left_out(j, name, tasks):
        rows = table.new[task].sample(frac=1, random_state=0).head(CANDIDATES)
        losses = rows.value.to_numpy(float)
        past = [table.past[other][columns].assign(dataset=other) for other in table.train if other != task]
        history = hs.History.from_frame(pd.concat(past, ignore_index=True), space, task="dataset", value="value")
        yield New(history, space.to_values(table.configs(rows)), losses, j.scores(table, losses))


def _of_history(name: str, tasks: int, *, coarse: bool) -> Iterator[New]:
    history = history_named(name)
    past = authors.coarse(history) if coarse else history
    rng = np.random.default_rng(0)
    frame = past.to_frame().groupby("task", sort=True).sample(frac=1, random_state=0).groupby("task").head(PAST)
    drawn = hs.History.from_frame(frame, history.space, task="task", value="value", direction=history.direction)
    for place in np.unique(np.linspace(0, len(history) - 1, tasks).astype(int)):
        task = history[history.tasks[place]]
        rows = np.sort(rng.permutation(len(task.rows))[:CANDIDATES])
        losses = np.asarray(task.losses)[rows]
        known = losses[np.isfinite(losses)]
        if len(known) < TRIALS or not np.ptp(known) > 0:
            continue
        scores = np.where(np.isfinite(losses), (losses - known.min()) / np.ptp(known), 1.0)
        yield New(drawn.drop(task.name), history.V[task.rows[rows]], losses, scores)


def curve(new: New, models: TaskModels) -> np.ndarray:
    """Scores of the best so far after MARKS trials, all proposed by `auto`."""
    run = Auto().begin(models, n=TRIALS, features=None, rng=np.random.default_rng(0))
    place = {v.tobytes(): i for i, v in enumerate(new.V)}
    told, tried = Told.nothing(models.space), []
    for _ in range(min(TRIALS, len(place))):
        v = run.ask(told)
        tried.append(place[v.tobytes()])
        loss = new.losses[tried[-1]]
        if not np.isfinite(loss):  # a failed trial counts as the worst so far
            loss = max((x for x in told.losses), default=0.0)
        told = told.and_(v, float(loss))
    best = np.minimum.accumulate(new.scores[tried])
    return best[[min(t, len(tried)) - 1 for t in MARKS]]


def measure(family: str, changes: list[str], tasks: int) -> dict[str, list[list[float]]]:
    """The curves of all left-out tasks under each change; "" is none."""
    curves: dict[str, list[list[float]]] = {change: [] for change in ["", *changes]}
    for new in left_out(family, tasks):
        models = TaskModels(new.history, rng=np.random.default_rng(0), allowed=np.unique(new.V, axis=0))
        losses = [task.losses for task in new.history]
        for change, found in curves.items():
            constant, _, value = change.partition("=")
            with changed((constant, float(value)) if change else None):
                if change and SWEEP[constant][0] == QUANTILES:
                    population = models.population
                    quantiles = Quantiles.of([losses[t] for t in population.tasks])
                    vars(models)["population"] = replace(population, quantiles=quantiles)
                    found.append(curve(new, models).tolist())
                    vars(models)["population"] = population
                else:
                    found.append(curve(new, models).tolist())
    return curves


def ratios(ours: np.ndarray, others: np.ndarray) -> np.ndarray:
    """log of ADTM over that of the others, (…,), from curves (…, tasks, marks)."""
    return np.log((ours.mean(axis=-2) + FLOOR) / (others.mean(axis=-2) + FLOOR)).mean(axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("changes", nargs="+", metavar="CONSTANT=VALUE")
    parser.add_argument("--tasks", type=int, default=10, help="tasks to leave out per family")
    parser.add_argument("--work", type=Path, default=Path("suite-pieces"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    names, each = families(), {change: [] for change in options.changes}
    drawn: dict[str, list[np.ndarray]] = {change: [] for change in options.changes}
    rng = np.random.default_rng(0)
    for name in names:
        label = "-".join([name.replace("/", "_"), *options.changes, str(options.tasks)])
        found = kept(options.work / f"{label}.json", lambda n=name: measure(n, options.changes, options.tasks))
        base = np.array(found[""])
        rows = rng.integers(len(base), size=(RESAMPLES, len(base)))
        for change in options.changes:
            ours = np.array(found[change])
            each[change].append(float(np.exp(ratios(ours, base))))
            drawn[change].append(ratios(ours[rows], base[rows]))
        line = "  ".join(f"{change} {each[change][-1]:.2f}" for change in options.changes)
        print(f"{name:45} {len(base):3} tasks  {line}", file=sys.stderr, flush=True)
    kinds = sorted({name.partition("/")[0] for name in names})
    print("| change | " + " | ".join(kinds) + " | all |\n| --- |" + " --: |" * (len(kinds) + 1))
    for change in options.changes:
        cells = [overall(r for r, n in zip(each[change], names, strict=True) if n.startswith(kind)) for kind in kinds]
        error = np.mean(drawn[change], axis=0).std()
        print(
            f"| {change} | "
            + " | ".join(f"{c:.3f}" for c in cells)
            + f" | **{overall(each[change]):.3f}** ± {error:.3f} |"
        )


if __name__ == "__main__":
    main()
