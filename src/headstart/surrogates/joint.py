"""One Gaussian process over the evaluations of all data sets, past and new: the common part of SCoT and MKLGP.

In both, the covariance of two evaluations is that of their data sets times that of their configurations,

    cov(f_D(λ), f_D'(λ')) = C_DD' · κ(λ, λ') / κ(λ, λ).

For the new data set, the history is then a sum of kernels at its u distinct configurations, however many rows it has.
It is factorised once, before the run; after that, predicting one configuration costs O((u + k)²).

| symbol   | name         | shape          | meaning                                                             |
| -------- | ------------ | -------------- | ------------------------------------------------------------------- |
| C        | `covariance` | (T + 1, T + 1) | between data sets, the new one last                                 |
| κ        | `kernel`     |                | SE-ARD of configurations on the new data set, amplitude C_new,new   |
| y        | `labels`     | (N,)           | losses of the N past evaluations, made comparable between data sets |
| U        | `points`     | (u, d)         | the distinct configurations of the past evaluations                 |
| W        | `W`          | (N, u)         | W κ(U, z) is their covariance with f_new(z)                         |
| K_y      | `K`          | (N, N)         | their own covariance, noise included: L Lᵀ                          |
| L⁻¹W     | `root`       | (≤ N, u)       | ‖root κ(U, z)‖² is the variance of f_new(z) that they explain       |
| WᵀK_y⁻¹y | `weights`    | (u,)           | of κ(U, z) in the mean that they predict                            |
| R        | `R`          | (k, k)         | R Rᵀ: covariance of the run's k trials given the history, and noise |
| J        | `J`          | (k, u + k)     | R J κ(·, z): their covariance with f_new(z) given the history       |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from headstart._support.arguments import whole
from headstart._support.types import Array, Rows
from headstart.gp import LEAST_VARIANCE, Kernel, Prediction
from headstart.gp.linalg import cholesky, solve_lower
from headstart.history import Features
from headstart.space.rows import distinct
from headstart.surrogates.base import Acquisition
from headstart.transfer.models import TaskModels
from headstart.transfer.weights import feature_vectors, has_features

# Labels ------------------------------------------------------------------------------------------------


class Labels(NamedTuple):
    """The values (n,) that the process learns in place of losses, and the way back: loss = offset + scale · label."""

    values: Array
    offset: float
    scale: float


class Labeller(Protocol):
    """Turns the losses of one data set into labels that are comparable between data sets."""

    def __call__(self, Z: Array, losses: Array) -> Labels: ...


# The history -------------------------------------------------------------------------------------------


class PastEvaluations(NamedTuple):
    """PastEvaluations of all past data sets, one row each."""

    X: Array  # (N, d), encoded configurations
    tasks: Rows  # (N,), positions of their data sets in the history
    labels: Array  # (N,)

    @classmethod
    def of(cls, models: TaskModels, label: Labeller) -> PastEvaluations:
        """Every evaluation of the history; losses are labelled data set by data set."""
        designs = [models.history.design(name) for name in models.history.tasks]
        labels = [label(X, losses).values for X, losses in zip(designs, models.losses, strict=True)]
        tasks = np.repeat(np.arange(len(designs)), [len(X) for X in designs])
        return cls(np.concatenate(designs), tasks, np.concatenate(labels))

    def sample(self, most: int, *, rng: np.random.Generator) -> PastEvaluations:
        """All rows, or `most` of them at random, as evenly over the data sets as their sizes allow."""
        if len(self.tasks) <= most:
            return self
        turn = np.concatenate([rng.permutation(size) for size in np.bincount(self.tasks)])
        kept = np.sort(np.lexsort((rng.random(len(self.tasks)), turn))[:most])
        return PastEvaluations(self.X[kept], self.tasks[kept], self.labels[kept])


def check_rows(max_rows: int, fit_rows: int) -> None:
    """Both limits must allow two evaluations, the fewest to learn from."""
    whole("max_rows", max_rows, 2)
    whole("fit_rows", fit_rows, 2)


def task_vectors(models: TaskModels, features: Features | None) -> Array | None:
    """Meta-features of the past data sets and, in the last row, of the new one: (T + 1, n). None if they share none.

    They are standardised over the past data sets, and unknown values count as average. Values of the new data set are
    clipped to the range of the past ones: kernels interpolate, so a data set far from all others would learn nothing
    from them.
    """
    if not has_features(models, features):
        return None
    M, new = feature_vectors(models, features)
    M = np.nan_to_num(M, nan=0.0)
    return np.vstack([M, np.clip(new, M.min(axis=0), M.max(axis=0))])


@dataclass(frozen=True, eq=False)
class JointPrior:
    """The new data set's process given the past evaluations; build it with `JointPrior.fit`."""

    kernel: Kernel
    points: Array  # U (u, d)
    root: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def fit(cls, kernel: Kernel, covariance: Array, evaluations: PastEvaluations) -> JointPrior:
        """Condition on past evaluations; kernel.amplitude must be the new data set's own covariance."""
        X, tasks, labels = evaluations
        points, place = distinct(X)
        K = kernel(X, X) * (covariance[np.ix_(tasks, tasks)] / kernel.amplitude)
        K[np.diag_indices(len(X))] += kernel.noise
        L, _ = cholesky(K)
        W = np.zeros((len(X), len(points)))
        W[np.arange(len(X)), place] = covariance[tasks, -1] / kernel.amplitude
        root = solve_lower(L, W)
        weights = root.T @ solve_lower(L, labels)
        if len(root) > len(points):
            root = np.asarray(np.linalg.qr(root, mode="r"))  # same Gram matrix, fewer rows
        return cls(kernel, points, root, weights)


