"""The page of claims and verdicts, generated from the tables of `headstart reproduce`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

from headstart._support.files import replacing
from headstart._support.wording import markdown
from headstart.errors import ArgumentError
from headstart.papers import initializations, siamese_tables, similarities, tables
from headstart.papers.checks import (
    FAILS,
    HOLDS,
    LEVEL,
    NBSP,
    OPEN,
    PARTLY,
    TENDS,
    UNTOUCHED,
    Claim,
    Compare,
    Results,
    decimals,
    figure_name,
    number,
    verdict,
)
from headstart.papers.published import ELSEWHERE, PAPERS, REMARKS
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
        if one.examples is not None:
            siamese_tables.draw_examples(one.examples, into, SVG)
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
    by_paper = {paper: [one for one in everything if one.paper == paper] for paper in PAPERS}
    parts = [INTRODUCTION, "## In short", *(_in_short(paper, by_paper[paper]) for paper in PAPERS)]
    parts += [NAMING, _table([["name", "meaning"], *map(list, NAMES.items())]), READING]
    for paper, (title, claims) in PAPERS.items():
        parts += [f"## {title}", REMARKS[paper], *_section(by_paper[paper], claims, pictures)]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """---
hide:
  - navigation
  - toc
---

# The papers' claims and what we find

*`make claims` generates this page from the tables in `benchmarks/papers`, which `headstart reproduce` wrote.*"""

NAMES = {
    "No Init": "no start: random configurations, or those of a surrogate that knows the past data sets",
    "RBI, NBI": "starts: the best configurations of random past data sets; of those with the nearest meta-features",
    "PBI": "start: the best configurations of the past data sets that a forest predicts to be nearest",
    "aPBI, aaPBI": "PBI with a new prediction after each result; with a few first trials chosen for that prediction",
    "LI, aLI": "starts learned from all past data sets together; with new weights of these after each result",
    "GP, RF": "surrogates that know only the results on the new data set: a Gaussian process, a random forest",
    "SCoT, MKLGP": "Gaussian processes that know the results on past data sets, too",
    "Siamese network": "learns from the data sets themselves how far apart they are",
    "EI, GP-UCB": "how a prediction becomes a proposal: by expected improvement, by the lower confidence bound",
    "ADTM": "average distance to the minimum: the lowest loss so far, scaled to 0 to 1 on each data set",
}

NAMING = """## The names

A search for good hyperparameters on a new data set begins with a few configurations, its start. A model of the results
so far, the surrogate, proposes the others. Most of these methods learn from searches on past data sets. To compare
them, each data set in turn plays the new one."""

READING = f"""## How to read this page

The tables give a verdict for each claim and each collection of data sets. "All differences" unfolds the comparisons
behind it: one for each number of trials that the claim names. A difference is between two means over the n
left-out data sets (of ADTM, unless stated otherwise), ± its standard error, paired over data sets. Less is better, so
a negative difference favours the first. Differences are tested by Student's t with n − 1 degrees of freedom (Welch's
where they are not paired; by the sign test where all n are equal). The comparisons of a cell are corrected together
by Holm's method, at a level of {LEVEL:.0%}; those that are significant are **bold**. Different cells are not corrected
for each other: with no true difference anywhere, about 1 cell in 20 would still have a significant one.

| verdict | comparisons in the cell |
| --- | --- |
| holds | all are as claimed and significant |
| tends to hold | at least half are as claimed and significant; none is significant in the opposite direction |
| holds in part | some are as claimed, some are opposite, both significantly (of no difference: some differ) |
| does not hold | at least one is significant in the opposite direction; none is significant as claimed |
| not decided | anything else: these data sets and repetitions cannot decide |
| not contradicted | the claim is that there is *no* difference (or none in favour), and none is significant |

