"""What the papers claim and what was found: a page made from the tables of `headstart reproduce`, never typed.

The claims stand in the order of the papers. Their `why` is printed where one fails on some history.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from headstart._support.files import replacing
from headstart.errors import ArgumentError
from headstart.papers import initializations, similarities, tables
from headstart.papers.checks import (
    ALIKE,
    BETTER,
    FAILS,
    NO_BETTER,
    PARTLY,
    TIED,
    Claim,
    Compare,
    Results,
    decimals,
    figure_name,
    number,
    verdict,
)
from headstart.papers.prior_mean import CONNECTED, PIECEWISE, ZERO
from headstart.papers.tables import DISTANCE, RANK

FIRST, EARLY, LATE = (1,), (1, 3, 5, 10), (10, 20, 30, 50)


def _all(
    figure: str, first: str, others: Sequence[str], at: tuple[int, ...], kind: str = BETTER, measure: str = DISTANCE
) -> tuple[Compare, ...]:
    """The first line against each of the others."""
    return tuple(Compare(figure, first, other, at, kind, measure) for other in others)


def _ranks(figure: str, first: str, others: Sequence[str], at: tuple[int, ...]) -> tuple[Compare, ...]:
    return _all(figure, first, others, at, measure=RANK)


ORIGINAL = (
    "Our MKLGP is not the original, whose kernel is not positive definite (see `headstart.surrogates.mklgp`). Whether "
    "that makes the difference was not tested."
)

EDGES = (
    "By itself SCoT begins badly: a linear ranking is best at an edge of the space, where its proposals are twice as "
    "often as the best configurations. With plain ranks it begins at less than half the distance "
    "(`benchmarks/scot_ranking.py`)."
)

INITIALIZATIONS = (
    Claim(
        "NBI is a better start than RBI: meta-features tell which data sets are alike",
        "Fig. 1",
        _all("figure1", "NBI", ["RBI"], EARLY),
    ),
    Claim(
        "LI is a very good start for I = 1",
        "Fig. 1",
        _all("figure1", "LI", ["RBI", "NBI", "SCoT", "MKLGP"], FIRST),
        ORIGINAL,
    ),
    Claim("LI is consistently the best start", "Fig. 1", _all("figure1", "LI", ["RBI", "NBI"], (3, 5, 10))),
    Claim(
        "the same of LI by Algorithm 2 to the letter",
        "Fig. 1",
        _all("figure1", "LI, Algorithm 2", ["RBI", "NBI"], EARLY),
        "It begins with the best configurations of random data sets, several of which coincide: about eight of its ten "
        "are different in the end, and what is missing is drawn at random. How much that costs was not tested.",
    ),
    Claim(
        "surrogates that transfer knowledge do not replace a start: LI is better than SCoT and MKLGP without one",
        "Fig. 1",
        _all("figure1", "LI", ["SCoT", "MKLGP"], EARLY),
        ORIGINAL,
    ),
    Claim(
        "aLI, too, is a better start than RBI and NBI",
        "Fig. 1",
        _all("figure1", "aLI", ["RBI", "NBI"], (3, 5, 10)),
    ),
    Claim(
        "aLI is no better than LI",
        "Fig. 1",
        _all("figure1", "aLI", ["LI"], (3, 5, 10), kind=NO_BETTER),
        "headstart's aLI chooses the power of its weights by leave-one-out, which the paper's does not. What turning "
        "eq. 17 round does by itself is in the last rows of this table.",
    ),
    Claim(
        "the first configuration of every start is better than the GP without a start after six trials",
        "Fig. 1 and 2",
        tuple(Compare("figure1", m, "No Init", FIRST, later=("figure2", 6)) for m in ("RBI", "NBI", "LI")),
        "Chance alone is better after six configurations than RBI or NBI after one (No Init of Fig. 1 is its exact "
        "expectation), and a GP is not worse than chance here.",
    ),
    Claim(
        "LI has the best long-term effect with GP",
        "Fig. 2",
        _all("figure2", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "LI has the best long-term effect with RF",
        "Fig. 3",
        _all("figure3", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "in the long term, aLI is no better than LI",
        "Fig. 2 and 3",
        _all("figure2", "aLI", ["LI"], LATE, kind=NO_BETTER) + _all("figure3", "aLI", ["LI"], LATE, kind=NO_BETTER),
    ),
    Claim(
        "in the long term, RBI is about as good as NBI",
        "Fig. 2 and 3",
        _all("figure2", "RBI", ["NBI"], LATE, kind=ALIKE) + _all("figure3", "RBI", ["NBI"], LATE, kind=ALIKE),
        "On the SVM data NBI begins ahead (Fig. 1); its lead shrinks with every further trial and is gone after 50. On "
        "the authors' AdaBoost data it does not begin ahead, and one difference in eight may be chance.",
    ),
    Claim(
        "surrogates that transfer no knowledge gain more from a start by LI than those that do",
        "Fig. 2 to 5",
        tuple(
            Compare(figure, "LI", "No Init", LATE, than=than)
            for figure in ("figure2", "figure3")
            for than in ("figure4", "figure5")
        ),
        EDGES,
    ),
    Claim(
        "SCoT without a start is about as good as with RBI or NBI",
        "Fig. 4",
        _all("figure4", "No Init", ["RBI", "NBI"], LATE, kind=ALIKE),
        EDGES,
    ),
    Claim(
        "SCoT with LI is consistently the best",
        "Fig. 4",
        _all("figure4", "LI", ["No Init", "RBI", "NBI"], LATE),
    ),
    Claim(
        "with MKLGP, NBI is better than LI (claimed for the SVM data; for AdaBoost, the reverse)",
        "Fig. 5",
        _all("figure5", "NBI", ["LI"], LATE),
    ),
    Claim(
        "MKLGP gains from a start by LI, too",
        "Fig. 5",
        _all("figure5", "LI", ["No Init", "RBI"], LATE),
        ORIGINAL,
    ),
    Claim(
        "surrogates that transfer knowledge are not needed once LI starts: SCoT and MKLGP are no better than GP and RF",
        "Fig. 6",
        tuple(Compare("figure6", a, b, LATE, kind=NO_BETTER) for a in ("SCoT", "MKLGP") for b in ("GP", "RF")),
        "Perhaps chance: of the 64 comparisons in this row, one or two would be beyond it on this side if nothing were "
        "there.",
    ),
    Claim(
        "started by LI, RF is the best of the four surrogates",
        "Fig. 6",
        _all("figure6", "RF", ["GP", "SCoT", "MKLGP"], LATE),
    ),
    Claim(
        "*not in the paper:* the right gradient of eq. 12 is worth more than the printed eq. 14",
        "both by Algorithm 2",
        _all("figure1", "LI, Algorithm 2", ["LI, printed gradient"], EARLY),
    ),
    Claim(
        "*not in the paper:* eq. 17 turned round is worth more than as printed",
        "",
        _all("figure1", "aLI, turned round", ["aLI, printed weights"], (3, 5, 10)),
    ),
    Claim(
        "*not in the paper:* with eq. 17 turned round and nothing else changed, aLI is better than LI",
        "",
        _all("figure1", "aLI, turned round", ["LI"], (3, 5, 10)),
    ),
    Claim(
        "*not in the paper:* `auto` is a better start than LI, aLI and NBI",
        "",
        _all("figure1", "auto", ["LI", "aLI", "NBI"], EARLY),
    ),
    Claim(
        "*not in the paper:* `auto` for start and surrogate is better than LI followed by GP or RF",
        "",
        _all("figure6", "auto", ["GP", "RF"], LATE),
    ),
)

SIMILARITIES = (
    Claim(
        "all starts that use meta-features are better than RBI (average rank)",
        "Fig. 1",
        tuple(c for m in ("NBI", "PBI", "aPBI") for c in _ranks("figure1", m, ["RBI"], EARLY)),
    ),
    Claim(
        "a learned distance is better than a fixed one: PBI than NBI (average rank)",
        "Fig. 1",
        _ranks("figure1", "PBI", ["NBI"], EARLY),
    ),
    Claim(
        "aPBI is the best of the five (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["RBI", "NBI", "PBI", "aaPBI"], (3, 5, 10)),
    ),
    Claim(
        "aaPBI is bad in its first three, active trials (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (1, 2, 3)),
    ),
    Claim("after ten, aaPBI has surpassed PBI (average rank)", "Fig. 1", _ranks("figure1", "aaPBI", ["PBI"], (10,))),
    Claim(
        "after ten, aaPBI is not as good as aPBI (average rank)",
        "Fig. 1",
        _ranks("figure1", "aPBI", ["aaPBI"], (10,)),
    ),
    Claim(
        "in the long term, aPBI is strictly better than PBI with GP and RF (average rank)",
        "Fig. 2",
        tuple(c for s in ("GP", "RF") for c in _ranks(f"figure2 {s}", "aPBI", ["PBI"], (20, 40, 70))),
    ),
    Claim(
        "with GP, aPBI is better than any other start (average rank)",
        "Fig. 2",
        _ranks("figure2 GP", "aPBI", ["RBI", "NBI", "aaPBI"], (20, 40, 70)),
    ),
    Claim(
        "with RF, aaPBI is good late (average rank)",
        "Fig. 2",
        _ranks("figure2 RF", "aaPBI", ["RBI", "NBI", "PBI"], (40, 70)),
    ),
    Claim(
        "*not in the paper:* LI, which needs no meta-features, is a better start than aPBI",
        "",
        _all("figure1", "LI", ["aPBI"], EARLY),
    ),
)

SIAMESE = (
    Claim(
        "with few points, a prior mean that is roughly right helps to find the minimum (scaled distance to that of a "
        "cosine, after so many points)",
        "Fig. 1",
        _all("figure1", PIECEWISE, [ZERO], (3, 5)),
        "Its first choice is the better one; then expected improvement is drawn to the edges of its steps, where a "
        "smooth process expects the slope to go on. With the middles of the steps connected, the same prior mean "
        "helps throughout.",
    ),
    Claim(
        "with many points it helps no more",
        "Fig. 1",
        _all("figure1", PIECEWISE, [ZERO], (10,), kind=NO_BETTER),
    ),
    Claim(
        "*not in the paper:* without steps, it helps with few points and with many",
        "Fig. 1",
        _all("figure1", CONNECTED, [ZERO], (3, 5, 10)),
    ),
    Claim(
        "a Siamese network learns which of two groups a data set is from (share of held-out pairs not told apart)",
        "Fig. 6",
        _all("figure6", "lstm", ["chance"], FIRST),
    ),
    Claim(
        "data sets nearest by learned meta-features are of the same problem, by hand-crafted ones not always (share of "
        "another problem)",
        "Fig. 5",
        _all("figure5, other kind", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "so three starts from them are better (distance to the best accuracy, scaled)",
        "Fig. 5",
        _all("figure5", "lstm", ["hand-crafted"], FIRST),
    ),
    Claim(
        "in a search, starts from the 3 nearest data sets beat random ones (lowest validation error)",
        "Fig. 9",
        tuple(
            Compare("figure9", first, second, (3, 10, 20))
            for first in ("3 nearest, EI", "3 nearest, prior mean, EI")
            for second in ("random, EI", "random, GP-UCB")
        ),
    ),
    Claim(
        "*not in the paper:* it is the learned distance that does it: the 3 nearest beat any 3 of the past data sets",
        "Fig. 9",
        _all("figure9", "3 nearest, EI", ["3 any, EI"], (3, 10, 20)),
    ),
)

PAPERS = {
    "initializations": ("Learning Hyperparameter Optimization Initializations", INITIALIZATIONS),
    "similarities": ("Learning Data Set Similarities for Hyperparameter Optimization Initializations", SIMILARITIES),
    "siamese": ("Learning to Transfer Initializations for Bayesian Hyperparameter Optimization", SIAMESE),
}


# -- the page ------------------------------------------------------------------------------------------------


def write(folders: Sequence[Path], out: Path) -> str:
    """Read the tables in these folders and write the page; returns its text.

    The page shows figures in a folder of its own name beside it: `draw` makes them.
    """
    text = page(read(folders), out.stem)
    with replacing(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text


def draw(folders: Sequence[Path], out: Path) -> Path:
    """The figures of the page `out`, from the same tables; returns the folder they are in."""
    pictures = out.with_suffix("")
    for one in (one for one in read(folders) if one.paper in FIGURES):
        into = pictures / one.name
        into.mkdir(parents=True, exist_ok=True)
        FIGURES[one.paper][0](one.summary, into, one.history, SVG)
    return pictures


def read(folders: Sequence[Path]) -> list[Results]:
    """The authors' data first, and SVM before AdaBoost."""
    if not folders:
        raise ArgumentError("name the folders that headstart reproduce wrote: --results DIR ...")
    found = [Results.read(folder) for folder in sorted(folders)]
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

