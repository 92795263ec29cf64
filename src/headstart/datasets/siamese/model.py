"""A trained wing and its file, and how one is made from data sets and the distances they are to have."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.files import read_arrays, write_arrays
from headstart._support.types import Array
from headstart.datasets.embedding import described, named
from headstart.datasets.siamese.networks import Recipe, Wing, new_wing, torch
from headstart.datasets.siamese.training import Curve, Pairs, Training, fit
from headstart.errors import ArgumentError
from headstart.history import History

Weights: TypeAlias = dict[str, npt.NDArray[Any]]

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
            raise ArgumentError(
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
            raise ArgumentError(f"{path} is not a model of headstart, or one of a version that is not known")
        try:
            recipe = Recipe(**header["recipe"])
            embeddings = np.asarray(arrays.pop("embeddings"), dtype=float)
            if embeddings.shape != (len(header["names"]), recipe.size) or not np.isfinite(embeddings).all():
                raise ArgumentError("its embeddings do not fit its names")
            curve = Curve.of([tuple(row) for row in arrays.pop("curve")])
            wing = _wing_with(recipe, {name.removeprefix("weights "): array for name, array in arrays.items()})
            return cls(wing, dict(zip(header["names"], embeddings, strict=True)), curve, dict(header["info"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ArgumentError(f"{path} is a damaged model: {error}") from error


def _wing_with(recipe: Recipe, weights: Weights) -> Wing:
    """A wing with these weights; memory is only taken once they are known to fit."""
    with torch.device("meta"):
        wing = Wing(recipe)
    for name, tensor in wing.state_dict().items():
        array = weights.get(name)
        if array is None or array.shape != tuple(tensor.shape) or array.dtype != np.float32:
            raise ArgumentError(f"its weights {name!r} are missing or have another shape")
        if not np.isfinite(array).all():
            raise ArgumentError(f"its weights {name!r} are not all finite")
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
    """A model of the distances between data sets.

    datasets: name → (X, y) for tables, X for points and images. target: (n, n), in their order (`task_distances`).
    held_out: data sets that are never trained on and say when to stop: their names, or what share of all.
    """
    names = list(datasets)
    if np.shape(target) != (len(names), len(names)) or not np.isfinite(target).all() or (np.asarray(target) < 0).any():
        raise ArgumentError(f"target must hold the distances between all {len(names)} data sets, none below 0")
    sets = [recipe.see(*data) if isinstance(data, tuple) else recipe.see(data) for data in datasets.values()]
    out = _held_out(names, held_out, seed)
    if (~out).sum() < 2 or not out.any():
        raise ArgumentError(
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
            raise ArgumentError(f"held_out must be a share between 0 and 1, or names, but got {held_out}")
        count = max(1, round(held_out * len(names)))
        held_out = [names[i] for i in np.random.default_rng(seed).choice(len(names), count, replace=False)]
    if unknown := set(held_out) - set(names):
        raise ArgumentError(f"there is no data set {min(unknown)!r} to hold out")
    return np.array([name in set(held_out) for name in names])
