"""One Gaussian process for each task of a history, evaluated for all tasks together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from headstart._support.types import Array, Rows
from headstart.gp.arrays import as_matrix
from headstart.gp.designs import SharedDesign, share_designs
from headstart.gp.kernels import Kernel
from headstart.gp.linalg import cholesky, solve_cholesky


class _Block(NamedTuple):
    """Some of the distinct rows, with their coefficients α in the tasks that contain them."""

    left: Array  # (r, d + 2) the rows' factor of the kernel
    tasks: Rows  # (t,)
    alpha: Any  # (t, r) dense, or sparse where most entries are zero


@dataclass(frozen=True, eq=False)
class TaskGPs:
    """The Gaussian processes of all tasks of a history under one kernel. Build it with `TaskGPs.fit`.

    f_D(z) = mean_D + Σ_i α_iD κ(u_i, z), where u_i are the distinct rows of all designs and α_iD is zero if task D
    lacks row i. So the kernel is evaluated only once for a configuration that many tasks share. Rows come in blocks, in
    the order in which tasks first use them: if designs differ, a block concerns few tasks; if tasks share a design, the
    block's α is dense. Memory holds α and one block at a time.
    """

    kernel: Kernel
    means: Array  # (T,) the constant of each task's mean function
    rows: Array = field(repr=False)  # (u, d)
    groups: tuple[SharedDesign, ...] = field(repr=False)
    blocks: tuple[_Block, ...] = field(repr=False)

    # These trade memory for speed and do not change the predictions; all four are guesses.
    BLOCK = 1024  # rows in a block
    CHUNK = 256  # configurations predicted at once
    DENSE = 0.1  # a block's α is stored densely if a larger share of it than this is nonzero
    KEEP = 2**23  # the largest number of kernel values that `pullback` keeps for its second half

    @classmethod
    def fit(
        cls, designs: Sequence[Array], losses: Sequence[Array], kernel: Kernel, *, mean: float | None = None
    ) -> TaskGPs:
        """A process for each design X (n, d) and its losses y (n,); tasks with the same design share one factorisation.

        mean: the constant of the mean function (0 in the papers); None takes each task's average loss.
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
        order = used[np.argsort(first)]  # in order of first use
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
        """Posterior means of all tasks, (m, T), in the order in which the tasks were given."""
        Z = as_matrix(Z, "Z", self.kernel.width)
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, right in self._parts(Z):
            mean[block.tasks, part] += block.alpha @ self.kernel.product(block.left, right)
        return mean.T

    def pullback(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Posterior means (m, T), and the function W (m, T) ↦ Σ_D W_D ∂f_D(z)/∂z, (m, d).

        With W the derivatives of a function of the predictions, this is its gradient. It costs about as much as the
        predictions; the gradients of all tasks would cost d times as much.
        """
        Z = as_matrix(Z, "Z", self.kernel.width).copy()  # optimisers reuse their buffers
        if self._is_small and len(Z) <= self.CHUNK:
            return self._small_pullback(Z)
        kept = list(self._kernels(Z)) if len(Z) * len(self.rows) <= self.KEEP else None
        mean = np.repeat(self.means[:, None], len(Z), axis=1)
        for part, block, K, _ in kept or self._kernels(Z):
            mean[block.tasks, part] += block.alpha @ K

        def pull(W: Array) -> Array:
            total = np.zeros(Z.shape)
            for part, block, _, E in kept or self._kernels(Z):
                combined = block.alpha.T @ W[part].T[block.tasks]
                total[part] += self.kernel.contract(E * combined, Z[part], block.left)
            return total

        return mean.T, pull

    @cached_property
    def _is_small(self) -> bool:
        """Whether one dense block holds everything, so that `pullback` needs no loops."""
        if len(self.blocks) != 1:
            return False
        block = self.blocks[0]
        return len(block.tasks) == len(self) and isinstance(block.alpha, np.ndarray)

    def _small_pullback(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """The same for one dense block and a part of Z; it saves most of the time that a few rows take."""
        left, _, alpha = self.blocks[0]
        K, E = self.kernel.value_and_slope(left, self.kernel.right(Z))
        mean = self.means[:, None] + alpha @ K
        return mean.T, lambda W: self.kernel.contract(E * (alpha.T @ W.T), Z, left)

    def _kernels(self, Z: Array) -> Iterator[tuple[slice, _Block, Array, Array]]:
        """κ and η between every block and every part of Z."""
        for part, block, right in self._parts(Z):
            yield part, block, *self.kernel.value_and_slope(block.left, right)

    def _parts(self, Z: Array) -> Iterator[tuple[slice, _Block, Array]]:
        """Every block with every part of Z and the part's factor of the kernel."""
        for s in range(0, len(Z), self.CHUNK):
            part = slice(s, s + self.CHUNK)
            right = self.kernel.right(Z[part])
            for block in self.blocks:
                yield part, block, right
