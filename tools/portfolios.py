"""Learns the portfolios of the shipped histories: python tools/portfolios.py [--write] [NAME …]

Without --write it prints the histories whose portfolio is missing or was learned from another version of the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from headstart import library
from headstart.history.shipped import fingerprint
from headstart.library.portfolios import to_store

FOLDER = Path(__file__).resolve().parents[1] / "src" / "headstart" / "library"


def stale() -> list[str]:
    """The histories without a portfolio of their own."""
    return [name for name in library.names() if learned_from(name) != fingerprint(name)]


def learned_from(name: str) -> str | None:
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["history"] if path.is_file() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="histories (default: those whose portfolio is stale)")
    parser.add_argument("--write", action="store_true", help="write the files")
    args = parser.parse_args()
    for name in args.names or stale():
        print(name)
        if args.write:
            text = json.dumps(to_store(name), separators=(",", ":"))
            (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
