"""Leave-one-out runs by the papers' protocol, through the public interface: `Optimizer` with `candidates`.

One task is left out; the others are seen on the coarse grid only; any configuration of the left-out task's own
(fine) grid may be chosen, and a proposal off that grid is moved to the nearest one not tried yet. What is kept
of a run is the order in which it tried them, so that every measure can be computed later.

A run depends on its seed, and that on the task, the repetition and the start, on nothing else: not on the order
of the work, nor on where joblib does it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from headstart._support.types import Array
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history import Features, History, Task
from headstart.history.formats import authors
from headstart.history.formats.tables import Columns, read_csv
from headstart.history.sources import Reading, read_history
from headstart.library import pieces
from headstart.search.optimizer import Optimizer
from headstart.search.proposal import best_candidate
from headstart.starts.measures import scaled_dtm
from headstart.strategies.base import Told
from headstart.strategies.candidates import Candidates
from headstart.surrogates.base import Acquisition, Model
from headstart.surrogates.names import resolve_surrogate
from headstart.transfer.models import TaskModels

SURROGATES = {"GP": "gp", "RF": "rf", "SCoT": "scot", "MKLGP": "mklgp", "auto": "auto"}
TRANSFER = ("SCoT", "MKLGP")  # those that know the past, and so can begin without a start
START = "start"  # the trials of a start in what a run leaves behind
AS_IT_IS = Reading()
VERSION = 2  # of the protocol: runs of another one are not taken over


def history_named(name: str, how: Reading = AS_IT_IS) -> tuple[History, str]:
    """The history that a name stands for, and what to call it in a title.

    A CSV file is the authors' table of AdaBoost results, unless something is said of how to read it.
    The authors' AdaBoost table has no meta-features; those of their SVM files, on the same data sets, are taken if
    they lie in a folder `svm` beside it.
    """
    path = Path(name)
    if path.suffix.lower() != ".csv" or how != AS_IT_IS:
        title = f"{path.name}, the authors' data" if path.is_dir() else path.stem
        return read_history(name, how), title
    beside, features = path.with_name("svm"), None
    if beside.is_dir():
        described = authors.read_svm(beside)
        features = pd.DataFrame(described.feature_matrix(), described.tasks, described.feature_names)
    columns = Columns(task="dataset", value="error")
    try:
        history = read_csv(path, authors.adaboost_space(), columns, features=features)
    except ValueError as error:
        raise ArgumentError(
            f"{name} is not the authors' table of AdaBoost results ({error}); of runs of your own, "
            "name the columns with --task and --value"
        ) from error
    return history, f"{path.stem}, the authors' data"


# -- what is run ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A start, under the name it has in the figures.

    init: as `Optimizer` takes it; None: no start, so the surrogate begins, or chance if it knows nothing yet.
    described: whether it needs meta-features.
    """

    name: str
    init: Any = None
    described: bool = False


@dataclass(frozen=True)
class Arm:
    """A start of `n` configurations, and searches that go on from it up to `trials`, one for each surrogate."""

    method: Method
    n: int
    surrogates: tuple[str, ...] = ()
    trials: int = 0
    repetitions: int = 10

    def __post_init__(self) -> None:
        for label, value in (("n", self.n), ("repetitions", self.repetitions)):
            if value < 1:
                raise ArgumentError(f"{label} must be at least 1, but got {value} for {self.method.name}")

    @property
    def name(self) -> str:
        """What tells the pieces of one arm from those of another."""
        then = f", {'+'.join(self.surrogates)} to {self.trials}" if self.surrogates else ""
        return f"{self.method.name}, {self.n}{then}"


@dataclass(frozen=True)
class Itself:
    """A surrogate that knows the past, by name or itself, as its own start: it proposes from the first trial on."""

    surrogate: Any

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Proposals:
        model = resolve_surrogate(self.surrogate).begin(models.space, models, features=features, rng=rng)
        return Proposals(Candidates(models.space, models.candidates), model)


@dataclass(frozen=True)
class Proposals:
    """The run of `Itself`."""

    candidates: Candidates
    model: Model

    def ask(self, told: Told) -> Array:
        space, known = self.candidates.space, told.known
        posterior = self.model.fit(space.encode_values(known.V), known.losses)
        found = best_candidate(posterior, self.candidates, told, Acquisition("ei", len(told), space.width))
        if found is None:
            raise ExhaustedError("all candidates have been tried")
        return found


