"""Names that give orders to terminals, pages and folders: does any of them reach one as it is?

python benchmarks/stress_names.py [--rounds 4] [--seed 0]

Each round puts other hostile names into files of every kind, wherever a name can be: tasks, parameters, choices,
studies, methods, file names. They hold escape sequences (title, clipboard, links, colours), control characters, text
from right to left, markup of rich, HTML and Markdown, paths such as ../../x, and hundreds of characters of any script.
Every command then runs twice, with a pipe and in a terminal. "orders" counts outputs with anything but text and our own
colours, "outside" files that were written anywhere else than asked for. Pages are opened in Chromium, if it is there:
"executed" counts pages in which a script of a name ran, or whose markup became an element.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import optuna
import pytest

import headstart as hs
from headstart.library import pieces

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from pages import browser

PIECES = [
    "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b[31m", "\x1b[2J",
    "\x9b1m", "\r", "\n", "\t", "\b", "\x7f", "\u202e", "\u2066", "\u200f", "\ue000", "\U000e0001", "\x00",
    "[bold red]a[/]", "[link=http://x]y[/link]", "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>", "</script>", "<b id='evil'>", "&lt;", "**a**", "[a](javascript:alert(1))",
    "| x |", "../../x", "/etc/x", "%s", "{0}", "%{text}", "数据集", "שלום", "x" * 300, "é", "'", '"', ",", ";", "\\",
    "$(touch ran)", "`touch ran`",
]  # fmt: skip
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile("\x1b\\[[0-9;]*m")
PROGRESS = re.compile("\x1b\\[(2K|1A|\\?25[lh]|K|[0-9]*[ABCDGJ])")  # of our own progress bar


def name(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randint(1, 6))) + str(rng.randrange(1000))


def make_files(folder: Path, rng: random.Random) -> None:
    """A start, a table and a storage, with hostile names wherever a name can be."""
    one, two, evil = name(rng), name(rng), name(rng)
    space = hs.Space({one: hs.Float(0, 1), "kind": hs.Categorical([two, "b"])})
    hs.Start(space, [{one: 0.5, "kind": two}], method=evil).save(folder / "start.json")
    cells = [[f"{evil}{task}", two, x / 10, (x - task) ** 2] for task in range(3) for x in range(8)]
    quote = lambda cell: '"' + str(cell).replace('"', '""') + '"'  # noqa: E731
    lines = [["task", "kind", one, "value"], *cells]
    text = "\n".join(",".join(map(quote, line)) for line in lines) + "\n"
    (folder / "runs.csv").write_text(text.replace("\x00", ""), encoding="utf-8", newline="")
    for i in range(3):
        study = optuna.create_study(storage=f"sqlite:///{folder}/runs.db", study_name=f"{evil}{i}".replace("\x00", ""))
        study.optimize(lambda trial: trial.suggest_float(one.replace("\x00", ""), 0, 1), n_trials=8)


def commands(rng: random.Random) -> list[list[str]]:
    evil = name(rng).replace("\x00", "")
    return [
        ["suggest", "start.json"],
        ["suggest", "start.json", "-n", "99"],
        ["suggest", "runs.csv", "-n", "2"],
        ["export", "start.json", "--to", "json"],
        ["export", "start.json", "--to", "csv"],
        ["export", "start.json", "--to", "optuna"],
        ["export", "start.json", "--to", evil],
        ["learn", "runs.csv", "-n", "2"],
        ["learn", "runs.db", "-n", "2"],
        ["learn", "runs.csv", "-n", "2", "--method", evil],
        ["learn", "runs.csv", "--task", evil],
        ["learn", evil],
        ["import", "runs.csv", "-o", "new.parquet"],
        ["import", "runs.db", "-o", "new.parquet"],
        ["check", "runs.csv", "-n", "2", "--methods", "rbi"],
        ["check", "runs.db", evil],
        ["report", "runs.csv", "-o", "page.html"],
        ["report", "runs.db", "-o", "page2.html"],
        [evil],
    ]


def piped(arguments: list[str], folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "headstart", *arguments]
    done = subprocess.run(command, capture_output=True, cwd=folder, timeout=300)
    return done.returncode, (done.stdout + done.stderr).decode()


def in_terminal(arguments: list[str], folder: Path) -> tuple[int, str]:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "headstart", *arguments]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "400"}
    with subprocess.Popen(command, cwd=folder, env=env, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    text = seen.decode(errors="replace").replace("\r\n", "\n")
    return process.returncode, PROGRESS.sub("", COLOUR.sub("", text)).replace("\r", "")


def campaign(rounds: int, seed: int) -> dict[str, Counter[str]]:
    found = {row: Counter[str]() for row in ("pipe", "terminal", "file names", "pages in Chromium")}
    for i in range(rounds):
        rng = random.Random(f"names {seed + i}")
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer) / "a" / "b" / "c"
            folder.mkdir(parents=True)
            make_files(folder, rng)
            before = set(Path(outer).rglob("*"))
            for arguments in commands(rng):
                for how, run in (("pipe", piped), ("terminal", in_terminal)):
                    code, text = run(arguments, folder)
                    row = found[how]
                    row["tried"] += 1
                    row["crashes"] += code not in (0, 1, 2) or "Traceback" in text
                    if order := RAW.search(text):
                        row["orders"] += 1
                        print(f"{how} {seed + i} {arguments[0]!r}: {order[0]!r}", file=sys.stderr)
            new = {path for path in Path(outer).rglob("*") if path not in before and "__pycache__" not in path.parts}
            asked = {folder / file for file in ("new.parquet", "page.html", "page2.html", "start.json")}
            found["pipe"]["outside"] += len(new - asked)
            for path in new - asked:
                print(f"written {seed + i}: {path.relative_to(outer)}", file=sys.stderr)
            file_names(folder, rng, found["file names"])
            pages([folder / "page.html", folder / "page2.html"], found["pages in Chromium"])
    return found


def file_names(folder: Path, rng: random.Random, row: Counter[str]) -> None:
    """Pieces of long work are files named after tasks."""
    inside = folder / "pieces"
    inside.mkdir()
    for _ in range(20):
        task, before = name(rng), len(list(inside.iterdir()))
        row["tried"] += 1
        pieces.write(inside, task, {}, 1)
        row["crashes"] += pieces.read(inside, task, {}) != 1
        row["outside"] += len(list(inside.iterdir())) != before + 1


def pages(paths: list[Path], row: Counter[str]) -> None:
    for path in paths:
        if not path.exists():
            continue
        try:
            with browser(path, 1280) as page:
                ran = page.execute_script("return window.ran || document.querySelectorAll('#evil, img[src=x]').length")
        except pytest.skip.Exception:  # there is no Chromium
            return
        row["tried"] += 1
        row["executed"] += bool(ran)


COLUMNS = ("tried", "orders", "outside", "crashes", "executed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(f"| names in | {' | '.join(COLUMNS)} |")
    print(f"| --- |{' --: |' * len(COLUMNS)}")
    found = campaign(args.rounds, args.seed)
    for where, row in found.items():
        print(f"| {where} | {' | '.join(str(row[key]) for key in COLUMNS)} |")
    sys.exit(any(row[key] for row in found.values() for key in COLUMNS[1:]))


if __name__ == "__main__":
    main()
