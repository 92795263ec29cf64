"""Training a wing: Algorithm 2, with early stopping, and resumable."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headstart._support.files import read_arrays, write_arrays
from headstart._support.progress import Progress
from headstart._support.types import Array
from headstart.datasets.embedding import Table
from headstart.datasets.siamese.networks import DataSet, Tensor, Wing, one_thread, torch
from headstart.errors import ArgumentError


@dataclass(frozen=True)
class Training:
    """How a wing is trained. pairs: β. rate: of Adam. decay: of the weights (AdamW).

    The loss on held-out data sets is looked at every `every` steps; after `patience` looks without a lower one,
    training ends, and the weights are those of the lowest.
    """

    pairs: int = 32
    steps: int = 1000
    rate: float = 1e-3
    decay: float = 0.0
    every: int = 25
    patience: int = 10

    def __post_init__(self) -> None:
        for name in ("pairs", "steps", "every", "patience"):
            if not getattr(self, name) >= 1:
                raise ArgumentError(f"{name} must be at least 1, but got {getattr(self, name)}")
        if not (self.rate > 0 and self.decay >= 0):
            raise ArgumentError(f"rate must be above 0 and decay not below, but got {self.rate} and {self.decay}")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of data sets, by their places in a list, and the distances they are to have."""

    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    target: Array

    def __len__(self) -> int:
        return len(self.left)

    def take(self, which: npt.NDArray[np.intp]) -> Pairs:
        return Pairs(self.left[which], self.right[which], self.target[which])

    @classmethod
    def of(cls, target: Array, kept: npt.NDArray[np.bool_]) -> Pairs:
        """Every pair i < j that a mask (n, n) keeps."""
        left, right = np.nonzero(np.triu(kept, 1))
        return cls(left, right, target[left, right])


@dataclass(frozen=True, eq=False)
class Curve:
    """Losses while training: after so many steps, on training pairs (mean since the last look) and on held-out ones."""

    steps: npt.NDArray[np.int64]
    training: Array
    held_out: Array

    @classmethod
    def of(cls, rows: Sequence[tuple[int, float, float]]) -> Curve:
        table = np.array(rows, dtype=float).reshape(-1, 3)
        return cls(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])

    def rows(self) -> Array:
        return np.column_stack([self.steps, self.training, self.held_out])


def pair_losses(wing: Wing, sets: Sequence[DataSet], pairs: Pairs, *, rng: np.random.Generator) -> Tensor:
    """[d_target − ‖m_i − m_j‖₂]² of every pair, τ points of each data set being drawn."""
    which, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    M = wing([sets[int(i)].draw(wing.recipe.points, rng=rng) for i in which])  # once, however many pairs it is in
    left, right = torch.from_numpy(place[: len(pairs)]), torch.from_numpy(place[len(pairs) :])
    distance = torch.linalg.vector_norm(M[left] - M[right], dim=1)
    losses: Tensor = (torch.from_numpy(pairs.target.astype(np.float32)) - distance) ** 2
    return losses