A claim is about all comparisons of its cell, so one in the opposite direction is enough to refute it. That a claim of
no difference is not contradicted is weak evidence: with few data sets, few differences are significant. Reasons are
given only if they were measured or follow from the method."""


UNKNOWN = "not investigated."
BETWEEN = " · "
SVG = ".svg"
FIGURES = {  # how to draw a paper's figures, and their files with what the page calls them
    "initializations": (initializations.draw, {f"figure{i}": f"Fig. {i}" for i in range(1, 7)}),
    "similarities": (similarities.draw, {f"figure{i}": f"Fig. {i}" for i in (1, 2)}),
    "siamese": (
        siamese_tables.draw,
        {"figure1": "Fig. 1", "figure1-means": "Fig. 1, means", **{f"figure{i}": f"Fig. {i}" for i in range(4, 10)}},
    ),
}
EXAMPLES = tuple(f"figure{i}" for i in range(4, 9))  # of the third paper: they show more than its summary has
AUTHORS = "the authors' data"  # part of the titles of the authors' histories


MIXED, SOMEWHERE, NOTHING = "depends on the data", "holds on some data", "not run"
NOT_EVERYWHERE = "does not hold on some data"
NOT_CLAIMED = "not claimed"
KINDS = {  # the groups of the summary, and the overall verdicts in each
    "Holds or tends to hold": (HOLDS, TENDS),
    "Holds or tends to hold on some of the data, and is not decided on the rest": (SOMEWHERE,),
    "Holds in part, or depends on the data": (MIXED,),
    "Does not hold": (FAILS,),
    "Does not hold on some of the data, and is not decided on the rest": (NOT_EVERYWHERE,),
    "Not contradicted (a claim of no difference)": (UNTOUCHED,),
    "We do not know": (OPEN, NOTHING),
}


def _in_short(paper: str, results: Sequence[Results]) -> str:
    """Which claims of a paper hold, over all collections of data sets, in a line for each group."""
    title, claims = PAPERS[paper]
    groups: dict[str, list[str]] = {kind: [] for kind in KINDS}
    found = [(claim.text, [_verdict(claim, one) for one in results]) for claim in claims]
    for text, verdicts in [*found, *((text, [word]) for text, word in ELSEWHERE.get(paper, ()))]:
        groups[next(kind for kind, words in KINDS.items() if overall(verdicts) in words)].append(text)
    lines = []
    for kind, texts in groups.items():
        lines += [f"- **{kind}**", *(f"    - {text}" for text in texts)] if texts else []
    return "\n\n".join([f"### {title}", "\n".join(lines), *_notes(results)])


def _notes(results: Sequence[Results]) -> list[str]:
    """What has to be known about the runs, each note once with the runs that it is about."""
    notes: dict[str, list[str]] = {}
    for one in results:
        if "note" in one.about:
            notes.setdefault(str(one.about["note"]), []).append(markdown(one.history))
    return [f"*But {note} ({'; '.join(names)}).*" for note, names in notes.items()]


def overall(verdicts: Sequence[str]) -> str:
    """One verdict over several collections of data sets."""
    words = {word for word in verdicts if word not in (NOTHING, NOT_CLAIMED)}
    clear = words - {OPEN}
    if not words:
        return NOTHING
    if not clear:
        return OPEN
    if clear <= {HOLDS, TENDS}:
        return SOMEWHERE if OPEN in words else HOLDS if clear == {HOLDS} else TENDS
    if clear == {FAILS} and OPEN in words:
        return NOT_EVERYWHERE
    return clear.pop() if len(clear) == 1 and clear != {PARTLY} else MIXED


def _section(results: Sequence[Results], claims: Sequence[Claim], pictures: str) -> list[str]:
    """The runs, one row per claim, the figures, and folded: all differences, and the means of all lines compared."""
    if not results:
        return ["No results yet."]
    names = [markdown(one.history) for one in results]
    rows, details, reasons = [["claim", *names]], [["claim", *names]], []
    for claim in claims:
        verdicts = [_verdict(claim, one) for one in results]
        rows.append([_sentence(claim), *verdicts])
        details.append([_sentence(claim), *(_cell(claim, one) for one in results)])
        if any(word in (FAILS, PARTLY) for word in verdicts):
            reasons.append(f"- *{claim.text}:* {claim.why or UNKNOWN}")
    parts = ["\n".join(map(_about, results)), *_notes(results), _table(rows)]
    if reasons:
        parts += ["Why a claim fails or holds only in part:", "\n".join(reasons)]
    numbers = _folded("All differences", [_table(details)])
    means = _folded("All means", _means(results, claims))
    return [*parts, numbers, *_pictures(results, pictures), means]


def _folded(title: str, parts: Sequence[str]) -> str:
    inside = "\n\n".join(parts)
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{inside}\n\n</details>'


def _sentence(claim: Claim) -> str:
    after = BETWEEN.join(map(str, claim.at))
    where = f"{claim.where}, after {after}" if claim.where else f"after {after}"
    return f"{claim.text} ({where})"


def _verdict(claim: Claim, one: Results) -> str:
    if not one.history.startswith(claim.only):
        return NOT_CLAIMED
    found = [f for part in one.check(claim) for f in part]
    if not found:
        return NOTHING
    word = verdict(found)
    return UNTOUCHED if word == HOLDS and claim.is_weak else word


def _cell(claim: Claim, one: Results) -> str:
    parts = [part for part in one.check(claim) if part]
    if not parts:
        return _verdict(claim, one)
    several = len({check.figure for check in claim.checks}) > 1
    lines = []
    for part in parts:
        check = part[0].check
        label = f"{figure_name(check.figure)}, {check}" if several else str(check)
        lines.append(f"{label}: {BETWEEN.join(map(str, part))}")
    sizes = sorted({f.n for part in parts for f in part})
    compared = {line for part in parts for line in _lines(part[0].check)}
    found = {line: n for line, n in one.fewer.items() if line in compared}
    cut = [f"{n} repetitions of {_listed(name for (_, name), m in found.items() if m == n)}" for n in _numbers(found)]
    return "<br>".join([", ".join([f"n{NBSP}={NBSP}{' or '.join(map(str, sizes))}", *cut]), *lines])


def _lines(check: Compare) -> list[tuple[str, str]]:
    """The lines that a check compares, each with its figure."""
    figure = check.later[0] if check.later else check.figure
    lines = [(check.figure, check.first), (figure, check.second)]
    return [*lines, *((check.than, name) for name in (check.first, check.second))] if check.than else lines


def _numbers(fewer: Mapping[tuple[str, str], int]) -> list[int]:
    return sorted(set(fewer.values()))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(markdown, dict.fromkeys(names)))


def _repeated_less(one: Results) -> str:
    """How many repetitions the lines have that have fewer than requested."""
    parts = []
    for n in _numbers(one.fewer):
        figures: dict[str, list[str]] = {}
        for (figure, line), m in one.fewer.items():
            if m == n:
                figures.setdefault(line, []).append(figure_name(figure))
        lines: dict[str, list[str]] = {}
        for line, there in figures.items():
            lines.setdefault(" and ".join(there), []).append(line)
        parts += [f"{n} for {_listed(names)} in {there}, " for there, names in lines.items()]
    return "".join(parts)


def _pictures(results: Sequence[Results], pictures: str) -> list[str]:
    """The figures, whose titles name their data; a click opens the picture alone."""
    paper = results[0].paper
    shown = []
    for file, title in FIGURES[paper][1].items() if paper in FIGURES else ():
        for one in results:
            path = f"{quote(pictures)}/{quote(one.name)}/{file}{SVG}"
            if _has(one, file):
                shown.append(f"[![{title}, {markdown(one.history)}]({path})]({path})")
    return ['<div class="figures" markdown="1">', "\n".join(shown), "</div>"] if shown else []


def _has(one: Results, file: str) -> bool:
    """Whether a run has what a figure shows."""
    if one.paper == "siamese" and file in EXAMPLES:
        return one.examples is not None
    return bool(one.summary["figure"].str.startswith(file.partition("-")[0]).any())


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
        if not names:
            continue
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
    text = f"- *{markdown(one.history)}*: {one.about['tasks']} data sets, up to {int(s['trial'].max())} trials"
    if one.about.get("repetitions") == 1:
        text += ", 1 repetition"
    elif "repetitions" in one.about:  # otherwise the remarks on the paper say it
        most = int(pd.to_numeric(s["repetitions"], errors="coerce").max())
        worst = float(s.loc[s["measure"] == DISTANCE, "se_repetitions"].max())
        text += f", {one.repetitions} repetitions (up to {most} for random starts, {_repeated_less(one)}"
        text += "1 where the first two agreed); more "
        text += f"would move no mean by more than about {number(worst, 3)} (one standard error)"
        if (share := _widened(s)) is not None:
            text += f" and narrow no band of No Init or RBI by more than {share:.0%}"
    return text + ("; a quick run, so the numbers are rough." if one.about.get("quick") else ".")
