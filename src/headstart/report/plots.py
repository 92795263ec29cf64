"""Pictures of histories, starts, evidence and results for people: with Plotly, or else with matplotlib.

The only module that imports Plotly.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from headstart._support.display import Picture
from headstart._support.wording import printable
from headstart.errors import MissingPackageError
from headstart.report import figures


def draw(picture: Picture) -> Any:
    """A figure of Plotly; of matplotlib if Plotly is missing; an error that names the extra if both are."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        return _matplotlib(picture)
    return _plotly(go, picture)


def _plotly(go: Any, picture: Picture) -> Any:
    figure = go.Figure()
    for i, one in enumerate(picture.series):
        colour = picture.colour(i)
        if one.low is not None and one.high is not None:
            x, y = [*one.x, *reversed(one.x)], [*one.high, *reversed(one.low)]
            band = {"fill": "toself", "opacity": 0.2, "line": {"width": 0, "color": colour}, "fillcolor": colour}
            figure.add_scatter(x=x, y=y, mode="lines", hoverinfo="skip", showlegend=False, **band)
        lines = "lines" if one.steps else "lines+markers"
        mode = ("markers+text" if one.texts else "markers") if one.marks else lines
        line = {"color": colour, "dash": "dash" if one.dashed else "solid", "shape": "hv" if one.steps else "linear"}
        figure.add_scatter(
            x=list(one.x),
            y=list(one.y),
            mode=mode,
            name=_plain(one.name),
            text=[_plain(text) for text in one.texts] or None,
            textposition="top center",
            line=line,
            marker={"color": colour, "opacity": 0.75 if one.marks else 1},
        )
    named = {}
    if picture.names:
        named = {"tickvals": list(range(len(picture.names))), "ticktext": [_plain(name) for name in picture.names]}
        named |= {"range": [len(picture.names) - 0.5, -0.8]}
    figure.update_layout(xaxis_title=_plain(picture.x), yaxis={"title": _plain(picture.y), **named})
    return figure.update_layout(
        template="plotly_white", showlegend=len(picture.series) > 1 and not picture.names, margin={"t": 20}
    )


def _plain(text: str) -> str:
    """Text for Plotly, which interprets tags."""
    return escape(printable(text), quote=False)


def _matplotlib(picture: Picture) -> Any:
    try:
        plt = figures.pyplot(screen=True)
    except MissingPackageError as error:
        raise MissingPackageError.of("plot", "plotly or matplotlib", "report") from error
    height = 1.0 + 0.3 * len(picture.names) if picture.names else 3.6
    figure, axes = plt.subplots(figsize=(6.4, height), layout="constrained")
    for i, one in enumerate(picture.series):
        colour, name = picture.colour(i), _literal(one.name)
        if one.low is not None and one.high is not None:
            axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.15, lw=0)
        if one.marks:
            axes.scatter(one.x, one.y, color=colour, alpha=0.75, s=22, label=name, zorder=3)  # above the lines
            for x, y, text in zip(one.x, one.y, _texts(one.texts, len(one.x)), strict=True):
                axes.annotate(
                    _literal(text), (x, y), xytext=(0, 4), textcoords="offset points", fontsize=8, ha="center"
                )
        else:
            shape = "steps-post" if one.steps else "default"
            axes.plot(one.x, one.y, color=colour, linestyle="--" if one.dashed else "-", drawstyle=shape, label=name)
    axes.set(xlabel=_literal(picture.x), ylabel=_literal(picture.y))
    if picture.names:
        axes.set_yticks(range(len(picture.names)), [_literal(name) for name in picture.names])
        axes.set(xlim=(-0.06, 1.06), ylim=(len(picture.names) - 0.5, -0.8))
    elif all(float(x).is_integer() for one in picture.series for x in one.x):
        axes.xaxis.get_major_locator().set_params(integer=True)  # trials are whole numbers
    if len(picture.series) > 1 and not picture.names:
        axes.legend(frameon=False)
    return figure


def _texts(texts: Sequence[str], n: int) -> Sequence[str]:
    return texts or [""] * n


def _literal(text: str) -> str:
    """Text for matplotlib, which reads formulas between dollar signs."""
    return printable(text).replace("$", r"\$")
