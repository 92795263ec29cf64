"""A long search with past runs against one without: does the history cost the end of a search?

python benchmarks/long_run.py [--seeds 5] [--trials 200]

Each history has 50 tasks of 60 random evaluations: the function itself, moved by a normal step of 0.08 in every
dimension. Printed is the distance to the lowest value after some numbers of trials (geometric mean over seeds) and the
median milliseconds of ask + tell.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from cold_search import branin, hartmann6, on_one_thread
from headstart.history import History, build
from headstart.search.optimizer import Optimizer
from headstart.space import Float, Space

TASKS, EVALUATIONS, MOVE = 50, 60, 0.08
AT = (1, 3, 5, 10, 20, 30, 50, 100, 150, 200)
LEAST = 1e-12  # smaller distances count as this one
CURVATURE = np.array([1.0, 0.7, 0.5, 0.3, 0.2])

Function = Callable[[np.ndarray], float]  # from the unit cube to the distance to the lowest value


def moved_branin(u: np.ndarray) -> float:
    return branin({"x": 15 * u[0] - 5, "y": 15 * u[1]}) - 0.397887


def moved_hartmann6(u: np.ndarray) -> float:
    return hartmann6({f"x{j}": u[j] for j in range(6)}) + 3.32237


def bowl(u: np.ndarray) -> float:
    return float(CURVATURE @ (u - 0.5) ** 2)


FUNCTIONS: dict[str, tuple[Function, int]] = {
    "branin": (moved_branin, 2),
    "hartmann6": (moved_hartmann6, 6),
    "bowl, 5 parameters": (bowl, 5),
}


def history(function: Function, space: Space) -> History:
    rng = np.random.default_rng(0)
    d = len(space)
    V = rng.random((TASKS * EVALUATIONS, d))
    steps = np.repeat(rng.normal(0, MOVE, (TASKS, d)), EVALUATIONS, axis=0)
    names = np.repeat([f"task{t:02d}" for t in range(TASKS)], EVALUATIONS).tolist()
    return build(space, tasks=names, V=V, losses=np.array([function(v) for v in V + steps]))


def search(name: str, past: bool, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distance of the best so far after each trial, and seconds of each ask + tell."""
    function, d = FUNCTIONS[name]
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(d)})
    step = np.random.default_rng(1000 + seed).normal(0, MOVE, d)  # the new task is moved, too
    if name != "bowl, 5 parameters":
        step = np.zeros(d)  # their lowest value might leave the cube
    optimizer = (
        Optimizer(space, history(function, space), seed=seed)
        if past
        else Optimizer(space, init="random", surrogate="gp", seed=seed)
    )
    found, seconds = [], []
    for _ in range(trials):
        begun = time.perf_counter()
        config = optimizer.ask()
        value = function(np.array(list(config.values())) + step)
        optimizer.tell(config, value)
        seconds.append(time.perf_counter() - begun)
        found.append(value)
    return np.maximum(np.minimum.accumulate(found), LEAST), np.array(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    options = parser.parse_args()
    at = [t for t in AT if t <= options.trials]
    print(f"| distance after | {' | '.join(map(str, at))} | ms a step |\n| --- |{' --- |' * (len(at) + 1)}")
    for name in options.functions:
        for label, past in (("auto, 50 past tasks", True), ("gp, no past", False)):
            runs = [search(name, past, options.trials, seed) for seed in range(options.seeds)]
            mean = np.exp(np.mean([np.log(found) for found, _ in runs], axis=0))
            ms = 1e3 * float(np.median([seconds for _, seconds in runs]))
            cells = " | ".join(f"{mean[t - 1]:.0e}" for t in at)
            print(f"| {name}: {label} | {cells} | {ms:.0f} |", flush=True)


if __name__ == "__main__":
    on_one_thread()
    main()
