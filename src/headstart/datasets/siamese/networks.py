"""The networks that turn a data set into a vector: Tables 1 and 2 of the paper, other poolings, and one for tables.

This is the only module that imports torch; the others take it from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headstart._support.types import Array
from headstart.datasets.siamese.inputs import DataSet, Points, Table, draw_rows
from headstart.errors import ArgumentError, MissingPackageError

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise MissingPackageError.of("a Siamese network", "torch", "deep") from error

__all__ = ["Recipe", "Tensor", "Wing", "new_wing", "one_thread", "torch"]

KINDS = ("points", "images", "tables")
POOLINGS = ("lstm", "mean", "attention")
READOUTS = ("final", "printed")
DRAWS = 8  # with "lstm", the embedding of a larger data set is the mean over this many samples of τ points
MOST_ROWS = 20_000  # otherwise all rows are embedded, or a fixed sample of this size
CELLS = 1 << 18  # numbers processed at once


@dataclass(frozen=True)
class Recipe:
    """The architecture of a wing. shape: of one point or image, () for tables. points: τ. size: of m_i.

    readout: which states of the biLSTM the next layer sees. "final" is each direction's final state: the forward one
    has read all points in order, the backward one in reverse. "printed" is h_τ of both directions, as in the paper's
    formulas: at position τ the backward direction has read only the last point.
    """

    kind: str
    shape: tuple[int, ...] = ()
    pooling: str = "lstm"
    points: int = 30
    size: int = 50
    readout: str = "final"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        if self.kind not in KINDS:
            raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, but got {self.kind!r}")
        if self.pooling not in POOLINGS:
            raise ArgumentError(f"pooling must be one of {', '.join(POOLINGS)}, but got {self.pooling!r}")
        if self.readout not in READOUTS:
            raise ArgumentError(f"readout must be one of {', '.join(READOUTS)}, but got {self.readout!r}")
        if len(self.shape) != {"points": 1, "images": 3, "tables": 0}[self.kind]:
            raise ArgumentError(f"{self.kind} cannot have the shape {self.shape}")
        for number in (*self.shape, self.points, self.size):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ArgumentError(f"shape, points and size must be whole numbers of at least 1, but got {number!r}")
        if self.kind == "images" and min(self.shape[1:]) < 4:
            raise ArgumentError(f"images must be at least 4 × 4, because they are halved twice, but got {self.shape}")

    def see(self, X: Any, y: Any = None) -> DataSet:
        """A data set in the form that the wing takes; a Points or Table stays as it is."""
        if self.kind == "tables":
            return X if isinstance(X, Table) else Table.of(X, y)
        data = X if isinstance(X, Points) else Points.of(X, 1 + len(self.shape))
        if data.shape != self.shape:
            raise ArgumentError(f"this model is for {self.kind} of shape {self.shape}, but got {data.shape}")
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

    The paper does not mention padding; here the convolutions keep the size, so that only pooling shrinks the images.
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
    """A shared embedding of the cells, averaged over the non-missing cells of each row; then a layer for rows."""

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
    """biLSTM 300: each direction's final hidden state, or the states of both at the last point, h_τ^F and h_τ^B."""

    def __init__(self, width: int, readout: str = "final") -> None:
        super().__init__()
        self.width, self.readout = 600, readout
        self.lstm = nn.LSTM(width, 300, batch_first=True, bidirectional=True)

    def forward(self, items: Tensor) -> Tensor:
        states, (hidden, _) = self.lstm(items)
        if self.readout == "printed":
            at_last: Tensor = states[:, -1]
            return at_last
        return torch.cat([hidden[0], hidden[1]], dim=1)


class Mean(nn.Module):
    """The mean over the points."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, items: Tensor) -> Tensor:
        return items.mean(dim=1)


class Attention(nn.Module):
    """A weighted mean over the points, with weights softmax(v · tanh(W h)), next to the plain mean."""

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
POOLS: dict[str, type[Mean] | type[Attention]] = {
    "mean": Mean,
    "attention": Attention,
}


class Wing(nn.Module):
    """Data sets → meta-features, (B, 50). Both wings of a Siamese network share one instance."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.encoder = ENCODERS[recipe.kind](recipe.shape)
        width = self.encoder.width
        self.pool = LastStates(width, recipe.readout) if recipe.pooling == "lstm" else POOLS[recipe.pooling](width)
        extra = 3 if recipe.kind == "tables" else 0  # a table's sizes, which are lost in a mean
        self.fc3 = nn.Linear(self.pool.width + extra, 100)
        self.fc4 = nn.Linear(100, recipe.size)

    def forward(self, sets: Sequence[DataSet]) -> Tensor:
        """The sets must have the same number of rows."""
        return self.head(self.encoder(sets), sets)

    def head(self, items: Tensor, sets: Sequence[DataSet]) -> Tensor:
        pooled: Tensor = self.pool(items)
        sizes = [data.sizes for data in sets if isinstance(data, Table)]
        if sizes:
            pooled = torch.cat([pooled, torch.from_numpy(np.stack(sizes)) / 5], dim=1)
        out: Tensor = self.fc4(torch.relu(self.fc3(pooled)))
        return out

    def embed(self, data: DataSet) -> Array:
        """The embedding of one data set: of all its points, or with "lstm" of fixed samples of τ points."""
        rng = np.random.default_rng(0)
        with one_thread(), torch.no_grad():
            if self.recipe.pooling == "lstm":
                few = len(data) <= self.recipe.points
                draws = [data] if few else [data.draw(self.recipe.points, rng=rng) for _ in range(DRAWS)]
                embedding = torch.cat([self([draw]) for draw in draws]).mean(dim=0)
            else:
                whole = data if len(data) <= MOST_ROWS else data.rows(draw_rows(len(data), MOST_ROWS, rng=rng))
                items = torch.cat([self.encoder([part]) for part in _parts(whole)], dim=1)
                embedding = self.head(items, [data])[0]
        return np.asarray(embedding.numpy(), dtype=float)


def _stacked(sets: Sequence[Points]) -> Tensor:
    return torch.from_numpy(np.stack([data.values for data in sets]))


def _parts(data: DataSet) -> Iterator[DataSet]:
    """The rows in parts of about `CELLS` numbers, to bound the memory."""
    width = math.prod(data.values.shape[1:])
    edges = [*range(0, len(data), max(1, CELLS // width)), len(data)]
    for low, high in pairwise(edges):
        yield data.rows(slice(low, high))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: the same result on every machine, and the other cores stay free."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def new_wing(recipe: Recipe, *, seed: int) -> Wing:
    """A wing with random weights that depend only on the seed (line 1 of Algorithm 2)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Wing(recipe)
