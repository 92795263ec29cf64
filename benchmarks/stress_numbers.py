"""Hostile numbers: losses up to the largest float, tiny differences, tiny and huge ranges, thousands of choices.

python benchmarks/stress_numbers.py [--asks 600] [--learns 300] [--studies 60] [--seed 0]

Random cases, each with a space, past and new losses and a method of its own. Every proposal has to be finite, inside
the space and new as long as the space has something new, without a warning. The options count cases: of "asks", a case
is a search of 15 trials; of "learns", a start of up to 10 configurations; of "studies", an Optuna study of 15 trials,
which Optuna's own samplers run, too. A case may take a minute of processor time.
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning

import headstart as hs
from headstart.errors import ExhaustedError
from headstart.history import build

TRIALS, SECONDS = 15, 60
LARGEST, LEAST = sys.float_info.max, 5e-324

SPACES: dict[str, Callable[[], hs.Space]] = {
    "usual": lambda: hs.Space(
        {"x": hs.Float(0, 1), "y": hs.Float(1e-3, 1e3, log=True), "kind": hs.Categorical(["a", "b"])}
    ),
    "six floats": lambda: hs.Space({"x": hs.Float(1, 1 + 1e-15)}),
    "few floats, twice": lambda: hs.Space({"x": hs.Float(1, 1 + 1e-15), "y": hs.Float(0, LEAST)}),
    "narrow": lambda: hs.Space({"x": hs.Float(1e300, 1e300 * (1 + 1e-12)), "y": hs.Float(-1e-300, 1e-300)}),
    "all floats": lambda: hs.Space({"x": hs.Float(-LARGEST, LARGEST), "y": hs.Float(-1.7e308, 1.7e308)}),
    "all magnitudes": lambda: hs.Space({"x": hs.Float(LEAST, LARGEST, log=True), "y": hs.Float(1e-300, 1, log=True)}),
    "subnormal": lambda: hs.Space({"x": hs.Float(LEAST, 1e-310, log=True), "y": hs.Float(0, 1e-310)}),
    "all integers": lambda: hs.Space({"x": hs.Int(-(2**53), 2**53), "y": hs.Int(1, 2**53, log=True)}),
    "few integers at the end": lambda: hs.Space({"x": hs.Int(2**53 - 4, 2**53), "kind": hs.Categorical([0, 1])}),
    "steps": lambda: hs.Space({"x": hs.Float(0, 1e308, step=1e300), "y": hs.Float(-1, 1, step=0.5)}),
    "10,000 choices": lambda: hs.Space({"kind": hs.Categorical(range(10_000)), "x": hs.Float(0, 1)}),
    "conditions": lambda: hs.Space(
        {
            "kind": hs.Categorical(["a", "b", "c"]),
            "x": hs.Float(-1.7e308, 1.7e308, when={"kind": "a"}),
            "n": hs.Int(-(2**53), 2**53, when={"kind": ["a", "b"]}),
        }
    ),
    "one choice": lambda: hs.Space({"kind": hs.Categorical(["only"]), "n": hs.Int(3, 5)}),
}
LOSSES: dict[str, Callable[[random.Random], float]] = {
    "usual": lambda rng: rng.random(),
    "largest": lambda rng: rng.choice([-LARGEST, LARGEST, -1.7e308, 1.7e308, 0.0]),
    "large": lambda rng: rng.uniform(-1, 1) * LARGEST,
    "equal": lambda rng: 3.0,
    "equal and largest": lambda rng: LARGEST,
    "one unlike the rest": lambda rng: LARGEST if rng.random() < 0.2 else rng.random(),
    "1e-300 apart": lambda rng: rng.randrange(9) * 1e-300,
    "one float apart": lambda rng: 1 + rng.randrange(3) * sys.float_info.epsilon,
    "subnormal": lambda rng: rng.randrange(5) * LEAST,
    "all magnitudes": lambda rng: rng.choice([-1, 1]) * 10.0 ** rng.uniform(-320, 308),
    "zeros": lambda rng: rng.choice([0.0, -0.0]),
    "mostly failed": lambda rng: math.nan if rng.random() < 0.7 else rng.uniform(-1, 1) * 1e308,
}
STARTS = ("random", "rbi", "nbi", "pbi", "apbi", "li", "ali", "auto")
SURROGATES = ("gp", "rf", "scot", "mklgp", "prior", "auto")
SAMPLERS: dict[str, Callable[[hs.Space, hs.History, int], optuna.samplers.BaseSampler]] = {
    "HeadstartSampler": lambda space, history, seed: hs.optuna.HeadstartSampler(history, space=space, n_init=4),
    "HeadstartSampler, cold": lambda space, history, seed: hs.optuna.HeadstartSampler(None, space=space, n_init=4),
    "TPESampler": lambda space, history, seed: optuna.samplers.TPESampler(n_startup_trials=4, seed=seed),
    "GPSampler": lambda space, history, seed: optuna.samplers.GPSampler(n_startup_trials=4, seed=seed),
    "RandomSampler": lambda space, history, seed: optuna.samplers.RandomSampler(seed=seed),
}


class Case:
    """A random case, and what was found in it."""

    def __init__(self, name: str, seed: int) -> None:
        self.rng = random.Random(f"{name} {seed}")
        self.names = self.rng.choice(list(SPACES)), self.rng.choice(list(LOSSES)), self.rng.choice(list(LOSSES))
        self.space = SPACES[self.names[0]]()
        self.tried: set[Hashable] = set()
        self.found: Counter[str] = Counter()

    def losses(self, kind: str, n: int) -> list[float]:
        return [LOSSES[kind](self.rng) for _ in range(n)]

    def history(self) -> hs.History:
        """Past tasks, each with some of the case's losses; one of them has usual ones."""
        counts = [self.rng.choice([3, 8, 20]) for _ in range(self.rng.choice([3, 5]))]
        draw = np.random.default_rng(self.rng.randrange(2**32))
        V = self.space.sample_values(sum(counts), rng=draw)
        kinds = [self.names[1]] * (len(counts) - 1) + ["usual"]
        losses = [loss for kind, n in zip(kinds, counts, strict=True) for loss in self.losses(kind, n)]
        tasks = [f"task {i}" for i, n in enumerate(counts) for _ in range(n)]
        first = [i == 0 or tasks[i] != tasks[i - 1] for i in range(len(tasks))]
        losses = [1.0 if math.isnan(loss) and new else loss for loss, new in zip(losses, first, strict=True)]
        features = {name: {"size": 10.0 * i, "kinds": draw.normal()} for i, name in enumerate(dict.fromkeys(tasks))}
        return build(self.space, tasks=tasks, V=V, losses=np.array(losses), features=features)

    def look(self, config: dict[str, Any]) -> None:
        """Count what is wrong with a proposal."""
        numbers = [x for x in config.values() if isinstance(x, (int, float))]
        key = tuple(sorted(config.items()))
        self.found["proposals"] += 1
        self.found["not finite"] += not all(map(math.isfinite, numbers))
        self.found["outside"] += not self.space.contains(config)
        self.found["twice"] += key in self.tried and len(self.tried) < self.space.size
        self.tried.add(key)


