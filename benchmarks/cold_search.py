"""Search without a history: headstart's Gaussian process against Optuna's samplers, after 50 trials.

    python benchmarks/cold_search.py [--seeds 20] [--trials 50] [--problems branin hartmann6] > cold_search.md

Needs optuna and torch (for Optuna's GP). Every optimiser runs with its defaults and proposes its own first trials.
Values are the mean (and the standard error) of the best value over the seeds; lower is better.

Optuna's GP models only parameters that occur in every trial, and draws the others at random. So it also gets
conditional problems "flat": every trial suggests all parameters, and the inactive ones are ignored.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.search.optimizer import Optimizer
from headstart.space import Categorical, Config, Float, Int, Space

Array = np.ndarray[Any, np.dtype[np.float64]]
Objective = Callable[[Config], float]


# -- problems --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A function to minimise over a space, and its lowest value."""

    name: str
    space: Space
    objective: Objective
    least: float

    @property
    def is_conditional(self) -> bool:
        return any(parameter.conditions for parameter in self.space.values())


def branin(config: Config) -> float:
    x, y = config["x"], config["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_SHAPES = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(config: Config) -> float:
    x = np.array([config[f"x{j}"] for j in range(6)])
    return -float(_WEIGHTS @ np.exp(-(_SHAPES * (x - _CENTRES) ** 2).sum(axis=1)))


MIXED = Space(
    {
        "model": Categorical(["boosting", "kernel", "linear"]),
        "scaler": Categorical(["none", "standard", "range"]),
        "rate": Float(1e-3, 1.0, log=True, when={"model": "boosting"}),
        "depth": Int(1, 16, when={"model": "boosting"}),
        "share": Float(0.2, 1.0, when={"model": "boosting"}),
        "C": Float(1e-3, 1e3, log=True, when={"model": "kernel"}),
        "gamma": Float(1e-5, 1e1, log=True, when={"model": "kernel"}),
        "alpha": Float(1e-6, 1e1, log=True, when={"model": "linear"}),
        "penalty": Categorical(["l1", "l2", "both"], when={"model": "linear"}),
        "ratio": Float(0.0, 1.0, when={"penalty": "both"}),
    }
)


def mixed(config: Config) -> float:
    """Like tuning three models: a broad good basin (boosting), a narrow better one (kernel), and a poor one."""
    scaling = {"none": 0.06, "standard": 0.0, "range": 0.02}[config["scaler"]]
    if config["model"] == "boosting":
        rate = math.log10(config["rate"]) + 1.2
        depth = config["depth"] - 6 + 2 * rate
        return 0.1 + 0.04 * rate**2 + 0.002 * depth**2 + 0.2 * (config["share"] - 0.75) ** 2
    if config["model"] == "kernel":
        C, gamma = math.log10(config["C"]) - 1, math.log10(config["gamma"]) + 2
        return 0.5 - 0.42 * math.exp(-0.5 * ((C + 0.5 * gamma) ** 2 + 1.5 * gamma**2)) + scaling
    both = 0.3 * (config.get("ratio", 0.0) - 0.4) ** 2
    penalty = {"l1": 0.01, "l2": 0.02, "both": both}[config["penalty"]]
    return 0.15 + 0.01 * (math.log10(config["alpha"]) + 2) ** 2 + penalty + scaling


def svm_task(task: str | None = None) -> Problem | None:
    """A task of the library's SVM history as a function of the space: the loss of the nearest known trial."""
    from headstart import library

    if "svm" not in library.names():
        return None
    history = library.load("svm")
    name = task or hardest(history)
    losses, Z, space = history[name].losses, history.design(name), history.space

    def objective(config: Config) -> float:
        return float(losses[((Z - space.encode([config])) ** 2).sum(axis=1).argmin()])

    return Problem(f"svm: {name}", space, objective, float(np.nanmin(losses)))


def hardest(history: Any) -> str:
    """The task with the smallest share of trials within 2 % of its range of the best."""
    near = {name: float((history[name].scaled() < 0.02).mean()) for name in history.tasks}
    return min(near, key=near.__getitem__)


def problems() -> list[Problem]:
    found = [
        Problem("branin", Space({"x": Float(-5, 10), "y": Float(0, 15)}), branin, 0.397887),
        Problem("hartmann6", Space({f"x{j}": Float(0, 1) for j in range(6)}), hartmann6, -3.322368),
        Problem("mixed", MIXED, mixed, 0.08),
    ]
    svm = svm_task()
    return found if svm is None else [*found, svm]


# -- optimisers ------------------------------------------------------------------------------------------


def with_headstart(problem: Problem, seed: int, trials: int) -> list[float]:
    optimizer = Optimizer(problem.space, surrogate="gp", seed=seed)
    values = []
    for _ in range(trials):
        config = optimizer.ask()
        values.append(problem.objective(config))
        optimizer.tell(config, values[-1])
    return values


def with_optuna(sampler: str, problem: Problem, seed: int, trials: int, *, flat: bool = False) -> list[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed))
        study.optimize(lambda trial: problem.objective(suggested(trial, problem.space, flat)), n_trials=trials)
    return [trial.value for trial in study.trials]


