"""Pictures in the style of a paper: each method has the same colour and mark everywhere; bands, labels at line ends.

The only module that imports matplotlib. A figure is drawn inside a `with` block and written when the block ends:

    with canvas("out/figure1", columns=2) as (left, right):
        lines = [Curve("LI", x, mean, error)]
        curves(left, lines, title="SVM", x="trials", y="ADTM")

The axes are plain matplotlib axes, so anything else can be drawn on them too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart._support.files import replacing, writable
from headstart._support.types import Array
from headstart.errors import ArgumentError, MissingPackageError

Numbers = Any  # a one-dimensional array, sequence or index
PICTURES = (".png", ".pdf", ".svg")
BOTH = (".png", ".svg")  # for the screen and for print


@dataclass(frozen=True)
class Style:
    """How a method is drawn, in every figure.

    printed: as misprinted in the paper (dashed, with hollow marks). thin: a variant of another method.
    """

    color: str
    mark: str
    printed: bool = False
    thin: bool = False


# Colours by Okabe and Ito (2008) and, once theirs are used up, by Tol (2021): safe for colour-blind readers.
STYLES: Mapping[str, Style] = {
    # starts
    "No Init": Style("#8a8a8a", "x"),
    "RBI": Style("#e69f00", "o"),
    "NBI": Style("#56b4e9", "s"),
    "PBI": Style("#009e73", "^"),
    "aPBI": Style("#882255", "v"),
    "aPBI, headstart": Style("#c06090", "v", thin=True),
    "aaPBI": Style("#999933", ">"),
    "LI": Style("#0072b2", "D"),
    "LI, Algorithm 2": Style("#00395c", "d", thin=True),
    "LI, headstart": Style("#00395c", "d", thin=True),
    "LI, tried before": Style("#6baed6", "8", thin=True),
    "LI, Algorithm 2, printed gradient": Style("#00395c", "d", printed=True),
    "LI, printed gradient": Style("#0072b2", "D", printed=True),
    "aLI": Style("#d55e00", "p"),
    "aLI, headstart": Style("#f39a60", "p", thin=True),
    "aLI, greedy, turned round": Style("#f39a60", "p", thin=True),
    "aLI, greedy, printed weights": Style("#d55e00", "p", printed=True),
    "aLI, printed weights": Style("#d55e00", "p", printed=True),
    "metric": Style("#332288", "h"),
    "auto": Style("#000000", "*"),
    # surrogates
    "GP": Style("#44aa99", "d"),
    "RF": Style("#b8860b", "<"),
    "SCoT": Style("#cc79a7", "P"),
    "MKLGP": Style("#117733", "X"),
    # the Siamese networks
    "lstm, training": Style("#d55e00", "s", thin=True),
    "lstm": Style("#d55e00", "s"),
    "mean": Style("#0072b2", "D"),
    "attention": Style("#009e73", "^"),
    "random, EI": Style("#8a8a8a", "x"),
    "random, GP-UCB": Style("#e69f00", "o"),
    "3 any, EI": Style("#009e73", "^"),
    "3 nearest, EI": Style("#56b4e9", "s"),
    "3 nearest, prior mean, EI": Style("#332288", "h"),
    "3 nearest, headstart's prior, EI": Style("#882255", "X"),
    "zero prior mean": Style("#8a8a8a", "x"),
    "piecewise prior mean": Style("#d55e00", "s"),
    "piecewise, connected": Style("#0072b2", "D"),
    # the demonstration
    "random search": Style("#8a8a8a", "x"),
    "Optuna's TPE": Style("#e69f00", "o"),
    "cold Gaussian process": Style("#44aa99", "d"),
    "headstart": Style("#0072b2", "D"),
}

LOOK = {
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "font.size": 9.5,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.7,
    "lines.markersize": 5,
    "savefig.dpi": 200,
    "svg.hashsalt": "headstart",  # the same picture gives the same file
}
END = "line end"  # marks the labels that must not overlap
LABEL = 8.5  # size of these labels in points
FLOOR = 1e-4  # of a logarithmic axis, which has no 0


@dataclass(frozen=True)
class Curve:
    """A line with a band: `mean` ± `error` (usually a standard error) over `x`.

    name: a key of STYLES, and the label at the line's end unless `label` is given.
    """

    name: str
    x: Numbers
    mean: Numbers
    error: Numbers | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if self.name not in STYLES:
            raise ArgumentError(f"no style for the method {self.name!r}", "add it to headstart.report.figures.STYLES")
        if len(self.x) != len(self.mean) or (self.error is not None and len(self.error) != len(self.x)):
            raise ArgumentError(f"x, mean and error of the curve {self.name!r} must be equally long")


@contextmanager
def canvas(
    path: str | os.PathLike[str],
    *,
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (4.8, 3.8),
    title: str | None = None,
) -> Iterator[list[Any]]:
    """The axes of a figure of rows × columns panels (each of `size` inches), written when the block ends.

    path: a path that ends in .png, .pdf or .svg gives that file, any other a PNG and an SVG.
    """
    plt = pyplot()
    with plt.rc_context(LOOK):
        wide, high = size
        figure, axes = plt.subplots(rows, columns, figsize=(wide * columns, high * rows), layout="constrained")
        try:
            panels = list(np.atleast_1d(axes).ravel())
            yield panels
            if title:
                figure.suptitle(title, fontsize=12)
            figure.draw_without_rendering()  # fixes the heights of the panels
            figure.set_layout_engine("none")
            for panel in panels:
                _separate(panel, figure.dpi)
            for target in targets(path):
                with replacing(target) as temporary:
                    figure.savefig(temporary, metadata={"Date": None} if target.suffix == ".svg" else None)
        finally:
            plt.close(figure)


def targets(path: str | os.PathLike[str]) -> list[Path]:
    """The files that `canvas` writes for this path."""
    path = Path(path)
    if path.suffix.lower() in PICTURES:
        return [path]
    return [path.with_name(path.name + ending) for ending in BOTH]


def curves(axes: Any, lines: Sequence[Curve], *, title: str = "", x: str = "", y: str = "", log: bool = False) -> None:
    """Lines with bands, and their names at the right ends."""
    if log:
        axes.set_yscale("log")
    for line in lines:
        style = STYLES[line.name]
        place, mean = np.asarray(line.x, dtype=float), np.asarray(line.mean, dtype=float)
        mean = np.maximum(mean, FLOOR) if log else mean
        if line.error is not None:
            low, high = mean - line.error, mean + line.error
            low = np.maximum(low, mean / 4) if log else low
            axes.fill_between(place, low, high, color=style.color, alpha=0.13, lw=0)
        axes.plot(
            place,
            mean,
            color=style.color,
            marker=style.mark,
            markevery=max(1, len(place) // 10),
            markerfacecolor="white" if style.printed else style.color,
            linestyle="--" if style.printed else "-",
            linewidth=1.1 if style.thin else LOOK["lines.linewidth"],
            clip_on=False,
        )
        _label_end(axes, line.label or line.name, (place[-1], mean[-1]), style)
    axes.set(title=title, xlabel=x, ylabel=y)
    if lines:
        longest = max((line.x for line in lines), key=len)
        axes.set_xlim(longest[0] - 0.02 * len(longest), longest[-1])
        if len(longest) <= 12:
            axes.set_xticks(longest)
        else:
            axes.xaxis.get_major_locator().set_params(integer=True)  # trials are whole numbers
    if log:
        _numbers(axes)


def span(axes: Any, left: float, right: float, y: float, label: str) -> None:
    """An arrow from `right` to `left` at height y: what is saved. The label stands where it covers the curves least."""
    from matplotlib.patheffects import withStroke

    arrow = {"arrowstyle": "-|>", "color": "#444444", "lw": 1.1, "ls": "--", "shrinkA": 0, "shrinkB": 5}
    axes.annotate("", (left, y), (right, y), arrowprops=arrow)
    rim = [withStroke(linewidth=2.5, foreground="white")]  # readable on a line, without a plate that hides it
    text = axes.annotate(label, (left, y), (0, 0), textcoords="offset points", color="#444444", path_effects=rim)
    curves = [axes.transData.transform(_dense(line)) for line in axes.lines]

    def covered(place: tuple[float, str, int]) -> int:
        x, side, offset = place
        text.xy = (x, y)
        text.set(va=side, ha="left" if x == left else "center", position=(14 if x == left else 0, offset))
        box = text.get_window_extent().padded(2)
        return sum(int(box.count_contains(curve)) for curve in curves)

    middle = (left + right) / 2
    places = [(x, side, offset) for x in (left, middle) for side, offset in (("top", -5), ("bottom", 5))]
    covered(min(places, key=covered))


def _dense(line: Any) -> Array:
    """Points of a line, close to each other: (n, 2)."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    at = np.linspace(0, len(x) - 1, 40 * len(x))
    return np.column_stack([np.interp(at, np.arange(len(x)), values) for values in (x, y)])


