"""The documentation: all code runs, page by page, in an empty folder; navigation, links and reference are complete."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from program import ROOT, environment

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[^>]*) -->\n)?"
    r"(?:<!-- first:\n(?P<first>(?:(?!-->).)*?)-->\n)?"  # code that a reader has already, such as the objective
    r" *```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)```",
    re.DOTALL,
)
KINDS = {"python", "console", "text"}


PACKAGE = ROOT / "src" / "headstart"
WITH_EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_examples_in_docstrings_run(path: Path) -> None:
    name = ".".join(("headstart", *path.relative_to(PACKAGE).with_suffix("").parts))
    failed, _ = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert failed == 0


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def lacking(needs: str | None) -> str | None:
    """The first package that a block needs and that is not installed."""
    for name in re.split(r",\s*", needs or ""):
        if name and (find_spec(name.partition(".")[0]) is None or not _imports(name)):
            return name
    return None


@cache
def _imports(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


def test_blocks_are_of_known_kinds() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block["kind"] in KINDS, f"{page.name}: {block['kind']!r} is neither run nor marked as text"


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if any(b["kind"] != "text" for b in blocks(p))],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_code_runs(page: Path, tmp_path: Path) -> None:
    code, skipped = [], []
    for block in blocks(page):
        shown = dedent(block["code"])
        if missing := lacking(block["needs"]):
            skipped.append(missing)
            continue
        if block["first"]:
            code.append(block["first"])
        if block["kind"] == "python":
            code.append(shown)
        elif block["kind"] == "console":
            lines = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
            code += [f"run_program({shlex.split(line)!r})\n" for line in lines]
    if not code:
        pytest.skip(f"every block needs {', '.join(skipped)}; make test-exports installs them")
    (tmp_path / "page.txt").write_text("\n".join(code), encoding="utf-8")
    (tmp_path / "run.py").write_text(RUNNER)
    wanted = PRINTED.get(page.relative_to(ROOT).as_posix(), [])
    warnings = ["-W", "error"] if wanted else []  # other pages use tools that warn
    command = [sys.executable, *warnings, "run.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"{page.name}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    for words in wanted:
        assert words in done.stdout


PRINTED = {
    "docs/optuna.md": ["10 of 10 configurations of the start ran", "5 of 5 configurations of the start are queued"]
}

# Workers of some backends import the main script, so importing it must do nothing.
RUNNER = """
def run_program(command):
    from headstart.cli.main import main

    assert command[0] == "headstart", command
    assert main(command[1:]) == 0, command

if __name__ == "__main__":
    exec(compile(open("page.txt", encoding="utf-8").read(), "page", "exec"), globals())
