"""Long histories and files that claim to be huge: how long each takes, and how much memory.

python benchmarks/stress_scale.py [--tasks 5000] [--only check learn …] [--seed 0]

Each row is a process of its own. The history is made up: related tasks with 20 to 100 evaluations each, of seven
parameters, two of them with a condition. The rest are spaces of very many choices, and small files that claim to be
large. "limit" is what the process may take, in processor seconds and memory. One that takes more counts as failed, and
so does one with another exit code than the expected one: 0 or 1 for an answer, 2 for a file that is refused.
"""

from __future__ import annotations

import argparse
import io
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import optuna
import pyarrow as pa
import pyarrow.parquet as pq

import headstart as hs
from headstart.history import build

SPACE = hs.Space(
    {
        "booster": hs.Categorical(["gbtree", "gblinear", "dart"]),
        "eta": hs.Float(1e-4, 1, log=True),
        "alpha": hs.Float(1e-8, 10, log=True),
        "rounds": hs.Int(10, 2000, log=True),
        "subsample": hs.Float(0.1, 1),
        "depth": hs.Int(1, 15, when={"booster": ["gbtree", "dart"]}),
        "dropout": hs.Float(0, 0.5, when={"booster": "dart"}),
    }
)
MINUTE, GIGABYTE = 60.0, 1024


@dataclass(frozen=True)
class Row:
    """A process, and what it may take. codes: the exit codes that are expected."""

    name: str
    command: list[str]
    codes: tuple[int, ...] = (0, 1)
    seconds: float = MINUTE
    megabytes: float = 2 * GIGABYTE


def make_history(path: Path, tasks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(20, 101, tasks)
    V = SPACE.sample_values(int(counts.sum()), rng=rng)
    Z = np.nan_to_num(SPACE.encode_values(V))
    centres = np.clip(rng.normal(0.4, 0.2, (4, Z.shape[1])), 0, 1)[rng.integers(4, size=tasks)]
    centres = np.clip(centres + rng.normal(0, 0.05, centres.shape), 0, 1)
    which = np.repeat(np.arange(tasks), counts)
    losses = ((Z - centres[which]) ** 2).sum(axis=1) * rng.lognormal(size=tasks)[which]
    losses += 0.02 * rng.normal(size=len(losses))
    build(SPACE, tasks=[f"task {i}" for i in which], V=V, losses=losses, features=None).save(path)


# -- small files that claim to be large ------------------------------------------------------------------------


def claims(folder: Path, millions: int) -> dict[str, list[str]]:
    """The arguments of commands, by a description of the file that they read. millions: rows of the Parquet file."""
    history, big = folder / "small.parquet", folder / "claims.parquet"
    make_history(history, 5, 0)
    table = pq.read_table(history)
    with pq.ParquetWriter(big, table.schema, compression="zstd") as writer:
        piece = table.take(pa.array(np.zeros(1_000_000, dtype=np.int64)))
        for _ in range(millions):
            writer.write_table(piece)
    archive = folder / "claims.npz"
    with zipfile.ZipFile(archive, "w") as file:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**20, 2**20)})
        file.writestr("weights.npy", header.getvalue() + bytes(800))
    wide = folder / "wide.csv"
    names = ",".join(f"p{i}" for i in range(20_000))
    lines = [f"task,loss,{names}", *(f"t{i % 3},{i / 9},{','.join(['0.5'] * 20_000)}" for i in range(9))]
    wide.write_text("\n".join(lines))
    deep = folder / "deep.json"
    deep.write_text("[" * 1_000_000)
    endless = folder / "endless.db"
    optuna.create_study(storage=f"sqlite:///{endless}")
    with sqlite3.connect(endless) as database:
        database.execute("PRAGMA legacy_alter_table = ON")
        database.execute("ALTER TABLE trial_params RENAME TO before")
        database.execute(f"CREATE VIEW trial_params AS {ENDLESS}")
    packed = zipfile.ZipFile(folder / "results.csv.zip", "w", zipfile.ZIP_DEFLATED)
    with packed, packed.open("results.csv", "w") as results:
        for _ in range(50 * millions):
            results.write(bytes(2**20))
    loaded = "from headstart.datasets.siamese import Model; Model.load"
    refused = "import sys, headstart as hs\ntry: {}\nexcept hs.errors.HeadstartError: sys.exit(2)"
    size = f"{millions} million rows in {big.stat().st_size // 1024:,} KB"
    return {
        f"Parquet, {size}": ["-m", "headstart", "learn", str(big)],
        "npz, 8 TB in 1 KB": ["-c", refused.format(f"{loaded}({str(archive)!r})")],
        "CSV, 20,000 columns": ["-m", "headstart", "learn", str(wide), "--value", "loss"],
        "JSON, a million brackets": ["-m", "headstart", "suggest", str(deep)],
        "SQLite, a view without end": ["-m", "headstart", "suggest", str(endless)],
        f"zip, {50 * millions:,} MB of text": ["-m", "headstart", "suggest", str(folder / "results.csv.zip")],
    }


