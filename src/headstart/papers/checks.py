"""Claims checked against the tables of `headstart reproduce`.

A claim is a list of comparisons of two lines of a figure after some numbers of trials. Comparisons are paired by task,
so that the standard error is that of the difference. A difference is tested by Student's t with n − 1 degrees of
freedom for n tasks (Welch's for differences that are not paired). Where all n differences are the same, t is infinite
however small n is; then the sign test decides. All comparisons of a claim on one history are corrected together by
Holm's method, which keeps the probability of any false one below the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from pathlib import Path
from typing import Any

import pandas as pd

from headstart._support.files import read_json
from headstart.errors import FormatError
from headstart.papers import tables
from headstart.papers.siamese_tables import EXAMPLES
from headstart.papers.tables import DISTANCE, RANK

BETTER, NO_BETTER, AS_GOOD = "better", "no better", "as good"
HOLDS, TENDS, OPEN, PARTLY, FAILS = "holds", "tends to hold", "not decided", "holds in part", "does not hold"
UNTOUCHED = "not contradicted"
LEVEL = 0.05  # of the corrected p-value at which a difference is significant
EQUAL = 1e-9  # of the mean difference: a standard error of at most this comes from rounding
NBSP = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Compare:
    """A claim about two lines of a figure: the first is better than the second, no better, or as good.

    later: the second line is taken from this figure and trial instead (then the two are not paired).
    than: the first line is better by more than it is in this other figure (the two differences are not paired, which
    makes the standard error rather too large).
    """

    figure: str
    first: str
    second: str
    at: tuple[int, ...]
    kind: str = BETTER
    measure: str = DISTANCE
    later: tuple[str, int] | None = None
    than: str | None = None

    def __str__(self) -> str:
        if self.than:
            return f"({self.first} − {self.second}) minus that of {figure_name(self.than)}"
        return f"{self.first} − {self.second}" + (f" after {self.later[1]}" if self.later else "")


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, where the paper makes it, how to check it, and the reason to give if it fails.

    All checks of a claim are made after the same numbers of trials. only: the claim is made for histories whose names
    begin with this, and is not checked on others.
    """

    text: str
    where: str
    checks: tuple[Compare, ...]
    why: str = ""
    only: str = ""

    @property
    def is_weak(self) -> bool:
        """Whether it claims no difference, which few data are enough not to contradict."""
        return all(check.kind != BETTER for check in self.checks)

    @property
    def at(self) -> tuple[int, ...]:
        return self.checks[0].at


@dataclass(frozen=True)
class Found:
    """One comparison in numbers: the difference of the two means, its standard error and degrees of freedom.

    n: how many tasks it rests on. corrected: the p-value, corrected for the other comparisons of the claim.
    """

    check: Compare
    trial: int
    difference: float
    se: float
    df: float
    n: int
    corrected: float | None = None

    @property
    def p(self) -> float:
        """The two-sided p-value of no difference, by Student's t; by the sign test if all differences are the same."""
        from scipy.stats import t

        if self.df < 1 or self.difference == 0:
            return 1.0
        if self.se <= EQUAL * abs(self.difference):
            return 2.0 ** (1 - self.n)
        return float(2 * t.sf(abs(self.difference) / self.se, self.df))

    @property
    def significant(self) -> bool:
        return (self.p if self.corrected is None else self.corrected) <= LEVEL

    @property
    def verdict(self) -> str:
        """Whether this comparison holds, fails, or is open because the difference is not significant."""
        if self.check.kind == AS_GOOD:
            return FAILS if self.significant else HOLDS
        if self.check.kind == NO_BETTER:
            return FAILS if self.significant and self.difference < 0 else HOLDS
        if not self.significant:
            return OPEN
        return HOLDS if self.difference < 0 else FAILS

    def __str__(self) -> str:
        """−.093 ± .030 without line breaks, bold if it is significant."""
        digits = decimals(self.check.measure)
        gap = f"{self.difference:+.{digits}f}".replace("0.", ".", 1).replace("-", "−")
        text = f"{gap}{NBSP}±{NBSP}{number(self.se, digits)}"
        return f"**{text}**" if self.significant else text


def holm(found: Sequence[Found]) -> list[Found]:
    """The same comparisons with p-values corrected by Holm's step-down method (Holm 1979)."""
    m, lowest, corrected = len(found), 0.0, [1.0] * len(found)
    for step, i in enumerate(sorted(range(m), key=lambda i: found[i].p)):
        lowest = max(lowest, min(1.0, (m - step) * found[i].p))
        corrected[i] = lowest
    return [replace(one, corrected=p) for one, p in zip(found, corrected, strict=True)]


def welch(a: tuple[float, int], b: tuple[float, int]) -> float:
    """Degrees of freedom of a difference of two means that are not paired, from (standard error, n) of each."""
    (s, n), (t, m) = a, b
    if s == t == 0 or min(n, m) < 2:
        return float(min(n, m) - 1)
    return (s**2 + t**2) ** 2 / (s**4 / (n - 1) + t**4 / (m - 1))


def figure_name(figure: str) -> str:
    """figure2 as Fig. 2, without a line break."""
    return figure.replace("figure", f"Fig.{NBSP}")


def decimals(measure: str) -> int:
    """The number of decimals to show."""
    return 2 if measure == RANK else 3


