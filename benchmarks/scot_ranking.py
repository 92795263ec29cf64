"""Why SCoT begins badly without a start: the effect of its linear ranking on the first ten trials.

    python benchmarks/scot_ranking.py [--history NAME] [--jobs 2] > scot.md

Each task is left out in turn, by the protocol of `headstart reproduce`. A linear score is always best at an edge of the
space, so SCoT with the linear SVMRank of the papers is compared with SCoT with plain ranks. The table shows ADTM, and
how often a proposal has the lowest or the highest value of a numeric parameter that all configurations have. The line
above the table says how often this is true of a task's best configuration.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed

from headstart._support.types import Array
from headstart.history import History
from headstart.papers.runs import history_named, left_out
from headstart.search.replay import distances
from headstart.space import Categorical
from headstart.surrogates.scot import RANKINGS, SCoT

TRIALS = 10


def one(history: History, task: str, ranking: str) -> tuple[Array, float]:
    """Scaled distances after 1 … 10 trials, and the share of proposals at an edge."""
    places = left_out(history, task, 0).search("random", 0, SCoT(ranking=ranking), TRIALS)
    return distances(history[task], places, TRIALS), float(at_edge(history, task)[places].mean())


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
    history, title = history_named(chosen.history)
    best = np.mean([at_edge(history, task)[np.argmin(history[task].losses)] for task in history.tasks])
    print(f"{title}: {best:.2f} of the tasks have their best at an edge.\n")
    print("| ranking | 1 | 3 | 5 | 10 | proposals at an edge |\n| --- | --- | --- | --- | --- | --- |")
    for ranking in RANKINGS:
        found = Parallel(n_jobs=chosen.jobs)(delayed(one)(history, task, ranking) for task in history.tasks)
        curve = np.mean([reached for reached, _ in found], axis=0)
        edge = np.mean([share for _, share in found])
        print(f"| {ranking} | {' | '.join(f'{curve[t - 1]:.3f}' for t in (1, 3, 5, 10))} | {edge:.2f} |", flush=True)


if __name__ == "__main__":
    main()
