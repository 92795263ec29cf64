"""Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), Fig. 1-6.

Fig. 1: ADTM after I = 1 … 10 configurations of each start, and of the surrogates that need none. Fig. 2-5: the long
term with GP, RF, SCoT and MKLGP, each started with five configurations. Fig. 6: the four surrogates started by LI.

LI and aLI are those of the paper: Algorithm 2 and section IV-G to the letter, but for the two misprints, with a start
learned for the I at which it is judged. Not in the paper, but shown for comparison: LI with the gradient as printed
(eq. 14), aLI with the weights as printed (eq. 17), headstart's own variants of both, which are learned for ten and put
the most useful configuration first, and the best choice among configurations that were tried before. headstart's
default is measured by `benchmarks/suite.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from headstart._support.types import Array
from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.history import Features, History
from headstart.papers import runs, tables
from headstart.papers.runs import Arm, Method, Outcome
from headstart.papers.tables import Line
from headstart.report import figures
from headstart.starts.measures import expected_random
from headstart.strategies.base import Planned, Run
from headstart.strategies.greedy import greedy
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit
from headstart.transfer.models import TaskModels


@dataclass(frozen=True)
class TriedBefore:
    """The greedy choice among configurations that were tried on past tasks, for the loss that LI minimises (eq. 10).

    It shows what configurations that were never tried before add to LI.
    """

    def begin(self, models: TaskModels, *, n: int, features: Features | None, rng: np.random.Generator) -> Run:
        V = models.history.V
        return Planned(V[greedy(models.responses(V), n)], models.space, models.allowed, int(rng.integers(2**32)))


NO_INIT = Method("No Init")
RBI = Method("RBI", "rbi")
NBI = Method("NBI", "nbi", described=True)
LI = Method("LI", LearnedInit(recipe="paper"))
ALI = Method("aLI", AdaptiveLearnedInit(recipe="paper"))
LI_PRINTED = Method("LI, printed gradient", LearnedInit(recipe="paper", gradient="printed"))
ALI_PRINTED = Method("aLI, printed weights", AdaptiveLearnedInit(recipe="paper", weights="printed"))
LI_OURS = Method("LI, headstart", "li")
ALI_OURS = Method("aLI, headstart", "ali")
TRIED = Method("LI, tried before", TriedBefore())
LEARNED = (LI, ALI, LI_PRINTED, ALI_PRINTED)  # learned for the I at which they are judged
VARIANTS = (LI_PRINTED, ALI_PRINTED, LI_OURS, ALI_OURS)
PUBLISHED = (NO_INIT, RBI, NBI, LI, ALI)
FOUR = ("GP", "RF", "SCoT", "MKLGP")
LONG_FIGURES = {"GP": "figure2", "RF": "figure3", "SCoT": "figure4", "MKLGP": "figure5"}

STARTS, FIVE, TRIALS = 10, 5, 50  # I of Fig. 1, I of the long term, and T
REPETITIONS = 10
RANDOM = {"GP": 5, "RF": 1, "SCoT": 1, "MKLGP": 1}  # RBI and No Init get this many times the repetitions
SIMULATED = 10  # so does RBI in Fig. 1, if its expectation is not known exactly
QUICK = {"tasks": 8, "trials": 15, "repetitions": 1}
QUICK_NOTE = "A quick run: few tasks, trials and repetitions, so the numbers are rough."


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
    starts: Sequence[str] | None = None,
) -> str:
    """Run all six figures, write tables and pictures into `out`, and return the figures as text.

    name: of the history, for titles. quick: few left-out tasks, trials and repetitions. starts: only Fig. 1, and only
    these starts (No Init and RBI are exact); all of them if the list is empty.
    """
    figures.pyplot()
    out.mkdir(parents=True, exist_ok=True)
    tasks = spread(history.tasks, QUICK["tasks"]) if quick else history.tasks
    times = repetitions or (QUICK["repetitions"] if quick else REPETITIONS)
    trials = QUICK["trials"] if quick else TRIALS
    first = usable(start_arms(history, tasks, times), history)
    if starts:
        first = chosen(first, starts)
    work = runs.Work(history, tasks, out / "pieces", seed=seed, jobs=jobs, progress=progress, learned_once=True)
    begun = work.run(first, "starts")
    long = [] if starts is not None else searched(work, usable(long_arms(times, trials), history))
    work.pack()
    title = name if starts is None else f"{name}, Fig. 1 only"
    about = tables.description("initializations", title, seed=seed, quick=quick, tasks=len(tasks), repetitions=times)
    shown = tables.write([*start_lines(history, tasks, begun), *long_lines(tasks, long)], out, about)
    draw(shown, out, name)
    return text(shown, out, name, quick, len(history))


def spread(tasks: Sequence[str], most: int) -> list[str]:
    """At most `most` tasks, evenly spread over the list."""
    return [tasks[i] for i in np.linspace(0, len(tasks) - 1, min(most, len(tasks))).astype(int)]


def usable(arms: Sequence[Arm], history: History) -> list[Arm]:
    """All arms, but without those that need meta-features if the history has none."""
    return [arm for arm in arms if history.feature_names or not arm.method.described]


def chosen(arms: Sequence[Arm], names: Sequence[str]) -> list[Arm]:
    """The arms of the starts with these names."""
    there = list(dict.fromkeys(arm.method.name for arm in arms))
    if unknown := [name for name in names if name not in there]:
        raise ArgumentError(f"there is no start {unknown[0]!r}{closest(unknown[0], there)}: {', '.join(there)}")
    return [arm for arm in arms if arm.method.name in names]


def start_arms(history: History, tasks: Sequence[str], repetitions: int) -> list[Arm]:
    """Fig. 1. No Init needs no runs, and RBI only if its expectation is not known exactly.

    The first proposals of SCoT and MKLGP come from their searches without a start.
    """
    arms = [Arm(m, STARTS, repetitions=repetitions) for m in (NBI, LI_OURS, ALI_OURS, TRIED)]
    arms += [Arm(m, n, repetitions=repetitions) for m in LEARNED for n in range(1, STARTS + 1)]
    return arms if expected_rbi(history, tasks) else [Arm(RBI, STARTS, repetitions=SIMULATED * repetitions), *arms]


def long_arms(repetitions: int, trials: int) -> list[Arm]:
    """Fig. 2-6: the published starts with all surrogates, the others with the GP."""
    arms = []
    for surrogate in FOUR:
        more = RANDOM[surrogate] if repetitions > 1 else 1
        for m in PUBLISHED:
            times = repetitions * (more if m in (NO_INIT, RBI) else 1)
            arms.append(Arm(m, FIVE, (surrogate,), trials, times))
    return [*arms, *(Arm(m, FIVE, ("GP",), trials, repetitions) for m in VARIANTS)]


def searched(work: runs.Work, arms: Sequence[Arm]) -> list[Outcome]:
    """The searches, in the order of the arms. Those with forests, most of the work, come last."""
    forests = [arm for arm in arms if "RF" in arm.surrogates]
    others = [arm for arm in arms if arm not in forests]
    found = {one.arm: one for some in (others, forests) for one in work.run(some, "searches")}
    return [found[arm] for arm in arms]


# -- lines ---------------------------------------------------------------------------------------------------


def start_lines(history: History, tasks: Sequence[str], starts: Sequence[Outcome]) -> list[Line]:
    """Fig. 1."""
    scaled = [history[task].scaled() for task in tasks]
    random = np.array([expected_random(s, STARTS) for s in scaled])
    lines = [tables.exact("figure1", NO_INIT.name, tasks, random, method=NO_INIT.name)]
    if rbi := expected_rbi(history, tasks):
        lines.append(rbi)
    by_method: dict[str, list[Outcome]] = {}
    for outcome in starts:
        by_method.setdefault(outcome.arm.method.name, []).append(outcome)
    for m, outcomes in by_method.items():
        lines.append(tables.line("figure1", m, tasks, judged(outcomes), method=m))
    return lines


def judged(outcomes: Sequence[Outcome]) -> Array:
    """Curves (repetitions, tasks, trials) of a start; where it was learned for each I, the value after I of each."""
    if len(outcomes) == 1:
        return outcomes[0].curves()
    most = max(len(outcome.runs) for outcome in outcomes)  # a start that does not depend on chance was run once
    last = [outcome.curves()[:, :, -1] for outcome in outcomes]
    return np.stack([np.resize(values, (most, *values.shape[1:])) for values in last], axis=2)


def expected_rbi(history: History, tasks: Sequence[str]) -> Line | None:
    """The exact expectation of RBI; None if there are too few different bests, or some are not on a task's grid."""
    values = []
    for task in tasks:
        times = runs.best_counts(history, task)
        if times is None or np.count_nonzero(times) < STARTS:
            return None
        values.append(runs.expected_best_of_random(history[task].scaled(), times, STARTS))
    return tables.exact("figure1", RBI.name, tasks, np.array(values), method=RBI.name)


