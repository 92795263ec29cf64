"""One Gaussian process over the evaluations of all data sets, past and new: what SCoT and MKLGP have in common.

In both, the covariance of two evaluations is that of their data sets times that of their configurations,

    cov(f_D(λ), f_D'(λ')) = C_DD' · κ(λ, λ') / κ(λ, λ),

so that to the new data set the past is a sum of kernels at its u distinct configurations, however many rows
it has. It is factorised once, before the run; a step then costs O((u + k)²) for each configuration predicted.

| symbol   | name         | shape          | meaning                                                           |
| -------- | ------------ | -------------- | ----------------------------------------------------------------- |
| C        | `covariance` | (T + 1, T + 1) | between data sets, the new one last                               |
| κ        | `kernel`     |                | SE-ARD of configurations on the new data set, amplitude C_new,new |
| U        | `points`     | (u, d)         | the distinct configurations of the N past rows                    |
| W        | —            | (N, u)         | W κ(U, z) is the covariance of the past rows with f_new(z)        |
| K_y      | —            | (N, N)         | covariance of the past rows, noise included: L Lᵀ                 |
| L⁻¹W     | `root`       | (≤ N, u)       | |root κ(U, z)|² is the variance of f_new(z) the past explains     |
| WᵀK_y⁻¹y | `weights`    | (u,)           | of κ(U, z) in the mean the past predicts                          |
| R        | `R`          | (k, k)         | R Rᵀ: covariance of the run's k trials given the past, and noise  |
| J        | `J`          | (k, u + k)     | R J κ(·, z): their covariance with f_new(z) given the past        |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from headstart._support.types import Array, Rows
from headstart.errors import ArgumentError
from headstart.gp import LEAST_VARIANCE, Kernel
from headstart.gp.linalg import cholesky, solve_lower
from headstart.history import Features
from headstart.surrogates.base import Acquisition
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_vectors

# The past ----------------------------------------------------------------------------------------------


def need_history(models: TaskModels | None, name: str) -> TaskModels:
    """The past, or an error that says what to do without one."""
    if models is None:
        raise ArgumentError(
            f"surrogate={name!r} is trained on past runs; pass a history, or choose 'gp' or 'rf', which need none"
        )
    return models


class Evaluations(NamedTuple):
    """Evaluations of all past data sets, one row each."""

    X: Array  # (N, d), encoded configurations
    tasks: Rows  # (N,), places of their data sets in the history

    @classmethod
    def of(cls, models: TaskModels) -> Evaluations:
        sizes = [len(task) for task in models.history]
        rows = np.concatenate([task.rows for task in models.history])
        return cls(models.history.Z[rows], np.repeat(np.arange(len(sizes)), sizes))


def thin(tasks: Rows, most: int, *, rng: np.random.Generator) -> Rows:
    """Which rows to use: all, or `most` of them at random, as evenly over the data sets as their sizes allow."""
    if len(tasks) <= most:
        return np.arange(len(tasks))
    turn = np.concatenate([rng.permutation(size) for size in np.bincount(tasks)])
    return np.sort(np.lexsort((rng.random(len(tasks)), turn))[:most])


def task_vectors(models: TaskModels, features: Features | None) -> Array | None:
    """Meta-features of the past data sets and of the new one, in the last row: (T + 1, F). None: there are none.

    Standardised over the past. An unknown value counts as average, and one of the new data set outside the
    past's range as at its edge: kernels interpolate, and what is far from everything would inherit nothing.
    """
    M = models.history.feature_matrix()
    known = [np.isfinite((features or {}).get(name, np.nan)) for name in models.history.feature_names]
    if not (np.isfinite(M).any(axis=0) & np.array(known, dtype=bool)).any():
        return None
    M, new = feature_vectors(models, features)
    M = np.nan_to_num(M, nan=0.0)
    return np.vstack([M, np.clip(new, M.min(axis=0), M.max(axis=0))])


@dataclass(frozen=True, eq=False)
class JointPrior:
    """What the past data sets say about the new one; build it with `JointPrior.fit`."""

    kernel: Kernel
    points: Array  # U (u, d)
    root: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def fit(cls, kernel: Kernel, covariance: Array, rows: Evaluations, labels: Array) -> JointPrior:
        """Condition on the labels (N,) of the rows; kernel.amplitude must be the new data set's own covariance."""
        X, tasks = rows
        points, place = np.unique(X, axis=0, return_inverse=True)
        K = kernel(X, X) * (covariance[np.ix_(tasks, tasks)] / kernel.amplitude)
        K[np.diag_indices(len(X))] += kernel.noise
        L, _ = cholesky(K)
        W = np.zeros((len(X), len(points)))
        W[np.arange(len(X)), place.reshape(-1)] = covariance[tasks, -1] / kernel.amplitude
        root = solve_lower(L, W)
        weights = root.T @ solve_lower(L, labels)
        if len(root) > len(points):
            root = np.asarray(np.linalg.qr(root, mode="r"))  # the same Gram matrix, fewer rows
        return cls(kernel, points, root, weights)


