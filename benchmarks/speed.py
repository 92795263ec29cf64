"""The time of a step: median ask + tell on Hartmann6 after 20, 50, 100, 200 and 500 observations, on one thread.

    python benchmarks/speed.py [--steps 15] [--observations 20 50 100 200 500] > speed.md

Needs optuna, torch and botorch for the comparison. The optimisers take turns, step by step, so that other load on the
machine slows all of them equally. Optuna's samplers run with their defaults. BoTorch fits a SingleTaskGP with its
default priors and maximises LogExpectedImprovement with optimize_acqf, 10 restarts and 512 raw samples, as in its
tutorials.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from cold_search import hartmann6, on_one_thread
from headstart.history import History, build
from headstart.search.optimizer import Optimizer
from headstart.space import Config, Float, Space
from headstart.surrogates.gaussian import refit_at

NAMES = [f"x{j}" for j in range(6)]
SPACE = Space({name: Float(0.0, 1.0) for name in NAMES})


class Search(Protocol):
    def tell(self, configs: list[Config], values: list[float]) -> None: ...
    def step(self) -> None: ...


class Headstart:
    def __init__(self, surrogate: str = "gp", history: History | None = None) -> None:
        init = "random" if history is None else "rbi"
        self.optimizer = Optimizer(SPACE, history, init=init, surrogate=surrogate, seed=0)

    def tell(self, configs: list[Config], values: list[float]) -> None:
        for config, value in zip(configs, values, strict=True):
            self.optimizer.tell(config, value)

    def step(self) -> None:
        config = self.optimizer.ask()
        self.optimizer.tell(config, hartmann6(config))


class Optuna:
    def __init__(self, sampler: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=0))
        self.distributions = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in NAMES}

    def tell(self, configs: list[Config], values: list[float]) -> None:
        from optuna.trial import create_trial

        for config, value in zip(configs, values, strict=True):
            self.study.add_trial(create_trial(params=config, distributions=self.distributions, value=value))

    def step(self) -> None:
        trial = self.study.ask(self.distributions)
        self.study.tell(trial, hartmann6(trial.params))


class BoTorch:
    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)

    def tell(self, configs: list[Config], values: list[float]) -> None:
        self.X = [[config[name] for name in NAMES] for config in configs]
        self.y = list(values)

    def step(self) -> None:
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(self.X, dtype=torch.double)
        y = -torch.tensor(self.y, dtype=torch.double)[:, None]
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.double)
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        self.X.append(found[0].tolist())
        self.y.append(hartmann6(dict(zip(NAMES, self.X[-1], strict=True))))


def related_tasks(tasks: int = 50, evaluations: int = 50) -> History:
    """A history of functions related to Hartmann6: the same function with its input shifted."""
    rng = np.random.default_rng(0)
    V = SPACE.sample_values(evaluations, rng=rng)
    losses = []
    for _ in range(tasks):
        shifted = np.clip(V + rng.normal(0, 0.1, 6), 0, 1)
        losses += [hartmann6(dict(zip(NAMES, v, strict=True))) for v in shifted]
    names = np.repeat([f"task{t}" for t in range(tasks)], evaluations).tolist()
    return build(SPACE, tasks=names, V=np.tile(V, (tasks, 1)), losses=np.array(losses))


def searches(wanted: Sequence[str]) -> dict[str, Callable[[], Search]]:
    found: dict[str, Callable[[], Search]] = {
        "headstart gp": Headstart,
        "Optuna GP": lambda: Optuna("GPSampler"),
        "BoTorch": BoTorch,
        "Optuna TPE": lambda: Optuna("TPESampler"),
    }
    history = related_tasks()
    for name in ("prior", "auto"):
        found[f"headstart {name}, 50 tasks"] = lambda name=name: Headstart(name, history)
    return {name: make for name, make in found.items() if not wanted or name in wanted}


def timed(observations: int, steps: int, makers: dict[str, Callable[[], Search]]) -> dict[str, list[float]]:
    """Seconds of each step of each search, after `observations` random observations."""
    configs = SPACE.sample(observations, seed=observations)
    values = [hartmann6(config) for config in configs]
    running = {name: make() for name, make in makers.items()}
    for search in running.values():
        search.tell(configs, values)
        search.step()  # load everything that is imported on first use
    seconds: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(steps):
        for name, search in running.items():
            begun = time.perf_counter()
            search.step()
            seconds[name].append(time.perf_counter() - begun)
    return seconds


def compare(sizes: Sequence[int], steps: int, wanted: Sequence[str]) -> None:
    makers = searches(wanted)
    print(f"Median milliseconds of ask + tell on Hartmann6, one thread ({steps} steps; mean in brackets).\n")
    print(f"| observations | {' | '.join(makers)} | Optuna GP ÷ gp | BoTorch ÷ gp | auto ÷ gp |")
    print(f"| --- |{' --- |' * (len(makers) + 3)}")
    for n in sizes:
        seconds = timed(n, steps, makers)
        median = {name: statistics.median(times) for name, times in seconds.items()}
        cells = [f"{1e3 * median[name]:.1f} ({1e3 * statistics.mean(seconds[name]):.1f})" for name in makers]
        ratios = [
            f"{median[other] / median['headstart gp']:.1f}" if {other, "headstart gp"} <= median.keys() else ""
            for other in ("Optuna GP", "BoTorch", "headstart auto, 50 tasks")
        ]
        print(f"| {n} | {' | '.join([*cells, *ratios])} |", flush=True)


def growth(sizes: Sequence[int], steps: int) -> None:
    """The cost of a step that only extends the model, compared with the square of the number of trials."""
    print("\nSteps between refits of the hyperparameters (median milliseconds):\n")
    print("| trials N | ms | growth | growth of N² |\n| --- | --- | --- | --- |")
    before: tuple[int, float] | None = None
    for n in sizes:
        search = Headstart()
        configs = SPACE.sample(n, seed=n)
        search.tell(configs, [hartmann6(config) for config in configs])
        search.step()
        seconds: list[float] = []
        while len(seconds) < steps:
            refit = refit_at(len(search.optimizer.trials)) == len(search.optimizer.trials)
            begun = time.perf_counter()
            search.step()
            if not refit:
                seconds.append(time.perf_counter() - begun)
        ms = 1e3 * statistics.median(seconds)
        grown = ("", "") if before is None else (f"{ms / before[1]:.2f}", f"{(n / before[0]) ** 2:.2f}")
        print(f"| {n} | {ms:.1f} | {grown[0]} | {grown[1]} |", flush=True)
        before = n, ms


FIRST_ASK = "from headstart import Float, Space; Optimizer(Space({'x': Float(0, 1)}), seed=0).ask()"


def imports(repeats: int = 7) -> None:
    """CPU seconds of a fresh process, minus those of Python itself."""
    programs = {
        "`import headstart`": "import headstart",
        "`headstart.Optimizer`": "from headstart.search.optimizer import Optimizer",
        "and the first ask": "from headstart.search.optimizer import Optimizer; " + FIRST_ASK,
    }
    empty = _seconds("pass", repeats)
    print("\nCPU seconds to load in a fresh process (best of several, minus those of an empty program):\n")
    print("| program | seconds |\n| --- | --- |")
    for name, program in programs.items():
        print(f"| {name} | {_seconds(program, repeats) - empty:.2f} |", flush=True)


def _seconds(program: str, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        before = os.times()
        subprocess.run([sys.executable, "-c", program], check=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--observations", type=int, nargs="*", default=[20, 50, 100, 200, 500])
    parser.add_argument("--only", nargs="*", default=[], help="only these searches")
    parser.add_argument("--growth", type=int, nargs="*", default=[100, 200, 400, 800])
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(options.observations, options.steps, options.only)
    growth(options.growth, options.steps)
    imports()


if __name__ == "__main__":
    on_one_thread()
    main()
