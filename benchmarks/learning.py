"""The cost of learning a start, in seconds and memory, compared with a plain greedy portfolio and RBI.

python benchmarks/learning.py
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable

import numpy as np

import headstart as hs
from headstart.history import build
from headstart.history.formats.authors import svm_space
from headstart.strategies.base import Told
from headstart.strategies.names import STRATEGIES
from headstart.transfer.models import TaskModels

SPACE = svm_space()


def history(tasks: int, evaluations: int, ragged: bool) -> hs.History:
    """Smooth related tasks; ragged: every task has its own number of its own configurations."""
    rng = np.random.default_rng(0)
    design = SPACE.sample_values(evaluations, rng=rng)
    names, rows, losses = [], [], []
    for i in range(tasks):
        count = int(rng.integers(evaluations // 2, 3 * evaluations // 2)) if ragged else evaluations
        V = SPACE.sample_values(count, rng=rng) if ragged else design
        Z = SPACE.encode_values(V)
        names += [f"task{i:04d}"] * count
        rows.append(V)
        losses.append(((Z - rng.normal(0.5, 0.2, Z.shape[1])) ** 2) @ rng.uniform(0.2, 1.0, Z.shape[1]))
    return build(SPACE, tasks=names, V=np.concatenate(rows), losses=np.concatenate(losses))


def greedy_portfolio(past: hs.History, n: int) -> list[int]:
    """The baseline: evaluated configurations only, each the one that lowers the mean best loss most."""
    F = np.full((len(past.V), len(past)), 1.0)
    for t, task in enumerate(past):
        F[task.rows, t] = task.scaled()
    chosen: list[int] = []
    lowest = np.ones(len(past))
    for _ in range(n):
        chosen.append(int(np.minimum(F, lowest).mean(axis=1).argmin()))
        lowest = np.minimum(lowest, F[chosen[-1]])
    return chosen


def measure(queue: multiprocessing.Queue, work: Callable[[], object]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    queue.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, before / 2**20))


def in_child(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and peak memory of the process in GB (including the history)."""
    queue: multiprocessing.Queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=measure, args=(queue, work))
    child.start()
    seconds, peak, _ = queue.get()
    child.join()
    return seconds, peak


def adaptive_ask(past: hs.History) -> float:
    """Milliseconds of one adaptive ask with five results known: the median of 20."""
    models = TaskModels(past, rng=np.random.default_rng(0))
    run = STRATEGIES["auto"]().begin(models, n=10, features=None, rng=np.random.default_rng(1))
    rng = np.random.default_rng(2)
    times = []
    for _ in range(20):
        told = Told.nothing(SPACE)
        for v in SPACE.sample_values(5, rng=rng):
            told = told.and_(v, float(rng.random()))
        began = time.perf_counter()
        run.ask(told)
        times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times))


def main() -> None:
    hs.learn(history(3, 10, ragged=False), n=2)  # imports are not measured
    print("| history | method | seconds | ms per task | peak GB |")
    print("| --- | --- | --- | --- | --- |")
    for tasks, evaluations, ragged in ((50, 288, False), (50, 300, True), (250, 300, True), (1000, 300, True)):
        past = history(tasks, evaluations, ragged)
        label = _label(tasks, evaluations, ragged)
        for name in ("auto", "li", "ali", "rbi"):
            show(label, name, tasks, *in_child(lambda past=past, name=name: hs.learn(past, n=10, method=name)))
        if len(past.V) * tasks < 2e8:
            show(label, "greedy portfolio", tasks, *in_child(lambda past=past: greedy_portfolio(past, 10)))
    past = history(10_000, 100, ragged=True)
    show(_label(10_000, 100, True), "auto", 10_000, *in_child(lambda: hs.learn(past, n=10)))
    milliseconds = adaptive_ask(history(50, 288, ragged=False))
    print(f"\nOne adaptive ask of `auto` on 50 tasks × 288: {milliseconds:.1f} ms (median).")


def show(label: str, method: str, tasks: int, seconds: float, peak: float) -> None:
    print(f"| {label} | {method} | {seconds:.2f} | {1e3 * seconds / tasks:.1f} | {peak:.2f} |", flush=True)


def _label(tasks: int, evaluations: int, ragged: bool) -> str:
    return f"{tasks:,} × {'about ' if ragged else ''}{evaluations}{', ragged' if ragged else ', shared'}"


if __name__ == "__main__":
    main()
