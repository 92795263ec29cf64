"""Runs the examples in docs/examples and writes docs/gallery.md with their output: python tools/gallery.py [NAME …]

With names, only those are run, and the others keep their output. An example begins with a docstring: its title, and a
few lines about it. If it ends with a `figure`, that is drawn with matplotlib to docs/pictures/gallery/NAME.svg.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, PAGE = ROOT / "docs" / "examples", ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "pictures" / "gallery"
WIDTH = 80  # as in docs/ruff.toml
FIGURE = re.compile(r"^figure = ", re.MULTILINE)
# Runs an example as a program does, but without Plotly, whose figures cannot be put into a static page.
RUNNER = """
import runpy, sys
sys.modules["plotly"] = None
import matplotlib
matplotlib.use("agg")
matplotlib.rcParams.update({"svg.hashsalt": "headstart", "axes.spines.top": False, "axes.spines.right": False})
figure = runpy.run_path(sys.argv[1], run_name="__main__").get("figure")
if figure is not None:
    figure.savefig(sys.argv[2], metadata={"Date": None})
"""
ORDER = ("nothing_yet", "store", "optuna_studies", "own_loop", "does_it_help", "hand_over", "changed_space")
INTRODUCTION = """# Examples with their output

*Each example is a complete program. `python tools/gallery.py` runs them and writes this page.*
"""


def split(name: str) -> tuple[str, str, str]:
    """Title, text and code of an example."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, text = (ast.get_docstring(tree) or "").split("\n\n", 1)
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    return title, text, code


def run(name: str) -> str:
    """What an example prints and logs, without the lines of Optuna that carry the time."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
    PICTURES.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-W", "ignore", "-c", RUNNER, EXAMPLES / f"{name}.py", PICTURES / f"{name}.svg"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout}")
    return re.sub(r"^\[I \d{4}-.*\n", "", done.stdout, flags=re.MULTILINE).rstrip()


def part(name: str, output: str) -> str:
    title, text, code = split(name)
    picture = f"\n![Figure of the example: {title}](pictures/gallery/{name}.svg)\n" if FIGURE.search(code) else ""
    shown = "\n".join(map(_wrapped, output.splitlines()))
    return f"## {title}\n\n{text}\n\n```python\n{code}\n```\n\n```text\n{shown}\n```\n{picture}"


def _wrapped(line: str) -> str:
    """Sentences of the output, no wider than a page of the site."""
    return line if len(line) <= WIDTH else textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def outputs() -> dict[str, str]:
    """The output of each example as the page has it."""
    if not PAGE.exists():
        return {}
    page = PAGE.read_text(encoding="utf-8")
    found = {}
    for name in ORDER:
        if match := re.search(rf"## {re.escape(split(name)[0])}\n.*?```text\n(.*?)\n```\n", page, re.DOTALL):
            found[name] = match[1]
    return found


def main(names: list[str]) -> None:
    found = {**outputs(), **{name: run(name) for name in names or ORDER}}
    PAGE.write_text("\n".join([INTRODUCTION, *(part(name, found[name]) for name in ORDER)]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
