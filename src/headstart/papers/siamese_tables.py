"""The results of `papers.siamese` as lines of figures, tables for the page of claims, and the figures of that page.

This module needs torch for Fig. 4 to 8 only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from headstart._support.files import replacing
from headstart._support.types import Array
from headstart.papers import prior_mean, tables
from headstart.papers.prior_mean import METHODS
from headstart.papers.tables import EXACT, Line
from headstart.report import figures

COSINE, GUESSED, SEARCHED = "figure1", "figure6", "figure9"
MEASURES = {  # figure of the paper, and whether more is better
    "distance": (COSINE, False),
    "accuracy": (GUESSED, True),
    "own kind": ("figure5, other kind", True),
    "gap": ("figure5", False),
    "apart": ("figure7", False),
    "own source": ("figure8, other source", True),
    "error": (SEARCHED, False),
}
EXAMPLES = "examples.csv"  # what the page's Fig. 5 to 7 show of the results
KINDS = ("known source", "unknown source")  # of the data sets of Fig. 9: whether the training had data of their source


def aggregate(frame: pd.DataFrame, out: Path, *, seed: int, quick: bool) -> None:
    """Write the tables that the page of claims needs of the results of `papers.siamese`."""
    found = lines(frame)
    most = {one.figure: len(one.tasks) for one in found}
    history = f"made here ({most[COSINE]} searches in Fig. 1"
    history += f", {most[SEARCHED]} data sets in Fig. 9)" if SEARCHED in most else ")"
    count = max(n for figure, n in most.items() if figure not in (COSINE, GUESSED, "figure7"))
    about = tables.description("siamese", history, seed=seed, quick=quick, tasks=count)
    tables.aggregate(found, out, about)
    with replacing(out / EXAMPLES) as temporary:
        examples(frame).to_csv(temporary, index=False, float_format="%.6g")


def examples(frame: pd.DataFrame) -> pd.DataFrame:
    """The results that Fig. 5 to 7 show: losses of training, the first new data set, and the two meta-features."""
    measure = frame["measure"]
    of_losses = (frame["experiment"] == "synthetic") & measure.isin(["training loss", "held-out loss"])
    of_starts = (frame["item"] == 0) & measure.isin(["curve", "start"])
    return frame[of_losses | of_starts | measure.str.contains(", axis ")]


def lines(frame: pd.DataFrame) -> list[Line]:
    """The results of `papers.siamese` as lines; in all of them less is better."""
    found = []
    kept = frame[(frame["method"] != "") & frame["measure"].isin(list(MEASURES))]
    kept = kept[~((kept["measure"] == "accuracy") & kept["method"].isin(_not_everywhere(kept)))]
    for (measure, method), part in kept.groupby(["measure", "method"], sort=True):
        figure, more_is_better = MEASURES[str(measure)]
        # Runs on one data set are not independent: some do not depend on the repetition or the training.
        several = part["problem"] + " " + part["item"].astype(str)
        items = part["problem"].str.partition(",")[0] if measure in ("error", "own source") else several
        part = part.assign(task=items, kind=part["problem"].str.partition(", ")[2])
        found.append(_line(figure, str(method), part, more_is_better))
        if measure == "error":
            found += [
                _line(f"{figure}, {kind}", str(method), part[part["kind"] == kind], more_is_better)
                for kind in KINDS
                if (part["kind"] == kind).any()
            ]
    guessed = next((one for one in found if one.figure == GUESSED), None)
    if guessed is not None:
        half = np.full_like(guessed.values, 0.5)
        found.append(Line(GUESSED, "chance", "chance", "", guessed.tasks, half, np.zeros_like(half), EXACT))
    return sorted(found, key=lambda one: (one.figure, one.name != "chance"))


def _not_everywhere(kept: pd.DataFrame) -> list[str]:
    """The methods that were not trained on all groups of Fig. 6, such as the network of Fig. 7."""
    groups = kept[kept["measure"] == "accuracy"].groupby("method")["problem"].nunique()
    return list(groups.index[groups < groups.max()])


def _line(figure: str, name: str, part: pd.DataFrame, more_is_better: bool) -> Line:
    wide = part.pivot_table(index="task", columns="step", values="value").dropna(axis=1)
    values: Array = 1 - wide.to_numpy() if more_is_better else wide.to_numpy()
    return Line(figure, name, name, "", tuple(map(str, wide.index)), values, np.zeros_like(values), 1)


# -- the figures of the page -----------------------------------------------------------------------------------

SEARCHES = (
    *("random, EI", "random, GP-UCB", "3 nearest, EI"),
    *("3 nearest, prior mean, EI", "3 nearest, headstart's prior, EI", "3 any, EI"),
)


def draw_examples(some: pd.DataFrame, out: Path, ending: str = "") -> None:
    """Fig. 4 to 8, from `examples`."""
    from headstart.papers.siamese import pictures

    pictures.draw_examples(some, out, ending)


def draw(shown: pd.DataFrame, out: Path, name: str, ending: str = "") -> None:
    """Fig. 1, as printed and as means over many searches, and Fig. 9, from their summary."""
    prior_mean.draw(out, ending=ending)
    count = int(shown.loc[shown["figure"] == COSINE, "tasks"].max())
    title = f"Fig. 1: means of {count} searches"
    with figures.canvas(out / f"figure1-means{ending}", title=title) as (axes,):
        curves = tables.panel(shown, COSINE, METHODS)
        figures.curves(axes, curves, x="points", y="distance to the minimum", log=True)
    there = [f for f in (SEARCHED, *(f"{SEARCHED}, {kind}" for kind in KINDS)) if f in set(shown["figure"])]
    panels = there[1:] or there  # known and unknown sources, if they were separated
    title = "Fig. 9: searches on image data sets"
    with figures.canvas(out / f"figure9{ending}", columns=max(1, len(panels)), title=title) as every:
        for axes, figure in zip(every, panels, strict=False):
            count = int(shown.loc[shown["figure"] == figure, "tasks"].max())
            kind = figure.partition(", ")[2] or "known and unknown sources"
            # Without bands: they would show how much the data sets differ, which all lines have in common.
            lines = [replace(curve, error=None) for curve in tables.panel(shown, figure, SEARCHES)]
            figures.curves(axes, lines, title=f"{kind}, n = {count}", x="trials", y="lowest validation error", log=True)