# What the papers claim and what we find

*This page is generated: `make claims` reads the tables in `benchmarks/papers`, which `headstart reproduce` wrote.*

Under a verdict stand the differences it rests on: of two means over the left-out data sets (of ADTM, unless it says
otherwise; less is better, so below zero the first is better), one after each of the trials that the claim names,
± the standard error of the difference, paired over data sets. A difference of less than two standard errors is within
chance, one **beyond** that is bold; of twenty differences that are not there, about one is. Figures and means follow
below each table.

| verdict | of the comparisons in the cell |
| --- | --- |
| holds | all are as claimed and beyond chance |
| tends to hold | at least half are; none is the opposite beyond chance |
| holds in part | some are as claimed, others the opposite, both beyond chance |
| does not hold | at least half are the opposite beyond chance; none is as claimed |
| not decided | anything else: these data sets and repetitions cannot tell |

That something is *no better* or *alike* is taken to hold where no difference in its favour (or none at all) is beyond
chance, and in part where that is so of some comparisons only. That is weak: with few data sets it is easily so. A
reason is given only where it was measured or follows from the method; *not investigated* stands where nobody has
looked.

LI and aLI are headstart's `li` and `ali`, and so with the right gradient and weights; their printed forms stand at
the end of the paper's table, with what the corrections are worth."""


