"""One self-contained HTML page about a history: does its past help, what was learned from it, how alike its tasks are.

`content` computes everything and is plain data; `page.html` is the page that draws it with Plotly in the browser;
`write` puts the two and the Plotly library into one file that needs no network.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from importlib.resources import files
from typing import Any

from headstart import __version__
from headstart._support.files import replacing
from headstart.history import History
from headstart.report.content import content


def write(
    history: History,
    path: str | os.PathLike[str],
    *,
    title: str = "headstart",
    n: int = 10,
    method: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Write the report of a history to `path`; returns what it says.

    n: how many configurations the start has. method: how it is learned. The other arguments are those of `evidence`.
    """
    library = plotly_library()
    with replacing(path) as temporary:  # first, so that a path that cannot be written is said before the long work
        told = content(history, title=title, n=n, method=method, seed=seed, jobs=jobs, progress=progress)
        temporary.write_text(page(told, library), encoding="utf-8")
    return told


def page(told: dict[str, Any], library: bytes) -> str:
    """The page as text. The content stands in it as JSON that no name can break out of."""
    # "<" cannot occur, so neither can the end of the script element or the beginning of a comment.
    data = json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "{{title}}": html.escape(told["title"]),
        "{{version}}": html.escape(__version__),
        "{{data}}": data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "{{library}}": base64.b64encode(gzip.compress(library, 9, mtime=0)).decode("ascii"),
    }
    text = files("headstart.report").joinpath("page.html").read_text(encoding="utf-8")
    before, *rest = text.split("{{")
    # One pass, so that nothing that was put in is looked at again.
    return before + "".join(
        parts["{{" + name + "}}"] + after for name, _, after in (piece.partition("}}") for piece in rest)
    )


def plotly_library() -> bytes:
    """Plotly's JavaScript."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the report needs Plotly: pip install 'headstart[report]'", name="plotly") from error
    return str(get_plotlyjs()).encode()