# -- campaigns -------------------------------------------------------------------------------------------------


def ask(case: Case) -> str:
    rng, space = case.rng, case.space
    cold = rng.random() < 0.3
    init, surrogate = ("random", rng.choice(["gp", "rf"])) if cold else (rng.choice(STARTS), rng.choice(SURROGATES))
    about = {"init": init, "surrogate": surrogate, "acquisition": rng.choice(["ei", "ei", "log_ei", "lcb", "pi"])}
    direction = rng.choice(["minimize", "maximize"])
    history = None if cold else case.history()
    new = {"features": {"size": 15.0, "kinds": 0.1}} if history is not None else {}
    optimizer = hs.Optimizer(space, history, n_init=3, direction=direction, seed=rng.randrange(99), **about, **new)
    with suppress(ExhaustedError):
        for value in case.losses(case.names[2], TRIALS):
            config = optimizer.ask()
            case.look(config)
            optimizer.tell(config, None if math.isnan(value) else value)
    ended_early = case.found["proposals"] < min(TRIALS, space.size)
    case.found["too few"] += ended_early
    return f"{about} {direction}"


def learn(case: Case) -> str:
    method = case.rng.choice(STARTS)
    n = int(min(case.rng.choice([1, 3, 10]), case.space.size))
    history = case.history()
    start = hs.learn(history, n=n, method=method, features={"size": 15.0, "kinds": 0.1}, seed=case.rng.randrange(99))
    for config in start.configs:
        case.look(config)
    case.found["too few"] += len(start.configs) < n
    return f"{method} n={n}"


