"""Run the command line, or other code, and look at what it prints."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from headstart.cli.main import main

ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """For a new process: this package on the path, one thread, and a terminal of 100 columns."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def headstart(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `headstart …` in a folder, as `process` does, but here: a new process would import everything again."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "100")
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    printed, errors = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(arguments, code, printed, errors)


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `headstart …` in a folder and in a process of its own, as users do."""
    command = [sys.executable, "-m", "headstart", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment())


def python(code: str, *, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment())


def one_line(done: subprocess.CompletedProcess[str], words: str) -> None:
    """Check how bad input is reported: exit code 2, nothing on standard output, one line on standard error."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("headstart: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr
