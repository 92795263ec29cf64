"""Leave-one-out runs by the papers' protocol: what `Optimizer` does with `candidates`, for many runs on a task.

One task is left out. The searches see the other tasks (in the first paper, on the coarse grid only), but may choose any
configuration of the left-out task's own (fine) grid; a proposal off that grid is moved to the nearest configuration not
tried yet. A run is kept as the order in which it tried configurations, so that every measure can be computed later.

No method tries a configuration twice, by the same two rules for all: a start from the best configurations of data sets
goes on to the next data set, and a learned configuration that falls on a tried one is moved to the nearest that is not.

A run depends on its seeds alone: not on the order of the work, nor on where joblib does it. What a method draws has a
seed for each task, repetition and start. What is learned from the other tasks alone (hyperparameters, the training of
SCoT and MKLGP) has one for each task: like the papers, repetitions do not repeat it. In the second paper it has the
first seed, too, since a forest's randomness is all that its methods draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart.errors import ArgumentError, FormatError, HeadstartError
from headstart.history import History, Reading
from headstart.history.formats import authors
from headstart.history.past import read_past, required
from headstart.history.sources import read_adaboost, read_svm
from headstart.library import pieces
from headstart.papers.prepared import Prepared
from headstart.search.replay import LeftOut, distances

SURROGATES = {"GP": "gp", "RF": "rf", "SCoT": "scot", "MKLGP": "mklgp"}
TRANSFER = ("SCoT", "MKLGP")  # learn from the history, so they can begin without a start
START = "start"  # the key of the start's trials in a finished piece
DEFAULT = Reading()
VERSION = 3  # of the protocol; pieces of another version are not used


def history_named(name: str, how: Reading = DEFAULT) -> tuple[History, str]:
    """The history of that name, and its name in titles.

    A CSV file is the authors' table of AdaBoost results, unless `how` describes another. Their table has no
    meta-features; if a folder `svm` with the authors' SVM files lies beside it, those of the same data sets are used.
    """
    path = Path(name)
    if path.suffix.lower() != ".csv" or how != DEFAULT:
        title = f"{path.name}, the authors' data" if path.is_dir() else path.stem
        return required(read_past(name, how)), title
    beside, features = path.with_name("svm"), None
    if beside.is_dir():
        described = read_svm(beside)
        features = pd.DataFrame(described.feature_matrix(), described.tasks, described.feature_names)
    try:
        history = read_adaboost(path, features)
    except HeadstartError as error:
        raise FormatError(
            f"{name} is not the authors' table of AdaBoost results ({error.problem})",
            "for runs of your own, name the columns with {task} and {value}",
        ) from error
    return history, f"{path.stem}, the authors' data"


# -- starts and searches -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A start, under its name in the figures.

    init: an argument of `Optimizer`; None: no start, so that the surrogate makes the first proposals, or chance if the
    surrogate does not learn from the history. described: whether it needs meta-features.
    """

    name: str
    init: Any = None
    described: bool = False


@dataclass(frozen=True)
class Arm:
    """A start of `n` configurations, and one search per surrogate that continues it up to `trials`."""

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
        """The part of a piece's name that identifies the arm."""
        then = f", {'+'.join(self.surrogates)} to {self.trials}" if self.surrogates else ""
        return f"{self.method.name}, {self.n}{then}"

    @property
    def start(self) -> Arm:
        """The arm of the start alone."""
        return Arm(self.method, self.n, repetitions=self.repetitions)


# -- one run -------------------------------------------------------------------------------------------------


def left_out(history: History, task: str, seed: int, *, described: bool = True, coarse: bool = True) -> LeftOut:
    """A task left out by the papers' protocol.

    coarse: searches see the other tasks on the coarse grid only, as in the first paper (`authors.coarse` has the rule
    and its source). The second paper has no such grid.
    """
    return LeftOut(history, task, seed, authors.coarse(history) if coarse else None, described)