# -- one run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A history to leave tasks out of, and a seed; called with the name of a piece, it does the runs of it."""

    history: History
    arms: Mapping[str, Arm]
    seed: int

    def __call__(self, piece: str) -> dict[str, list[int]]:
        """For the start and for each surrogate, the places of the configurations tried, in order."""
        arm, task, repetition = self._parse(piece)
        seed = crc32(f"{self.seed} {repetition} {task} {arm.method.name}".encode())
        left_out = LeftOut(self.history, task, seed)
        if arm.method.init is None:
            return {name: left_out.search(*_unstarted(name, arm), arm.trials) for name in arm.surrogates}
        start = left_out.search(arm.method.init, arm.n, "gp", arm.n)
        longer = {name: left_out.go_on(start, SURROGATES[name], arm.trials) for name in arm.surrogates}
        return {START: start, **longer}

    def _parse(self, piece: str) -> tuple[Arm, str, int]:
        arm, rest = piece.split(" | ", 1)
        task, repetition = rest.rsplit(" | ", 1)
        return self.arms[arm], task, int(repetition)


def piece(arm: Arm, task: str, repetition: int) -> str:
    """The name under which runs are kept."""
    return f"{arm.name} | {task} | {repetition}"


def _unstarted(surrogate: str, arm: Arm) -> tuple[Any, int, str]:
    """init, n_init and surrogate of a search without a start."""
    if surrogate in TRANSFER:
        return Itself(SURROGATES[surrogate]), arm.trials, "gp"  # the surrogate of all trials is the start's
    return "random", arm.n, SURROGATES[surrogate]


@dataclass(frozen=True)
class LeftOut:
    """One task that nothing is known of, and the others on the coarse grid."""

    history: History
    task: str
    seed: int

    @cached_property
    def past(self) -> History:
        return authors.coarse(self.history).drop(self.task)

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        return self.history.configs(self.task)

    @cached_property
    def places(self) -> dict[tuple[Any, ...], int]:
        return {_key(config): i for i, config in enumerate(self.configs)}

    def optimizer(self, init: Any, n: int, surrogate: str) -> Optimizer:
        return Optimizer(
            self.history.space,
            history=self.past,
            init=init,
            n_init=n,
            surrogate=surrogate,
            features=self.history[self.task].features,
            candidates=self.configs,
            seed=self.seed,
        )

    def search(self, init: Any, n: int, surrogate: str, trials: int) -> list[int]:
        """The first `trials` configurations that an optimizer tries."""
        return list(self._ask(self.optimizer(init, n, surrogate), trials))

    def go_on(self, start: Sequence[int], surrogate: str, trials: int) -> list[int]:
        """The same as `search` from the beginning, with the start's trials told instead of asked for."""
        optimizer = self.optimizer("random", len(start), surrogate)
        for place in start:
            optimizer.tell(self.configs[place], self._loss(place))
        return [*start, *self._ask(optimizer, trials - len(start))]

    def _ask(self, optimizer: Optimizer, trials: int) -> Iterator[int]:
        for _ in range(min(trials, len(self.configs) - len(optimizer.trials))):
            config = optimizer.ask()
            place = self.places[_key(config)]
            optimizer.tell(config, self._loss(place))
            yield place

    def _loss(self, place: int) -> float:
        return float(self.history[self.task].losses[place])


def _key(config: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(config.items()))


# -- all runs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The runs of one arm: for each repetition and task, the places tried by the start and each surrogate."""

    arm: Arm
    history: History
    runs: list[dict[str, dict[str, list[int]]]]

    def curves(self, part: str = START) -> Array:
        """Scaled distance to the minimum after 1, 2, … trials: (repetitions, tasks, trials)."""
        trials = self.arm.n if part == START else self.arm.trials
        return np.array(
            [[distances(self.history[task], run[part], trials) for task, run in runs.items()] for runs in self.runs]
        )


def distances(task: Task, places: Sequence[int], trials: int) -> Array:
    """Scaled distance to the task's minimum after 1 … trials; it stays where it is once nothing is left to try."""
    losses = task.losses[np.asarray(places, dtype=np.intp)]
    reached = scaled_dtm(losses, float(np.nanmin(task.losses)), float(np.nanmax(task.losses)))[:trials]
    return np.append(reached, np.full(trials - len(reached), reached[-1]))


@dataclass(frozen=True)
class Work:
    """Where runs are done and kept: finished pieces stay in `folder`, and only what is missing is done."""

    history: History
    tasks: Sequence[str]
    folder: Path
    seed: int = 0
    jobs: int = -1
    progress: bool = True

    def run(self, arms: Sequence[Arm], label: str = "runs") -> list[Outcome]:
        """Every arm on every task and repetition.

        An arm whose first two repetitions are the same on every task draws nothing that matters: it gets no others.
        """
        found = self._done(arms, ((arm, r) for r in range(2) for arm in arms if r < arm.repetitions), label)
        alike = [_alike(found, arm, self.tasks) for arm in arms]
        varied = [arm for arm, same in zip(arms, alike, strict=True) if not same and arm.repetitions > 2]
        if varied:
            most = max(arm.repetitions for arm in varied)
            further = ((arm, r) for r in range(2, most) for arm in varied if r < arm.repetitions)
            found |= self._done(arms, further, label)
        outcomes = []
        for arm, same in zip(arms, alike, strict=True):
            kept = range(1 if same else arm.repetitions)
            by_task = [{task: found[piece(arm, task, r)] for task in self.tasks} for r in kept]
            outcomes.append(Outcome(arm, self.history, by_task))
        return outcomes

    def _done(self, arms: Sequence[Arm], repetitions: Iterable[tuple[Arm, int]], label: str) -> dict[str, Any]:
        setting = Setting(self.history, {arm.name: arm for arm in arms}, self.seed)
        signature = {"history": digest(self.history), "seed": self.seed, "version": VERSION}
        names = [piece(arm, task, r) for arm, r in repetitions for task in self.tasks]
        return pieces.run(
            names,
            setting,
            self.folder,
            signature=signature,
            jobs=self.jobs,
            progress=self.progress,
            label=label,
        )


def _alike(found: Mapping[str, Any], arm: Arm, tasks: Sequence[str]) -> bool:
    return arm.repetitions > 1 and all(found[piece(arm, task, 0)] == found[piece(arm, task, 1)] for task in tasks)


def digest(history: History) -> str:
    """What tells one history from another, whatever it is called and wherever it came from."""
    sha = hashlib.sha256(repr((history.space, history.tasks, history.feature_names)).encode())
    for array in (history.V, history.feature_matrix()):
        sha.update(np.ascontiguousarray(array).tobytes())
    for task in history:
        sha.update(np.ascontiguousarray(task.rows).tobytes() + task.losses.tobytes())
    return sha.hexdigest()[:16]


# -- exact expectations --------------------------------------------------------------------------------------


def best_counts(history: History, task: str) -> Array | None:
    """How many of the other tasks have each configuration of this one as their best on the coarse grid.

    None: one of those bests is not among them, so that RBI would have to be moved to another.
    """
    left_out = LeftOut(history, task, 0)
    times = np.zeros(len(left_out.configs))
    for other in left_out.past.tasks:
        place = left_out.places.get(_key(left_out.past.best(other)))
        if place is None:
            return None
        times[place] += 1
    return times


def expected_best_of_random(scaled: Array, times: Array, most: int) -> Array:
    """E[min of the first t different configurations of RBI] for t = 1 … most, exactly.

    scaled (m,): losses; times (m,): how many tasks have each configuration as their best. Tasks in random order
    are tasks with independent exponential clocks, so a configuration with w tasks turns up at an Exp(w) time. With A
    the k best, W tasks in all, and u = exp(−time of the first of A), the first t all lie outside A with probability
    ∫₀¹ W u^(W−1) P(t or more of the others are earlier | u) du, each being so with probability 1 − u^w: a
    polynomial in u, which Gauss-Legendre integrates exactly. E[min] = Σ_k (s_k+1 − s_k) P(none of the k best).
    """
    drawn = np.flatnonzero(times)
    if len(drawn) < most:
        raise ArgumentError(f"{most} different configurations are asked for, but only {len(drawn)} are best of a task")
    order = drawn[np.argsort(scaled[drawn], kind="stable")]
    s, w = scaled[order], times[order]
    x, dx = np.polynomial.legendre.leggauss(int(w.sum()) // 2 + 1)
    u, du = (x + 1) / 2, dx / 2
    earlier = np.zeros((most + 1, len(u)))  # P(exactly j of those added so far are earlier); the last row: or more
    earlier[0] = 1.0
    curve = np.full(most, s[0])
    for k in range(len(s) - 1, 0, -1):  # from the worst: all but the k best
        p = 1 - u ** w[k]
        moved = earlier * p
        earlier -= moved
        earlier[1:] += moved[:-1]
        earlier[-1] += moved[-1]
        W = w[:k].sum()
        at_least = earlier[::-1].cumsum(axis=0)[::-1][1:]  # (most, u)
        curve += (s[k] - s[k - 1]) * (at_least @ (du * W * u ** (W - 1)))
    return curve
