"""A PostgreSQL server for tests, from Debian's package, in a temporary directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _bin() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed, so studies on it are not tested: apt-get install postgresql")
    return found[-1].parent


def _as_user() -> list[str]:
    """PostgreSQL refuses to run as root, so root runs it as the package's own user."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return []
    if shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and runuser is missing, so studies on it are not tested")
    return ["runuser", "-u", "postgres", "--"]


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database on a server that stops when the context ends."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed, so studies on PostgreSQL are not tested")
    programs, user = _bin(), _as_user()
    with tempfile.TemporaryDirectory(prefix="hs", dir="/tmp") as folder:  # a socket's path must be short
        if user:
            shutil.chown(folder, "postgres", "postgres")
        data = f"{folder}/data"
        run = {"check": True, "capture_output": True, "cwd": folder, "env": {**os.environ, "LC_ALL": "C"}}
        subprocess.run([*user, programs / "initdb", "-D", data, "-U", "tests", "-A", "trust", "--no-sync"], **run)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=60 -c shared_buffers=16MB"
        control = [*user, programs / "pg_ctl", "-D", data, "-w"]
        subprocess.run([*control, "-l", f"{folder}/log", "-o", options, "start"], **run)
        try:
            yield f"postgresql+psycopg2://tests@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
