"""What one more trial costs a surrogate that learns from |D| past data sets, relative to one that does not.

    python benchmarks/transfer_cost.py [--rows 50] > transfer_cost.md

Wistuba et al. (2015a), section V-F: updating SCoT or MKLGP after a trial takes O(|D|²) times as long as updating a
Gaussian process of the current data set alone. The update extends the Cholesky factor by a row (eq. 6), so it takes
O(N²) for N evaluations, and a joint process has |D| times as many. Two joint processes are compared with the
independent one, on data sets with the same configurations:

- as published: one factor of all |D| · n + t evaluations, extended by a row;
- headstart's (`surrogates/joint.py`): the past evaluations are condensed once to their u distinct configurations.

Each cell is the shortest of several updates after t = 20 trials, as a multiple of the independent process's, all from
one run. The exponent is the slope between the two largest |D|, on logarithmic scales.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from headstart.gp import GP, SquaredExponential
from headstart.gp.linalg import cholesky, extend_cholesky
from headstart.surrogates.joint import JointGP, JointPrior, PastEvaluations

SETS = (5, 10, 20, 40)
TRIALS, WIDTH, TIMES = 20, 6, 15


def shortest(update: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several calls."""
    found = []
    for _ in range(TIMES):
        began = time.process_time()
        update()
        found.append(time.process_time() - began)
    return min(found)


def measured(sets: int, rows: int) -> tuple[float, float, float]:
    """The seconds of one update: independent, joint as published, and joint as in headstart."""
    rng = np.random.default_rng(sets)
    kernel = SquaredExponential(1.0, np.full(WIDTH, 0.5), 0.1)
    design, run, z = rng.random((rows, WIDTH)), rng.random((TRIALS, WIDTH)), rng.random(WIDTH)
    alone = GP.fit(kernel, run, rng.normal(size=TRIALS))
    X, tasks = np.tile(design, (sets, 1)), np.repeat(np.arange(sets), rows)
    M = rng.normal(size=(sets + 1, 3))
    covariance = SquaredExponential(1.0, np.full(3, 2.0), 0.1)(M, M)
    every, which = np.vstack([X, run]), np.append(tasks, np.full(TRIALS, sets))
    K = kernel(every, every) * covariance[np.ix_(which, which)]
    K[np.diag_indices(len(K))] += kernel.noise
    L = cholesky(K)[0]
    k = kernel(every, z[None])[:, 0] * covariance[which, sets]
    prior = JointPrior.fit(kernel, covariance, PastEvaluations(X, tasks, rng.normal(size=len(X))))
    condensed = JointGP.at(prior, run)
    return (
        shortest(lambda: alone.extend(z, 0.0)),
        shortest(lambda: extend_cholesky(L, k, 1.0 + kernel.noise)),
        shortest(lambda: condensed.extend(z)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50, help="evaluations of each past data set")
    rows = parser.parse_args().rows
    found = {sets: measured(sets, rows) for sets in SETS}
    alone = min(one for one, _, _ in found.values())
    print(f"| update relative to one data set | {' | '.join(f'{sets} data sets' for sets in SETS)} | exponent |")
    print("| --- |" + " ---: |" * (len(SETS) + 1))
    for place, name in ((1, "joint, as published"), (2, "joint, headstart")):
        ratios = [found[sets][place] / alone for sets in SETS]
        slope = np.log(ratios[-1] / ratios[-2]) / np.log(SETS[-1] / SETS[-2])
        print(f"| {name} | {' | '.join(f'{ratio:.1f}' for ratio in ratios)} | {slope:.1f} |")


if __name__ == "__main__":
    main()
