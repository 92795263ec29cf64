"""Why SCoT begins badly without a start: what its linear ranking does to the first ten trials.

    python benchmarks/scot_ranking.py [--history NAME] [--jobs 2] > scot.md

Each task is left out in turn, by the protocol of `headstart reproduce`. A linear score is always best at an edge of
the space; so next to SCoT with the linear SVMRank of the papers stands one with plain ranks. Shown are ADTM, and how
often a proposal has the least or the greatest value of a numeric parameter that all configurations have; above, how
often a task's best configuration has.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed

from headstart._support.types import Array
from headstart.history import History
from headstart.papers import runs
from headstart.space import Categorical
from headstart.surrogates.scot import RANKINGS, SCoT

TRIALS = 10


def one(history: History, task: str, ranking: str) -> tuple[Array, float]:
    """Scaled distances after 1 … 10 trials, and the share of proposals at an edge."""
    places = runs.LeftOut(history, task, 0).search(runs.Itself(SCoT(ranking=ranking)), TRIALS, "gp", TRIALS)
    return runs.distances(history[task], places, TRIALS), float(at_edge(history, task)[places].mean())


def at_edge(history: History, task: str) -> Array:
    """Which configurations have an extreme value of a numeric parameter that all of them have."""
    configs = history.configs(task)
    names = [name for name, p in history.space.items() if not isinstance(p, Categorical)]
    columns = [np.array([c[name] for c in configs]) for name in names if all(name in c for c in configs)]
    return np.any([(values == values.min()) | (values == values.max()) for values in columns], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", default="svm")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    history, title = runs.history_named(chosen.history)
    best = np.mean([at_edge(history, task)[np.argmin(history[task].losses)] for task in history.tasks])
    print(f"{title}: {best:.2f} of the tasks have their best at an edge.\n")
    print("| ranking | 1 | 3 | 5 | 10 | proposals at an edge |\n| --- | --- | --- | --- | --- | --- |")
    for ranking in RANKINGS:
        found = Parallel(n_jobs=chosen.jobs)(delayed(one)(history, task, ranking) for task in history.tasks)
        curve = np.mean([distances for distances, _ in found], axis=0)
        edge = np.mean([share for _, share in found])
        print(f"| {ranking} | {' | '.join(f'{curve[t - 1]:.3f}' for t in (1, 3, 5, 10))} | {edge:.2f} |", flush=True)


if __name__ == "__main__":
    main()
