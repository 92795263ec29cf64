"""What happens when the past misleads: the left-out task's losses are negated, or shuffled over configurations.

python benchmarks/misleading.py --history authors-svm
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import headstart as hs
from headstart.history.formats import authors
from protocol import arguments, curve, history_named, row

AT = (5, 10, 20, 30)
TARGETS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "negated": lambda losses, rng: -losses,
    "shuffled": lambda losses, rng: rng.permutation(losses),
}
METHODS = {"auto": {"init": "auto", "surrogate": "auto"}, "cold": {"init": "random", "surrogate": "gp"}}


def misled(history: hs.History, task: str, change: Callable[..., np.ndarray]) -> hs.History:
    """The history with one task's losses changed."""
    rng = np.random.default_rng(history.tasks.index(task))
    changed = replace(history[task], losses=change(np.array(history[task].losses), rng))
    return replace(history, by_name={**{t.name: t for t in history}, task: changed})


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    history = history_named(options.history)
    coarse = authors.coarse(history)
    print(f"| {options.history:<24} | " + " | ".join(map(str, AT)) + " |")
    print("| --- | " + " | ".join("---" for _ in AT) + " |")
    for target, change in TARGETS.items():
        for method, settings in METHODS.items():
            found = [
                curve(misled(history, task, change), coarse, task, max(AT), 0, n_init=5, **settings)
                for task in history.tasks[::2]
            ]
            print(row(f"{target}, {method}", np.mean(found, axis=0), AT), flush=True)


if __name__ == "__main__":
    main()