def study(case: Case, sampler: str) -> str:
    """The same cases for every sampler. The objective suggests what the space has, children after their parents."""
    rng, space = case.rng, case.space
    history, suggest = case.history(), hs.optuna.space(space)
    values = [math.inf if rng.random() < 0.1 else value for value in case.losses(case.names[2], TRIALS)]
    direction = rng.choice(["minimize", "maximize"])
    made = SAMPLERS[sampler](space, history, rng.randrange(99))
    made_for = optuna.create_study(sampler=made, direction=direction)

    def objective(trial: optuna.Trial) -> float:
        case.look(suggest(trial))
        return values[trial.number]

    made_for.optimize(objective, n_trials=TRIALS)
    return direction


@contextmanager
def bounded() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError(f"not done after {SECONDS} processor seconds")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def campaign(name: str, run: Callable[[Case], str], cases: int, seed: int) -> Counter[str]:
    total: Counter[str] = Counter(cases=cases)
    for i in range(cases):
        case, about = Case(name, seed + i), ""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                with bounded():
                    about = run(case)
            except Exception as error:
                case.found["exceptions"] += 1
                about = f"{type(error).__name__}: {str(error)[:100]}"
        seen = [w for w in warned if not issubclass(w.category, ExperimentalWarning)]
        case.found["warnings"] += bool(seen)
        total += case.found
        wrong = {key: n for key, n in case.found.items() if n and key != "proposals"}
        if wrong:
            first = f"; {seen[0].category.__name__}: {str(seen[0].message)[:80]}" if seen else ""
            print(f"{name} {seed + i}: {', '.join(case.names)}: {wrong} {about}{first}", file=sys.stderr)
    return total


OURS = ("asks", "learns", "HeadstartSampler", "HeadstartSampler, cold")
COLUMNS = ("cases", "proposals", "not finite", "outside", "twice", "too few", "exceptions", "warnings")


def show(name: str, found: Counter[str], seconds: float, columns: Sequence[str] = COLUMNS) -> None:
    print(f"| {name} | {' | '.join(str(found[key]) for key in columns)} | {seconds:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asks", type=int, default=600, help="searches with ask and tell")
    parser.add_argument("--learns", type=int, default=300, help="learned starts")
    parser.add_argument("--studies", type=int, default=60, help="studies of each of Optuna's samplers and of ours")
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    print(f"| campaign | {' | '.join(COLUMNS)} | seconds |")
    print(f"| --- |{' --: |' * (len(COLUMNS) + 1)}")
    runs: list[tuple[str, Callable[[Case], str], int]] = [("asks", ask, args.asks), ("learns", learn, args.learns)]
    runs += [(name, lambda case, name=name: study(case, name), args.studies) for name in args.samplers]
    wrong = 0
    for name, run, cases in runs:
        if cases:
            begin = time.monotonic()
            # Every sampler gets the same cases.
            found = campaign(name if name in ("asks", "learns") else "studies", run, cases, args.seed)
            show(name, found, time.monotonic() - begin)
            if name in OURS:
                wrong += sum(found[key] for key in COLUMNS[2:])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
