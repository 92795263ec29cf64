"""The page of claims and verdicts, generated from the tables of `headstart reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

from headstart._support.files import replacing
from headstart._support.wording import markdown
from headstart.errors import ArgumentError
from headstart.papers import initializations, similarities, tables
from headstart.papers.checks import FAILS, NBSP, PARTLY, Claim, Results, decimals, figure_name, number, verdict
from headstart.papers.published import PAPERS
from headstart.papers.tables import DISTANCE, RANK


def write(results: Sequence[Path], out: Path) -> str:
    """Read the tables in these folders and write the page; returns its text.

    The page shows the figures that `draw` puts into a folder of the same name beside it.
    """
    text = page(read(results), out.stem)
    with replacing(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text


def draw(results: Sequence[Path], out: Path) -> Path:
    """Draw the figures of the page `out` from the same tables; returns their folder."""
    pictures = out.with_suffix("")
    for one in (one for one in read(results) if one.paper in FIGURES):
        into = pictures / one.name
        into.mkdir(parents=True, exist_ok=True)
        FIGURES[one.paper][0](one.summary, into, one.history, SVG)
    return pictures


def read(results: Sequence[Path]) -> list[Results]:
    """The tables in these folders: the authors' data first, and SVM before AdaBoost."""
    if not results:
        raise ArgumentError(
            "there are no results to read", "name the folders that headstart reproduce wrote with {results}"
        )
    found = [Results.read(folder) for folder in sorted(results)]
    return sorted(found, key=lambda one: (AUTHORS not in one.history, one.history.startswith("adaboost")))


def page(everything: Sequence[Results], pictures: str) -> str:
    """The whole page as Markdown. pictures: the folder of its figures."""
    parts = [INTRODUCTION]
    for paper, (title, claims) in PAPERS.items():
        results = [one for one in everything if one.paper == paper]
        parts += [f"## {title}", *_section(results, claims, pictures)]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """---
hide:
  - navigation
  - toc
---

# The papers' claims and what we find

*This page is generated: `make claims` reads the tables in `benchmarks/papers`, which `headstart reproduce` wrote.*

Below each verdict are the differences it rests on, one for each number of trials that the claim names. A difference is
between two means over the left-out data sets (of ADTM, unless stated otherwise), ± its standard error, paired over data
sets. Less is better, so a negative difference favours the first. A difference of at least two standard errors counts as
significant and is **bold**; with no true difference, about 1 in 20 would still look significant. Figures and means
follow each table.

| verdict | comparisons in the cell |
| --- | --- |
| holds | all are as claimed and significant |
| tends to hold | at least half are as claimed and significant; none is significant in the opposite direction |
| holds in part | some are as claimed, others are opposite, both significantly |
| does not hold | at least half are significant in the opposite direction; none is significant as claimed |
| not decided | anything else: these data sets and repetitions cannot decide |

A claim that something is *no better* or *as good* holds if no difference in its favour (or none at all) is significant,
and holds in part if that is true of some comparisons only. This is weak evidence: with few data sets, few differences
are significant. A reason is given only if it was measured or follows from the method; otherwise the table says *not
investigated*.

LI and aLI are headstart's `li` and `ali`, with the correct gradient and weights. Their printed forms are at the end of
the paper's table, which shows what the corrections are worth."""


UNKNOWN = "not investigated"
BETWEEN = " · "
SVG = ".svg"
FIGURES = {"initializations": (initializations.draw, 6), "similarities": (similarities.draw, 2)}  # and their number
AUTHORS = "the authors' data"  # part of the titles of the authors' histories


def _section(results: Sequence[Results], claims: Sequence[Claim], pictures: str) -> list[str]:
    """The runs, one row per claim, the figures, and the means of all lines that the claims are about."""
    if not results:
        return ["No results yet."]
    rows = [["claim", *(markdown(one.history) for one in results), "why not"]]
    for claim in claims:
        verdicts = [_verdict(claim, one) for one in results]
        failed = any(word in (FAILS, PARTLY) for word in verdicts)
        cells = [_cell(claim, one, word) for one, word in zip(results, verdicts, strict=True)]
        rows.append([_sentence(claim), *cells, (claim.why or UNKNOWN) if failed else ""])
    return ["\n".join(map(_about, results)), _table(rows), *_pictures(results, pictures), *_means(results, claims)]


