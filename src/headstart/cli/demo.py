"""The main job on real results: each data set of a shipped history is left out in turn and tuned as if it were new.

Four searches tune it: headstart with the history of the other data sets, a Gaussian process and Optuna's TPE without
one, and random search. The history holds the result of every configuration, so no model has to be trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from headstart import library
from headstart._support.arguments import whole
from headstart._support.processes import parallel
from headstart._support.progress import track
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted, text_table
from headstart.errors import ArgumentError
from headstart.history import History
from headstart.report import figures
from headstart.search.replay import LeftOut, distances

HISTORY, MODEL = "lightgbm-regression", "LightGBM"  # what is tuned
MOST_TASKS = 60  # keeps the demo under two minutes
N_INIT = 5
DRAWS = 20  # of random search, to average over
RANDOM, COLD, TPE, LEARNED = "random search", "cold Gaussian process", "Optuna's TPE", "headstart"
SHOWN = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100)  # rows of the table


@dataclass(frozen=True)
class Outcome:
    """For each search, the distance to the best configuration of every task after each trial, (tasks, trials)."""

    history: str
    past_tasks: int
    tasks: list[str]
    curves: Mapping[str, Array]
    seed: int

    @property
    def means(self) -> dict[str, Array]:
        """The mean curve of each search over the tasks, (trials,)."""
        return {name: curve.mean(axis=0) for name, curve in self.curves.items()}

    @property
    def trials(self) -> int:
        return len(next(iter(self.means.values())))

    @property
    def needed(self) -> dict[str, int | None]:
        """The trials after which each search is where random search ends; None: not within these trials."""
        goal = self.means[RANDOM][-1] + 1e-12
        reached = {name: np.flatnonzero(curve <= goal) for name, curve in self.means.items()}
        return {name: int(places[0]) + 1 if len(places) else None for name, places in reached.items()}


# -- searching -------------------------------------------------------------------------------------------------


def run(
    *, tasks: int = MOST_TASKS, trials: int = 20, seed: int = 0, jobs: int = -1, history: History | None = None
) -> Outcome:
    """Leave out up to `tasks` tasks of the history (by default the shipped one), each in turn, and tune them."""
    from joblib import delayed

    tasks, trials, seed = whole("tasks", tasks, 1), whole("trials", trials, 1), whole("seed", seed, 0)
    history = library.load(HISTORY) if history is None else history
    if len(history) < 3:
        raise ArgumentError(f"leaving one task out needs at least 3 tasks, but the history has {len(history)}")
    places = np.linspace(0, len(history) - 1, min(tasks, len(history))).round().astype(int)
    names = [history.tasks[i] for i in places]
    work = parallel(n_jobs=jobs, return_as="generator")(delayed(left_out)(history, t, trials, seed) for t in names)
    found = list(track(work, total=len(names), label="leaving out data sets"))
    curves = {name: np.array([one[name] for one in found]) for name in found[0]}
    return Outcome(HISTORY, len(history) - 1, names, curves, seed)


@one_thread
def left_out(history: History, task: str, trials: int, seed: int) -> dict[str, Array]:
    """The curve of every search on one task, which only headstart tunes with the history of the others."""
    from headstart.adapters.optuna.tables import tpe

    new = LeftOut(history, task, key(task, seed))
    rng = np.random.default_rng(new.seed)
    drawn = [new.table.random(trials, rng) for _ in range(DRAWS)]
    places = {
        TPE: tpe(new.table, trials, seed=new.seed),
        COLD: new.go_on(drawn[0][:N_INIT], "gp", trials),
        LEARNED: new.search("auto", N_INIT, "auto", trials),
    }
    curves = {name: distances(history[task], tried, trials) for name, tried in places.items()}
    return {RANDOM: np.mean([distances(history[task], tried, trials) for tried in drawn], axis=0), **curves}


def key(task: str, seed: int) -> int:
    """The seed of the searches on one task."""
    return crc32(f"{seed} {task}".encode())


# -- showing the outcome ---------------------------------------------------------------------------------------


def table(outcome: Outcome) -> str:
    """The mean curves side by side, and the verdict."""
    means = outcome.means
    rows = [
        [str(t), *(f"{curve[t - 1]:.1%}" for curve in means.values())]
        for t in sorted({*(t for t in SHOWN if t < outcome.trials), outcome.trials})
    ]
    heading = (
        f"Tuning {MODEL} on {len(outcome.tasks)} data sets, each as if it were new.\n"
        "Distance of the best result so far to the best possible one, in percent of the data set's range (mean):"
    )
    return f"{heading}\n\n{text_table(['trials', *means], rows)}\n\n{verdict(outcome)}"


def verdict(outcome: Outcome) -> str:
    """The trials that headstart saves, in one sentence."""
    needed, trials = outcome.needed, outcome.trials
    ours, cold, tpe = (needed[name] for name in (LEARNED, COLD, TPE))
    if ours is None:
        return f"After {trials} trials random search is ahead of headstart."
    never = f"more than {trials}"
    return (
        f"headstart needs {counted(ours, 'trial')} to come as close to the best as random search does in {trials} "
        f"(a cold Gaussian process needs {cold or never}, Optuna's TPE {tpe or never}): "
        f"it saves {trials - ours} of {trials} trials."
    )


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON."""
    return {
        "history": outcome.history,
        "past_tasks": outcome.past_tasks,
        "tasks": outcome.tasks,
        "trials": outcome.trials,
        "seed": outcome.seed,
        "curves": {name: curve.tolist() for name, curve in outcome.means.items()},
        "needed": outcome.needed,
        "summary": verdict(outcome),
    }


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the mean curves with a band of one standard error, and the trials that are saved."""
    n, x = len(outcome.tasks), np.arange(1, outcome.trials + 1)
    lines = [
        figures.Curve(name, x, 100 * curve.mean(axis=0), 100 * curve.std(axis=0) / np.sqrt(n))
        for name, curve in outcome.curves.items()
    ]
    with figures.canvas(path, size=(5.8, 3.9)) as (axes,):
        figures.curves(
            axes,
            lines,
            title=f"Tuning {MODEL} on {n} new data sets",
            x="trials",
            y="distance to the best configuration\n(% of the range, ± standard error)",
            log=True,
        )
        ours = outcome.needed[LEARNED]
        if ours is not None and ours < outcome.trials:
            saved = f"{counted(outcome.trials - ours, 'trial')} saved"  # short: it stands between the curves
            figures.span(axes, ours, outcome.trials, 100 * outcome.means[RANDOM][-1], saved)