@dataclass(frozen=True)
class Setting:
    """A history to leave tasks out of, and a seed; calling it with the name of a piece does the piece's runs.

    coarse: as for `left_out`. learned_once: whether repetitions share what is learned from the other tasks alone.
    digest: that of the history, for which a process keeps prepared tasks.
    """

    history: History
    arms: Mapping[str, Arm]
    seed: int
    coarse: bool = True
    learned_once: bool = False
    starts: Mapping[str, list[int]] = field(default_factory=dict)  # trials of starts that are known already, by piece
    digest: str = ""

    @one_thread
    def __call__(self, name: str) -> dict[str, list[int]]:
        """For the start and for each surrogate, the places of the configurations tried, in order."""
        arm, task, repetition = self._parse(name)
        seed, *others = (self._seed(arm, task, r) for r in (repetition, *range(arm.repetitions)))
        new = self._prepared(task, crc32(f"{self.seed} {task}".encode()) if self.learned_once else seed)
        if arm.method.init is None:
            return {name: self._unstarted(new, name, arm, seed) for name in arm.surrogates}
        start = self.starts.get(piece(arm.start, task, repetition))
        if start is None:
            start = new.start(arm.method.init, arm.n, seed, others if self.learned_once else ())
        longer = {name: new.go_on(start, SURROGATES[name], arm.trials, seed) for name in arm.surrogates}
        return {START: start, **longer}

    def _seed(self, arm: Arm, task: str, repetition: int) -> int:
        return crc32(f"{self.seed} {repetition} {task} {arm.method.name}".encode())

    def _prepared(self, task: str, seed: int) -> Prepared:
        key = (self.digest or digest(self.history), task, seed, self.coarse)
        if key not in KEPT:
            while len(KEPT) >= MOST_KEPT:
                del KEPT[next(iter(KEPT))]
            KEPT[key] = Prepared(left_out(self.history, task, seed, coarse=self.coarse))
        return KEPT[key]

    @staticmethod
    def _unstarted(new: Prepared, surrogate: str, arm: Arm, seed: int) -> list[int]:
        start = [] if surrogate in TRANSFER else new.start("random", arm.n, seed)
        return new.go_on(start, SURROGATES[surrogate], arm.trials, seed)

    def _parse(self, piece: str) -> tuple[Arm, str, int]:
        arm, rest = piece.split(" | ", 1)
        task, repetition = rest.rsplit(" | ", 1)
        return self.arms[arm], task, int(repetition)


def piece(arm: Arm, task: str, repetition: int) -> str:
    """The name under which runs are kept."""
    return f"{arm.name} | {task} | {repetition}"


KEPT: dict[tuple[str, str, int, bool], Prepared] = {}  # the tasks that this process prepared, oldest first
MOST_KEPT = 64


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


@dataclass(frozen=True)
class Work:
    """Does runs and keeps them: finished pieces stay in `folder`, and only missing ones are computed.

    coarse, learned_once: as for `Setting`.
    """

    history: History
    tasks: Sequence[str]
    folder: Path
    seed: int = 0
    jobs: int = -1
    progress: bool = True
    coarse: bool = True
    learned_once: bool = False

    def run(self, arms: Sequence[Arm], label: str = "runs") -> list[Outcome]:
        """Every arm on every task and repetition, one repetition after another.

        An arm whose first two repetitions are the same on every task does not depend on chance; it is not repeated.
        """
        found: dict[str, Any] = {}
        for r in range(2):
            found |= self._done([arm for arm in arms if r < arm.repetitions], r, label)
        fixed = [_is_fixed(found, arm, self.tasks) for arm in arms]
        varied = [arm for arm, same in zip(arms, fixed, strict=True) if not same]
        for r in range(2, max((arm.repetitions for arm in varied), default=0)):
            found |= self._done([arm for arm in varied if r < arm.repetitions], r, label)
        outcomes = []
        for arm, same in zip(arms, fixed, strict=True):
            kept = range(1 if same else arm.repetitions)
            by_task = [{task: found[piece(arm, task, r)] for task in self.tasks} for r in kept]
            outcomes.append(Outcome(arm, self.history, by_task))
        return outcomes

    def _done(self, arms: Sequence[Arm], repetition: int, label: str) -> dict[str, Any]:
        """One repetition of these arms. A start is computed once, for all searches that continue it."""
        label = f"{label}, repetition {repetition + 1}"
        started = {arm.start.name: arm.start for arm in arms if arm.surrogates and arm.method.init}
        alone = self._pieces(list(started.values()), repetition, {}, f"{label}: starts")
        starts = {name: found[START] for name, found in alone.items()}
        return alone | self._pieces(arms, repetition, starts, label)

    def pack(self) -> None:
        """All pieces into one compressed file, since thousands of small ones are slow to copy."""
        pieces.pack(self.folder)

    def _pieces(
        self,
        arms: Sequence[Arm],
        repetition: int,
        starts: Mapping[str, list[int]],
        label: str,
    ) -> dict[str, Any]:
        every = {one.name: one for arm in arms for one in (arm, arm.start)}
        history = digest(self.history)
        signature = {"history": history, "seed": self.seed, "version": VERSION, "coarse": self.coarse}
        if self.learned_once:
            signature["learned_once"] = True
        return pieces.run(
            # Task by task, for what was learned from the other tasks is kept.
            [piece(arm, task, repetition) for task in self.tasks for arm in arms],
            Setting(self.history, every, self.seed, self.coarse, self.learned_once, starts, history),
            self.folder,
            signature=signature,
            jobs=self.jobs,
            progress=self.progress,
            label=label,
        )