def _sentence(claim: Claim) -> str:
    after = BETWEEN.join(map(str, claim.at))
    where = f"{claim.where}, after {after}" if claim.where else f"after {after}"
    return f"{claim.text} ({where})"


def _verdict(claim: Claim, one: Results) -> str | None:
    found = [f for check in claim.checks for f in one.find(check)]
    return verdict(found) if found else None


def _cell(claim: Claim, one: Results, word: str | None) -> str:
    if word is None:
        return "not run"
    found = ((check, one.find(check)) for check in claim.checks)
    several = len({check.figure for check in claim.checks}) > 1
    labels = {check: f"{figure_name(check.figure)}, {check}" if several else str(check) for check in claim.checks}
    lines = [f"{labels[check]}: {BETWEEN.join(map(str, gaps))}" for check, gaps in found if gaps]
    return "<br>".join([f"**{word}**", *lines])


def _pictures(results: Sequence[Results], pictures: str) -> list[str]:
    """A row per figure; a click opens the picture alone."""
    paper = results[0].paper
    if paper not in FIGURES:
        return []
    rows = [["", *(markdown(one.history) for one in results)]]
    for i in range(1, FIGURES[paper][1] + 1):
        paths = [f"{quote(pictures)}/{quote(one.name)}/figure{i}{SVG}" for one in results]
        rows.append([f"Fig.{NBSP}{i}", *(f"[![Fig. {i}]({path})]({path})" for path in paths)])
    return [_table(rows)]


def _means(results: Sequence[Results], claims: Sequence[Claim]) -> list[str]:
    """For every figure that a claim is about, the means of its lines after the trials that the claims name."""
    at: dict[tuple[str, str], set[int]] = {}
    for check in (check for claim in claims for check in claim.checks):
        at.setdefault((check.figure, check.measure), set()).update(check.at)
        if check.later:
            at.setdefault((check.later[0], check.measure), set()).add(check.later[1])
    parts = []
    for (figure, measure), trials in sorted(at.items()):
        after = sorted(trials)
        names = list(dict.fromkeys(name for one in results for name in one.lines(figure, measure)))
        title = f"{figure_name(figure)}{', average rank' if measure == RANK else ''}"
        rows = [[f"{title}, after {BETWEEN.join(map(str, after))}", *(markdown(one.history) for one in results)]]
        for name in names:
            found = ([one.mean(figure, measure, name, trial) for trial in after] for one in results)
            rows.append(
                [
                    markdown(name),
                    *(BETWEEN.join(number(m[0], decimals(measure)) for m in means if m) for means in found),
                ]
            )
        parts.append(_table(rows))
    return parts


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rest))


def _widened(summary: pd.DataFrame) -> float | None:
    """The share of their width by which more repetitions would at most narrow the bands of No Init and RBI."""
    s = summary[(summary["measure"] == DISTANCE) & summary["method"].isin(["No Init", "RBI"])]
    s = s[(s["repetitions"] != tables.EXACT) & (s["se"] > 0) & s["trial"].isin(tables.AT)]
    return None if s.empty else float((1 - np.sqrt(np.clip(1 - (s["se_repetitions"] / s["se"]) ** 2, 0, 1))).max())


def _about(one: Results) -> str:
    """The runs of a column."""
    s = one.summary
    text = f"- *{markdown(one.history)}*: {one.about['tasks']} data sets, up to {int(s['trial'].max())} trials, "
    if one.repetitions == 1:
        text += "1 repetition"
    else:
        most = int(pd.to_numeric(s["repetitions"], errors="coerce").max())
        worst = float(s.loc[s["measure"] == DISTANCE, "se_repetitions"].max())
        text += f"{one.repetitions} repetitions (up to {most} for random starts, 1 where the first two agreed); more "
        text += f"would move no mean by more than about {number(worst, 3)} (one standard error)"
        if (share := _widened(s)) is not None:
            text += f" and narrow no band of No Init or RBI by more than {share:.0%}"
    return text + ("; a quick run, so the numbers are rough." if one.about.get("quick") else ".")