def long_lines(tasks: Sequence[str], long: Sequence[Outcome]) -> list[Line]:
    """Fig. 2-5, Fig. 6 as a selection of them, and the lines of Fig. 1 for SCoT and MKLGP without a start."""
    lines = []
    for outcome in long:
        m = outcome.arm.method.name
        for surrogate in outcome.arm.surrogates:
            curves = outcome.curves(surrogate)
            if surrogate in FOUR:
                figure = LONG_FIGURES[surrogate]
                lines.append(tables.line(figure, m, tasks, curves, method=m, surrogate=surrogate))
            if m == NO_INIT.name and surrogate in runs.TRANSFER:
                first = curves[:, :, :STARTS]
                lines.append(tables.line("figure1", surrogate, tasks, first, method=m, surrogate=surrogate))
            if m == LI.name:
                lines.append(tables.line("figure6", surrogate, tasks, curves, method=m, surrogate=surrogate))
    return lines


# -- showing -------------------------------------------------------------------------------------------


def draw(shown: pd.DataFrame, out: Path, name: str, ending: str = "") -> None:
    """Draw all figures from their summary. ending: of the only kind of picture to draw, such as ".svg"."""
    published = [m.name for m in PUBLISHED]
    corrected = ["NBI", "LI", "aLI", *(m.name for m in VARIANTS), TRIED.name]
    x, y = "number of initial configurations", "ADTM"
    with figures.canvas(out / f"figure1{ending}", columns=2, title=titled("Fig. 1: starts", name)) as (left, right):
        figures.curves(left, tables.panel(shown, "figure1", [*published, *FOUR]), title="published", x=x, y=y, log=True)
        lines = tables.panel(shown, "figure1", corrected)
        figures.curves(right, lines, title="corrections", x=x, y=y, log=True)
    for surrogate, figure in LONG_FIGURES.items():
        if figure not in set(shown["figure"]):
            continue
        title = titled(f"Fig. {figure[-1]}: {surrogate} after five configurations", name)
        both = surrogate == "GP"
        with figures.canvas(out / f"{figure}{ending}", columns=1 + both, title=title) as panels:
            lines = tables.panel(shown, figure, published)
            figures.curves(panels[0], lines, title="published" if both else "", x="trials", y=y, log=True)
            if both:
                lines = tables.panel(shown, figure, corrected)
                figures.curves(panels[1], lines, title="corrections", x="trials", y=y, log=True)
    if "figure6" not in set(shown["figure"]):
        return
    title = titled("Fig. 6: started by LI", name)
    with figures.canvas(out / f"figure6{ending}", title=title) as (axes,):
        figures.curves(axes, tables.panel(shown, "figure6", [*FOUR]), x="trials", y=y, log=True)


def titled(what: str, name: str) -> str:
    return f"{what}\n{name}" if name else what


def text(shown: pd.DataFrame, out: Path, name: str, quick: bool, tasks: int) -> str:
    """The figures as text, and where to find everything."""
    last = int(shown["trial"].max())
    seen = int(shown["tasks"].max())
    parts = [f"ADTM{f' on {name}' if name else ''}, {seen} of {tasks} tasks left out in turn."]
    if quick:
        parts.append(QUICK_NOTE)
    parts.append("Fig. 1, after I configurations:\n" + tables.digest(shown, "figure1", (1, 3, 5, 10)))
    long = {**{f: f"Fig. {f[-1]}, {s}" for s, f in LONG_FIGURES.items()}, "figure6": "Fig. 6"}
    for figure, title in ((f, t) for f, t in long.items() if f in set(shown["figure"])):
        parts.append(f"{title}, after T trials:\n" + tables.digest(shown, figure, (5, 10, 20, 30, last)))
    parts.append(f"Tables and figures are in {out}.")
    return "\n\n".join(parts)
