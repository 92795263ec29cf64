"""The past tasks as draws from one population of functions, whose mean and covariance are learned from all of them.

The losses of each task become normal scores, so that tasks on any scale can be compared and no diverged trial flattens
the rest. In a basis of M functions, every task is a vector of weights, and the tasks are draws from one normal
distribution, estimated by expectation maximisation:

    y_D = f_D(λ) + noise,    f_D(λ) = φ(λ)ᵀ w_D,    w_D ~ N(μ, Σ).

So a task borrows what it did not try itself from the tasks that it resembles. This is a hierarchical Gaussian process
with a learned mean and covariance, as in Wang et al., *Pre-trained Gaussian processes for Bayesian optimization*
(2021), fitted like that of Schwaighofer, Tresp and Yu, *Learning Gaussian process kernels via hierarchical Bayes*
(2004).

| symbol | name         | shape  | meaning                                                                    |
| ------ | ------------ | ------ | -------------------------------------------------------------------------- |
| y_D    | `Y`          | (n, t) | normal scores of the losses of the t tasks that share a design             |
| κ      | `kernel`     |        | Matérn kernel, with the noise, by marginal likelihood over all tasks       |
| u_i    | `points`     | (M, d) | configurations that define the basis                                       |
| φ(λ)   | `basis`      | (m, M) | L⁻¹ κ(u, λ) with L Lᵀ = κ(u, u), so that φ(λ)ᵀ φ(λ′) ≈ κ(λ, λ′)            |
| μ      | `mean`       | (M,)   | mean of the tasks' weights                                                 |
| Σ      | `covariance` | (M, M) | covariance of the tasks' weights                                           |
| w_D    | `weights`    | (T, M) | expected weights of each task                                              |
| F      | `at(Z)`      | (m, T) | expected scores of m configurations on all tasks, φ(λ)ᵀ w_D                |
| —      | `shares`     | (T,)   | share of the history's tasks that each one stands for; they sum to 1       |
| q_D    | `quantiles`  |        | what the scores are worth on each task (`quantiles.py`)                    |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array, Rows
from headstart.gp import Fit, Kernel, Matern, fit_kernel, share_designs
from headstart.gp.linalg import cholesky, solve_cholesky, solve_lower, solve_lower_transposed
from headstart.transfer.quantiles import Quantiles
from headstart.transfer.ranks import normal_scores

# The first guesses, which nothing that was tried improved; `benchmarks/suite.py --sweep` prints what each is worth.
BASIS = 300  # M, the most functions in the basis
ROUNDS = 6  # of expectation maximisation
STRENGTH = 5.0  # ν: the stationary kernel counts for as much in Σ as this many tasks
PULL = 0.5  # the mean is pulled to 0 as if by this many tasks with scores of 0

# Limits that bound the cost on large histories; guesses.
MOST_TASKS = 100  # tasks that get a vector of weights
MOST_ROWS = 300  # evaluations of one task, drawn at random
MOST_POINTS = 4000  # configurations from which those of the basis are chosen
HOW = Fit(kind=Matern, max_total=1500)  # evaluations to which the hyperparameters are fitted
LEAST = 1e-4  # share of a basis function's variance below which it would add nothing but rounding error
SKETCH = 32  # functions in the basis with which tasks are compared when there are too many
COMPARED = 2000  # tasks among which representatives are chosen


class _Group(NamedTuple):
    """The tasks that share a design."""

    basis: Array  # Φ (n, M)
    noise: Array  # (n,) noise of the scores, plus the part of κ outside the basis
    Y: Array  # (n, t)
    tasks: Rows  # (t,)


@dataclass(frozen=True, eq=False)
class Population:
    """Mean, covariance and members of the population of tasks. Build it with `Population.of`."""

    kernel: Kernel
    points: Array = field(repr=False)
    L: Array = field(repr=False)  # (M, M), lower triangular
    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)
    weights: Array = field(repr=False)
    shares: Array = field(repr=False)
    tasks: Rows  # positions of the T tasks in the history
    quantiles: Quantiles = field(repr=False)

    @classmethod
    def of(cls, designs: Sequence[Array], losses: Sequence[Array], *, rng: np.random.Generator) -> Population:
        """Learn from designs X (n, d) and their losses (n,), task by task; NaN marks a failed trial.

        Of more than MOST_TASKS tasks, those that stand for most others are kept.
        """
        drawn = [_drawn(len(X), rng) for X in designs]
        X = [np.asarray(x)[rows] for x, rows in zip(designs, drawn, strict=True)]
        Y = [normal_scores(y)[rows] for y, rows in zip(losses, drawn, strict=True)]
        few = evenly(len(X), MOST_TASKS)
        kernel = fit_kernel([(X[i], Y[i]) for i in few], HOW, rng=rng)
        kept, shares = _representatives(kernel, X, Y, rng)
        points = spread_points(kernel, np.concatenate([X[i] for i in kept]), BASIS, rng=rng)
        L = _factor(kernel, points)
        groups = _grouped(kernel, points, L, [X[i] for i in kept], [Y[i] for i in kept])
        mean, covariance, weights = _maximised(groups, shares)
        quantiles = Quantiles.of([losses[i] for i in kept])
        return cls(kernel, points, L, mean, covariance, weights, shares, kept, quantiles)

    def __len__(self) -> int:
        return len(self.weights)

    def with_opposites(self, share: float) -> Population:
        """All tasks and, after them, the opposite of each: −f_D. The opposites have this share together."""
        return replace(
            self,
            weights=np.concatenate([self.weights, -self.weights]),
            shares=np.concatenate([(1 - share) * self.shares, share * self.shares]),
            tasks=np.concatenate([self.tasks, self.tasks]),
            quantiles=Quantiles(np.concatenate([self.quantiles.slopes, self.quantiles.slopes])),
        )

    def at(self, Z: Array) -> Array:
        """F at the rows of Z, (m, T)."""
        return self.kernel(Z, self.points) @ self.to_scores

    def losses_at(self, Z: Array) -> Array:
        """Scaled losses that belong to F at the rows of Z, up to a constant of each task: (m, T)."""
        return self.quantiles.at(self.at(Z))

    @cached_property
    def left(self) -> Array:
        """The points' factor in any κ (`Kernel.left`)."""
        return self.kernel.left(self.points)

    @cached_property
    def to_scores(self) -> Array:
        """B (M, T) with F = κ(λ, u) B."""
        return solve_lower_transposed(self.L, self.weights.T)

    @cached_property
    def to_root(self) -> Array:
        """Q (M, M) with κ(λ, u) Q Qᵀ κ(u, λ′) = φ(λ)ᵀ Σ φ(λ′)."""
        return solve_lower_transposed(self.L, cholesky(self.covariance)[0])