# The run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointGP:
    """The process of the new data set, given the past evaluations and the run's configurations, but not its labels."""

    prior: JointPrior
    X: Array  # (k, d), the run's configurations
    R: Array = field(repr=False)
    J: Array = field(repr=False)

    @classmethod
    def at(cls, prior: JointPrior, X: Array) -> JointGP:
        root, kernel = prior.root, prior.kernel
        explained = root @ kernel(prior.points, X)
        R, _ = cholesky(kernel.gram(X) - explained.T @ explained)
        return cls(prior, X, R, solve_lower(R, np.hstack([-explained.T @ root, np.eye(len(X))])))

    def extend(self, z: Array) -> JointGP:
        """The process with one more trial, in O((u + k)²): the next row of R and of J."""
        kernel = self.prior.kernel
        k, u = len(self.X), len(self.prior.points)
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
        return JointGP(self.prior, np.vstack([self.X, z]), R, J)

    def weights(self, labels: Array) -> Array:
        """γ (u + k,): the mean is κ(z, ·) γ, given the labels of the run's trials."""
        gamma = np.append(self.prior.weights, np.zeros(len(self.X)))
        expected = self.prior.kernel(self.X, self.prior.points) @ self.prior.weights
        return np.asarray(gamma + solve_lower(self.R, labels - expected) @ self.J)

    def predict(self, Z: Array, gamma: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the labels at the rows of Z, without noise."""
        K = self._covariances(Z)
        return gamma @ K, np.sqrt(self._variance(*self._explain(K)))

    def predict_with_gradients(self, Z: Array, gamma: Array) -> Prediction:
        """Mean and standard deviation of the labels with their gradients by the rows of Z."""
        kernel = self.prior.kernel
        K = self._covariances(Z)
        left = kernel.left(np.vstack([self.prior.points, self.X]))
        by_past, by_run = self._explain(K)
        variance = self._variance(by_past, by_run)
        std = np.sqrt(variance)
        B = self.J.T @ by_run  # the variance is κ** − Kᵀ B with B = (rootᵀ root + JᵀJ) K, so ∂ = −2 (∂K)ᵀ B
        B[: len(self.prior.points)] += self.prior.root.T @ by_past
        free = variance > LEAST_VARIANCE * kernel.amplitude
        std_gradient = np.where(free[:, None], -kernel.contract(K * B, Z, left) / std[:, None], 0.0)
        return Prediction(gamma @ K, std, kernel.contract(K * gamma[:, None], Z, left), std_gradient)

    def _covariances(self, Z: Array) -> Array:
        """κ of the past configurations and the run's with the rows of Z: (u + k, m)."""
        return self.prior.kernel(np.vstack([self.prior.points, self.X]), Z)

    def _explain(self, K: Array) -> tuple[Array, Array]:
        """Factors whose squares are the variance that the history explains, and the run's trials beyond it."""
        return self.prior.root @ K[: len(self.prior.points)], self.J @ K

    def _variance(self, by_past: Array, by_run: Array) -> Array:
        explained = np.einsum("ij,ij->j", by_past, by_past) + np.einsum("ij,ij->j", by_run, by_run)
        amplitude = self.prior.kernel.amplitude
        return np.asarray(np.maximum(amplitude - explained, LEAST_VARIANCE * amplitude))


@dataclass(frozen=True, eq=False)
class JointModel:
    """A process trained on past evaluations. rows, total: how many it learned from, and how many there are."""

    prior: JointPrior
    label: Labeller
    rows: int
    total: int

    from_nothing = True

    @classmethod
    def train(
        cls,
        kernel: Kernel,
        covariance: Array,
        evaluations: PastEvaluations,
        label: Labeller,
        *,
        max_rows: int,
        rng: np.random.Generator,
    ) -> JointModel:
        """Condition on the evaluations, or on a sample of max_rows of them."""
        used = evaluations.sample(max_rows, rng=rng)
        return cls(JointPrior.fit(kernel, covariance, used), label, len(used.labels), len(evaluations.labels))

    @property
    def notes(self) -> str:
        """The size of the training data. The cost of a step grows with the number of distinct configurations."""
        of = "all" if self.rows == self.total else f"{self.rows:,} (a seeded sample) of"
        return f"{of} {self.total:,} past evaluations, {len(self.prior.points):,} distinct configurations"

    def fit(self, Z: Array, losses: Array) -> JointPosterior:
        """Learn from the run's own trials. Without any, predictions rest on the history alone, in units of labels."""
        return JointPosterior(self, JointGP.at(self.prior, Z), losses)


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """The process after the run's trials. Each new trial changes the labels of all of them."""

    model: JointModel
    gp: JointGP
    losses: Array

    @cached_property
    def labels(self) -> Labels:
        if not len(self.losses):
            return Labels(np.empty(0), 0.0, 1.0)
        return self.model.label(self.gp.X, self.losses)

    @cached_property
    def gamma(self) -> Array:
        return self.gp.weights(self.labels.values)

    @cached_property
    def best(self) -> float:
        """The lowest predicted label at the trials; without trials, that of an average configuration."""
        return float(self.gp.predict(self.gp.X, self.gamma)[0].min()) if len(self.losses) else 0.0

    def predict(self, Z: Array) -> tuple[Array, Array]:
        mean, std = self.gp.predict(Z, self.gamma)
        return self.labels.offset + self.labels.scale * mean, self.labels.scale * std

    def extend(self, z: Array, loss: float) -> JointPosterior:
        return JointPosterior(self.model, self.gp.extend(z), np.append(self.losses, loss))

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return acquisition(*self.gp.predict(Z, self.gamma), self.best)

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        return acquisition.climb(self.gp.predict_with_gradients(Z, self.gamma), self.best)
