"""Workers of a process that is killed do not go on without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from program import environment

PROGRAM = """
import os, sys, time
from pathlib import Path
from headstart.library import pieces

def compute(key):
    (Path(sys.argv[1]) / f"{key}.pid").write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    pieces.run(["a", "b"], compute, sys.argv[1], signature={}, jobs=2, progress=False)
"""


IDLE = """
import os, sys, time
from pathlib import Path
from headstart._support.processes import parallel
from joblib import delayed

if __name__ == "__main__":
    work = parallel(n_jobs=2, return_as="generator")(delayed(os.getpid)() for _ in range(2))
    (Path(sys.argv[1]) / "pid").write_text(str(next(work)))
    time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program, tmp_path], env=environment()) as process:
        files = [tmp_path / f"{key}.pid" for key in "ab"]
        until = time.monotonic() + 120
        while not all(file.exists() and file.read_text() for file in files) and time.monotonic() < until:
            time.sleep(0.1)
        workers = [int(file.read_text()) for file in files]
        assert all(map(is_alive, workers))
        assert os.getpid() not in workers
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_idle_workers_end_with_it_too(tmp_path: Path) -> None:
    """A worker that has begun but never called anything of ours would wait for work for minutes."""
    program, file = tmp_path / "program.py", tmp_path / "pid"
    program.write_text(IDLE)
    with subprocess.Popen([sys.executable, program, tmp_path], env=environment()) as process:
        until = time.monotonic() + 120
        while not (file.exists() and file.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        worker = int(file.read_text())
        assert worker != process.pid
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while is_alive(worker) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_alive(worker)
