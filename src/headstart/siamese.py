"""Siamese networks: a distance between data sets, learned from the data sets themselves.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017). Two wings with
the same weights turn two data sets into vectors whose Euclidean distance is to be the target distance between them.

| symbol   | name     | shape       | meaning                                                               |
| -------- | -------- | ----------- | --------------------------------------------------------------------- |
| D_i      | `sets`   |             | data sets: points, images (Tables 1 and 2 of the paper) or tables      |
| m_i      |          | (50,)       | meta-features of D_i: the output of a wing                             |
| d_target | `target` | (pairs,)    | what ‖m_i − m_j‖ is to be (`distances.py`)                             |
| β, τ     | `pairs`, `points` |    | pairs of data sets, and points of each of them, that one step sees     |

The paper reads the points of a data set one after another (biLSTM), though a data set has no order. Pooling by mean
or attention has none either. For tables there is a network that the paper has not: a shared embedding of the cells
(`embedding.py`), pooled over the columns of a row and then over rows, so that it takes any width and any classes.

The only module that imports torch, and everything that needs it is here. Model files hold raw arrays and JSON.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart.embedding import Points, Table, described, draw_rows, named
from headstart.files import read_arrays, write_arrays
from headstart.history import History
from headstart.parameters import Array
from headstart.progress import Progress

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError("the Siamese networks need torch: pip install 'headstart[deep]'", name="torch") from error

__all__ = ["Curve", "Model", "Pairs", "Recipe", "Training", "Wing", "fit", "torch", "train"]

DataSet: TypeAlias = Points | Table
Weights: TypeAlias = dict[str, npt.NDArray[Any]]

KINDS = ("points", "images", "tables")
POOLINGS = ("lstm", "mean", "attention")
DRAWS = 8  # samples of τ points over which the embedding of a larger data set is averaged, where order matters
MOST_ROWS = 20_000  # of a data set that is embedded as a whole; of a larger one, a fixed sample
CELLS = 1 << 18  # numbers that are worked on at once


# -- the networks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """What a wing is made of. shape: of one point or image, () for tables. points: τ. size: of m_i."""

    kind: str
    shape: tuple[int, ...] = ()
    pooling: str = "lstm"
    points: int = 30
    size: int = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, but got {self.kind!r}")
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, but got {self.pooling!r}")
        if len(self.shape) != {"points": 1, "images": 3, "tables": 0}[self.kind]:
            raise ValueError(f"{self.kind} cannot have the shape {self.shape}")
        for number in (*self.shape, self.points, self.size):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"shape, points and size must be whole numbers of at least 1, but got {number!r}")
        if self.kind == "images" and min(self.shape[1:]) < 4:
            raise ValueError(f"images must be at least 4 × 4, since they are halved twice, but got {self.shape}")

    def see(self, X: Any, y: Any = None) -> DataSet:
        """A data set in the form that the wing takes; one that is in this form already stays as it is."""
        if self.kind == "tables":
            return X if isinstance(X, Table) else Table.of(X, y)
        data = X if isinstance(X, Points) else Points.of(X, 1 + len(self.shape))
        if data.shape != self.shape:
            raise ValueError(f"this model was made for {self.kind} of shape {self.shape}, but got {data.shape}")
        return data


class PointEncoder(nn.Module):
    """Table 1: fc1 300, fc2 300."""

    width = 300

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(shape[0], 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU())

    def forward(self, sets: Sequence[Points]) -> Tensor:
        out: Tensor = self.layers(_stacked(sets))
        return out


class ImageEncoder(nn.Module):
    """Table 2: conv1 5 × 5 × 32, conv2 5 × 5 × 64, each with 2 × 2 max pooling; fc1 1000, fc2 300.

    The paper does not say what happens at the border; here it is padded, so that only pooling makes images smaller.
    """

    width = 300

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        channels, height, width = shape
        self.layers = nn.Sequential(
            *(nn.Conv2d(channels, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            nn.Flatten(),
            *(nn.Linear(64 * (height // 4) * (width // 4), 1000), nn.ReLU()),
            *(nn.Linear(1000, 300), nn.ReLU()),
        )

    def forward(self, sets: Sequence[Points]) -> Tensor:
        images = _stacked(sets)
        out: Tensor = self.layers(images.flatten(0, 1))
        return out.reshape(len(sets), -1, self.width)


class TableEncoder(nn.Module):
    """A shared embedding of cells (value, label), averaged over the columns that a row has; then a layer for rows."""

    width = 128

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.cells = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.rows = nn.Sequential(nn.Linear(64, 128), nn.ReLU())

    def forward(self, sets: Sequence[Table]) -> Tensor:
        cells, rows = zip(*(table.cells() for table in sets), strict=True)
        n = len(sets[0])
        row = torch.from_numpy(np.concatenate([r + i * n for i, r in enumerate(rows)]))
        values: Tensor = self.cells(torch.from_numpy(np.concatenate(cells)))
        sums = values.new_zeros(len(sets) * n, values.shape[1]).index_add(0, row, values)
        counts = torch.bincount(row, minlength=len(sets) * n).clamp(min=1)
        out: Tensor = self.rows(sums / counts[:, None])
        return out.reshape(len(sets), n, self.width)


class LastStates(nn.Module):
    """biLSTM 300: what either direction has in mind after its last point, h_τ^F and h_τ^B."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = 600
        self.lstm = nn.LSTM(width, 300, batch_first=True, bidirectional=True)

    def forward(self, items: Tensor) -> Tensor:
        _, (hidden, _) = self.lstm(items)
        return torch.cat([hidden[0], hidden[1]], dim=1)