"""


@pytest.mark.parametrize(
    ("place", "command"), [("evidence", ["trials_saved.py"]), ("models", ["no_search.py", "--readme"])]
)
def test_the_tables_of_the_readme_are_the_generated_ones(place: str, command: list[str]) -> None:
    script, *options = command
    program = [sys.executable, ROOT / "benchmarks" / script, *options]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.split(f"<!-- {place}: begin -->\n")[1].split(f"<!-- {place}: end -->")[0] == done.stdout


def test_the_readme_and_the_home_page_say_what_the_demo_found() -> None:
    """docs/demo.json and docs/demo.png are of one run: headstart demo --json --out docs/demo.png > docs/demo.json"""
    summary = json.loads((ROOT / "docs" / "demo.json").read_text(encoding="utf-8"))["summary"]
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert summary in " ".join(page.read_text(encoding="utf-8").split()), page.name


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", text))
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert listed == there


def test_every_method_has_a_page() -> None:
    from headstart.strategies.names import STRATEGIES
    from headstart.surrogates.names import SURROGATES

    pages = {page.stem for page in (ROOT / "docs" / "methods").glob("*.md")}
    assert pages == {*STRATEGIES, *(SURROGATES.keys() - {"auto"}), "surrogate-auto"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "methods").glob("*.md")), ids=lambda page: page.stem)
def test_the_object_that_a_method_page_names_exists(page: Path) -> None:
    import headstart as hs

    (expression,) = re.findall(r"hs\.(?:strategies|surrogates)\.\w+\([^)]*\)", page.read_text(encoding="utf-8"))
    made = eval(expression, {"hs": hs})
    assert made == type(made)()  # the parameters shown are the defaults
    assert hasattr(made, "begin")


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_pictures_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"!\[[^\]]*\]\(([^):]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def reference() -> list[str]:
    """The names of modules, classes and functions that the reference shows."""
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    return [n for p in pages for n in re.findall(r"^::: ([\w.]+)$", p.read_text(encoding="utf-8"), re.MULTILINE)]


def test_the_reference_has_every_public_name() -> None:
    import headstart as hs

    listed = set(reference())
    names = {f"{home}.{name}" for name, home in hs._HOMES.items()}
    names |= {f"headstart.adapters.optuna.{name}" for name in hs.optuna.__all__}
    names |= {getattr(module, name).__module__ for module in (hs.strategies, hs.surrogates) for name in module.__all__}
    assert not names - listed
    modules = set(hs._MODULES.values())
    assert modules == {module for module in modules if any(f"{name}.".startswith(f"{module}.") for name in listed)}


@pytest.mark.parametrize("name", reference())
def test_everything_in_the_reference_exists(name: str) -> None:
    """Without importing it, since some modules need packages that are not installed here."""
    path = ROOT / "src" / Path(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return
    module = path.parent / "__init__.py" if path.parent.is_dir() else path.parent.with_suffix(".py")
    assert re.search(rf"\b{path.name}\b", module.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["commands", "library"])
def test_generated_pages_are_up_to_date(name: str) -> None:
    script = ROOT / "tools" / f"{name}_page.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment())
    assert (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") == done.stdout


# -- pages made by tools ---------------------------------------------------------------------------------------


def tool(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_shows_the_examples_as_they_are() -> None:
    """`test_code_runs` runs them; python tools/gallery.py runs them and writes the page."""
    gallery = tool("gallery")
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert sorted(gallery.ORDER) == sorted(path.stem for path in (ROOT / "docs" / "examples").glob("*.py"))
    kept = gallery.outputs()
    assert page == "\n".join([gallery.INTRODUCTION, *(gallery.part(name, kept[name]) for name in gallery.ORDER)])
    assert all(kept.values())


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("One line.", "One line."),
        ("Text.\n\n>>> 2**-5\n0.03125\n\nMore.", "Text.\n\n```pycon\n>>> 2**-5\n0.03125\n```\n\nMore."),
        ("  >>> for x in y:\n  ...     x", "```pycon\n>>> for x in y:\n...     x\n```"),
        (
            "n: how many.\nseed, rng: of the draws,\n    if any.",
            "- `n`: how many.\n- `seed`, `rng`: of the draws,\n  if any.",
        ),
        (">>> f()  # doctest: +SKIP", "```pycon\n>>> f()\n```"),
        ("n: 1, 2, … seed: of the draws.", "- `n`: 1, 2, …\n- `seed`: of the draws."),
        ("n: how many. seed: of the draws.", "- `n`: how many.\n- `seed`: of the draws."),
        ("Kim, Kim, Choi: A paper.", "Kim, Kim, Choi: A paper."),
        ("It says: nothing.", "It says: nothing."),
        ("Text.\n\nMay import: everything.", "Text."),
        (
            "n: how many, as in the\npaper: none. See eq.\n16: above.",
            "- `n`: how many, as in the\n  paper: none. See eq.\n  16: above.",
        ),
    ],
)
def test_docstrings_become_markdown(docstring: str, markdown: str) -> None:
    assert tool("docstrings").as_markdown(docstring) == markdown


def test_options_in_short_code_are_marked() -> None:
    page = "<p>pass <code>--skip-bad-rows</code> or <code>a-b -o PATH</code></p><pre><code><b>--x</b></code></pre>"
    assert tool("options").marked(page) == (
        '<p>pass <code><span class="option">--skip-bad-rows</span></code> or '
        '<code>a-b <span class="option">-o</span> PATH</code></p><pre><code><b>--x</b></code></pre>'
    )


@pytest.mark.parametrize(
    ("code", "broken"),
    [
        ("init=hs.strategies.Random()", "init=<wbr>hs.<wbr>strategies.<wbr>Random()"),
        ('hs.History.from_csv("my runs.csv")', 'hs.<wbr>History.<wbr>from_csv(<wbr>"my runs.csv")'),
        ("headstart.transfer.models", "headstart.<wbr>transfer.<wbr>models"),
        ("benchmarks/no_search_at_all.py", "benchmarks/no_search_at_all.py"),
        ("hs.Random(seed=None)", "hs.Random(seed=None)"),
    ],
)
def test_long_calls_break_where_a_reader_would(code: str, broken: str) -> None:
    assert tool("options").marked(f"<code>{code}</code>") == f"<code>{broken}</code>"


@pytest.mark.parametrize(
    ("summary", "markdown"),
    [
        ("Draw. n: how many. seed: of the\ndraws.", "Draw.\n\n- `n`: how many.\n- `seed`: of the draws."),
        ("n: how many.", "- `n`: how many."),
        ("Two words. other: no argument.", "Two words. other: no argument."),
    ],
)
def test_arguments_in_a_summary_become_a_list(summary: str, markdown: str) -> None:
    assert tool("docstrings").with_arguments(summary, ["n", "seed"]) == markdown
