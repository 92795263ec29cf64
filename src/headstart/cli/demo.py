"""The main job on a small scale: tune a model on a data set as if it were new, with past runs on other data sets.

One data set is left out of the shipped history. Three searches tune a support vector machine on it and train every
model: random search, a model-based search from a cold start, and a model-based search that uses the history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headstart import library
from headstart._support.arguments import whole
from headstart._support.progress import Progress
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.history import History
from headstart.library import datasets, svm
from headstart.report import figures
from headstart.search.optimizer import Optimizer
from headstart.space import Config, Space

RANDOM, COLD, LEARNED = "random search", "cold start", "learned start"


class Search(Protocol):
    """Proposes configurations one after the other and receives the result of each."""

    def ask(self) -> Config: ...

    def tell(self, config: Config, value: float) -> None: ...


class RandomSearch:
    """Draws configurations from the whole space and ignores the results."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng

    def ask(self) -> Config:
        return self._space.sample(1, seed=self._rng)[0]

    def tell(self, config: Config, value: float) -> None:
        pass


SEARCHES: Mapping[str, Callable[[History, np.random.Generator], Search]] = {
    RANDOM: lambda others, rng: RandomSearch(others.space, rng),
    COLD: lambda others, rng: Optimizer(others.space, n_init=5, seed=int(rng.integers(2**32))),
    LEARNED: lambda others, rng: Optimizer(others.space, history=others, n_init=5, seed=int(rng.integers(2**32))),
}


@dataclass(frozen=True)
class Outcome:
    """The curves of the searches: for each, the best error after every trial, (repeats, trials)."""

    task: str
    others: History
    curves: Mapping[str, Array]
    seed: int
    best_config: Config
    best_error: float

    @property
    def means(self) -> dict[str, Array]:
        """The mean curve of each search over the repeats, (trials,)."""
        return {name: curve.mean(axis=0) for name, curve in self.curves.items()}

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of repeats and trials."""
        repeats, trials = next(iter(self.curves.values())).shape
        return repeats, trials


@one_thread
def run(
    task: str = "wdbc", *, trials: int = 20, repeats: int = 10, seed: int = 0, history: History | None = None
) -> Outcome:
    """Leave `task` out of the history (by default the shipped `svm`) and tune it with every search."""
    trials, repeats, seed = whole("trials", trials, 1), whole("repeats", repeats, 1), whole("seed", seed, 0)
    history = library.load("svm") if history is None else history
    if task not in history.tasks:
        known = ", ".join(history.tasks)
        raise ArgumentError(f"the history has no task {task!r}{closest(task, history.tasks)} (choose from: {known})")
    others = history.drop(task)
    objective = Objective(svm.split(datasets.load(task)))
    curves = {name: np.empty((repeats, trials)) for name in SEARCHES}
    with Progress(len(SEARCHES) * repeats * trials, "training") as progress:
        for repeat, stream in enumerate(np.random.SeedSequence(seed).spawn(repeats)):
            for name, search in SEARCHES.items():
                rng = np.random.default_rng(stream)
                curves[name][repeat] = best_so_far(search(others, rng), objective, trials, progress)
    best = min(objective.results, key=lambda result: result[1])
    return Outcome(task, others, curves, seed, *best)


class Objective:
    """The test error of a support vector machine on one data set. Each configuration is trained only once."""

    def __init__(self, part: svm.Split) -> None:
        self._part = part
        self.results: list[tuple[Config, float]] = []

    def __call__(self, config: Config) -> float:
        for known, error in self.results:
            if known == config:
                return error
        error, _ = svm.evaluate(self._part, config)
        self.results.append((config, error))
        return error


def best_so_far(search: Search, objective: Callable[[Config], float], trials: int, progress: Progress) -> Array:
    """The curve of one search: its best value after 1, 2, … trials."""
    values = np.empty(trials)
    for trial in range(trials):
        config = search.ask()
        values[trial] = objective(config)
        search.tell(config, values[trial])
        progress.advance()
    return np.minimum.accumulate(values)


# -- showing the outcome -------------------------------------------------------------------------------------


def table(outcome: Outcome) -> str:
    """The curves side by side, and the verdict."""
    means, (repeats, _) = outcome.means, outcome.shape
    lines = [
        f"An SVM on {outcome.task}, tuned with a history of {len(outcome.others)} other data sets.",
        f"Test error of the best so far, mean of {repeats} repeats:",
        "",
        "trials" + "".join(f"{name:>16}" for name in means),
    ]
    for trial, row in enumerate(zip(*means.values(), strict=True), start=1):
        lines.append(f"{trial:6}" + "".join(f"{value:16.4f}" for value in row))
    return "\n".join([*lines, "", verdict(means[COLD], means[LEARNED])])


def verdict(cold: Array, learned: Array) -> str:
    """How many trials the learned start needs to match the cold one."""
    reached = np.flatnonzero(learned <= cold[-1])
    if not len(reached):
        return f"After {len(cold)} trials the cold start is ahead: {cold[-1]:.4f} against {learned[-1]:.4f}."
    trials = "1 trial" if reached[0] == 0 else f"{reached[0] + 1} trials"
    return f"The learned start needs {trials} to match the cold start after {len(cold)}: {cold[-1]:.4f}."


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON."""
    repeats, trials = outcome.shape
    return {
        "task": outcome.task,
        "past_tasks": len(outcome.others),
        "trials": trials,
        "repeats": repeats,
        "seed": outcome.seed,
        "curves": {name: curve.tolist() for name, curve in outcome.means.items()},
        "best_config": outcome.best_config,
        "best_error": outcome.best_error,
    }


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the mean curves, each with a band of one standard error."""
    repeats, trials = outcome.shape
    x = np.arange(1, trials + 1)
    lines = [
        figures.Curve(name, x, curve.mean(axis=0), curve.std(axis=0) / np.sqrt(repeats))
        for name, curve in outcome.curves.items()
    ]
    with figures.canvas(path, size=(7, 4.2)) as (axes,):
        figures.curves(
            axes,
            lines,
            title=f"Tuning an SVM on {outcome.task} with a history of {len(outcome.others)} other data sets",
            x="trials",
            y=f"test error of the best so far\n(mean of {repeats} repeats ± 1 standard error)",
        )
        axes.set_ylim(bottom=0)
