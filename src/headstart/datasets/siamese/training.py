"""Trains a wing: Algorithm 2 with early stopping. An interrupted training can be resumed."""

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
from headstart._support.types import Array, Mask, Rows
from headstart.datasets.siamese.inputs import DataSet
from headstart.datasets.siamese.networks import Tensor, Wing, one_thread, torch
from headstart.errors import ArgumentError, FormatError

SAVE_EVERY = 10  # seconds between checkpoints


@dataclass(frozen=True)
class Training:
    """How to train a wing. pairs: β. rate: the learning rate. decay: the weight decay of AdamW.

    The loss on held-out data sets is evaluated every `every` steps. Training stops after `patience` evaluations without
    improvement, and keeps the weights with the lowest loss.
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
            raise ArgumentError(f"rate must be above 0 and decay at least 0, but got {self.rate} and {self.decay}")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of data sets, by their positions in a list, and their target distances."""

    left: Rows
    right: Rows
    target: Array

    def __len__(self) -> int:
        return len(self.left)

    def take(self, which: Rows) -> Pairs:
        return Pairs(self.left[which], self.right[which], self.target[which])

    @classmethod
    def of(cls, target: Array, kept: Mask) -> Pairs:
        """All pairs i < j where the mask `kept` (n, n) is true, with their entries of `target` (n, n)."""
        left, right = np.nonzero(np.triu(kept, 1))
        return cls(left, right, target[left, right])


@dataclass(frozen=True, eq=False)
class Curve:
    """The learning curve: steps, mean loss on training pairs since the last evaluation, loss on held-out pairs."""

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
    """[d_target − ‖m_i − m_j‖₂]² of every pair, from τ random points of each data set."""
    which, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    M = wing([sets[int(i)].draw(wing.recipe.points, rng=rng) for i in which])  # each data set once
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
    """Algorithm 2: trains the wing in place. The random draws of a step depend only on (seed, step).

    checkpoint: a file to save the state in from time to time. If it exists and belongs to the same training, that
    training is resumed.
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
                job.evaluate(_held_out_loss(wing, sets, held_out_pairs, seed))
                if checkpoint is not None and time.monotonic() - saved > SAVE_EVERY:
                    job.save(checkpoint)
                    saved = time.monotonic()
            if bar is not None:
                bar.advance(note=job.note)
    wing.load_state_dict(job.best)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    return Curve.of(job.rows)


def _held_out_loss(wing: Wing, sets: Sequence[DataSet], pairs: Pairs, seed: int, most: int = 256) -> float:
    """The mean loss of all held-out pairs, on the same points every time."""
    rng = np.random.default_rng([seed, 2**32 - 1])
    with torch.no_grad():
        parts = [np.arange(i, min(i + most, len(pairs))) for i in range(0, len(pairs), most)]
        losses = torch.cat([pair_losses(wing, sets, pairs.take(part), rng=rng) for part in parts])
    return float(losses.mean())


class _Job:
    """The state of a training: everything that changes from step to step."""

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

    def evaluate(self, held_out: float) -> None:
        """Records the loss on held-out pairs."""
        self.rows.append((self.step, float(np.mean(self.recent)), held_out))
        self.note = f"loss {self.rows[-1][1]:.4f}, held out {held_out:.4f}"
        self.recent = []
        if not math.isfinite(held_out):
            raise ArgumentError(
                f"the loss is no longer finite after {self.step} steps", "lower the learning rate with {rate}"
            )
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
        """Resumes from a file that `save` wrote for the same training; any other file is ignored."""
        try:
            header, arrays = read_arrays(path, "a checkpoint of headstart")
        except (FileNotFoundError, FormatError):
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
    """Identifies a training by everything that its result depends on."""
    digest = hashlib.sha256(repr((wing.recipe, training, seed)).encode())
    for data in sets:
        digest.update(data.values.tobytes())
    for pairs in (train, held_out):
        for column in (pairs.left, pairs.right, pairs.target):
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
