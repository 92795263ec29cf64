"""Objects in a notebook: a line, a small table and a picture as inline SVG, and pictures that any library can draw.

A `Picture` is plain data. `svg` draws it without any package, `draw` with Plotly or matplotlib. All text is escaped:
names come from users' files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from itertools import pairwise
from typing import Any

from headstart._support.wording import printable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9")
INLINE = dict(zip(COLOURS, ("#2b8ac9", "#e06c1f", "#12a67c", "#c873a2", "#b58900", "#4da6dd"), strict=True))
CELL = "text-align:left;padding:2px 14px 2px 0"
WIDTH, HEIGHT = 460, 230  # pixels of an inline picture
ROWS = 10  # of a table in a notebook
ROW = 18  # pixels of a line in a picture with one line per name
LINES = 25  # of a picture with one line per name


@dataclass(frozen=True)
class Series:
    """Points (x, y) of one name: a line with a band from low to high, or marks with texts.

    steps: the line stays level until the next point, as the best value so far does.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    marks: bool = False
    dashed: bool = False
    steps: bool = False
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Picture:
    """What to draw. x, y: titles of the axes. names: of the lines y = 0, 1, …, from the top; then x is from 0 to 1."""

    series: Sequence[Series]
    x: str
    y: str = ""
    names: Sequence[str] = ()

    def colour(self, i: int) -> str:
        return "#808a96" if self.series[i].dashed else COLOURS[i % len(COLOURS)]


def draw(picture: Picture) -> Any:
    """The picture as a figure of Plotly, or of matplotlib if Plotly is not installed."""
    return import_module("headstart.report.plots").draw(picture)  # by name, because reports may import everything


def text(value: Any) -> str:
    """A value as HTML: short numbers, escaped text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(printable(shown))


def card(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], picture: Picture | None = None) -> str:
    """The HTML of an object in a notebook. Of many rows the first are shown, and how many there are."""
    cells = "".join(f"<th style='{CELL}'>{text(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td style='{CELL}'>{text(value)}</td>" for value in row) + "</tr>" for row in rows[:ROWS]
    )
    more = f"<div>… {len(rows):,} in all</div>" if len(rows) > ROWS else ""
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}" if rows else ""
    drawn = "" if picture is None else svg(picture)
    return f"<div style='overflow-x:auto'><div><strong>{text(title)}</strong></div>{table}{drawn}</div>"


# -- SVG ------------------------------------------------------------------------------------------------------


def svg(picture: Picture) -> str:
    """The picture as SVG, in the colour of the text around it; nothing if there is not more than one point to draw."""
    known = [(x, y) for one in picture.series for x, y in zip(one.x, one.y, strict=True) if _finite(x, y)]
    if not known or (len(set(known)) == 1 and not picture.names):
        return ""
    bands = [v for one in picture.series for v in (*(one.low or ()), *(one.high or ())) if _finite(v)]
    names = [printable(name) for name in picture.names]
    left = min(170, 14 + 7 * max(map(len, names), default=4)) if names else 52
    height = 52 + ROW * len(names) if names else HEIGHT
    xs, ys = [0.0, 1.0] if names else [x for x, _ in known], [*(y for _, y in known), *bands]
    X = _scale(min(xs), max(xs), left + 8, WIDTH - 14)
    Y = (
        _scale(0, max(len(names) - 1, 1), 20, 20 + ROW * max(len(names) - 1, 1))
        if names
        else _scale(min(ys), max(ys), height - 36, 10)
    )
    parts = [_axes(picture, names, X, Y, (min(xs), max(xs)), (min(ys), max(ys)), left, height)]
    for i, one in enumerate(picture.series):
        parts.append(_series(one, _inline(picture, i), X, Y))
    legend = "" if names else _legend(picture)
    label = escape(f"{picture.y or 'values'} over {picture.x}", quote=True)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{label}' viewBox='0 0 {WIDTH} {height}' "
        f"width='{WIDTH}' height='{height}' style='max-width:100%;font:11px sans-serif' fill='currentColor'>"
        f"{''.join(parts)}</svg>{legend}"
    )


def _inline(picture: Picture, i: int) -> str:
    """A colour that stands out on white and on black: a notebook does not say which it is."""
    return INLINE.get(picture.colour(i), picture.colour(i))


def _finite(*values: float) -> bool:
    return all(math.isfinite(value) for value in values)


def _scale(low: float, high: float, start: float, end: float) -> Any:
    span = high / 2 - low / 2 or 0.5  # halves, because the difference itself may overflow
    return lambda v: start + (v / 2 - low / 2) / span * (end - start)


def _axes(
    picture: Picture,
    names: Sequence[str],
    X: Any,
    Y: Any,
    xs: tuple[float, float],
    ys: tuple[float, float],
    left: float,
    height: float,
) -> str:
    bottom = height - 30
    parts = [f"<path d='M{left} {bottom}H{WIDTH - 8}' stroke='currentColor' opacity='.5'/>"]
    for value, anchor in zip(dict.fromkeys(xs), ("start", "end"), strict=False):
        parts.append(f"<text x='{X(value):.1f}' y='{bottom + 13}' text-anchor='{anchor}'>{value:.4g}</text>")
    parts.append(f"<text x='{(left + WIDTH) / 2}' y='{bottom + 26}' text-anchor='middle'>{text(picture.x)}</text>")
    if names:
        ticks = [(float(i), name if len(name) <= 24 else name[:23] + "…") for i, name in enumerate(names)]
    else:
        ticks = [(value, f"{value:.3g}") for value in dict.fromkeys(ys)]
        parts.append(
            f"<text transform='rotate(-90 10 {bottom / 2})' x='10' y='{bottom / 2}' text-anchor='middle'>"
            f"{text(picture.y)}</text>"
        )
    for value, name in ticks:
        parts.append(f"<text x='{left}' y='{Y(value) + 4:.1f}' text-anchor='end'>{escape(name)}</text>")
    return "".join(parts)


def _series(one: Series, colour: str, X: Any, Y: Any) -> str:
    points = [(X(x), Y(y), i) for i, (x, y) in enumerate(zip(one.x, one.y, strict=True)) if _finite(x, y)]
    if one.marks:
        parts = [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}' opacity='.7'/>" for x, y, _ in points]
        if one.texts:
            for x, y, i in points:
                side, anchor = (-4, "end") if x > WIDTH - 50 else (4, "start")
                where = f"x='{x + side:.1f}' y='{y - 3:.1f}' text-anchor='{anchor}'"
                parts.append(f"<text {where}>{text(one.texts[i])}</text>")
        return "".join(parts)
    band = ""
    if one.low is not None and one.high is not None:
        around = [(X(x), Y(v)) for x, v in zip(one.x, one.high, strict=True)]
        around += [(X(x), Y(v)) for x, v in reversed(list(zip(one.x, one.low, strict=True)))]
        band = f"<path d='{_path(around)}Z' fill='{colour}' opacity='.15'/>"
    dash = " stroke-dasharray='5 4'" if one.dashed else ""
    corners = [(x, y) for x, y, _ in points]
    if one.steps:
        level = [(x, y) for (_, y), (x, _) in pairwise(corners)]
        corners = [corners[0], *(point for pair in zip(level, corners[1:], strict=True) for point in pair)]
    line = _path(corners)
    return f"{band}<path d='{line}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _legend(picture: Picture) -> str:
    if len(picture.series) < 2:
        return ""
    entries = "  ".join(
        f"<span style='color:{_inline(picture, i)}'>●</span> {text(one.name)}" for i, one in enumerate(picture.series)
    )
    return f"<div style='font-size:11px'>{entries}</div>"