# -- expectation maximisation --------------------------------------------------------------------------------


def _factor(kernel: Kernel, points: Array) -> Array:
    """L with L Lᵀ = κ(u, u), plus what keeps it well conditioned."""
    return cholesky(kernel(points, points) + LEAST * kernel.amplitude * np.eye(len(points)))[0]


def _grouped(kernel: Kernel, points: Array, L: Array, X: Sequence[Array], Y: Sequence[Array]) -> list[_Group]:
    rows, shared = share_designs(X, Y)
    basis = solve_lower(L, kernel(points, rows)).T
    outside = np.maximum(kernel.amplitude - np.einsum("ij,ij->i", basis, basis), 0.0)
    return [_Group(basis[g.rows], kernel.noise + outside[g.rows], g.Y, g.tasks) for g in shared]


def _maximised(groups: Sequence[_Group], shares: Array) -> tuple[Array, Array, Array]:
    """μ, Σ and the expected weights of all tasks, (T, M), after ROUNDS of expectation maximisation.

    The prior is p(μ, Σ) ∝ |Σ|^(−ν/2) exp(−½ tr Σ⁻¹ (ν I + PULL μ μᵀ)): Σ around the identity, that is, around the
    stationary kernel κ, and μ around 0.
    """
    M, T = groups[0].basis.shape[1], len(shares)
    counts = shares * T
    mean, covariance, weights = np.zeros(M), np.eye(M), np.zeros((T, M))
    prior = STRENGTH * np.eye(M)
    for _ in range(ROUNDS):
        uncertainty = np.zeros((M, M))  # Σ_D cov(w_D | y_D)
        for group in groups:
            weights[group.tasks], posterior = _expected(group, mean, covariance)
            uncertainty += counts[group.tasks].sum() * posterior
        mean = counts @ weights / (T + PULL)
        deviations = weights - mean
        scatter = (deviations.T * counts) @ deviations + PULL * np.outer(mean, mean)
        covariance = (scatter + uncertainty + prior) / (T + STRENGTH)
        covariance = 0.5 * (covariance + covariance.T)
    return mean, covariance, weights


