"""Is the learned distance between data sets better than the 22 hand-crafted features? ADTM of the starts it gives.

The data sets of the shipped SVM history are split into folds. A tabular Siamese network is trained on all folds but
one, and the data sets of that fold start from the nearest of all others, by the protocol of the other benchmarks. The
target distances come from the coarse grid, since searches see past data sets on that grid only. "true distance" starts
from the data sets that are nearest by the target itself, which is unknown for a new data set: it shows what a perfect
model would reach.

python benchmarks/metric.py
python benchmarks/metric.py --target l1 --folds 5
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import headstart as hs
from headstart.datasets.distances import KINDS
from headstart.datasets.naming import named
from headstart.datasets.siamese import POOLINGS, Table, train
from headstart.history.formats import authors
from headstart.library import learned_distance
from headstart.transfer.models import task_distances
from protocol import Method, heading, row

AT = (1, 3, 5, 10)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=KINDS, default="emd")
    parser.add_argument("--pooling", choices=POOLINGS, default=learned_distance.RECIPE.pooling)
    parser.add_argument("--folds", type=int, default=11)
    parser.add_argument("--seeds", type=int, default=1, help="models per fold; their embeddings are concatenated")
    parser.add_argument("--steps", type=int, default=learned_distance.TRAINING.steps)
    return parser.parse_args()


def with_embeddings(history: hs.History, vectors: dict[str, np.ndarray]) -> hs.History:
    tasks = {task.name: replace(task, features=named(vectors[task.name], "0a")) for task in history}
    return replace(history, by_name=tasks)


def measured(history: hs.History, names: list[str], init: str) -> np.ndarray:
    """ADTM curves of these tasks: (tasks, trials)."""
    return np.array([Method(init, max(AT)).distances(history, name, max(AT)) for name in names])


def true_distances(history: hs.History, D: np.ndarray) -> np.ndarray:
    """Starts from the truly nearest tasks: each task's distances serve as embeddings of one number."""
    curves = []
    for i, name in enumerate(history.tasks):
        vectors = {other: np.array([D[i, j]]) for j, other in enumerate(history.tasks)}
        curves.append(measured(with_embeddings(history, vectors), [name], "metric")[0])
    return np.array(curves)


def learned(history: hs.History, D: np.ndarray, chosen: argparse.Namespace) -> np.ndarray:
    sets = {name: Table.of(*pair) for name, pair in learned_distance.tables(history.tasks).items()}
    recipe = replace(learned_distance.RECIPE, pooling=chosen.pooling)
    training = replace(learned_distance.TRAINING, steps=chosen.steps)
    fold = np.random.default_rng(0).permutation(len(history)) % chosen.folds
    found = np.empty((len(history), max(AT)))
    for f in range(chosen.folds):
        began = time.perf_counter()
        inside = np.flatnonzero(fold != f)
        seen = {history.tasks[i]: sets[history.tasks[i]] for i in inside}
        models = [
            train(seen, D[np.ix_(inside, inside)], recipe, training, seed=seed, progress=False)
            for seed in range(chosen.seeds)
        ]
        vectors = {name: np.concatenate([model.embed(data) for model in models]) for name, data in sets.items()}
        outside = [history.tasks[i] for i in np.flatnonzero(fold == f)]
        found[fold == f] = measured(with_embeddings(history, vectors), outside, "metric")
        losses = [float(model.curve.held_out.min()) for model in models]
        print(f"fold {f + 1}: held-out loss {np.mean(losses):.3f}, {time.perf_counter() - began:.0f} s", flush=True)
    return found


def main() -> None:
    chosen = options()
    history = hs.library.load("svm")
    D = task_distances(authors.coarse(history), chosen.target, rng=np.random.default_rng(0))
    results = {"learned distance": learned(history, D, chosen)}
    results["22 features (NBI)"] = measured(history, history.tasks, "nbi")
    results["true distance"] = true_distances(history, D)
    print(f"\n{heading(f'{chosen.target}, {chosen.pooling}', AT)}")
    for label, curves in results.items():
        print(row(label, curves.mean(axis=0), AT))
    gap = results["learned distance"] - results["22 features (NBI)"]
    error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
    at = [f"{gap.mean(axis=0)[t - 1]:+.4f} ± {error[t - 1]:.4f}" for t in AT]
    print(f"| {'learned minus NBI':<24} | " + " | ".join(at) + " |")


if __name__ == "__main__":
    main()