def fit(
    wing: Wing,
    sets: Sequence[DataSet],
    training_pairs: Pairs,
    held_out_pairs: Pairs,
    training: Training,
    *,
    seed: int = 0,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Curve:
    """Algorithm 2: trains the wing in place; every step is drawn by (seed, step), so it can be continued anywhere.

    checkpoint: a file that is written now and then; if it is there and of the same job, training goes on from it.
    """
    job = _Job(wing, training, _job_digest(wing, sets, training_pairs, held_out_pairs, training, seed))
    if checkpoint is not None:
        job.resume(checkpoint)
    with one_thread(), Progress(training.steps, "training") if progress else nullcontext() as bar:
        if bar is not None:
            bar.advance(job.step)
        saved = time.monotonic()
        while job.step < training.steps and not job.finished:  # line 2
            rng = np.random.default_rng([seed, job.step])
            beta = rng.choice(len(training_pairs), min(training.pairs, len(training_pairs)), replace=False)  # line 3
            losses = pair_losses(wing, sets, training_pairs.take(beta), rng=rng)  # line 4
            job.update(losses.mean())  # line 5
            if job.step % training.every == 0 or job.step == training.steps:
                job.look(_held_out_loss(wing, sets, held_out_pairs, seed))
                if checkpoint is not None and time.monotonic() - saved > 10:
                    job.save(checkpoint)
                    saved = time.monotonic()
            if bar is not None:
                bar.advance(note=job.note)
    wing.load_state_dict(job.best)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    return Curve.of(job.rows)


def _held_out_loss(wing: Wing, sets: Sequence[DataSet], pairs: Pairs, seed: int, most: int = 256) -> float:
    """The mean loss of all held-out pairs, always with the same points."""
    rng = np.random.default_rng([seed, 2**32 - 1])
    with torch.no_grad():
        parts = [np.arange(i, min(i + most, len(pairs))) for i in range(0, len(pairs), most)]
        losses = torch.cat([pair_losses(wing, sets, pairs.take(part), rng=rng) for part in parts])
    return float(losses.mean())


class _Job:
    """Training under way: everything that changes from step to step."""

    def __init__(self, wing: Wing, training: Training, digest: str) -> None:
        self.wing, self.training, self.digest = wing, training, digest
        self.optimizer = torch.optim.AdamW(wing.parameters(), lr=training.rate, weight_decay=training.decay)
        self.step, self.lowest, self.since, self.note = 0, math.inf, 0, ""
        self.best = _copied(wing)
        self.recent: list[float] = []
        self.rows: list[tuple[int, float, float]] = []

    @property
    def finished(self) -> bool:
        return self.since >= self.training.patience

    def update(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.recent.append(float(loss.detach()))
        self.step += 1

    def look(self, held_out: float) -> None:
        self.rows.append((self.step, float(np.mean(self.recent)), held_out))
        self.note = f"loss {self.rows[-1][1]:.4f}, held out {held_out:.4f}"
        self.recent = []
        if not math.isfinite(held_out):
            raise ArgumentError(f"the loss is no longer finite after {self.step} steps; lower the rate")
        self.since += 1
        if held_out < self.lowest:
            self.lowest, self.since, self.best = held_out, 0, _copied(self.wing)

    def save(self, path: str | os.PathLike[str]) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {"curve": np.array(self.rows)}
        for name, tensors in (("now", _copied(self.wing)), ("best", self.best)):
            arrays |= {f"{name} {key}": tensor.numpy() for key, tensor in tensors.items()}
        for i, moments in self.optimizer.state_dict()["state"].items():
            arrays |= {f"adam {i} {key}": np.asarray(tensor) for key, tensor in moments.items()}
        header = {"format": "headstart training", "digest": self.digest, "step": self.step}
        write_arrays(path, {**header, "lowest": self.lowest, "since": self.since}, arrays)

    def resume(self, path: str | os.PathLike[str]) -> None:
        """Go on from a file that `save` wrote for the same job; anything else there is started over."""
        try:
            header, arrays = read_arrays(path, "a training under way")
        except (FileNotFoundError, ValueError):
            return
        if header.get("digest") != self.digest:
            return
        parts: dict[str, dict[str, Tensor]] = {"now": {}, "best": {}, "adam": {}}
        self.rows = [(int(row[0]), float(row[1]), float(row[2])) for row in arrays.pop("curve")]
        for name, array in arrays.items():
            part, _, key = name.partition(" ")
            parts[part][key] = torch.from_numpy(array.copy())
        self.wing.load_state_dict(parts["now"])
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["adam"].items():
            i, _, key = name.partition(" ")
            state.setdefault(int(i), {})[key] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        self.best, self.step = parts["best"], int(header["step"])
        self.lowest, self.since = float(header["lowest"]), int(header["since"])


def _copied(wing: Wing) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in wing.state_dict().items()}


def _job_digest(
    wing: Wing, sets: Sequence[DataSet], train: Pairs, held_out: Pairs, training: Training, seed: int
) -> str:
    """What a training depends on."""
    digest = hashlib.sha256(repr((wing.recipe, training, seed)).encode())
    for data in sets:
        digest.update((data.Z if isinstance(data, Table) else data.array).tobytes())
    for pairs in (train, held_out):
        for column in (pairs.left, pairs.right, pairs.target):
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
