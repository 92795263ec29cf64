"""The architecture page matches the code: folders, picture, and the walk from a CSV to the best configuration."""

from __future__ import annotations

import ast
import re
import sys

import pytest

from program import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import architecture

SOURCE = ROOT / "src" / "headstart"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = [architecture.folder(name) for name in architecture.layers()]


def test_every_folder_has_one_line_in_the_import_contract() -> None:
    there = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    modules = {p.stem for p in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(architecture.layers()) == sorted(there | modules)
    assert modules == {"errors"}  # everything else lives in a folder


def test_the_picture_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8") == architecture.picture(FOLDERS)


def names_in(path: str) -> set[str]:
    """Functions, classes and methods of a module."""
    tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = {node.name for node in tree.body if isinstance(node, kinds)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, kinds)}
    return found


WALK = re.findall(r"^\d+\. `([\w/.]+)`, ((?:`[\w.]+`(?:, )?)+):", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("path", "functions"), WALK, ids=[f"{i + 1} {path}" for i, (path, _) in enumerate(WALK)])
def test_every_step_of_the_walk_exists(path: str, functions: str) -> None:
    known = names_in(path)
    for name in re.findall(r"`([\w.]+)`", functions):
        assert name in known or any(full.endswith(f".{name}") for full in known), f"{path} has no {name}"


def test_the_walk_is_complete() -> None:
    assert len(WALK) == 14


def test_every_file_that_the_page_names_exists() -> None:
    for path in re.findall(r"`((?:\w+/)+\w+\.py|errors\.py)`", PAGE):
        home = ROOT if path.startswith(("src/", "tools/")) else SOURCE
        assert (home / path).is_file(), path


def test_the_glossary_has_one_row_per_symbol() -> None:
    import headstart

    rows = re.findall(r"^\| ([^|-][^|]*?) *\|", headstart.__doc__ or "", re.MULTILINE)[1:]
    symbols = [symbol.strip() for row in rows for symbol in row.split(",")]
    assert len(symbols) == len(set(symbols))
    assert {"λ", "V", "Z", "X", "Y", "F", "M", "w", "K", "L"} <= set(symbols)