class Mean(nn.Module):
    """The average point."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, items: Tensor) -> Tensor:
        return items.mean(dim=1)


class Attention(nn.Module):
    """A weighted average of the points, its weights softmax(v · tanh(W h)), next to the plain one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = 2 * width
        self.score = nn.Sequential(nn.Linear(width, 100), nn.Tanh(), nn.Linear(100, 1))

    def forward(self, items: Tensor) -> Tensor:
        weights = torch.softmax(self.score(items), dim=1)
        return torch.cat([(weights * items).sum(dim=1), items.mean(dim=1)], dim=1)


ENCODERS: dict[str, type[PointEncoder] | type[ImageEncoder] | type[TableEncoder]] = {
    "points": PointEncoder,
    "images": ImageEncoder,
    "tables": TableEncoder,
}
POOLS: dict[str, type[LastStates] | type[Mean] | type[Attention]] = {
    "lstm": LastStates,
    "mean": Mean,
    "attention": Attention,
}


class Wing(nn.Module):
    """Data sets to meta-features, (B, 50). Both wings of the Siamese network are this one."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.encoder = ENCODERS[recipe.kind](recipe.shape)
        self.pool = POOLS[recipe.pooling](self.encoder.width)
        extra = 3 if recipe.kind == "tables" else 0  # a table's sizes, which no average shows
        self.fc3 = nn.Linear(self.pool.width + extra, 100)
        self.fc4 = nn.Linear(100, recipe.size)

    def forward(self, sets: Sequence[DataSet]) -> Tensor:
        """sets: all with the same number of rows."""
        return self.head(self.encoder(sets), sets)

    def head(self, items: Tensor, sets: Sequence[DataSet]) -> Tensor:
        pooled: Tensor = self.pool(items)
        sizes = [data.sizes for data in sets if isinstance(data, Table)]
        if sizes:
            pooled = torch.cat([pooled, torch.from_numpy(np.stack(sizes)) / 5], dim=1)
        out: Tensor = self.fc4(torch.relu(self.fc3(pooled)))
        return out

    def embed(self, data: DataSet) -> Array:
        """m of one data set, always the same: of all its points, or where order matters of samples of τ points."""
        rng = np.random.default_rng(0)
        with one_thread(), torch.no_grad():
            if self.recipe.pooling == "lstm":
                few = len(data) <= self.recipe.points
                draws = [data] if few else [data.draw(self.recipe.points, rng=rng) for _ in range(DRAWS)]
                m = torch.cat([self([draw]) for draw in draws]).mean(dim=0)
            else:
                whole = data if len(data) <= MOST_ROWS else data.rows(draw_rows(len(data), MOST_ROWS, rng=rng))
                items = torch.cat([self.encoder([part]) for part in _parts(whole)], dim=1)
                m = self.head(items, [data])[0]
        return np.asarray(m.numpy(), dtype=float)


def _stacked(sets: Sequence[Points]) -> Tensor:
    return torch.from_numpy(np.stack([data.array for data in sets]))


def _parts(data: DataSet) -> Iterator[DataSet]:
    """The rows, as many at once as memory bears."""
    width = data.Z.shape[1] if isinstance(data, Table) else math.prod(data.shape)
    edges = [*range(0, len(data), max(1, CELLS // width)), len(data)]
    for low, high in pairwise(edges):
        yield data.rows(slice(low, high))


@contextmanager
def one_thread() -> Iterator[None]:
    """The same result on every machine, and no crowding where cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# -- training ------------------------------------------------------------------------------------------------


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
                raise ValueError(f"{name} must be at least 1, but got {getattr(self, name)}")
        if not (self.rate > 0 and self.decay >= 0):
            raise ValueError(f"rate must be above 0 and decay not below, but got {self.rate} and {self.decay}")


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
            raise ValueError(f"the loss is no longer finite after {self.step} steps; lower the rate")
        self.since += 1
        if held_out < self.lowest:
            self.lowest, self.since, self.best = held_out, 0, _copied(self.wing)

    def save(self, path: str | os.PathLike[str]) -> None:
        arrays: Weights = {"curve": np.array(self.rows)}
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


