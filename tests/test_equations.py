"""The table of equations, algorithms, tables and figures: nothing is missing, and everything it names exists."""

from __future__ import annotations

import re

import pytest

from program import ROOT

PAGE = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| (?P<item>[^|]+) \| [^|]+ \| `(?P<code>[^`]+)` `(?P<name>\w+)` \| `(?P<test>[^`]+)` `(?P<case>\w+)` \|$"
)
SECTIONS = [part.splitlines() for part in PAGE.split("\n## ")[1:]]
ROWS = [match for lines in SECTIONS for line in lines if (match := ROW.match(line))]
NUMBERED = [  # what the papers number: equations, algorithms, tables and figures
    {"eq.": range(1, 20), "Algorithm": (1, 2), "Table": ("I",), "Fig.": range(1, 7)},
    {"eq.": range(1, 6), "Algorithm": (1, 2, 3), "Table": (1,), "Fig.": (1, 2)},
    {"Algorithm": (1, 2, 3), "Table": (1, 2), "Fig.": range(1, 10)},
]


def test_every_numbered_item_of_the_papers_is_there() -> None:
    assert len(SECTIONS) == len(NUMBERED)
    for lines, numbered in zip(SECTIONS, NUMBERED, strict=True):
        items = [match["item"] for line in lines if (match := ROW.match(line))]
        for kind, numbers in numbered.items():
            found = [
                n for item in items if item.startswith(kind) for n in re.findall(r"\d+|I", item.split(", line")[0])
            ]
            assert set(found) == set(map(str, numbers)), kind


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['item']} {row['name']}")
def test_what_a_row_names_exists(row: re.Match[str]) -> None:
    code = (ROOT / "src" / "headstart" / row["code"]).read_text(encoding="utf-8")
    assert re.search(rf"^ *(def|class) {row['name']}\b", code, re.MULTILINE)
    test = (ROOT / "tests" / row["test"]).read_text(encoding="utf-8")
    assert re.search(rf"^def {row['case']}\b", test, re.MULTILINE)


def test_the_table_is_not_empty() -> None:
    assert len(ROWS) > 40
