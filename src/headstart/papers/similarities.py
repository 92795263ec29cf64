"""Wistuba, Schilling, Schmidt-Thieme: Learning Data Set Similarities for Hyperparameter Optimization Initializations
(2015), Fig. 1 and 2.

Fig. 1: average rank and average normalised misclassification rate after I = 1 … 10 configurations (aaPBI with K = 3
active ones). Fig. 2: average rank over 70 trials, the first ten of which are the start, with GP and RF. Only the five
starts of the paper are ranked, because ranks depend on the competitors. For the misclassification rate, headstart's LI
and the aPBI that takes the nearest data set's best (instead of the i-th nearest's) are shown beside them.

Searches see every evaluation of the other data sets: unlike the first paper, this one has no coarse grid. aaPBI chooses
its active configurations by the fast search (`strategies/active.py`); Algorithm 3 itself would train 15,000 forests for
one start on 50 data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headstart.errors import HistoryError
from headstart.history import History
from headstart.papers import runs, tables
from headstart.papers.initializations import LI_OURS, NBI, QUICK_NOTE, RBI, spread, titled
from headstart.papers.runs import Arm, Method, Outcome
from headstart.papers.tables import RANK, Line
from headstart.report import figures
from headstart.strategies import ActivePredictiveBest, AdaptivePredictiveBest

PBI = Method("PBI", "pbi", described=True)
APBI = Method("aPBI", AdaptivePredictiveBest(choice="printed"), described=True)
AAPBI = Method("aaPBI", ActivePredictiveBest(choice="printed"), described=True)
APBI_OURS = Method("aPBI, headstart", "apbi", described=True)
PUBLISHED = (RBI, NBI, PBI, APBI, AAPBI)
NEW = (LI_OURS, APBI_OURS)
BOTH = ("GP", "RF")

STARTS, TRIALS = 10, 70
REPETITIONS = 10
FEWER = 2  # at most so many repetitions of our aPBI, which is not in the paper and takes as long as that of the paper
RBI_STARTS = 100  # repetitions of RBI where only its start is compared
QUICK = {"tasks": 4, "trials": 25, "repetitions": 1}


def run(
    history: History,
    out: Path,
    *,
    name: str = "",
    seed: int = 0,
    quick: bool = False,
    repetitions: int | None = None,
    jobs: int = -1,
    progress: bool = True,
) -> str:
    """Run both figures, write tables and pictures into `out`, and return the figures as text."""
    if not history.feature_names:
        raise HistoryError("this paper's starts need meta-features, which this history does not have")
    figures.pyplot()
    out.mkdir(parents=True, exist_ok=True)
    tasks = spread(history.tasks, QUICK["tasks"]) if quick else history.tasks
    times = repetitions or (QUICK["repetitions"] if quick else REPETITIONS)
    trials = QUICK["trials"] if quick else TRIALS
    work = runs.Work(history, tasks, out / "pieces", seed=seed, jobs=jobs, progress=progress, coarse=False)
    long = work.run(long_arms(times, trials), "searches")
    starts = work.run(start_arms(times, quick), "starts")
    work.pack()
    about = tables.description("similarities", name, seed=seed, quick=quick, tasks=len(tasks), repetitions=times)
    shown = tables.write(lines(tasks, long, starts), out, about)
    draw(shown, out, name)
    return text(shown, out, name, quick, len(history))


def long_arms(repetitions: int, trials: int) -> list[Arm]:
    """The published starts, each continued with both surrogates."""
    return [Arm(m, STARTS, BOTH, trials, _times(m, repetitions)) for m in PUBLISHED]


def start_arms(repetitions: int, quick: bool) -> list[Arm]:
    """The arms that are compared as starts only."""
    rbi = Arm(RBI, STARTS, repetitions=10 if quick else RBI_STARTS)
    return [rbi, *(Arm(m, STARTS, repetitions=_times(m, repetitions)) for m in NEW)]


def _times(m: Method, repetitions: int) -> int:
    return min(repetitions, FEWER) if m == APBI_OURS else repetitions


def lines(tasks: Sequence[str], long: Sequence[Outcome], starts: Sequence[Outcome]) -> list[Line]:
    """Fig. 1 and, for each surrogate, Fig. 2, both with distances and ranks."""
    rbi, *new = starts
    first = [rbi, *long[1:]]
    shown = [_line("figure1", outcome, runs.START) for outcome in (*first, *new)]
    published = shown[: len(first)]
    shown += tables.ranked(published, [outcome.curves() for outcome in first])
    for surrogate in BOTH:
        figure = f"figure2 {surrogate}"
        searches = [_line(figure, outcome, surrogate) for outcome in long]
        shown += searches
        shown += tables.ranked(searches, [outcome.curves(surrogate) for outcome in long])
    return shown


def _line(figure: str, outcome: Outcome, part: str) -> Line:
    name = outcome.arm.method.name
    surrogate = "" if part == runs.START else part
    tasks = outcome.runs[0]
    return tables.line(figure, name, tasks, outcome.curves(part), method=name, surrogate=surrogate)


def draw(shown: pd.DataFrame, out: Path, name: str, ending: str = "") -> None:
    """Draw both figures from their summary. ending: of the only kind of picture to draw, such as ".svg"."""
    published = [m.name for m in PUBLISHED]
    x = "number of initial configurations"
    with figures.canvas(out / f"figure1{ending}", columns=2, title=titled("Fig. 1: starts", name)) as (left, right):
        figures.curves(left, tables.panel(shown, "figure1", published, RANK), x=x, y="average rank")
        everyone = tables.panel(shown, "figure1", [*published, *(m.name for m in NEW)])
        figures.curves(right, everyone, x=x, y="average normalised MCR", log=True)
    with figures.canvas(out / f"figure2{ending}", columns=2, title=titled("Fig. 2: the long term", name)) as panels:
        for axes, surrogate in zip(panels, BOTH, strict=True):
            curves = tables.panel(shown, f"figure2 {surrogate}", published, RANK)
            figures.curves(axes, curves, title=surrogate, x="trials", y="average rank")


def text(shown: pd.DataFrame, out: Path, name: str, quick: bool, tasks: int) -> str:
    """The figures as text, and where to find everything."""
    at, last = (1, 3, 5, 10), int(shown["trial"].max())
    later = (11, 20, 40, last)
    parts = [f"{int(shown['tasks'].max())} of {tasks} tasks{f' of {name}' if name else ''} left out in turn."]
    if quick:
        parts.append(QUICK_NOTE)
    parts.append("Fig. 1, average rank after I configurations:\n" + tables.digest(shown, "figure1", at, RANK))
    parts.append("Fig. 1, average normalised misclassification rate:\n" + tables.digest(shown, "figure1", at))
    for surrogate in BOTH:
        figure = f"figure2 {surrogate}"
        parts.append(f"Fig. 2, {surrogate}, average rank after T trials:\n" + tables.digest(shown, figure, later, RANK))
    parts.append(f"Tables and figures are in {out}.")
    return "\n\n".join(parts)