def number(value: float, digits: int) -> str:
    """0.043 as .043, like the papers."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if text.startswith("0.") else text


@dataclass(frozen=True)
class Results:
    """The tables of one run of a paper's experiments. name: of their folder. examples: if the run has some."""

    name: str
    about: dict[str, Any]
    summary: pd.DataFrame
    contrasts: pd.DataFrame
    examples: pd.DataFrame | None = None

    @classmethod
    def read(cls, folder: Path) -> Results:
        about = read_json(folder / tables.ABOUT, "a description of results")
        if not isinstance(about, dict) or not {"paper", "history", "tasks"} <= set(about):
            raise FormatError(f"{folder / tables.ABOUT} does not name its paper, history and tasks")
        times = about.get("repetitions", 1)
        if not isinstance(times, int) or times < 1:
            raise FormatError(
                f"repetitions in {folder / tables.ABOUT} must be a whole number of at least 1, but got {times!r}"
            )
        summary, contrasts = (tables.read(folder / name) for name in (tables.SUMMARY, tables.CONTRASTS))
        some = folder / EXAMPLES
        return cls(folder.name, about, summary, contrasts, tables.read(some) if some.is_file() else None)

    @property
    def paper(self) -> str:
        return str(self.about["paper"])

    @property
    def history(self) -> str:
        return str(self.about["history"])

    @property
    def repetitions(self) -> int:
        """As requested; random starts have more, starts that do not depend on chance have one."""
        return int(self.about.get("repetitions", 1))

    # The page of claims asks thousands of times, so the tables are kept as dictionaries, too.

    @cached_property
    def _gaps(self) -> dict[tuple[Any, ...], tuple[float, float]]:
        """The difference of two lines and its standard error, by figure, measure, both lines and trial."""
        return _pairs(self.contrasts, ["figure", "measure", "first", "second", "trial"], "difference")

    @cached_property
    def _means(self) -> dict[tuple[Any, ...], tuple[float, float]]:
        return _pairs(self.summary, ["figure", "measure", "line", "trial"], "mean")

    @cached_property
    def _tasks(self) -> dict[tuple[Any, ...], int]:
        columns = (self.summary[name].tolist() for name in ("figure", "measure", "line", "tasks"))
        return {tuple(key): int(tasks) for *key, tasks in zip(*columns, strict=True)}

    def find(self, check: Compare) -> list[Found]:
        """The comparison after each of its trials that were run."""
        how = self._unpaired if check.later else self._more if check.than else self._paired
        found = (how(check, trial) for trial in check.at)
        return [one for one in found if one is not None]

    def check(self, claim: Claim) -> list[list[Found]]:
        """All comparisons of a claim, check by check, corrected together; empty if the claim is not about this."""
        if not self.history.startswith(claim.only):
            return []
        parts = [self.find(check) for check in claim.checks]
        together = iter(holm([one for part in parts for one in part]))
        return [[next(together) for _ in part] for part in parts]

    def _paired(self, check: Compare, trial: int, figure: str | None = None) -> Found | None:
        figure = figure or check.figure
        for sign, a, b in ((1, check.first, check.second), (-1, check.second, check.first)):
            found = self._gaps.get((figure, check.measure, a, b, trial))
            if found is not None:
                n = self.tasks(figure, check.measure, a)
                return Found(check, trial, sign * found[0], found[1], n - 1, n)
        return None

    def _more(self, check: Compare, trial: int) -> Found | None:
        here, there = self._paired(check, trial), self._paired(check, trial, check.than)
        if here is None or there is None:
            return None
        df = welch((here.se, here.n), (there.se, there.n))
        gap = here.difference - there.difference
        return Found(check, trial, gap, hypot(here.se, there.se), df, min(here.n, there.n))

    def _unpaired(self, check: Compare, trial: int) -> Found | None:
        assert check.later is not None
        first = self.mean(check.figure, check.measure, check.first, trial)
        second = self.mean(check.later[0], check.measure, check.second, check.later[1])
        if first is None or second is None:
            return None
        n, m = (
            self.tasks(check.figure, check.measure, check.first),
            self.tasks(check.later[0], check.measure, check.second),
        )
        df = welch((first[1], n), (second[1], m))
        return Found(check, trial, first[0] - second[0], hypot(first[1], second[1]), df, min(n, m))

    def tasks(self, figure: str, measure: str, line: str) -> int:
        """How many tasks a line of a figure is about."""
        return self._tasks[figure, measure, line]

    @cached_property
    def fewer(self) -> dict[tuple[str, str], int]:
        """Figure and line of methods with fewer repetitions than requested, though they depend on chance: how many."""
        times = pd.to_numeric(self.summary["repetitions"], errors="coerce")
        cut = self.summary.assign(repetitions=times)[(times > 1) & (times < self.repetitions)]
        by_line = cut.groupby(["figure", "line"], sort=False)["repetitions"].min()
        lines = zip(by_line.index.tolist(), by_line.tolist(), strict=True)
        return {(str(figure), str(line)): int(n) for (figure, line), n in lines}

    def mean(self, figure: str, measure: str, line: str, trial: int) -> tuple[float, float] | None:
        """The mean of a line of a figure and its standard error; None: not run."""
        return self._means.get((figure, measure, line, trial))

    def lines(self, figure: str, measure: str) -> list[str]:
        """The names of a figure's lines."""
        s = self.summary
        return list(s[(s["figure"] == figure) & (s["measure"] == measure)]["line"].unique())


def _pairs(table: pd.DataFrame, key: list[str], value: str) -> dict[tuple[Any, ...], tuple[float, float]]:
    """A number of each row and its standard error, by the columns that identify the row."""
    columns = (table[name].tolist() for name in (*key, value, "se"))
    return {tuple(where): (float(one), float(se)) for *where, one, se in zip(*columns, strict=True)}


def verdict(found: Sequence[Found]) -> str:
    """The verdict on several comparisons together: the claim is about all of them, so one is enough to refute it."""
    kinds = [one.verdict for one in found]
    yes, no = kinds.count(HOLDS), kinds.count(FAILS)
    if no:
        return PARTLY if yes else FAILS
    if yes == len(kinds):
        return HOLDS
    return TENDS if 2 * yes >= len(kinds) else OPEN
