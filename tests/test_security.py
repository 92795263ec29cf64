"""What docs/security.md promises of reading, seen from below: Python reports what a program does to its audit hooks."""

from __future__ import annotations

import sys

import pytest

from program import ROOT, python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the files come from a campaign for Linux")

READING = """
import os, sys, tempfile
from pathlib import Path

sys.path.insert(0, "BENCHMARKS")
import optuna
from stress_files import READERS, make_files

optuna.logging.set_verbosity(optuna.logging.ERROR)
NEVER = ("pickle.", "exec", "import", "os.system", "os.exec", "os.spawn", "os.posix_spawn",
    "os.fork", "subprocess.", "pty.", "ctypes.dlopen", "socket.connect", "socket.getaddrinfo", "urllib.", "http.",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "shutil.",
    "tempfile.")
# Optuna runs its own scripts to compare versions, and SQLAlchemy generates the constructors of Optuna's classes.
OF_PACKAGES = (str(Path(optuna.__file__).parent), "<sqlalchemy generated")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
watched = None


def watch(event, details):
    if watched is None or event == "exec" and details[0].co_filename.startswith(OF_PACKAGES):
        return
    if event.startswith(NEVER) or event == "open" and (details[2] or 0) & WRITING:
        print(watched, event, str(details)[:200])


def content(folder):
    return {path: path.is_file() and (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*")}


sys.addaudithook(watch)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    files = make_files(folder)
    (folder / "good.csv").write_bytes(files["CSV"].read_bytes())
    assert set(files) == set(READERS)
    for kind, path in files.items():
        READERS[kind](path)  # imports what reading needs
    before = content(folder)
    for kind, path in files.items():
        watched = kind
        READERS[kind](path)
        watched = None
    if content(folder) != before:
        print("files have changed")
    watched = "the hook"
    eval("1")
    open(os.devnull, "w").close()
    watched = None
"""


def test_reading_executes_unpickles_imports_connects_and_writes_nothing() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    done = python(READING.replace("BENCHMARKS", str(ROOT / "benchmarks")))
    assert done.returncode == 0, done.stderr
    found = [line.split()[:3] for line in done.stdout.splitlines()]
    # Only what was done to see that the hook works.
    assert found == [["the", "hook", "exec"], ["the", "hook", "open"]], done.stdout
