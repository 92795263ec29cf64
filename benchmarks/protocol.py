"""The papers' protocol: leave one data set out, see the others on the coarse grid, choose from the fine one.

Used by the other benchmarks. Everything goes through the public interface, `hs.Optimizer` with `candidates`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed

import headstart as hs
from headstart.history.sources import read_adaboost, read_svm
from headstart.papers.runs import left_out
from headstart.search.replay import distances

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def history_named(name: str) -> hs.History:
    """The authors' SVM or AdaBoost results, if they lie beside the repository, or a history that ships."""
    if name == "authors-svm":
        return read_svm(_there(SHARED / "svm"))
    if name == "authors-adaboost":
        return read_adaboost(_there(SHARED / "adaboost.csv"))
    return hs.library.load(name)


def _there(path: Path) -> Path:
    if not path.exists():
        sys.exit(f"this benchmark needs the authors' data, which is not part of the repository: no {path.name} found")
    return path


@dataclass(frozen=True)
class Method:
    """A start of `n_init` configurations and a surrogate. described: whether the task's meta-features are known."""

    init: Any
    n_init: int
    surrogate: Any = "auto"
    described: bool = True

    def distances(self, history: hs.History, task: str, trials: int, repeat: int = 0) -> np.ndarray:
        """Scaled distance to the minimum of one left-out task after 1 … trials."""
        new = left_out(history, task, crc32(f"{repeat} {task}".encode()), described=self.described)
        return distances(history[task], new.search(self.init, self.n_init, self.surrogate, trials), trials)


def curves(history: hs.History, method: Method, trials: int, *, repeats: int = 1, jobs: int = 1) -> np.ndarray:
    """The distances on every task, (tasks, trials), averaged over repeats."""
    work = [(task, r) for task in history.tasks for r in range(repeats)]
    found = Parallel(n_jobs=jobs)(delayed(method.distances)(history, task, trials, r) for task, r in work)
    return np.array(found).reshape(len(history), repeats, trials).mean(axis=1)


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--history", default="authors-svm", help="authors-svm, authors-adaboost, or a name that ships")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without-features", action="store_true", help="as if the tasks had no meta-features")
    parser.add_argument("--methods", nargs="*", help="only these")
    return parser


def heading(label: str, at: tuple[int, ...], *more: str) -> str:
    """The first two lines of a table with a column for each number of trials."""
    names = [f"{label:<24}", *map(str, at), *more]
    return f"| {' | '.join(names)} |\n| {' | '.join('---' for _ in names)} |"


def row(label: str, adtm: np.ndarray, at: tuple[int, ...]) -> str:
    """A line of that table."""
    cells = " | ".join(f"{adtm[t - 1]:.4f}" if t <= len(adtm) else "" for t in at)
    return f"| {label:<24} | {cells} |"