UNKNOWN = "not investigated"
BETWEEN = " · "
SVG = ".svg"
FIGURES = {"initializations": (initializations.draw, 6), "similarities": (similarities.draw, 2)}  # how many there are
AUTHORS = "the authors' data"  # in the titles of their histories, which come first


def _section(results: Sequence[Results], claims: Sequence[Claim], pictures: str) -> list[str]:
    """Which runs, one row per claim, the figures, and the means of all lines that the claims are about."""
    if not results:
        return ["No results yet."]
    rows = [["claim", *(one.history for one in results), "why where it does not"]]
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
    """A row per figure; a click shows one by itself."""
    paper = results[0].paper
    if paper not in FIGURES:
        return []
    rows = [["", *(one.history for one in results)]]
    for i in range(1, FIGURES[paper][1] + 1):
        paths = [f"{pictures}/{one.name}/figure{i}{SVG}" for one in results]
        rows.append([f"Fig.{TIED}{i}", *(f"[![Fig. {i}]({path})]({path})" for path in paths)])
    return [_table(rows)]


def _means(results: Sequence[Results], claims: Sequence[Claim]) -> list[str]:
    """For every figure that a claim is about, the means of its lines after the trials that any claim names."""
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
        rows = [[f"{title}, after {BETWEEN.join(map(str, after))}", *(one.history for one in results)]]
        for name in names:
            found = ([one.mean(figure, measure, name, trial) for trial in after] for one in results)
            rows.append([name, *(BETWEEN.join(number(m[0], decimals(measure)) for m in means if m) for means in found)])
        parts.append(_table(rows))
    return parts


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rest))


