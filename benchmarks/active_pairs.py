"""How far the fast search of aaPBI agrees with Algorithm 3 of the paper, on small parts of a shipped history.

    python benchmarks/active_pairs.py [--history svm] [--tasks 8] [--parts 5]

For each part, a number of tasks in a row, both judge all pairs of the configurations that are best on one of its tasks.
The table shows the rank correlation of their judgements, and whether they choose the same pair.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

import headstart as hs
from headstart.strategies.active import best_somewhere, by_forests, by_leaves
from headstart.transfer.models import TaskModels
from headstart.transfer.similarity import PairForest

AT = 3  # I − K
TREES = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", default="svm")
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--parts", type=int, default=5)
    chosen = parser.parse_args()
    history = hs.library.load(chosen.history)
    print("| tasks | pairs | Spearman | the same pair |\n| --- | --- | --- | --- |")
    for part in range(chosen.parts):
        first = part * chosen.tasks
        names = history.tasks[first : first + chosen.tasks]
        new = history[history.tasks[(first + chosen.tasks) % len(history)]]
        models = TaskModels(history.only(names), rng=np.random.default_rng(0))
        forest = PairForest.of(models, new.features, TREES, np.random.default_rng(0))
        F = models.responses(best_somewhere(models))
        pairs = [list(pair) for pair in combinations(range(len(F)), 2)]
        literal, fast = by_forests(forest, F, AT)(pairs), by_leaves(forest, F, AT)(pairs)
        agree = "yes" if literal.argmax() == fast.argmax() else "no"
        correlation = spearmanr(literal, fast).statistic
        print(f"| {names[0]} … {names[-1]} | {len(pairs)} | {correlation:.2f} | {agree} |", flush=True)


if __name__ == "__main__":
    main()