def suggested(trial: Any, space: Space, flat: bool) -> Config:
    """A configuration from an Optuna trial; flat: inactive parameters are suggested too, and dropped."""
    config: Config = {}
    for name in space.parents_first:
        parameter = space[name]
        active = all(config.get(parent) in values for parent, values in parameter.conditions.items())
        if not active and not flat:
            continue
        if isinstance(parameter, Categorical):
            value = trial.suggest_categorical(name, list(parameter.choices))
        elif isinstance(parameter, Int):
            value = trial.suggest_int(name, parameter.low, parameter.high, log=parameter.log)
        else:
            value = trial.suggest_float(name, parameter.low, parameter.high, log=parameter.log)
        if active:
            config[name] = value
    return config


Run = Callable[[Problem, int, int], list[float]]
OPTIMISERS: dict[str, Run] = {
    "headstart": with_headstart,
    "Optuna GP": lambda p, s, n: with_optuna("GPSampler", p, s, n),
    "Optuna GP, flat": lambda p, s, n: with_optuna("GPSampler", p, s, n, flat=True) if p.is_conditional else [],
    "Optuna TPE": lambda p, s, n: with_optuna("TPESampler", p, s, n),
    "random": lambda p, s, n: with_optuna("RandomSampler", p, s, n),
}


def on_one_thread() -> None:
    """Restart this program with one thread if necessary: NumPy reads the setting when it is loaded."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if not one.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **one})


# -- the table -------------------------------------------------------------------------------------------


def curves(run: Run, problem: Problem, seeds: Iterable[int], trials: int) -> Array:
    """The best value after every trial, (seeds, trials)."""
    return np.array([np.minimum.accumulate(run(problem, seed, trials)) for seed in seeds])


def cell(best: Array) -> str:
    if not best.size:
        return ""
    last = best[:, -1]
    return f"{last.mean():.4f} ± {last.std(ddof=1) / math.sqrt(len(last)):.4f}" if len(last) > 1 else f"{last[0]:.4f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--problems", nargs="*", help="only these")
    parser.add_argument("--optimisers", nargs="*", help="only these", default=list(OPTIMISERS))
    options = parser.parse_args(arguments)
    print(f"| problem (least value) | {' | '.join(options.optimisers)} |")
    print(f"| --- |{' --- |' * len(options.optimisers)}")
    for problem in problems():
        if options.problems and problem.name.split(":")[0] not in options.problems:
            continue
        cells = []
        for name in options.optimisers:
            begun = time.perf_counter()
            cells.append(cell(curves(OPTIMISERS[name], problem, range(options.seeds), options.trials)))
            print(f"{problem.name}, {name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        print(f"| {problem.name} ({problem.least:.4f}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    on_one_thread()
    main()
