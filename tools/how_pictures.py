"""Draws the pictures of docs/how.md from the shipped history of support vector machines: python tools/how_pictures.py

Only the RBF kernel is shown, so that a data set is a surface over two parameters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import headstart as hs
from headstart.report import figures
from headstart.surrogates.mixture import Mixture
from headstart.transfer.models import TaskModels

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
NEW = "phoneme"
SHOWN = ["letter", "segment", "vehicle", "ionosphere", "sonar-scale", "satimage"]
COLOURS = "viridis_r"  # of the rank: yellow is the best


def rbf() -> hs.History:
    """The history of C and gamma alone."""
    frame = hs.library.load("svm").to_frame()
    frame = frame[frame["kernel"] == "rbf"]
    space = hs.Space({"C": hs.Float(2**-5, 2**6, log=True), "gamma": hs.Float(1e-4, 1e3, log=True)})
    return hs.History.from_frame(frame[["task", "C", "gamma", "value"]], space)


def surface(axes: Any, history: hs.History, values: np.ndarray, title: str) -> None:
    """A heat map over the grid of configurations, yellow where the result is good."""
    Z = history.space.encode_values(history.V[history[history.tasks[0]].rows])
    side = [np.unique(Z[:, j]) for j in range(2)]
    grid = np.empty((len(side[1]), len(side[0])))
    grid[np.searchsorted(side[1], Z[:, 1]), np.searchsorted(side[0], Z[:, 0])] = values
    axes.pcolormesh(*side, grid, cmap=COLOURS, shading="nearest", rasterized=True)
    axes.set(title=title, xticks=[0, 1], xticklabels=["$2^{-5}$", "$2^6$"], yticks=[0, 1])
    axes.set(yticklabels=["$10^{-4}$", "$10^3$"])
    axes.set_xlabel("C", labelpad=-8)
    axes.set_ylabel("gamma", labelpad=-14)
    axes.grid(visible=False)


def ranked(losses: np.ndarray) -> np.ndarray:
    """The share of configurations that are better."""
    return np.searchsorted(np.sort(losses), losses) / len(losses)


def mark(axes: Any, z: np.ndarray, text: str, color: str = "#d55e00") -> None:
    axes.plot(*z, "o", color=color, markeredgecolor="white", markersize=10)
    axes.annotate(text, z, color="white", ha="center", va="center", fontsize=7, fontweight="bold")


def main() -> None:
    history = rbf()
    others = history.drop(NEW)
    PICTURES.mkdir(exist_ok=True)
    encode = others.space.encode

    with figures.canvas(PICTURES / "past.svg", columns=3, rows=2, size=(2.1, 2.1)) as panels:
        for axes, task in zip(panels, SHOWN, strict=True):
            losses = history[task].losses
            surface(axes, history, ranked(losses), task)
            best = history.space.encode_values(history.V[history[task].rows])[np.argmin(losses)]
            axes.plot(*best, "*", color="#d55e00", markeredgecolor="white", markersize=15)

    start = hs.learn(others, n=4)
    average = np.mean([ranked(others[task].losses) for task in others.tasks], axis=0)
    with figures.canvas(PICTURES / "start.svg", size=(4.6, 3.6)) as (axes,):
        surface(axes, others, average, f"average of {len(others)} past data sets, and the start")
        for number, z in enumerate(encode(start.configs), 1):
            mark(axes, z, str(number))

    table = history.configs(NEW)
    opt = hs.Optimizer(others.space, history=others, n_init=4, candidates=table, seed=0)
    losses = history[NEW].losses
    model = Mixture().begin(
        others.space, TaskModels(others, rng=np.random.default_rng(0)), features=None, rng=np.random.default_rng(0)
    )
    tried: list[int] = []
    with figures.canvas(PICTURES / "adaptation.svg", columns=2, rows=2, size=(3, 3.6)) as panels:
        for axes, trials in zip(panels, (1, 3, 8), strict=False):
            while len(tried) < trials:
                config = opt.ask()
                tried.append(table.index(config))
                opt.tell(config, float(losses[tried[-1]]))
            Z = encode(table)
            belief, _ = model.fit(Z[tried], losses[tried]).predict(Z)
            title = f"belief after {trials} {'trial' if trials == 1 else 'trials'}"
            surface(axes, history, ranked(belief), title)
            for number, i in enumerate(tried, 1):
                mark(axes, Z[i], str(number))
        surface(panels[-1], history, ranked(losses), "the truth")
    print(opt.explain())


if __name__ == "__main__":
    main()