def _widened(summary: pd.DataFrame) -> float | None:
    """By how much more repetitions would narrow the bands of what is random, at most: a share of their width."""
    s = summary[(summary["measure"] == DISTANCE) & summary["method"].isin(["No Init", "RBI"])]
    s = s[(s["repetitions"] != tables.EXACT) & (s["se"] > 0) & s["trial"].isin(tables.AT)]
    return None if s.empty else float((1 - np.sqrt(np.clip(1 - (s["se_repetitions"] / s["se"]) ** 2, 0, 1))).max())


def _about(one: Results) -> str:
    """Which runs a column stands for."""
    s = one.summary
    text = f"- *{one.history}*: {one.about['tasks']} data sets, up to {int(s['trial'].max())} trials, "
    if one.repetitions == 1:
        text += "1 repetition"
    else:
        most = int(pd.to_numeric(s["repetitions"], errors="coerce").max())
        worst = float(s.loc[s["measure"] == DISTANCE, "se_repetitions"].max())
        text += f"{one.repetitions} repetitions, up to {most} of what begins at random, one where the first two were "
        text += f"the same; more would move no mean by more than about {number(worst, 3)} (one standard error)"
        if (share := _widened(s)) is not None:
            text += f" and narrow no band of No Init or RBI by more than {share:.0%}"
    return text + ("; a quick run, so rough." if one.about.get("quick") else ".")
