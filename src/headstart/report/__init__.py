"""A page about a history, and pictures: do past runs help, what was learned, how similar are the tasks.

`content` computes everything as plain data, `page.html` draws it with Plotly in the browser, and `write` puts both and
the Plotly library into one file that needs no network. `figures` draws pictures with matplotlib.

May import: `adapters` and below. Hands on: `write`, and the figures of the papers and of the demonstration.
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
from headstart._support.wording import printable
from headstart.errors import MissingPackageError
from headstart.history import History
from headstart.report.content import content


def write(
    history: History,
    path: str | os.PathLike[str],
    *,
    title: str = "headstart",
    n: int | None = None,
    method: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
    tasks: int | str | None = None,
) -> dict[str, Any]:
    """Write the report on a history to `path`; returns its content.

    n: how many configurations the start has. method: how it is learned. The other arguments are those of `evidence`.
    """
    library = plotly_library()
    with replacing(path) as temporary:  # first, because a path that cannot be written should fail before the long work
        found = content(history, title=title, n=n, method=method, seed=seed, jobs=jobs, progress=progress, tasks=tasks)
        temporary.write_text(page(found, library), encoding="utf-8")
    return found


def page(found: dict[str, Any], library: bytes) -> str:
    """The page as text. It contains `found` as JSON that no name can break out of."""
    found = _printable(found)
    # Without "<" neither the end of the script element nor the beginning of a comment can occur.
    data = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "{{title}}": html.escape(found["title"]),
        "{{version}}": html.escape(__version__),
        "{{data}}": data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "{{library}}": base64.b64encode(gzip.compress(library, 9, mtime=0)).decode("ascii"),
    }
    text = files("headstart.report").joinpath("page.html").read_text(encoding="utf-8")
    before, *rest = text.split("{{")
    # One pass, so that placeholders in the inserted text are left alone.
    return before + "".join(
        parts["{{" + name + "}}"] + after for name, _, after in (piece.partition("}}") for piece in rest)
    )


def _printable(content: Any) -> Any:
    """The same content, with all its text escaped as for a terminal."""
    if isinstance(content, str):
        return printable(content, keep="\n")
    if isinstance(content, dict):
        return {_printable(name): _printable(value) for name, value in content.items()}
    return [_printable(value) for value in content] if isinstance(content, (list, tuple)) else content


def plotly_library() -> bytes:
    """Plotly's JavaScript."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingPackageError.of("the report", "plotly", "report") from error
    return str(get_plotlyjs()).encode()
