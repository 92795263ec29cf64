"""Programs killed while they write: is a file ever damaged, and what is left behind?

python benchmarks/stress_writes.py [--kills 150] [--commands 3] [--seed 0]

For every kind of file, a process writes two contents in turn, over and over, and is killed (SIGKILL) at a random
moment. The file must then hold one of the two. Beside it may lie a temporary file, which the next writer removes;
whether it does so is asked at the end, when all of them are made to look two minutes old. Two processes that write the
same file at once count as a kind of their own. The commands `build` and `reproduce`, which have worker processes, are
killed and continued: the workers have to end on their own, and the result has to be the same as without a kill.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headstart as hs
from headstart._support import files
from headstart._support.files import read_arrays, replacing, write_arrays
from headstart.history import build

SPACE = hs.Space({"x": hs.Float(0, 1), "y": hs.Float(1e-3, 1e3, log=True), "kind": hs.Categorical(["a", "b"])})
BEHIND = 10.0  # seconds after which a worker process must have ended with its parent


def history(seed: int) -> hs.History:
    rng = np.random.default_rng(seed)
    V = SPACE.sample_values(400, rng=rng)
    return build(SPACE, tasks=[f"t{i % 4}" for i in range(400)], V=V, losses=rng.random(400), features=None)


def state(path: Path, optimizer: hs.Optimizer) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(optimizer.state()))


def told(which: int) -> hs.Optimizer:
    optimizer = hs.Optimizer(SPACE, seed=0)
    for i in range(5):
        optimizer.tell(optimizer.ask(), float(i + which))
    return optimizer


# name of the file, its two contents, how one is written, and how the file is read
KINDS: dict[str, tuple[str, Callable[[int], Any], Callable[[Path, Any], None], Callable[[Path], Any]]] = {
    "history": ("h.parquet", history, lambda p, h: h.save(p), hs.History.load),
    "CSV": ("h.csv", history, lambda p, h: h.save(p), hs.History.from_csv),
    "start": ("s.json", lambda i: hs.Start(SPACE, SPACE.sample(9, seed=i)), lambda p, s: s.save(p), hs.Start.load),
    "state": ("o.json", told, state, lambda p: hs.Optimizer(SPACE, seed=0).restore(json.loads(p.read_text()))),
    "arrays": (
        "m.npz",
        lambda i: {"w": np.full((200, 200), float(i))},
        lambda p, arrays: write_arrays(p, {"kind": "w"}, arrays),
        lambda p: read_arrays(p, "a model"),
    ),
}


def fork(function: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def campaign(kind: str, kills: int, seed: int, writers: int = 1) -> Counter[str]:
    name, make, write, read = KINDS[kind]
    rng, found = random.Random(f"{kind} {seed} {writers}"), Counter[str](kills=0)
    contents = [make(0), make(1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, contents[1])
        known = {digest(path)}
        write(path, contents[0])
        known.add(digest(path))

        def loop() -> None:
            while True:
                for content in contents:
                    write(path, content)

        while found["kills"] < kills:
            pids = [fork(loop) for _ in range(writers)]
            time.sleep(0.02 + 0.1 * rng.random())
            for pid in pids:
                kill(pid)
            found["kills"] += writers
            found["different"] += digest(path) not in known
            try:
                read(path)
            except Exception as error:
                found["damaged"] += 1
                print(f"{kind}: {type(error).__name__}: {error}", file=sys.stderr)
        left = temporary(Path(folder))
        for file in left:
            os.utime(file, (time.time() - 120, time.time() - 120))
        files._clean.cache_clear()
        write(path, contents[0])
        found["temporary files"] = len(left)
        found["left for good"] = len(temporary(Path(folder)))
    return found


def temporary(folder: Path) -> list[Path]:
    return list(folder.glob(f"{files.TEMPORARY}*"))


# -- commands --------------------------------------------------------------------------------------------------


def small_build(folder: Path) -> list[str]:
    return ["build", "svm", "--only", "iris", "wine", "--out", str(folder / "svm.parquet"), "--jobs", "2"]


def small_paper(folder: Path) -> list[str]:
    return ["reproduce", "initializations", "--quick", "--out", str(folder / "paper"), "--jobs", "2"]


COMMANDS: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "build": (small_build, "svm.parquet"),
    "reproduce": (small_paper, "paper/summary.csv"),
}


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "headstart", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def session(leader: int) -> list[int]:
    """The processes that a command started, workers included, that are still alive."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, *fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and state not in "ZX":
            found.append(int(entry.name))
    return found


def results(path: Path) -> Any:
    """What a command computed, apart from the time that it took."""
    if path.suffix != ".parquet":
        return digest(path)
    history = hs.History.load(path)
    return [(task.name, history.V[task.rows].tobytes(), task.losses.tobytes()) for task in history]


def command_campaign(kind: str, kills: int, seed: int) -> Counter[str]:
    make, result = COMMANDS[kind]
    rng, found = random.Random(f"{kind} {seed}"), Counter[str](kills=0)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        begin = time.monotonic()
        if code := started(make(Path(one))).wait():
            raise SystemExit(f"{kind} ended with exit code {code}")
        takes = time.monotonic() - begin
        for _ in range(kills):
            process = started(make(Path(other)))
            time.sleep(0.2 + 0.9 * takes * rng.random())
            process.kill()
            process.wait()
            found["kills"] += 1
            until = time.monotonic() + BEHIND
            while session(process.pid) and time.monotonic() < until:
                time.sleep(0.2)
            found["processes left"] += len(left := session(process.pid))
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        code = started(make(Path(other))).wait()
        found["damaged"] = bool(code)
        found["different"] = not code and results(Path(one) / result) != results(Path(other) / result)
        found["temporary files"] = len(list(Path(other).rglob(f"{files.TEMPORARY}*")))
    return found


WRONG = ("damaged", "different", "left for good", "processes left")
COLUMNS = ("kills", "damaged", "different", "temporary files", "left for good", "processes left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=150, help="of each kind of file")
    parser.add_argument("--commands", type=int, default=3, help="kills of each command")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(f"| written | {' | '.join(COLUMNS)} |")
    print(f"| --- |{' --: |' * len(COLUMNS)}")
    wrong = 0
    for kind in KINDS:
        for writers in (1, 2):
            found = campaign(kind, args.kills, args.seed, writers)
            wrong += sum(int(found[key]) for key in WRONG)
            name = kind if writers == 1 else f"{kind}, by two processes"
            print(f"| {name} | {' | '.join(str(int(found[key])) for key in COLUMNS)} |", flush=True)
    for kind in COMMANDS if args.commands else ():
        found = command_campaign(kind, args.commands, args.seed)
        wrong += sum(int(found[key]) for key in WRONG)
        print(f"| {kind} | {' | '.join(str(int(found[key])) for key in COLUMNS)} |", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
