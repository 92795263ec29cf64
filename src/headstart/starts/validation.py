"""Evidence that a start helps: each past task is left out in turn and started from the others.

The candidates for a left-out task are the configurations it was evaluated on. For random search over them the expected
curve is known exactly, so it is not simulated. If the evaluations were chosen by searches, a model of the task takes
their place (`starts/estimates.py`).

A history of thousands of tasks is represented by a random sample of its tasks, since the time grows with the square of
their number. A start learned from the whole history has more to learn from, so the sample understates it, if anything.

Tasks are left out in a random order. So the results so far, and those until an interruption, are of a random sample.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from headstart._support.arguments import whole
from headstart._support.log import log
from headstart._support.processes import Child, parallel
from headstart._support.progress import Progress, clock
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted
from headstart.errors import ArgumentError, HistoryError
from headstart.history import History, Task
from headstart.history.past import past_runs, required
from headstart.starts.estimates import MOST, Judge, is_searched
from headstart.starts.evidence import Evidence
from headstart.starts.learning import number_of
from headstart.starts.measures import expected_random
from headstart.starts.over_time import over_time
from headstart.strategies.base import Told
from headstart.strategies.candidates import Candidates
from headstart.strategies.names import for_tasks, resolve_strategy, strategy_name
from headstart.transfer.models import TaskModels

LEAST = 3  # tasks that say something: one left out, and two to learn from
MANY = 60  # a history of at most so many tasks is used whole
SAMPLE = 24  # tasks that stand for a longer history: less than a minute of work
N = 10  # configurations of a start, if the space has as many
REPEATS = {"rbi": 10, "random": 10}  # random methods are averaged over this many draws


def evidence(
    history: Any,
    n: int | None = None,
    methods: Sequence[Any] = ("auto", "li", "rbi"),
    seed: int = 0,
    *,
    tasks: int | str | None = None,
    jobs: int = 1,
    progress: bool | None = None,
    space: Any = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    time: bool = False,
) -> Evidence:
    """Leave out each task in turn, start it with each method learned from the others, and compare with random search.

    history, space, rename, fill: as for `learn`. n: configurations of a start (default: 10, or as many as the space
    has). tasks: how many tasks to use, drawn at random, or "all" (default: all of up to 60, 24 of more). jobs: tasks to
    run in parallel, with any backend of joblib. progress: whether to show an estimate of the time and a progress bar;
    None shows them on a terminal only. Methods that need meta-features get those of the left-out task. time: also
    compare over time, for which the history must have costs. Ctrl-C ends the work with the results so far, if they are
    of at least 3 tasks.
    """
    history = required(past_runs(history, space, rename=rename, fill=fill))
    seed = whole("seed", seed, 0)
    n = int(min(N, history.space.size)) if n is None else number_of(n, history.space)
    methods = [methods] if isinstance(methods, str) else methods
    if len(history) < LEAST:
        raise ArgumentError(
            f"leaving one task out needs at least 3 tasks, but the history has {len(history)}",
            "add runs on other data sets (learning a start without this check needs only one)",
        )
    if not methods:
        raise ArgumentError("methods is empty", "name at least one method")
    names = [strategy_name(method) for method in methods]
    methods = [for_tasks(method, history.tasks) for method in methods]
    total, history = len(history), _sampled(history, tasks, seed)
    searched = is_searched(history, np.random.default_rng([seed, 2]))
    if time and searched:
        raise HistoryError("the trials of these tasks were chosen by searches, so they cannot be compared over time")
    by_time = over_time(history, seed, jobs=jobs) if time else None
    order = np.random.default_rng([seed, 4]).permutation(len(history))
    work = _all_left_out(history, [history.tasks[i] for i in order], n, tuple(methods), seed, searched, jobs)
    shown = sys.stderr.isatty() if progress is None else progress
    found, interrupted = _collected(_shown(work, names[0], len(history), total, jobs) if shown else work, len(history))
    done = np.argsort(order[: len(found)])  # back to the order of the history
    results = [found[i] for i in done]
    return Evidence(
        [history.tasks[i] for i in np.sort(order[: len(found)])],
        {name: np.array([curves[i] for curves, _ in results]) for i, name in enumerate(names)},
        np.array([random for _, random in results]),
        seed,
        searched,
        total if total > len(found) else 0,
        by_time,
        interrupted,
    )


def _collected(work: Results, tasks: int) -> tuple[list[Result], bool]:
    """All results, and whether an interruption ended the work before all of them were there."""
    found: list[Result] = []
    try:
        for result in work:
            found.append(result)  # noqa: PERF402  (what is there outlasts an interruption)
    except KeyboardInterrupt:
        work.close()
        if len(found) < LEAST:
            raise
        log.warning("interrupted after %d of %s", len(found), counted(tasks, "task"))
        return found, True
    return found, False


def _sampled(history: History, tasks: int | str | None, seed: int) -> History:
    """The history, or some of its tasks in their order."""
    if tasks == "all" or (tasks is None and len(history) <= MANY):
        return history
    if isinstance(tasks, str):
        raise ArgumentError(f"tasks must be a whole number or 'all', but got {tasks!r}")
    number = SAMPLE if tasks is None else whole("tasks", tasks, 3)
    if number >= len(history):
        return history
    drawn = np.random.default_rng([seed, 3]).choice(len(history), number, replace=False)
    return history.only([history.tasks[i] for i in np.sort(drawn)])


Result: TypeAlias = tuple[list[Array], Array]
"""The curves of all methods on one task, and that of random search."""

Results: TypeAlias = Generator[Result, None, None]


def _all_left_out(
    history: History, order: Sequence[str], n: int, methods: tuple[Any, ...], seed: int, searched: bool, jobs: int
) -> Results:
    """The results in the given order of tasks. The first one is computed here, so that its time can be taken."""
    from joblib import delayed
    from joblib.parallel import get_active_backend

    first, *rest = order
    yield _left_out(history, first, n, methods, seed, searched)
    # One result at a time, for the progress bar; some backends, such as Ray's, can only return whole lists.
    how = "generator" if get_active_backend()[0].supports_return_generator else "list"
    yield from parallel(n_jobs=jobs, return_as=how)(
        delayed(Child(_left_out))(history, task, n, methods, seed, searched) for task in rest
    )


def _shown(work: Results, method: str, tasks: int, total: int, jobs: int) -> Results:
    """The results, with an estimate of the time before the long part begins and the averages so far."""
    from joblib import effective_n_jobs

    begin, ends = time.monotonic(), []
    first = next(work)
    seconds = (time.monotonic() - begin) * (1 + (tasks - 1) / effective_n_jobs(jobs))
    what = counted(tasks, "task") if tasks == total else f"{tasks:,} of {total:,} tasks"
    print(f"leaving out {what} in turn, about {clock(math.ceil(seconds))}", file=sys.stderr)
    with Progress(tasks, "leaving out tasks") as progress:
        for curves, random in chain([first], work):
            ends.append((curves[0][-1], random[len(curves[0]) - 1]))
            mine, drawn = np.mean(ends, axis=0)
            progress.advance(note=f"{method} {mine:.3f}, random {drawn:.3f}")
            yield curves, random


@one_thread
def _left_out(history: History, name: str, n: int, methods: tuple[Any, ...], seed: int, searched: bool) -> Result:
    """The curve of each method on one task, and that of random search."""
    key = [seed, crc32(name.encode())]
    task = history[name]
    judge = Judge.of(history, task, np.random.default_rng([*key, 2])) if searched else None
    allowed = None if searched else history.V[task.rows]
    models = TaskModels(history.drop(name), rng=np.random.default_rng([*key, 0]), allowed=allowed)

    def mean_curve(method: Any) -> Array:
        rngs = [np.random.default_rng([*key, 1, r]) for r in range(_repeats(method))]
        return np.asarray(np.mean([curve(models, task, n, method, rng, judge) for rng in rngs], axis=0))

    most = max(n, MOST if searched else max(len(other) for other in history))
    random = expected_random(task.scaled() if judge is None else judge.drawn, most)
    return [mean_curve(method) for method in methods], random


def _repeats(method: Any) -> int:
    return REPEATS.get(method, 1) if isinstance(method, str) else 1


def curve(
    models: TaskModels, task: Task, n: int, method: Any, rng: np.random.Generator, judge: Judge | None = None
) -> Array:
    """Best scaled loss on a task after 1 … n proposals of a method.

    Proposals are moved to the nearest of the task's own configurations, `models.allowed`, unless a judge says how good
    any configuration is.
    """
    run = resolve_strategy(method).begin(models, n=n, features=task.features, rng=rng)
    told = Told.nothing(models.space)
    if judge is not None:
        for _ in range(n):
            v = run.ask(told)
            told = told.and_(v, judge.loss(v))
        return np.minimum.accumulate(told.losses)
    assert models.allowed is not None
    candidates, scaled = Candidates(models.space, models.allowed), task.scaled()
    for _ in range(min(n, len(candidates))):
        v = run.ask(told)
        i = candidates.nearest(v, told)
        told = told.and_(candidates.V[i], scaled[i])
        if not np.array_equal(v, candidates.V[i], equal_nan=True):
            told = told.moving(v)
    reached = np.minimum.accumulate(told.losses)
    return np.append(reached, np.full(n - len(reached), reached[-1]))
