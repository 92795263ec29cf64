"""The processes of all tasks of a history, in blocks of tasks that share a design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from headstart._support.types import Array
from headstart.gp.arrays import as_matrix
from headstart.gp.designs import SharedDesign, share_designs
from headstart.gp.kernels import Kernel
from headstart.gp.linalg import cholesky, solve_cholesky
from headstart.gp.process import GP


class _Block(NamedTuple):
    """Some distinct rows, and what they weigh in the tasks they occur in."""

    left: Array  # (r, d + 2), the rows' factor of the kernel
    tasks: npt.NDArray[np.intp]  # (t,)
    alpha: Any  # (t, r), a dense array or, where most of it would be zero, a sparse one


@dataclass(frozen=True, eq=False)
class TaskGPs:
    """The Gaussian processes of all tasks of a history under one kernel; build it with `TaskGPs.fit`.

    f_D(z) = mean_D + Σ_i α_iD κ(u_i, z), where u_i runs over the distinct rows of all designs and α_iD is
    zero where task D lacks row i. So a configuration that many tasks share meets the kernel only once. Rows
    are taken in blocks in the order in which tasks use them, so that a block concerns few tasks when designs
    differ and its weights are dense when designs are shared. Memory: the weights, and one block at a time.
    """

    kernel: Kernel
    means: Array  # (tasks,), the constant of each task's mean function
    rows: Array = field(repr=False)  # (u, d)
    groups: tuple[SharedDesign, ...] = field(repr=False)
    blocks: tuple[_Block, ...] = field(repr=False)

    BLOCK = 1024  # rows in a block
    CHUNK = 256  # configurations predicted at once
    DENSE = 0.1  # weights with a larger share of nonzeros than this are stored densely
    KEEP = 2**23  # numbers `pullback` may keep for its second half

    @classmethod
    def fit(
        cls, designs: Sequence[Array], losses: Sequence[Array], kernel: Kernel, *, mean: float | None = None
    ) -> TaskGPs:
        """A process for each design X (n, d) and losses y (n,); tasks with the same design share the work.

        mean: the constant of the mean function (the papers' is 0); None takes each task's average loss.
        """
        rows, groups = share_designs(designs, losses)
        as_matrix(rows, "designs", kernel.width)
        means = np.full(len(losses), 0.0 if mean is None else mean)
        if mean is None:
            means = np.array([np.mean(y) if len(y) else 0.0 for y in losses])
        values, places, tasks = [np.empty(0)], [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for group in groups:
            L, _ = cholesky(kernel.gram(rows[group.rows]))
            values.append(solve_cholesky(L, group.Y - means[group.tasks]).ravel())
            places.append(np.repeat(group.rows, len(group.tasks)))
            tasks.append(np.tile(group.tasks, len(group.rows)))
        coordinates = (np.concatenate(tasks), np.concatenate(places))
        alpha = sparse.csc_array((np.concatenate(values), coordinates), shape=(len(designs), len(rows)))
        used, first = np.unique(coordinates[1], return_index=True)
        order = used[np.argsort(first)]  # of first use
        blocks = cls._blocks(kernel.left(rows[order]), alpha[:, order])
        return cls(kernel, means, rows, tuple(groups), tuple(blocks))

    @classmethod
    def _blocks(cls, left: Array, alpha: Any) -> Iterator[_Block]:
        for s in range(0, len(left), cls.BLOCK):
            part = alpha[:, s : s + cls.BLOCK].tocsr()
            concerned = np.flatnonzero(np.diff(part.indptr))
            part = part[concerned]
            dense = part.nnz > cls.DENSE * part.shape[0] * part.shape[1]
            yield _Block(left[s : s + cls.BLOCK], concerned, part.toarray() if dense else part)

    def __len__(self) -> int:
        return len(self.means)

    def predict(self, Z: Array) -> Array:
        """Posterior means of all tasks, (m, tasks), in the order in which tasks were given."""
        Z = as_matrix(Z, "Z", self.kernel.width)
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, right in self._parts(Z):
            mean[block.tasks, part] += block.alpha @ self.kernel.product(block.left, right)
        return mean.T

    def std(self, Z: Array) -> Array:
        """Posterior standard deviations (without noise), (m, tasks).

        Factorises every distinct design again: keeping the factors of 1,000 designs would take a gigabyte.
        """
        out = np.empty((len(Z), len(self)))
        for group in self.groups:
            nothing = np.zeros((len(group.rows), 0))  # the std does not depend on the losses
            out[:, group.tasks] = GP.fit(self.kernel, self.rows[group.rows], nothing).predict(Z)[1][:, None]
        return out

    def predict_with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Posterior means (m, tasks), and their gradients with respect to the rows of Z, (m, tasks, d)."""
        Z = as_matrix(Z, "Z", self.kernel.width)
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        gradient = np.zeros((len(self), len(Z), self.kernel.width))
        for part, block, K, E in self._kernels(Z):
            mean[block.tasks, part] += block.alpha @ K
            F = block.alpha @ E
            for j, z in enumerate((Z[part] / self.kernel.lengthscales).T):  # as in Kernel.contract
                gradient[block.tasks, part, j] += block.alpha @ (E * block.left[:, j, None]) - F * z
        return mean.T, gradient.transpose(1, 0, 2) / self.kernel.lengthscales

    def pullback(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Posterior means (m, tasks), and the function W (m, tasks) ↦ Σ_D W_D ∂f_D(z)/∂z, (m, d).

        That is all the gradient of a loss of the predictions needs (W: its derivatives by them), and it
        costs about as much as the predictions, whereas `predict_with_gradient` costs d times as much.
        """
        Z = as_matrix(Z, "Z", self.kernel.width).copy()  # optimisers reuse their buffers
        kept = list(self._kernels(Z)) if len(Z) * len(self.rows) <= self.KEEP else None
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, K, _ in kept or self._kernels(Z):
            mean[block.tasks, part] += block.alpha @ K

        def pull(W: Array) -> Array:
            total = np.zeros(Z.shape)
            for part, block, _, E in kept or self._kernels(Z):
                weights = block.alpha.T @ W[part].T[block.tasks]
                total[part] += self.kernel.contract(E * weights, Z[part], block.left)
            return total

        return mean.T, pull

    def _kernels(self, Z: Array) -> Iterator[tuple[slice, _Block, Array, Array]]:
        """κ(block, part of Z) and η for every block and part."""
        for part, block, right in self._parts(Z):
            yield part, block, *self.kernel.value_and_slope(block.left, right)

    def _parts(self, Z: Array) -> Iterator[tuple[slice, _Block, Array]]:
        """Every block with every part of Z, as the part's factor of the kernel."""
        for s in range(0, len(Z), self.CHUNK):
            part = slice(s, s + self.CHUNK)
            right = self.kernel.right(Z[part])
            for block in self.blocks:
                yield part, block, right