# The run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointGP:
    """The process of the new data set, given the past and the places (not the labels) of the run's trials."""

    prior: JointPrior
    Z: Array  # (k, d)
    R: Array = field(repr=False)
    J: Array = field(repr=False)

    @classmethod
    def at(cls, prior: JointPrior, Z: Array) -> JointGP:
        root, kernel = prior.root, prior.kernel
        explained = root @ kernel(prior.points, Z)
        R, _ = cholesky(kernel.gram(Z) - explained.T @ explained)
        return cls(prior, Z, R, solve_lower(R, np.hstack([-explained.T @ root, np.eye(len(Z))])))

    def and_(self, z: Array) -> JointGP:
        """One trial more, in O((u + k)²): the next row of R and of J."""
        kernel = self.prior.kernel
        k, u = len(self.Z), len(self.prior.points)
        by_past, by_run = self._explain(self._covariances(z[None]))
        row, left = by_run[:, 0], float(self._variance(by_past, by_run)[0])
        pivot = np.sqrt(left + kernel.noise)
        R, J = np.zeros((k + 1, k + 1), order="F"), np.zeros((k + 1, u + k + 1))
        R[:k, :k], R[k, :k], R[k, k] = self.R, row, pivot
        J[:k, : u + k] = self.J
        J[k, :u] = -(by_past[:, 0] @ self.prior.root)
        J[k, : u + k] -= row @ self.J
        J[k, u + k] = 1.0
        J[k] /= pivot
        return JointGP(self.prior, np.vstack([self.Z, z]), R, J)

    def weights(self, labels: Array) -> Array:
        """γ (u + k,): the mean is κ(z, ·) γ, given the labels of the run's trials."""
        gamma = np.append(self.prior.weights, np.zeros(len(self.Z)))
        expected = self.prior.kernel(self.Z, self.prior.points) @ self.prior.weights
        return np.asarray(gamma + solve_lower(self.R, labels - expected) @ self.J)

    def predict(self, Z: Array, gamma: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (without noise) of the new data set's labels at the rows of Z."""
        K = self._covariances(Z)
        return gamma @ K, np.sqrt(self._variance(*self._explain(K)))

    def predict_with_gradients(self, Z: Array, gamma: Array) -> tuple[Array, Array, Array, Array]:
        """Mean (m,), standard deviation (m,), and the gradients of both with respect to the rows of Z, (m, d)."""
        kernel = self.prior.kernel
        K = self._covariances(Z)
        left = kernel.left(np.vstack([self.prior.points, self.Z]))
        by_past, by_run = self._explain(K)
        variance = self._variance(by_past, by_run)
        std = np.sqrt(variance)
        V = self.J.T @ by_run  # the variance is κ** − Kᵀ V with V = (rootᵀ root + JᵀJ) K, so ∂ = −2 (∂K)ᵀ V
        V[: len(self.prior.points)] += self.prior.root.T @ by_past
        free = variance > LEAST_VARIANCE * kernel.amplitude
        std_gradient = np.where(free[:, None], -kernel.contract(K * V, Z, left) / std[:, None], 0.0)
        return gamma @ K, std, kernel.contract(K * gamma[:, None], Z, left), std_gradient

    def _covariances(self, Z: Array) -> Array:
        """κ of the past's configurations and the run's with the rows of Z: (u + k, m)."""
        return self.prior.kernel(np.vstack([self.prior.points, self.Z]), Z)

    def _explain(self, K: Array) -> tuple[Array, Array]:
        return self.prior.root @ K[: len(self.prior.points)], self.J @ K

    def _variance(self, by_past: Array, by_run: Array) -> Array:
        explained = np.einsum("ij,ij->j", by_past, by_past) + np.einsum("ij,ij->j", by_run, by_run)
        amplitude = self.prior.kernel.amplitude
        return np.asarray(np.maximum(amplitude - explained, LEAST_VARIANCE * amplitude))


class Labels(NamedTuple):
    """What the process is told instead of losses, and the way back: loss = offset + scale · label."""

    values: Array
    offset: float
    scale: float


class Labeller(Protocol):
    """A run's losses → labels that can be compared between data sets."""

    def __call__(self, Z: Array, losses: Array) -> Labels: ...


@dataclass(frozen=True, eq=False)
class JointModel:
    """The past as the new data set sees it. rows, total: how many past evaluations it learned from, of all."""

    prior: JointPrior
    label: Labeller
    rows: int
    total: int

    @property
    def notes(self) -> str:
        """What the model learned from, and so what a step costs: it grows with the distinct configurations."""
        of = "all" if self.rows == self.total else f"{self.rows:,} (a seeded sample) of"
        return f"{of} {self.total:,} past evaluations, {len(self.prior.points):,} distinct configurations"

    def fit(self, Z: Array, losses: Array) -> JointPosterior:
        """Learn from the run's own trials; without any, the past alone speaks, in units of its labels."""
        return JointPosterior(self, JointGP.at(self.prior, Z), losses)


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """The process after the run's trials, whose labels are found anew whenever there is one more."""

    model: JointModel
    gp: JointGP
    losses: Array

    @cached_property
    def labels(self) -> Labels:
        if not len(self.losses):
            return Labels(np.empty(0), 0.0, 1.0)
        return self.model.label(self.gp.Z, self.losses)

    @cached_property
    def gamma(self) -> Array:
        return self.gp.weights(self.labels.values)

    @cached_property
    def best(self) -> float:
        """The lowest predicted label at the trials; without trials, that of an average configuration."""
        return float(self.gp.predict(self.gp.Z, self.gamma)[0].min()) if len(self.losses) else 0.0

    def predict(self, Z: Array) -> tuple[Array, Array]:
        mean, std = self.gp.predict(Z, self.gamma)
        return self.labels.offset + self.labels.scale * mean, self.labels.scale * std

    def extend(self, z: Array, loss: float) -> JointPosterior:
        return JointPosterior(self.model, self.gp.and_(z), np.append(self.losses, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.gp.predict(Z, self.gamma), self.best)

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        mean, std, mean_gradient, std_gradient = self.gp.predict_with_gradients(Z, self.gamma)
        value, by_mean, by_std = acquisition.slopes(mean, std, self.best)
        return value, by_mean[:, None] * mean_gradient + by_std[:, None] * std_gradient
