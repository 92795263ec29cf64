"""SCoT's original ranking: one ranker for all data sets, with an RBF kernel over configurations and meta-features.

Bardenet, Brendel, Kégl, Sebag: Collaborative hyperparameter tuning (2013). The ranker minimises

    ½|w|² + C · mean of max(0, 1 − wᵀ(φ(x_j) − φ(x_i)))²

over pairs of evaluations of one data set with f_i < f_j, where φ belongs to the kernel exp(−½|x − x'|²) of x = (λ,
m_D). How this differs from the original:

- The hinge is squared, so that Newton's method can minimise it exactly.
- φ is that of the kernel restricted to `ANCHORS` evaluations (Nyström), and at most `EACH` of a data set form pairs.
- The scale of λ and of m makes their median squared distance 1, instead of being tuned.
- The ranker learns from the run's trials after each of them, but the labels of the past data sets stay as they were.

| symbol | name      | shape  | meaning                                              |
| ------ | --------- | ------ | ---------------------------------------------------- |
| x      | `rows`    | (n, ·) | encoded configurations and meta-features, scaled     |
| φ(x)   | `phi`     | (n, a) | L⁻¹κ(anchors, x)                                     |
| w      | `w`       | (a,)   | score(x) = wᵀφ(x), lower is better                   |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from headstart._support.types import Array
from headstart.gp.linalg import cholesky, solve_lower
from headstart.surrogates.joint import Labels
from headstart.surrogates.ranking import pair_differences, rank_by_pairs, scored
from headstart.transfer.models import TaskModels

ANCHORS = 200  # guesses that bound the cost, like the next
EACH = 30


@dataclass(frozen=True, eq=False)
class JointRanker:
    """A ranker of all data sets, trained on the past ones; M (T + 1, n): meta-features, the new data set last."""

    C: float
    scale: tuple[float, float]  # of configurations and of meta-features
    anchors: Array = field(repr=False)
    L: Array = field(repr=False)
    pairs: Array = field(repr=False)  # (q, a), differences of φ of the past data sets
    w: Array = field(repr=False)
    new: Array = field(repr=False)

    @classmethod
    def of(cls, models: TaskModels, M: Array, C: float, *, rng: np.random.Generator) -> JointRanker:
        designs = [models.history.design(name) for name in models.history.tasks]
        kept = [rng.permutation(len(X))[:EACH] for X in designs]
        Z = np.concatenate([X[rows] for X, rows in zip(designs, kept, strict=True)])
        tasks = np.repeat(np.arange(len(designs)), [len(rows) for rows in kept])
        scale = _unit(Z), _unit(M[:-1])
        rows = np.hstack([Z * scale[0], M[tasks] * scale[1]])
        anchors = rows[np.sort(rng.permutation(len(rows))[:ANCHORS])]
        K = _kernel(anchors, anchors)
        L, _ = cholesky(K + 1e-6 * np.eye(len(K)))
        phi = solve_lower(L, _kernel(anchors, rows)).T
        losses = [values[rows] for values, rows in zip(models.losses, kept, strict=True)]
        pairs = np.concatenate([pair_differences(phi[tasks == t], y) for t, y in enumerate(losses)])
        return cls(C, scale, anchors, L, pairs, rank_by_pairs(pairs, C), M[-1])

    def phi(self, Z: Array, m: Array) -> Array:
        """φ of configurations (n, d) on the data set with these meta-features."""
        rows = np.hstack([Z * self.scale[0], np.tile(m * self.scale[1], (len(Z), 1))])
        return solve_lower(self.L, _kernel(self.anchors, rows)).T

    def past_labels(self, models: TaskModels, M: Array) -> Array:
        """Scores of all past evaluations, data set by data set."""
        designs = [models.history.design(name) for name in models.history.tasks]
        return np.concatenate([self.phi(X, m) @ self.w for X, m in zip(designs, M, strict=False)])

    def __call__(self, Z: Array, losses: Array) -> Labels:
        """Scores of the run's trials by the ranker that has learned from them, too."""
        phi = self.phi(Z, self.new)
        w = rank_by_pairs(np.vstack([self.pairs, pair_differences(phi, losses)]), self.C, self.w)
        return scored(phi @ w, losses)


def _kernel(a: Array, b: Array) -> Array:
    return np.asarray(np.exp(-0.5 * cdist(a, b, "sqeuclidean")))


def _unit(X: Array) -> float:
    """The factor that makes the median squared distance between rows 1."""
    if not X.shape[1]:
        return 1.0
    some = X[np.linspace(0, len(X) - 1, min(len(X), 300)).astype(int)]
    squares = cdist(some, some, "sqeuclidean")
    typical = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
    return float(typical**-0.5)
