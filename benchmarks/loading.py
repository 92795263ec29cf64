"""A large history in one Parquet file: seconds and memory to write and to load it.

python benchmarks/loading.py [tasks] [evaluations per task]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from headstart.history import History, build
from headstart.space import Categorical, Float, Int, Space

SPACE = Space(
    {
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "C": Float(2**-5, 2**6, log=True),
        "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": Int(2, 10, when={"kernel": "poly"}),
        "scaled": Categorical([True, False]),
        "weight": Categorical(["balanced", None]),
    }
)


def make(tasks: int, evaluations: int) -> History:
    """Every evaluation has its own configuration: the hard case."""
    rng = np.random.default_rng(0)
    n = tasks * evaluations
    return build(
        SPACE,
        tasks=np.repeat(np.array([f"task {i:06d}" for i in range(tasks)], dtype=object), evaluations),
        V=SPACE.sample_values(n, rng=rng),
        losses=rng.random(n),
        costs=rng.random(n),
        features={f"task {i:06d}": {"size": float(i), "classes": 2.0} for i in range(tasks)},
    )


def peak_gigabytes() -> float:
    """The peak memory of this process (Linux counts in kilobytes, macOS in bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def step(what: str, path: str, tasks: int, evaluations: int) -> None:
    """One measurement in its own process: seconds, peak memory, and the history."""
    history = make(tasks, evaluations) if what == "write" else None
    before, start, cpu = peak_gigabytes(), time.perf_counter(), time.process_time()
    if history is not None:
        history.save(path)
    else:
        history = History.load(path)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"| {what} | {took:.2f} | {cpu:.2f} | {peak_gigabytes():.2f} | {before:.2f} | {history!r} |")


def main(tasks: int, evaluations: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.parquet"
        lines = []
        for what in ("write", "load"):
            command = [sys.executable, __file__, what, str(path), str(tasks), str(evaluations)]
            lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        print(f"{tasks:,} tasks with {evaluations:,} evaluations each: {path.stat().st_size / 1e6:.1f} MB\n")
    print("| | seconds | CPU seconds | peak memory, GB | before, GB | history |")
    print("| --- | --: | --: | --: | --: | --- |")
    print("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("write", "load"):
        step(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        numbers = [int(argument) for argument in sys.argv[1:]]
        main(*(numbers + [1000, 1000][len(numbers) :]))