ENDLESS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i AS param_id, 1 AS trial_id, 'x' || i AS param_name, 0.5 AS param_value, '{}' AS distribution_json FROM n
"""
CHOICES = """
import headstart as hs
space = hs.Space({{"kind": hs.Categorical(range(10_000)), "x": hs.Float(0, 1)}})
configs, rng = space.sample(200, seed=0), __import__("random").Random(0)
import pandas as pd
rows = [dict(config, task=f"task {{i % 4}}", loss=rng.random()) for i, config in enumerate(configs)]
history = hs.History.from_frame(pd.DataFrame(rows), space, task="task", value="loss") if {past} else None
optimizer = hs.Optimizer(space, history, surrogate={surrogate!r}, n_init=3, seed=0)
for i in range(12):
    optimizer.tell(optimizer.ask(), rng.random())
"""


def rows(folder: Path, tasks: int, seed: int, millions: int) -> dict[str, Row]:
    runs, hs_ = folder / "runs.parquet", ["-m", "headstart"]
    make_history(runs, tasks, seed)
    many = f"{tasks:,} tasks"
    start, page = str(folder / "start.json"), str(folder / "report.html")
    found = {
        "learn": Row(f"{many}: learn", [*hs_, "learn", str(runs), "-o", start]),
        "check": Row(f"{many}: check", [*hs_, "check", str(runs)]),
        "evidence": Row(
            f"{many}: evidence", ["-c", f"import headstart as hs; print(hs.evidence({str(runs)!r}).summary)"]
        ),
        "report": Row(f"{many}: report", [*hs_, "report", str(runs), "-o", page], seconds=2 * MINUTE),
    }
    for surrogate, past in (("gp", False), ("rf", False), ("auto", True), ("prior", True)):
        code = CHOICES.format(past=past, surrogate=surrogate)
        about = f"10,000 choices, 12 trials with {surrogate}"
        found[f"choices-{surrogate}"] = Row(about, ["-c", code], megabytes=GIGABYTE)
    for i, (about, command) in enumerate(claims(folder, millions).items()):
        found[f"claim-{i}"] = Row(about, command, codes=(2,), seconds=MINUTE / 6, megabytes=GIGABYTE)
    return found


# -- running ---------------------------------------------------------------------------------------------------


def measured(row: Row, folder: Path) -> tuple[bool, float, float, float]:
    """Whether all is well, seconds, processor seconds, and the most megabytes."""
    begin, memory = time.monotonic(), 0.0
    with open(folder / "output.txt", "w+") as output:
        process = subprocess.Popen([sys.executable, *row.command], stdout=output, stderr=output, cwd=folder)
        pid = 0
        while not pid:
            memory = max(memory, peak(process.pid))
            time.sleep(0.05)
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if not pid and time.monotonic() > begin + 10 * row.seconds:
                process.kill()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        output.seek(0)
        printed = output.read()
    busy = used.ru_utime + used.ru_stime
    well = process.returncode in row.codes and busy <= row.seconds and memory <= row.megabytes
    well = well and "Traceback" not in printed
    if not well:
        print(f"{row.name}: exit code {process.returncode}\n{printed[-2000:]}", file=sys.stderr)
    return well, seconds, busy, memory


def peak(pid: int) -> float:
    """The most megabytes that a process has used. (What `wait4` says includes the time before it began its program.)"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=5000, help="of the long history")
    parser.add_argument("--only", nargs="+", metavar="ROW", help="learn, check, report, choices-gp, claim-0 …")
    parser.add_argument("--rows", type=int, default=20, help="millions of rows that a Parquet file claims")
    parser.add_argument("--slow", type=float, default=1, help="factor for the time that is allowed")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("| process | limit | seconds | processor seconds | MB | ends as it should |")
    print("| --- | --- | --: | --: | --: | --- |")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, row in rows(folder, args.tasks, args.seed, args.rows).items():
            if args.only and key not in args.only:
                continue
            row = replace(row, seconds=args.slow * row.seconds)
            well, seconds, busy, memory = measured(row, folder)
            limit = f"{row.seconds:.0f} s, {row.megabytes:.0f} MB"
            cells = f"{limit} | {seconds:.0f} | {busy:.0f} | {memory:.0f} | {'yes' if well else 'no'}"
            print(f"| {row.name} | {cells} |", flush=True)
            wrong += not well
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
