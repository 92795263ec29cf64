"""Progress: a bar on a terminal, plain lines elsewhere, and never in the way of the work."""

from __future__ import annotations

import contextlib
import io
import os

import pytest

from headstart._support import progress
from headstart._support.progress import Progress, clock, track


def test_track_hands_on_every_element_and_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track([3, 1, 2], label="work")) == [3, 1, 2]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "work 3/3, 0:00\n"


def test_track_without_a_length(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter("ab"), label="work")) == ["a", "b"]
    assert capsys.readouterr().err == "work 2, 0:00\n"


def test_a_loop_that_is_left_early_ends_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    steps = track(range(10), label="work")
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()  # type: ignore[attr-defined]
    assert capsys.readouterr().err == "work 1/10, 0:00\n"


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with Progress(10, "training", stream=stream) as bar:
        for name in "abcdefghij":
            now[0] += 6.0
            bar.advance(note=name)
    assert stream.getvalue().splitlines() == [
        "training 3/10, 0:18, about 0:42 left, c",
        "training 6/10, 0:36, about 0:24 left, f",
        "training 9/10, 0:54, about 0:06 left, i",
        "training 10/10, 1:00",
    ]


def test_a_terminal_gets_a_bar_that_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    assert drawn(["wine"] * 4)[-1].startswith("█" * progress.BAR + " training 4/4")
    assert all(len(line) < 60 for line in drawn(["a long note, " * 20] * 4))


def test_work_that_never_began_leaves_no_line_in_a_log() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyError), Progress(4, "training", stream=stream):
        raise KeyError("before the first step")
    assert stream.getvalue() == ""


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(["wine"] * 4) == ["training 4/4, 0:00"]


def drawn(notes: list[str]) -> list[str]:
    """What a terminal receives, drawing by drawing."""
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    with (
        os.fdopen(theirs, "w", encoding="utf-8") as stream,
        Progress(len(notes), "training", stream=stream) as bar,
    ):
        for note in notes:
            bar.advance(note=note)
    text = ""
    with os.fdopen(ours, encoding="utf-8") as terminal, contextlib.suppress(OSError):  # how its end shows on Linux
        while part := terminal.readline():
            text += part
    return [line for line in text.replace("\x1b[K", "").replace("\n", "\r").split("\r") if line]


def test_a_stream_that_is_gone_does_not_stop_the_work() -> None:
    stream = io.StringIO()
    stream.close()
    with Progress(2, "training", stream=stream) as bar:
        bar.advance()
    assert bar.done == 1


def test_a_stream_without_block_characters_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    bar = Progress(2, stream=stream)
    bar.advance()
    assert bar._bar() == "#" * 12 + "." * 12 + " "


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        Progress(-1)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (75, "1:15"), (3661, "1:01:01")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