def _is_fixed(found: Mapping[str, Any], arm: Arm, tasks: Sequence[str]) -> bool:
    return arm.repetitions > 1 and all(found[piece(arm, task, 0)] == found[piece(arm, task, 1)] for task in tasks)


def digest(history: History) -> str:
    """Identifies a history by its content, whatever its name and source."""
    sha = hashlib.sha256(repr((history.space, history.tasks, history.feature_names)).encode())
    for array in (history.V, history.feature_matrix()):
        sha.update(np.ascontiguousarray(array).tobytes())
    for task in history:
        sha.update(np.ascontiguousarray(task.rows).tobytes() + task.losses.tobytes())
    return sha.hexdigest()[:16]


# -- exact expectations --------------------------------------------------------------------------------------


def best_counts(history: History, task: str) -> Array | None:
    """For each configuration of this task, how many of the others have it as their best on the coarse grid.

    None: this task lacks the best configuration of another, so that RBI would have to move it.
    """
    new = left_out(history, task, 0)
    times = np.zeros(len(new.table))
    for other in new.known.tasks:
        place = new.table.place(new.known.best(other))
        if place is None:
            return None
        times[place] += 1
    return times


def expected_best_of_random(scaled: Array, times: Array, most: int) -> Array:
    """E[min of the first t different configurations of RBI] for t = 1 … most, exactly.

    scaled (m,): losses; times (m,): how many tasks have each configuration as their best. Tasks in random order are
    tasks with independent exponential clocks, so a configuration with w tasks arrives at an Exp(w) time. Let A be the
    k best configurations, W the number of their tasks, and u = exp(−first arrival in A). The first t configurations
    all lie outside A with probability ∫₀¹ W u^(W−1) P(t or more of the others are earlier | u) du, where each is
    earlier with probability 1 − u^w: a polynomial in u, which Gauss-Legendre integrates exactly.
    E[min] = Σ_k (s_k+1 − s_k) P(none of the k best).
    """
    drawn = np.flatnonzero(times)
    if len(drawn) < most:
        raise ArgumentError(f"asked for {most} different configurations, but only {len(drawn)} are the best of a task")
    order = drawn[np.argsort(scaled[drawn], kind="stable")]
    s, w = scaled[order], times[order]
    x, dx = np.polynomial.legendre.leggauss(int(w.sum()) // 2 + 1)
    u, du = (x + 1) / 2, dx / 2
    earlier = np.zeros((most + 1, len(u)))  # P(exactly j of those added so far are earlier); last row: at least j
    earlier[0] = 1.0
    curve = np.full(most, s[0])
    for k in range(len(s) - 1, 0, -1):  # adds configurations from the worst on: all but the k best
        p = 1 - u ** w[k]
        moved = earlier * p
        earlier -= moved
        earlier[1:] += moved[:-1]
        earlier[-1] += moved[-1]
        W = w[:k].sum()
        at_least = earlier[::-1].cumsum(axis=0)[::-1][1:]  # (most, u)
        curve += (s[k] - s[k - 1]) * (at_least @ (du * W * u ** (W - 1)))
    return curve
