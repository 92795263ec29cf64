"""Run the program, or other code, in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def headstart(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `headstart …` in a folder."""
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
