"""The papers' protocol: leave one data set out, see the others on the coarse grid, choose from the fine one.

Used by the other benchmarks; everything goes through the public interface, `hs.Optimizer` with `candidates`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed

import headstart as hs
from headstart.history.formats import authors
from headstart.starts.measures import scaled_dtm

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def history_named(name: str) -> hs.History:
    """The authors' SVM or AdaBoost results if they lie beside the repository, or a history that ships."""
    if name == "authors-svm":
        return authors.read_svm(_there(SHARED / "svm"))
    if name == "authors-adaboost":
        return authors.read_adaboost(_there(SHARED / "adaboost.csv"))
    return hs.library.load(name)


def _there(path: Path) -> Path:
    if not path.exists():
        sys.exit(f"this benchmark needs the authors' data, which is not part of the repository: no {path.name} found")
    return path


def curve(
    history: hs.History, coarse: hs.History, task: str, trials: int, seed: int, described: bool = True, **settings: Any
) -> np.ndarray:
    """Scaled distance to the minimum of one left-out task after 1 … trials."""
    configs, losses = history.configs(task), history[task].losses
    by_key = {_key(config): loss for config, loss in zip(configs, losses.tolist(), strict=True)}
    optimizer = hs.Optimizer(
        history.space,
        history=coarse.drop(task),
        candidates=configs,
        features=history[task].features if described else None,
        seed=crc32(f"{seed} {task}".encode()),
        **settings,
    )
    seen = []
    for _ in range(min(trials, len(configs))):
        config = optimizer.ask()
        seen.append(by_key[_key(config)])
        optimizer.tell(config, seen[-1])
    return scaled_dtm(seen, float(np.nanmin(losses)), float(np.nanmax(losses)))


def _key(config: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(config.items()))


def curves(history: hs.History, trials: int, *, repeats: int = 1, jobs: int = 1, **settings: Any) -> np.ndarray:
    """(tasks, trials), averaged over repeats."""
    coarse = authors.coarse(history)
    work = [(task, r) for task in history.tasks for r in range(repeats)]
    found = Parallel(n_jobs=jobs)(delayed(curve)(history, coarse, task, trials, r, **settings) for task, r in work)
    return np.array(found).reshape(len(history), repeats, trials).mean(axis=1)


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--history", default="authors-svm", help="authors-svm, authors-adaboost, or a name that ships")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without-features", action="store_true", help="as if the tasks had no meta-features")
    parser.add_argument("--methods", nargs="*", help="only these")
    return parser


def row(label: str, adtm: np.ndarray, at: tuple[int, ...], width: int = 24) -> str:
    cells = " | ".join(f"{adtm[t - 1]:.4f}" if t <= len(adtm) else "" for t in at)
    return f"| {label:<{width}} | {cells} |"
