"""A page about a history or a study, and pictures: do past runs help, what was learned, what comes next.

`content` and `study` compute everything as plain data, the files in `page` draw it as SVG in the browser, and `write`
and `write_study` put both into one small file that needs no network. `figures` draws pictures with matplotlib.

May import: `adapters` and below. Hands on: `write`, `write_study`, and the figures of the papers and the demonstration.
"""

from __future__ import annotations

import html
import json
import os
from importlib.resources import files
from typing import Any

from headstart import __version__
from headstart._support.files import replacing
from headstart._support.wording import printable
from headstart.history import History
from headstart.report.content import About, content


def write(
    history: History,
    path: str | os.PathLike[str],
    *,
    title: str = "headstart",
    source: str = "",
    metric: str = "",
    n: int | None = None,
    method: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
    tasks: int | str | None = None,
) -> dict[str, Any]:
    """Write the report on a history to `path`; returns its content.

    source, metric: where the runs come from and what their result is called, for the top of the page. n: how many
    configurations the start has. method: how it is learned. The other arguments are those of `evidence`. The page names
    the day on which it was made; everything else depends on the history and the seed alone.
    """
    about = About(title, source, metric)
    with replacing(path) as temporary:  # first, because a path that cannot be written should fail before the long work
        found = content(history, about=about, n=n, method=method, seed=seed, jobs=jobs, progress=progress, tasks=tasks)
        temporary.write_text(page(found), encoding="utf-8")
    return found


def write_study(where: str, name: str, path: str | os.PathLike[str], *, title: str = "") -> dict[str, Any]:
    """Write the report on one study of an Optuna storage, running or finished, to `path`; returns its content.

    where: the storage's URL or file. name: of the study. Needs the extra `optuna`. Nothing is written to the storage.
    """
    from headstart.adapters.optuna.databases import hidden
    from headstart.report import study

    with replacing(path) as temporary:
        found = study.content(where, name, about=About(title or name, source=hidden(where)))
        temporary.write_text(page(found), encoding="utf-8")
    return found


def page(found: dict[str, Any]) -> str:
    """The page as text. It contains `found` as JSON that no name can break out of."""
    found = _printable(found)
    # Without "<" neither the end of the script element nor the beginning of a comment can occur.
    data = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "{{title}}": html.escape(found["title"]),
        "{{version}}": html.escape(__version__),
        "{{data}}": data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "{{style}}": _part("page.css"),
        "{{script}}": _part("charts.js") + _part(f"{found['kind']}.js"),
    }
    before, *rest = _part("page.html").split("{{")
    # One pass, so that placeholders in the inserted text are left alone.
    return before + "".join(
        parts["{{" + name + "}}"] + after for name, _, after in (piece.partition("}}") for piece in rest)
    )


def _part(name: str) -> str:
    return files("headstart.report").joinpath("page", name).read_text(encoding="utf-8")


def _printable(content: Any) -> Any:
    """The same content, with all its text escaped as for a terminal."""
    if isinstance(content, str):
        return printable(content, keep="\n")
    if isinstance(content, dict):
        return {_printable(name): _printable(value) for name, value in content.items()}
    return [_printable(value) for value in content] if isinstance(content, (list, tuple)) else content
