"""The evidence table of the README, from the tables in benchmarks/papers; `--write` updates the README.

Mean distance to the best of each left-out data set (ADTM) after 1, 3, 5 and 10 trials; less is better.
"""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HISTORIES = {"initializations-svm-authors": "the authors' SVM data", "initializations-svm": "the shipped `svm`"}
LINES = {
    "No Init": "random search",
    "RBI": "best of random tasks, `rbi`",
    "NBI": "best of the nearest tasks, `nbi`",
    "LI": "learned start, `li`",
    "aLI": "adaptive learned start, `ali`",
    "auto": "**headstart's default, `auto`**",
}
TRIALS = (1, 3, 5, 10)
PLACE = re.compile(r"(?<=<!-- evidence: begin -->\n).*(?=<!-- evidence: end -->)", re.DOTALL)


def table() -> str:
    header = ["", *(f"{HISTORIES[name]}: 1 / 3 / 5 / 10" for name in HISTORIES)]
    means = {name: read(ROOT / "benchmarks" / "papers" / name / "summary.csv") for name in HISTORIES}
    rows = [
        [text, *(" / ".join(f"{means[name][line, t]:.3f}".lstrip("0") for t in TRIALS) for name in HISTORIES)]
        for line, text in LINES.items()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *rows])


def read(path: Path) -> dict[tuple[str, int], float]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["figure"] == "figure1" and row["measure"] == "distance"]
    return {(row["line"], int(row["trial"])): float(row["mean"]) for row in rows}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the README")
    if parser.parse_args().write:
        readme = ROOT / "README.md"
        readme.write_text(PLACE.sub(table(), readme.read_text(encoding="utf-8")), encoding="utf-8")
    print(table(), end="")
