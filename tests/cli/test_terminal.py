"""Names from users' files never give orders to a terminal."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import headstart as hs
from headstart._support.log import log
from headstart._support.wording import printable, some, text_table
from headstart.library import pieces
from program import environment, headstart

# The title of the window, the clipboard, a link, colours, a line over the last one, text from right to left, a bell.
EVIL = "\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\[bold red]a[/]\x1b[31m\rb\u202ec\u2066\x9b1m\x7f\ue000"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def test_printable_escapes_what_is_not_shown_and_nothing_else() -> None:
    assert printable(EVIL).startswith(r"\u001b]0;title\u0007")
    assert not RAW.search(printable(EVIL))
    for plain in ("naïve λ – 数据集 שלום", "a b\u00a0c\u3000d", "[bold]x[/]", ""):
        assert printable(plain) == plain
    assert printable("a\nb\tc") == r"a\u000ab\u0009c"
    assert printable("a\nb", keep="\n") == "a\nb"
    assert printable("\U000e0001") == r"\udb40\udc01"


def test_lists_and_tables_escape_names() -> None:
    assert not RAW.search(some([EVIL, "b"]))
    table = text_table(["a\nb"], [[EVIL]])
    assert not RAW.search(table)
    assert table.count("\n") == 1


def test_logs_escape_names(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="headstart"):
        log.warning("skipped %s", EVIL)
    assert not RAW.search(caplog.text)
    assert "]0;title" in caplog.text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several kinds, with such names wherever a name can be."""
    space = hs.Space({EVIL: hs.Float(0, 1), "kind": hs.Categorical([EVIL, "b"])})
    hs.Start(space, [{EVIL: 0.5, "kind": EVIL}], method=EVIL).save(tmp_path / "start.json")
    lines = [f'"{EVIL}{task}","{EVIL}",{x / 10},{(x - task) ** 2}' for task in range(3) for x in range(8)]
    text = "\n".join([f'task,kind,"{EVIL}",value', *lines]) + "\n"
    (tmp_path / "runs.csv").write_text(text.replace("\r", ""), encoding="utf-8")
    return tmp_path


COMMANDS = [
    ("suggest", "start.json"),
    ("suggest", "start.json", "-n", "99"),
    ("export", "start.json", "--to", "json"),
    ("export", "start.json", "--to", "csv"),
    ("export", "start.json", "--to", EVIL),
    ("learn", "runs.csv", "-n", "2"),
    ("learn", "runs.csv", "-n", "2", "--method", EVIL),
    ("learn", "runs.csv", "--task", EVIL + "x"),
    ("learn", EVIL),
    ("import", "runs.csv"),
    ("check", "runs.csv", "-n", "2", "--methods", "rbi"),
    (EVIL,),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=[f"{i}-{c[0][:8]!r}" for i, c in enumerate(COMMANDS)])
def test_no_command_prints_raw_names(arguments: tuple[str, ...], folder: Path) -> None:
    done = headstart(*arguments, cwd=folder)
    assert "Traceback" not in done.stderr
    assert not RAW.search(done.stdout + done.stderr), done.stdout + done.stderr


@pytest.mark.skipif(os.name != "posix", reason="there is no pseudo-terminal")
@pytest.mark.parametrize(
    "command", [("suggest", "start.json"), ("learn", "runs.csv", "-n", "2")], ids=["suggest", "learn"]
)
def test_a_real_terminal_gets_our_colours_and_no_orders_of_others(command: tuple[str, ...], folder: Path) -> None:
    ours, theirs = os.openpty()
    env = {**environment(), "TERM": "xterm-256color", "COLUMNS": "400"}
    with subprocess.Popen(
        [sys.executable, "-m", "headstart", *command], cwd=folder, env=env, stdout=theirs, stderr=theirs, stdin=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, seen
    text = seen.decode().replace("\r\n", "\n")
    orders = re.findall("\x1b(\\[[0-9;]*m|.)", text)
    assert "[1m" in orders  # the header is bold
    assert all(re.fullmatch(r"\[[0-9;]*m", order) for order in orders)
    assert not RAW.search(re.sub("\x1b\\[[0-9;]*m", "", text))
    assert r"\u001b]0;title" in re.sub(r"\s|\x1b\[[0-9;]*m", "", text)


def test_names_of_any_length_and_script_become_file_names(tmp_path: Path) -> None:
    names = ["x" * 300, "数据集" * 30, "../../etc/passwd", "a/b", "", ".", "x" * 300 + "y", EVIL]
    paths = [pieces.path(tmp_path, name, {}) for name in names]
    assert len(set(paths)) == len(names)
    for name, path in zip(names, paths, strict=True):
        assert path.parent == tmp_path
        pieces.write(tmp_path, name, {}, 1)
        assert pieces.read(tmp_path, name, {}) == 1
    assert pieces.path(tmp_path, "wine rbi 0", {"a": 1}).name.startswith("wine%20rbi%200-")  # as it always was