def _numbers(axes: Any) -> None:
    """At least three numbers on a logarithmic axis, written as 0.05 instead of 5 × 10⁻²."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    low, high = axes.get_ylim()
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), range(1, 10)):
        ticks = [float(tick) for tick in np.outer(10.0**decades, steps).ravel() if low <= tick <= high]
        if len(ticks) >= 3:
            axes.yaxis.set_major_locator(FixedLocator(ticks))
            break
    else:  # less than a decade: almost linear
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], min_n_ticks=3))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _label_end(axes: Any, label: str, end: tuple[float, float], style: Style) -> None:
    axes.annotate(
        label,
        end,
        xytext=(1.05, 0.5),  # _separate sets the height
        textcoords="axes fraction",
        color=style.color,
        fontsize=LABEL,
        va="center",
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": style.color, "lw": 0.6, "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)},
        gid=END,
    )


def _separate(axes: Any, dpi: float) -> None:
    """Move labels as close to the ends of their lines as possible without overlaps."""
    labels = [text for text in axes.texts if text.get_gid() == END]
    if not labels:
        return
    height = axes.get_window_extent().height
    ends = np.array([axes.transAxes.inverted().transform(axes.transData.transform(t.xy))[1] for t in labels])
    for text, y in zip(labels, spread(ends, 1.25 * LABEL * dpi / 72 / height), strict=True):
        text.set_position((1.05, y))


def spread(ends: Array, gap: float) -> Array:
    """Heights in [0, 1] at least `gap` apart, in the order of `ends` and as close to them as possible.

    With i the rank of an end, y_i − i·gap must not decrease: an isotonic regression, clipped to the interval.
    """
    from scipy.optimize import isotonic_regression

    n = len(ends)
    gap = min(gap, 1 / max(n - 1, 1))
    order = np.argsort(ends, kind="stable")
    steps = gap * np.arange(n)
    heights = np.empty(n)
    heights[order] = np.clip(isotonic_regression(ends[order] - steps).x, 0, 1 - steps[-1]) + steps
    return heights


def check(path: str | os.PathLike[str]) -> None:
    """Fail before any work if the picture could not be drawn or written after it."""
    path = Path(path)
    if path.suffix.lower() not in PICTURES:
        raise ArgumentError(f"cannot draw {path}: the name of a picture must end in {', '.join(PICTURES)}")
    writable(path)
    pyplot()


def pyplot(*, screen: bool = False) -> Any:
    """matplotlib.pyplot for drawing to files, which works without a display; screen: for people, as they set it up."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError.of("drawing", "matplotlib", "report") from error
    if not screen:
        matplotlib.use("agg")
    import matplotlib.pyplot

    return matplotlib.pyplot
