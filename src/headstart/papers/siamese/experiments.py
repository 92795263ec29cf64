"""All experiments of the Siamese paper: run, kept in pieces, written, drawn, and summarised in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pandas as pd

from headstart import library
from headstart._support.files import replacing
from headstart.library import pieces
from headstart.papers import prior_mean
from headstart.papers.runs import digest
from headstart.papers.siamese import common, pictures, problems, searches, synthetic
from headstart.papers.siamese.common import POOLINGS, PUBLISHED, Effort, K, Rows
from headstart.report import figures


def run(out: Path, *, seed: int = 0, quick: bool = False, jobs: int = -1, progress: bool = True) -> pd.DataFrame:
    """Run everything and write `results.csv` and the figures into `out`; finished pieces are kept there."""
    figures.pyplot()
    out.mkdir(parents=True, exist_ok=True)
    effort = common.QUICK if quick else Effort()
    work: dict[str, Callable[[], Rows]] = {
        "prior mean": partial(prior_mean.experiment, effort.cosines, seed),
        **{
            f"synthetic, {name}, {pooling}": partial(synthetic.experiment, name, pooling, effort, seed)
            for name in synthetic.GROUPS
            for pooling in POOLINGS
        },
        f"synthetic, {synthetic.IN_THE_PLANE}, in the plane": partial(
            synthetic.experiment, synthetic.IN_THE_PLANE, PUBLISHED, effort, seed, size=2
        ),
        **{f"problems, {method}": partial(problems.experiment, method, effort, seed) for method in problems.LEARNED},
    }
    there = searches.sources()
    on_images: dict[str, Callable[[], Rows]] = {
        f"images, {setting}": partial(searches.experiment, setting, there, effort, seed)
        for setting in searches.settings(there)
    }
    signature = {"paper": "siamese", "seed": seed, "version": 4, **asdict(effort)}
    more = {"history": digest(library.load("resnet")), "sources": there, "searches": searches.SEARCHES, "version": 5}
    done: dict[str, Rows] = {}
    for part, settings in ((work, signature), (on_images, {**signature, **more})):
        done |= pieces.run(
            list(part),
            partial(_call, part),
            out / "pieces",
            signature=settings,
            jobs=jobs,
            progress=progress,
            label="runs",
        )
    pieces.pack(out / "pieces")
    frame = pd.DataFrame([{"experiment": key.partition(",")[0], **row} for key, rows in done.items() for row in rows])
    with replacing(out / "results.csv") as temporary:
        frame.to_csv(temporary, index=False)
    pictures.draw(frame, out)
    return frame


def _call(work: Mapping[str, Callable[[], Rows]], key: str) -> Rows:
    return work[key]()


def text(frame: pd.DataFrame) -> str:
    """The results in a few tables."""
    parts = []
    cosine = frame[frame["experiment"] == "prior mean"]
    after = cosine[cosine["step"].isin([3, 4, 5, 8, 12])].groupby(["method", "step"])["value"].mean()
    parts.append(f"Distance to the minimum of the cosine, by number of points (Fig. 1):\n{_wide(after, 4)}")
    groups = frame[frame["experiment"] == "synthetic"]
    last = groups[groups["measure"] == "held-out loss"].groupby(["problem", "method"])["value"].min()
    parts.append(f"Lowest held-out loss (Fig. 6):\n{_wide(last, 4)}")
    for measure, title in (("accuracy", "Accuracy on held-out pairs"), ("seconds", "CPU seconds of training")):
        values = groups[groups["measure"] == measure].groupby(["problem", "method"])["value"].mean()
        parts.append(f"{title}:\n{_wide(values, 2)}")
    found = frame[frame["experiment"] == "problems"]
    for measure, title in (
        ("own kind", "Share of the nearest three that are of the same kind"),
        ("gap", "Distance to the best after three trials"),
    ):
        values = found[found["measure"] == measure].groupby(["problem", "method"])["value"].mean()
        parts.append(f"{title} (Fig. 5):\n{_wide(values, 3)}")
    errors = frame[(frame["experiment"] == "images") & (frame["measure"] == "error")]
    for step in (K, 10, 20):
        here = errors[errors["step"] == step]
        if len(here):
            values = here.groupby([here["problem"].str.partition(", ")[2].rename(None), "method"])["value"].mean()
            parts.append(f"Validation error after {step} trials (Fig. 9):\n{_wide(values, 4)}")
    return "\n\n".join(parts)


def _wide(values: pd.Series[float], digits: int) -> str:
    return values.unstack().rename_axis(None, axis=1).rename_axis(None).to_string(float_format=f"%.{digits}f")
