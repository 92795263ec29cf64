"""Paths that are no ordinary files: every command ends, with one line, whatever it is told to read or write."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import headstart as hs
from headstart.cli.main import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices are POSIX's")

KINDS = ("pipe", "dangling link", "link without a folder", "loop", "folder", "zeros", "socket", "empty", "below a file")
ROWS = "task,x,value\n" + "".join(f"t{i % 3},{i / 9},{i % 4}\n" for i in range(9))
NEVER = ("pipe", "zeros", "socket")  # nothing that is read can be one of these


@pytest.fixture(autouse=True)
def nothing_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(ROWS)
    space = hs.Space({"x": hs.Float(0, 1)})
    hs.Start(space, space.sample(2, seed=0)).save("good.json")
    signal.alarm(60)  # ends the process
    yield
    signal.alarm(0)


def odd(kind: str, name: str) -> Path:
    """Something of this kind with this name, below the working folder."""
    path = Path(name)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(name)
    elif kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "below a file":
        return Path("good.csv") / name
    else:
        where = {"dangling link": "nothing", "link without a folder": "no/file", "loop": name, "zeros": "/dev/zero"}
        path.symlink_to(where[kind])
    return path


def ends(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command refuses."""
    assert main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("headstart: ")
    return last


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json", ".parquet", ".db", ".log", ""])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read(kind: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    if ending in (".db", ".log"):
        pytest.importorskip("optuna", reason="Optuna is not installed")
    path = str(odd(kind, f"odd{ending}"))
    said = ends(capsys, "suggest", path)
    if kind in NEVER and ending in (".csv", ".jsonl", ".json", ".parquet"):
        assert "is a device, a pipe or a socket, not a file" in said
    assert f"did you mean {path!r}" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_what_options_name(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    ends(capsys, "suggest", "good.csv", "--space", str(odd(kind, "space.json")))
    ends(capsys, "suggest", "good.csv", "--also", str(odd(kind, "more.csv")))
    ends(capsys, "suggest", "svm", "--features", str(odd(kind, "data.csv")), "--target", "y")
    ends(capsys, "export", str(odd(kind, "start.json")), "--to", "ray")


@pytest.mark.parametrize("kind", KINDS)
def test_stores(kind: str) -> None:
    """A store may be empty, or not exist yet."""
    pytest.importorskip("optuna", reason="Optuna is not installed")
    path = odd(kind, "runs.db")
    if kind in ("dangling link", "empty"):
        assert hs.Store(path).history() is None
        return
    with pytest.raises((ValueError, OSError)):
        hs.Store(path).record("task", hs.Space({"x": hs.Float(0, 1)}), direction="minimize")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_in_a_folder_of_another_tool(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path("mlruns/1/run")
    for folder in ("params", "metrics"):
        (run / folder).mkdir(parents=True)
    Path("mlruns/1/meta.yaml").write_text("artifact_location: here\nname: a\n")
    (run / "meta.yaml").write_text("run_id: run\nstatus: 3\nlifecycle_stage: active\n")
    (run / "params/x").write_text("1")
    odd(kind, "mlruns/1/run/metrics/loss")
    ends(capsys, "suggest", "mlruns")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = 0 if kind in ("dangling link", "empty", "zeros") else 2
    path = odd(kind, "start.txt")
    assert main(["export", "good.json", "--to", "csv", "-o", str(path)]) == wanted
    written = capsys.readouterr()
    assert wanted == 0 or written.err.count("\n") == 1
    assert "temporary" not in written.err
    assert not list(Path.cwd().glob(".headstart-*"))
    if kind in ("dangling link", "empty"):
        assert path.read_text().startswith("x")


def test_a_pipe_that_is_read_can_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["export", "good.json", "--to", "csv", "-o", "pipe"]) == 0
        assert os.read(reader, 1000).startswith(b"x")
    finally:
        os.close(reader)
    assert "wrote pipe" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_without_space(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be written: No space left on device" in ends(
        capsys, "export", "good.json", "--to", "csv", "-o", "/dev/full"
    )


@pytest.mark.parametrize("name", ["~nobody-of-this-name/runs.csv", "~nobody-of-this-name/runs"])
def test_the_home_of_nobody(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ends(capsys, "suggest", name)
