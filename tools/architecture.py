"""The picture of the folders in docs/architecture.md: python tools/architecture.py [--write]

It comes from the code: the order is that of the import contract in pyproject.toml, and the descriptions are the first
lines of the folders' docstrings. Without --write it prints the folders with their numbers of modules and lines.
"""

from __future__ import annotations

import ast
import re
import sys
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "headstart"
PICTURE = ROOT / "docs" / "architecture.svg"

GROUPS = {  # what a colour stands for
    "the tools": ("errors", "_support"),
    "the data": ("space", "history", "datasets"),
    "the mathematics": ("gp", "transfer", "surrogates", "strategies"),
    "the search": ("starts", "search"),
    "around it": ("library", "adapters", "report", "papers", "cli"),
}
COLOURS = ("#e8e8e8", "#d9ecf7", "#fdebc8", "#d5efe3", "#f3dcea")
FLOW = {  # an arrow of the data flow, from folder to folder
    "history": "past runs become a History",
    "transfer": "a model of every past task",
    "strategies": "a strategy learns from them",
    "starts": "the first configurations: a Start",
    "search": "the new run: start, then surrogate",
}


class Folder(NamedTuple):
    name: str
    about: str
    modules: int
    lines: int


def layers() -> list[str]:
    """The folders from the top to the bottom, as in the import contract."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r'type = "layers".*?layers = \[(.*?)\]', text, re.DOTALL)
    assert block is not None
    return re.findall(r'"(\w+)"', block[1])


def folder(name: str) -> Folder:
    path = SOURCE / name
    home = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    about = (ast.get_docstring(ast.parse(home.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    files = list(path.rglob("*.py")) if path.is_dir() else [home]
    return Folder(name, about.rstrip("."), len(files), sum(len(f.read_text("utf-8").splitlines()) for f in files))


def picture(folders: list[Folder]) -> str:
    """Boxes from top to bottom, each importing only from those below it, and the data flow beside them."""
    colour = {name: COLOURS[i] for i, names in enumerate(GROUPS.values()) for name in names}
    high, gap, left, wide = 44, 8, 16, 660
    top = 40
    parts = [
        f'<text x="{left}" y="24" class="head">Each folder imports only from those below it</text>',
        f'<text x="{left + wide + 50}" y="24" class="head">The data flow</text>',
    ]
    middle: dict[str, int] = {}
    for i, f in enumerate(folders):
        y = top + i * (high + gap)
        middle[f.name] = y + high // 2
        parts.append(f'<rect x="{left}" y="{y}" width="{wide}" height="{high}" rx="6" fill="{colour[f.name]}"/>')
        parts.append(f'<text x="{left + 12}" y="{y + 18}" class="name">{f.name}</text>')
        parts.append(
            f'<text x="{left + 12}" y="{y + 35}" class="about">{escape(shortened(f.about.replace("`", "")))}</text>'
        )
    steps = sorted(FLOW, key=lambda name: -middle[name])
    x = left + wide + 50
    for name in steps:
        y = middle[name]
        parts.append(f'<path d="M {left + wide + 4} {y} h 38" class="tick"/><circle cx="{x}" cy="{y}" r="4"/>')
        parts.append(f'<text x="{x + 14}" y="{y + 4}" class="about">{escape(FLOW[name])}</text>')
    for start, end in pairwise(steps):
        parts.append(f'<path d="M {x} {middle[start] - 6} V {middle[end] + 8}" class="arrow"/>')
    parts.append(f'<path d="M {x} {middle["search"] - 6} v -34 h 250 V {middle["history"]} h -44" class="arrow back"/>')
    parts.append(f'<text x="{x + 14}" y="{middle["search"] - 46}" class="about">its results join the past runs</text>')
    height = top + len(folders) * (high + gap) + 36
    for i, name in enumerate(GROUPS):
        at = left + i * 160
        parts.append(f'<rect x="{at}" y="{height - 26}" width="14" height="14" rx="3" fill="{COLOURS[i]}"/>')
        parts.append(f'<text x="{at + 20}" y="{height - 14}" class="about">{name}</text>')
    style = (
        "text{font-family:system-ui,sans-serif;fill:#222}.head{font-size:14px;font-weight:600}.name{font-size:14px;"
        "font-weight:600}.about{font-size:12px}.arrow{fill:none;stroke:#555;stroke-width:1.6;marker-end:url(#tip)}"
        ".back{stroke-dasharray:5 4}.tick{stroke:#bbb;stroke-width:1}circle{fill:#555}"
    )
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {height}" role="img">',
            f"<title>The folders of headstart and the data flow</title><style>{style}</style>",
            f'<defs>{tip}<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
            f'<rect width="1000" height="{height}" fill="#fff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def shortened(text: str, most: int = 105) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + " …"


if __name__ == "__main__":
    folders = [folder(name) for name in layers()]
    if "--write" in sys.argv[1:]:
        PICTURE.write_text(picture(folders), encoding="utf-8")
    else:
        for f in folders:
            print(f"{f.name:<12}{f.modules:>3} modules{f.lines:>6,} lines  {f.about}")
