"""Searches with misleading past runs: the left-out task's losses are negated, or shuffled over configurations.

python benchmarks/misleading.py --history authors-svm
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import headstart as hs
from protocol import Method, arguments, heading, history_named, row

AT = (5, 10, 20, 30)
TARGETS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "negated": lambda losses, rng: -losses,
    "shuffled": lambda losses, rng: rng.permutation(losses),
}
METHODS = {"auto": Method("auto", 5, "auto"), "cold": Method("random", 5, "gp")}


def misled(history: hs.History, task: str, change: Callable[..., np.ndarray]) -> hs.History:
    """The history with one task's losses changed."""
    rng = np.random.default_rng(history.tasks.index(task))
    changed = replace(history[task], losses=change(np.array(history[task].losses), rng))
    return replace(history, by_name={**{t.name: t for t in history}, task: changed})


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    history = history_named(options.history)
    print(heading(options.history, AT))
    for target, change in TARGETS.items():
        for label, method in METHODS.items():
            found = [method.distances(misled(history, task, change), task, max(AT)) for task in history.tasks[::2]]
            print(row(f"{target}, {label}", np.mean(found, axis=0), AT), flush=True)


if __name__ == "__main__":
    main()