def _expected(group: _Group, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Expected weights (t, M) of a group's tasks given their scores, and their covariance (M, M), which they share."""
    half = group.basis @ covariance  # Φ Σ
    K = half @ group.basis.T
    K[np.diag_indices(len(K))] += group.noise
    gain = solve_cholesky(cholesky(K)[0], half)  # K⁻¹ Φ Σ
    residuals = group.Y - (group.basis @ mean)[:, None]
    return mean + residuals.T @ gain, covariance - half.T @ gain


# -- which configurations and tasks to keep ------------------------------------------------------------------


def spread_points(kernel: Kernel, X: Array, most: int, *, rng: np.random.Generator) -> Array:
    """At most `most` rows of X, each the one that the kernel predicts worst from those before it.

    This is the order of a Cholesky factorisation with pivoting.
    """
    X = np.unique(X, axis=0)
    if len(X) > MOST_POINTS:
        X = X[np.sort(rng.choice(len(X), MOST_POINTS, replace=False))]
    left, right = kernel.left(X), kernel.right(X)
    unexplained = np.full(len(X), kernel.amplitude)
    factor = np.zeros((len(X), min(most, len(X))))
    chosen: list[int] = []
    while len(chosen) < factor.shape[1]:
        i = int(np.argmax(settled(unexplained / kernel.amplitude, DIGITS)))
        if unexplained[i] < LEAST * kernel.amplitude:
            break
        k = len(chosen)
        column = kernel.product(left[i : i + 1], right)[0] - factor[:, :k] @ factor[i, :k]
        factor[:, k] = column / np.sqrt(unexplained[i])
        unexplained = np.maximum(unexplained - factor[:, k] ** 2, 0.0)
        chosen.append(i)
    return np.asarray(X[chosen])


def _representatives(
    kernel: Kernel, X: Sequence[Array], Y: Sequence[Array], rng: np.random.Generator
) -> tuple[Rows, Array]:
    """The tasks to keep, and the share of all tasks that each of them stands for.

    Of many tasks, those are kept that lie closest to all others: greedily, each one lowers the total distance of the
    tasks to their nearest representative most (a k-medoids start). Distances are between the tasks' weights in a
    small basis.
    """
    T = len(X)
    if T <= MOST_TASKS:
        return np.arange(T), np.full(T, 1.0 / T)
    some = evenly(T, COMPARED)
    points = spread_points(kernel, np.concatenate([X[i] for i in evenly(T, MOST_TASKS)]), SKETCH, rng=rng)
    sketches = np.empty((len(some), len(points)))
    groups = _grouped(kernel, points, _factor(kernel, points), [X[i] for i in some], [Y[i] for i in some])
    for group in groups:
        sketches[group.tasks] = _ridge(group)
    squares = np.einsum("ij,ij->i", sketches, sketches)
    gaps = squares[:, None] + squares[None] - 2 * sketches @ sketches.T
    distance = np.sqrt(np.maximum(settled(gaps, DIGITS), 0.0))
    nearest = np.full(len(some), distance.max() + 1.0)
    chosen: list[int] = []
    for _ in range(MOST_TASKS):
        total = np.minimum(distance, nearest[:, None]).sum(axis=0)
        total[chosen] = np.inf
        chosen.append(int(np.argmin(total)))
        nearest = np.minimum(nearest, distance[:, chosen[-1]])
    chosen.sort()
    stands_for = np.bincount(distance[:, chosen].argmin(axis=1), minlength=len(chosen))
    return some[chosen], stands_for / stands_for.sum()


def _ridge(group: _Group) -> Array:
    """Expected weights (t, M) under the prior N(0, I)."""
    scaled = group.basis / group.noise[:, None]
    L, _ = cholesky(group.basis.T @ scaled + np.eye(scaled.shape[1]))
    return solve_cholesky(L, scaled.T @ group.Y).T


def _drawn(n: int, rng: np.random.Generator) -> Rows:
    return np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))


def evenly(n: int, most: int) -> Rows:
    """At most `most` of the numbers 0 … n − 1, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