def new_wing(recipe: Recipe, *, seed: int) -> Wing:
    """A wing with weights drawn by the seed (line 1 of Algorithm 2)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Wing(recipe)


def train(
    datasets: Mapping[str, Any],
    target: Array,
    recipe: Recipe,
    training: Training | None = None,
    *,
    held_out: float | Sequence[str] = 0.2,
    seed: int = 0,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    info: Mapping[str, Any] | None = None,
) -> Model:
    """A model of the distances between data sets.

    datasets: name → (X, y) for tables, X for points and images. target: (n, n), in their order (`task_distances`).
    held_out: data sets that are never trained on and say when to stop: their names, or what share of all.
    """
    names = list(datasets)
    if np.shape(target) != (len(names), len(names)) or not np.isfinite(target).all() or (np.asarray(target) < 0).any():
        raise ValueError(f"target must hold the distances between all {len(names)} data sets, none below 0")
    sets = [recipe.see(*data) if isinstance(data, tuple) else recipe.see(data) for data in datasets.values()]
    out = _held_out(names, held_out, seed)
    if (~out).sum() < 2 or not out.any():
        raise ValueError(
            f"of {len(names)} data sets, {out.sum()} are held out; at least 2 must train and 1 be held out"
        )
    both_in = ~out[:, None] & ~out[None, :]
    unit = float(np.mean(Pairs.of(target, both_in).target)) or 1.0  # distances of about 1 train best
    scaled = np.asarray(target, dtype=float) / unit
    wing = new_wing(recipe, seed=seed)
    # A new data set is compared with those trained on, so pairs with one held-out partner count, too.
    train_pairs, test_pairs = Pairs.of(scaled, both_in), Pairs.of(scaled, ~both_in)
    curve = fit(
        wing, sets, train_pairs, test_pairs, training or Training(), seed=seed, progress=progress, checkpoint=checkpoint
    )
    with torch.no_grad():
        wing.fc4.weight.mul_(unit)  # back to the units of the target
        wing.fc4.bias.mul_(unit)
    embeddings = {name: wing.embed(data) for name, data in zip(names, sets, strict=True)}
    kept_out = [name for name, is_out in zip(names, out, strict=True) if is_out]
    return Model(wing, embeddings, curve, {**(info or {}), "seed": seed, "held_out": kept_out})


def _held_out(names: Sequence[str], held_out: float | Sequence[str], seed: int) -> npt.NDArray[np.bool_]:
    if isinstance(held_out, (int, float)):
        if not 0 < held_out < 1:
            raise ValueError(f"held_out must be a share between 0 and 1, or names, but got {held_out}")
        count = max(1, round(held_out * len(names)))
        held_out = [names[i] for i in np.random.default_rng(seed).choice(len(names), count, replace=False)]
    if unknown := set(held_out) - set(names):
        raise ValueError(f"there is no data set {min(unknown)!r} to hold out")
    return np.array([name in set(held_out) for name in names])


# -- the model -----------------------------------------------------------------------------------------------

FORMAT = "headstart metric"


@dataclass(frozen=True, eq=False)
class Model:
    """A trained wing, the embeddings of the data sets it was trained on, and how the training went."""

    wing: Wing
    embeddings: Mapping[str, Array]
    curve: Curve
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        return self.wing.recipe

    @cached_property
    def fingerprint(self) -> str:
        """Says which model an embedding is from: those of two models have nothing to do with each other."""
        digest = hashlib.sha256()
        for name, array in sorted(self._weights().items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:6]

    def embed(self, X: Any, y: Any = None) -> Array:
        """m of a data set, (50,)."""
        return self.wing.embed(self.recipe.see(X, y))

    def features(self, X: Any, y: Any = None) -> dict[str, float]:
        """The same as named numbers, for `features=` of a search."""
        return named(self.embed(X, y), self.fingerprint)

    def distance(self, a: Any, b: Any) -> float:
        """The learned distance between two data sets, each (X, y) for tables and X for points and images."""
        first, second = (self.embed(*data) if isinstance(data, tuple) else self.embed(data) for data in (a, b))
        return float(np.linalg.norm(first - second))

    def describe(self, history: History) -> History:
        """The history with the embeddings among its meta-features, for the tasks that have the names of data sets."""
        known = [name for name in history.tasks if name in self.embeddings]
        if not known:
            raise ValueError(
                f"no task of the history is a data set that the model was trained on "
                f"(the first ones: {history.tasks[:3]} and {list(self.embeddings)[:3]})"
            )
        tasks = dict(history.by_name)
        for name in known:
            features = named(self.embeddings[name], self.fingerprint)
            tasks[name] = replace(tasks[name], features=described(tasks[name].features or {}, features))
        return replace(history, by_name=tasks)

    def _weights(self) -> Weights:
        return {name: tensor.detach().numpy() for name, tensor in self.wing.state_dict().items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """One file: raw arrays and a JSON header."""
        arrays = {f"weights {name}": array for name, array in self._weights().items()}
        arrays["embeddings"] = np.array(list(self.embeddings.values())).reshape(-1, self.recipe.size)
        arrays["curve"] = self.curve.rows()
        header = {"format": FORMAT, "version": 1, "recipe": asdict(self.recipe), "names": list(self.embeddings)}
        write_arrays(path, {**header, "info": dict(self.info)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """What `save` wrote. Anything else is refused, and nothing in it is run."""
        header, arrays = read_arrays(path, "a model of headstart")
        if header.get("format") != FORMAT or header.get("version") != 1:
            raise ValueError(f"{path} is not a model of headstart, or one of a version that is not known")
        try:
            recipe = Recipe(**header["recipe"])
            embeddings = np.asarray(arrays.pop("embeddings"), dtype=float)
            if embeddings.shape != (len(header["names"]), recipe.size) or not np.isfinite(embeddings).all():
                raise ValueError("its embeddings do not fit its names")
            curve = Curve.of([tuple(row) for row in arrays.pop("curve")])
            wing = _wing_with(recipe, {name.removeprefix("weights "): array for name, array in arrays.items()})
            return cls(wing, dict(zip(header["names"], embeddings, strict=True)), curve, dict(header["info"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{path} is a damaged model: {error}") from error


def _wing_with(recipe: Recipe, weights: Weights) -> Wing:
    """A wing with these weights; memory is only taken once they are known to fit."""
    with torch.device("meta"):
        wing = Wing(recipe)
    for name, tensor in wing.state_dict().items():
        array = weights.get(name)
        if array is None or array.shape != tuple(tensor.shape) or array.dtype != np.float32:
            raise ValueError(f"its weights {name!r} are missing or have another shape")
        if not np.isfinite(array).all():
            raise ValueError(f"its weights {name!r} are not all finite")
    wing.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()}, assign=True)
    return wing
