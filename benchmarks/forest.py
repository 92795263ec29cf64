"""The cost of a forest: CPU milliseconds to grow the 100 trees of `rf` on n trials, and scikit-learn's own forest.

    python benchmarks/forest.py [--rounds 10] [--trials 10 50 200] > forest.md

The two take turns, so that other load on the machine slows both equally.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from headstart._support.types import Array
from headstart.surrogates.forest import ForestModel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--trials", type=int, nargs="+", default=[10, 50, 200])
    chosen = parser.parse_args()
    print("| trials | rf | RandomForestRegressor | ratio |\n| --- | --- | --- | --- |")
    for n in chosen.trials:
        rng = np.random.default_rng(n)
        Z, losses = rng.random((n, 6)), rng.random(n)
        fits = (ForestModel(100, 0).fit, RandomForestRegressor(100, max_features=5 / 6, random_state=0).fit)
        times = [[spent(fit, Z, losses) for fit in fits] for _ in range(chosen.rounds)]
        ours, other = (1000 * statistics.median(column) for column in zip(*times, strict=True))
        print(f"| {n} | {ours:.1f} | {other:.1f} | {other / ours:.1f} |", flush=True)


def spent(fit: Callable[[Array, Array], object], Z: Array, losses: Array) -> float:
    begun = time.process_time()
    fit(Z, losses)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
