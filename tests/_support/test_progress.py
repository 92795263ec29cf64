"""Progress: a bar on a terminal, plain lines elsewhere, and never in the way of the work."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest

from headstart._support import progress
from headstart._support.progress import Progress, track
from program import python


def test_track_passes_on_every_element_and_shows_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track([3, 1, 2], label="work")) == [3, 1, 2]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "work 3/3, 0:00:00\n"


def test_track_without_a_length(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter("ab"), label="work")) == ["a", "b"]
    assert capsys.readouterr().err == "work 2, 0:00:00\n"


def test_a_loop_that_is_left_early_ends_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    steps = track(range(10), label="work")
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()  # type: ignore[attr-defined]
    assert capsys.readouterr().err == "work 1/10, 0:00:00\n"


def test_a_log_gets_a_line_every_fifteen_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with Progress(10, "training", stream=stream) as bar:
        for name in "abcdefghij":
            now[0] += 6.0
            bar.advance(note=name)
    assert stream.getvalue().splitlines() == [
        "training 3/10, 0:00:18, about 0:00:42 left, c",
        "training 6/10, 0:00:36, about 0:00:24 left, f",
        "training 9/10, 0:00:54, about 0:00:06 left, i",
        "training 10/10, 0:01:00",
    ]


def test_work_that_never_began_leaves_no_line_in_a_log() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyError), Progress(4, "training", stream=stream):
        raise KeyError("before the first step")
    assert stream.getvalue() == ""


# -- on a terminal ---------------------------------------------------------------------------------------------


def shown(monkeypatch: pytest.MonkeyPatch, notes: list[str], *, encoding: str = "utf-8", term: str = "xterm") -> str:
    """The output that a terminal of 60 columns receives."""
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    ours, theirs = pty.openpty()
    with (
        os.fdopen(theirs, "w", encoding=encoding) as stream,
        Progress(len(notes), "training", stream=stream) as bar,
    ):
        for note in notes:
            bar.advance(note=note)
            bar._bar.refresh()
    text = b""
    with contextlib.suppress(OSError):  # the end of the other side on Linux
        while part := os.read(ours, 4096):
            text += part
    os.close(ours)
    return text.decode(encoding)


def drawn(text: str) -> list[str]:
    """The states of the line, drawing by drawing."""
    for code in ("\x1b[2K", "\x1b[?25l", "\x1b[?25h", "\x1b[0m", "\x1b[1A"):
        text = text.replace(code, "")
    return [line.rstrip() for line in text.replace("\n", "\r").split("\r") if line.strip()]


def test_a_terminal_gets_a_bar_that_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(shown(monkeypatch, ["wine", "iris", "sonar"]))
    assert any(line.startswith("training") and "1/3" in line and line.endswith("wine") for line in lines)
    assert lines[-1].startswith("training " + "━" * 10 + " 3/3 0:00:0")
    assert "sonar" not in lines[-1]


def test_a_long_note_stays_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(shown(monkeypatch, ["a long note in [brackets], " * 9] * 3))
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith("training") for line in lines)


def test_a_terminal_without_line_characters_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "training " + "-" * 10 + " 3/3" in drawn(shown(monkeypatch, ["wine"] * 3, encoding="cp1252"))[-1]


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, ["wine"] * 4, term="dumb") == "training 4/4, 0:00:00\r\n"


# -- in bad conditions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [False, True])
def test_a_closed_stream_does_not_stop_the_work(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setenv("TERM", "xterm")
    stream = Stream()
    with Progress(2, "training", stream=stream) as bar:
        bar.advance()
        stream.close()
        bar.advance()
    with Progress(2, "training", stream=stream) as bar:
        bar.advance()


def test_a_program_without_standard_error_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert list(track("abc")) == ["a", "b", "c"]


def test_a_negative_total_is_rejected() -> None:
    with pytest.raises(ValueError, match="-1"):
        Progress(-1)


def test_rich_is_loaded_only_when_progress_is_shown() -> None:
    code = "import sys, headstart._support.progress; print('rich' in sys.modules)"
    assert python(code).stdout == "False\n"
