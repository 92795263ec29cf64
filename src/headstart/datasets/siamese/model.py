"""Trains a model on data sets and their target distances; applies, saves and loads it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.files import read_arrays, understanding, write_arrays
from headstart._support.types import Array, Mask
from headstart.datasets.naming import described, named
from headstart.datasets.siamese.networks import Recipe, Wing, new_wing, torch
from headstart.datasets.siamese.training import Curve, Pairs, Training, fit
from headstart.errors import ArgumentError, FormatError, HistoryError
from headstart.history import History

Weights: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT = "headstart metric"


@dataclass(frozen=True, eq=False)
class Model:
    """A trained wing, the embeddings of its data sets, and its learning curve."""

    wing: Wing
    embeddings: Mapping[str, Array]
    curve: Curve
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        return self.wing.recipe

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the model, because embeddings by different models cannot be compared."""
        digest = hashlib.sha256(b"" if self.recipe.readout == "final" else self.recipe.readout.encode())
        for name, array in sorted(self._weights().items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:6]

    def embed(self, X: Any, y: Any = None) -> Array:
        """The embedding of a data set, (50,)."""
        return self.wing.embed(self.recipe.see(X, y))

    def features(self, X: Any, y: Any = None) -> dict[str, float]:
        """The embedding as named numbers, for `features=` of a search."""
        return named(self.embed(X, y), self.fingerprint)

    def distance(self, a: Any, b: Any) -> float:
        """The learned distance between two data sets: each (X, y) for tables, X for points and images."""
        first, second = (self.embed(*data) if isinstance(data, tuple) else self.embed(data) for data in (a, b))
        return float(np.linalg.norm(first - second))

    def describe(self, history: History) -> History:
        """The history with embeddings among its meta-features, for tasks with the names of the model's data sets."""
        known = [name for name in history.tasks if name in self.embeddings]
        if not known:
            raise HistoryError(
                "no task of the history is a data set that the model was trained on; "
                f"the first tasks are {history.tasks[:3]}, the first data sets {list(self.embeddings)[:3]}"
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
        """Reads a file that `save` wrote. No code in the file is run."""
        header, arrays = read_arrays(path, "a model of headstart")
        if header.get("format") != FORMAT or header.get("version") != 1:
            raise FormatError(f"{path} is not a model of headstart, or it is of an unknown version")
        with understanding(f"{path} is a damaged model"):
            recipe = Recipe(**header["recipe"])
            embeddings = np.asarray(arrays.pop("embeddings"), dtype=float)
            if embeddings.shape != (len(header["names"]), recipe.size) or not np.isfinite(embeddings).all():
                raise FormatError("its embeddings do not fit its names")
            curve = Curve.of([tuple(row) for row in arrays.pop("curve")])
            wing = _wing_with(recipe, {name.removeprefix("weights "): array for name, array in arrays.items()})
            return cls(wing, dict(zip(header["names"], embeddings, strict=True)), curve, dict(header["info"]))


def _wing_with(recipe: Recipe, weights: Weights) -> Wing:
    """A wing with these weights; memory is allocated only after they are known to fit."""
    with torch.device("meta"):
        wing = Wing(recipe)
    for name, tensor in wing.state_dict().items():
        array = weights.get(name)
        if array is None or array.shape != tuple(tensor.shape) or array.dtype != np.float32:
            raise FormatError(f"its weights {name!r} are missing or have another shape")
        if not np.isfinite(array).all():
            raise FormatError(f"its weights {name!r} are not all finite")
    wing.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()}, assign=True)
    return wing


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
    """Trains a model of the distances between data sets.

    datasets: name → (X, y) for tables, X for points and images. target: (n, n), in the same order, as from
    `headstart.transfer.models.task_distances`. held_out: data sets that are not trained on and decide when to stop,
    as names or as a share of all. checkpoint: see `fit`.
    """
    names = list(datasets)
    if np.shape(target) != (len(names), len(names)) or not np.isfinite(target).all() or (np.asarray(target) < 0).any():
        raise ArgumentError(f"target must hold finite distances ≥ 0 between all {len(names)} data sets")
    sets = [recipe.see(*data) if isinstance(data, tuple) else recipe.see(data) for data in datasets.values()]
    out = _held_out(names, held_out, seed)
    if (~out).sum() < 2 or not out.any():
        raise ArgumentError(
            f"of {len(names)} data sets, {out.sum()} are held out; "
            "at least 1 must be held out and at least 2 left for training"
        )
    both_in = ~out[:, None] & ~out[None, :]
    unit = float(np.mean(Pairs.of(target, both_in).target)) or 1.0  # training works best with distances near 1
    scaled = np.asarray(target, dtype=float) / unit
    wing = new_wing(recipe, seed=seed)
    # A new data set will be compared with those trained on, so pairs with only one held-out partner count, too.
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


def _held_out(names: Sequence[str], held_out: float | Sequence[str], seed: int) -> Mask:
    """Which data sets are held out."""
    if isinstance(held_out, (int, float)):
        if not 0 < held_out < 1:
            raise ArgumentError(f"held_out must be a share between 0 and 1, or a list of names, but got {held_out}")
        count = max(1, round(held_out * len(names)))
        held_out = [names[i] for i in np.random.default_rng(seed).choice(len(names), count, replace=False)]
    if unknown := set(held_out) - set(names):
        raise ArgumentError(f"held_out names {min(unknown)!r}, which is not one of the data sets")
    return np.array([name in set(held_out) for name in names])
