"""The figures of the Siamese paper, from the table of its results: PNG and SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstart import library
from headstart._support.types import Array
from headstart.history import History
from headstart.library import images
from headstart.papers import prior_mean
from headstart.papers.siamese.common import POOLINGS, PUBLISHED
from headstart.papers.siamese.problems import CENTRES, HAND, STEPS, accuracies, problem
from headstart.papers.siamese.searches import SEARCHES
from headstart.papers.siamese.synthetic import GROUPS, IN_THE_PLANE, PLANE
from headstart.report import figures


def draw(frame: pd.DataFrame, out: Path) -> None:
    """Fig. 1 and 4 to 8, and Fig. 9 if its searches were run."""
    prior_mean.draw(out)
    draw_examples(frame, out)
    found = frame[(frame["experiment"] == "images") & (frame["measure"] == "error")]
    if len(found):
        draw_searches(found, out)


def draw_examples(frame: pd.DataFrame, out: Path, ending: str = "") -> None:
    """Fig. 4 to 8, for which the rows of `examples` are enough. ending: of the only kind of picture to draw."""
    draw_histograms(library.load("resnet"), out, ending)
    draw_problems(frame[frame["experiment"] == "problems"], out, ending)
    draw_synthetic(frame[frame["experiment"] == "synthetic"], out, ending)


def draw_synthetic(frame: pd.DataFrame, out: Path, ending: str = "") -> None:
    """Fig. 6: the groups and the losses of training. Fig. 7: meta-features before and after."""
    rng = np.random.default_rng(0)
    with figures.canvas(out / f"figure6{ending}", rows=2, columns=len(GROUPS), size=(3.9, 2.9)) as axes:
        for panel, (name, groups) in zip(axes, GROUPS.items(), strict=False):
            _scatter(panel, [group(rng=rng) for group in groups])
            panel.set_title(f"{name}: one data set of each group")
        for panel, name in zip(axes[len(GROUPS) :], GROUPS, strict=True):
            lines = [_line(frame, name, PUBLISHED, "training loss", "lstm, training")]
            lines += [_line(frame, name, pooling, "held-out loss", pooling) for pooling in POOLINGS]
            figures.curves(panel, lines, title="loss on held-out data sets", x="step", y="loss", log=True)
    title = f"{IN_THE_PLANE}: data sets not trained on"
    with figures.canvas(out / f"figure7{ending}", columns=2, size=(4.2, 3.5), title=title) as axes:
        for panel, when in zip(axes, ("before", "after"), strict=True):
            chosen = frame[frame["method"] == PLANE]
            x, y = (chosen[chosen["measure"] == f"{when}, axis {k}"].set_index("item") for k in (1, 2))
            _scatter(panel, [np.column_stack([x["value"], y["value"]])[(x["step"] == g).to_numpy()] for g in (0, 1)])
            panel.set(title=f"{when} training", xlabel="first meta-feature", ylabel="second meta-feature")
            panel.set(aspect="equal", adjustable="datalim")


def draw_problems(frame: pd.DataFrame, out: Path, ending: str = "") -> None:
    """Fig. 4: the problems. Fig. 5: starting points by hand-crafted and by learned features."""
    rng = np.random.default_rng(0)
    with figures.canvas(out / f"figure4{ending}", rows=2, columns=3, size=(3.6, 2.9)) as axes:
        for panel, below, name in zip(axes, axes[3:], CENTRES, strict=False):
            X, y = problem(name, rng=rng)
            _scatter(panel, [X[y == c] for c in np.unique(y)])
            panel.set_title(name)
            for _ in range(5):
                below.plot(STEPS, accuracies(name, rng=rng), color="#0072b2", alpha=0.5, lw=1)
            below.set(xlabel="hyperparameter", ylabel="accuracy", ylim=(0.45, 1.05))
    with figures.canvas(out / f"figure5{ending}", rows=2, columns=3, size=(3.6, 2.9)) as axes:
        panels = iter(axes)
        for method in (HAND, PUBLISHED):
            for name in CENTRES:
                panel, here = next(panels), frame[(frame["problem"] == name) & (frame["item"] == 0)]
                curve = here[here["measure"] == "curve"].drop_duplicates("step").sort_values("step")["value"].to_numpy()
                h = here[(here["measure"] == "start") & (here["method"] == method)].drop_duplicates("step")["value"]
                panel.plot(STEPS, curve, color="#0072b2", lw=1.2)
                panel.plot(h, np.interp(h, STEPS, curve), "x", color="#d55e00", ms=9, mew=2)
                learned = "learned" if method == PUBLISHED else method
                panel.set(title=f"{name}, {learned}", xlabel="hyperparameter", ylabel="accuracy")


def draw_histograms(history: History, out: Path, ending: str = "") -> None:
    """Fig. 8: accuracy over batch size and learning rate, two data sets of each source."""
    names = [f"{source}-{k:02d}" for k in (1, 2) for source in images.SOURCES]
    names = [name for name in names if name in history.tasks]
    with figures.canvas(out / f"figure8{ending}", rows=2, columns=(len(names) + 1) // 2, size=(3.4, 2.9)) as axes:
        for panel, name in zip(axes, names, strict=False):
            frame = pd.DataFrame(history.configs(name)).assign(accuracy=1 - history[name].losses)
            wide = frame.pivot(index="batch_size", columns="learning_rate", values="accuracy")
            rate, size = np.log10(wide.columns), np.log2(wide.index)
            mesh = panel.pcolormesh(rate, size, wide.to_numpy(), shading="nearest", vmin=0, vmax=1, rasterized=True)
            panel.figure.colorbar(mesh, ax=panel, label="accuracy")
            panel.set(title=name, xlabel="log₁₀ of the initial learning rate", ylabel="log₂ of the batch size")
            panel.grid(visible=False)


def draw_searches(frame: pd.DataFrame, out: Path) -> None:
    """Fig. 9: the lowest validation error on the whole data sets, one panel for each of them and each training."""
    names = sorted(frame["problem"].unique(), key=lambda name: (name.partition(", ")[2], name))
    names = [name for name in names if "-whole" in name]
    columns = (len(names) + 1) // 2
    with figures.canvas(out / "figure9", rows=2, columns=columns, size=(4.4, 3.1)) as axes:
        for panel, name in zip(axes, names, strict=False):
            lines = [_line(frame, name, method, "error", method) for method in SEARCHES]
            figures.curves(panel, lines, title=name, x="iteration", y="lowest validation error", log=True)


def _line(frame: pd.DataFrame, problem: str, method: str, measure: str, style: str) -> figures.Curve:
    """Mean and standard error over items."""
    chosen = frame[(frame["problem"] == problem) & (frame["method"] == method) & (frame["measure"] == measure)]
    by_step = chosen.groupby("step")["value"]
    mean, error = by_step.mean(), by_step.sem()
    return figures.Curve(style, mean.index, mean.to_numpy(), None if error.isna().any() else error.to_numpy())


def _scatter(panel: Any, groups: Sequence[Array]) -> None:
    for points, color, mark in zip(groups, ("#d55e00", "#0072b2", "#009e73"), "oxs", strict=False):
        panel.scatter(points[:, 0], points[:, 1], c=color, marker=mark, s=16, linewidths=1)
