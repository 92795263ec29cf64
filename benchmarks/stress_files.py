"""Damaged files of every kind that headstart reads: only its own errors, no hang, bounded memory.

python benchmarks/stress_files.py [--each 560] [--kinds sqlite journal …] [--seed 0]

Each file is a good one in which something was changed at random: bytes flipped, cut out, repeated or made up, and where
the format has an inside (JSON, the lines of a journal, the rows of a database), values there. A file that can still be
read is fine. An exception that is neither headstart's own nor one of the system (a missing file) is counted as raw.
Reading one file may take ten seconds and two gigabytes. Every tenth file goes through the command line, too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import headstart as hs
from headstart._support.files import read_arrays, write_arrays
from headstart.cli.main import main as command_line
from headstart.datasets.siamese import Model
from headstart.errors import FormatError, HeadstartError
from headstart.history.sources import read_history, read_hpob

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from other_tools import unpacked
from past_studies import SPACE, fill

SECONDS, MEMORY = 10, 2 << 30
JUNK: list[Any] = [
    None, True, "", "x", "\x1b]0;x\x07", -1, 0, 2**63, 2**70, 1e308, -1e308, [], {}, [[]], {"a": 1}, "9" * 400,
    "[" * 3000, "__import__('os')", "../../x", [None], {"": None},
]  # fmt: skip


# -- good files ------------------------------------------------------------------------------------------------


def make_files(folder: Path) -> dict[str, Path]:
    """One good file of every kind."""
    names = {
        "start": "start.json", "history": "runs.parquet", "CSV": "runs.csv", "TSV": "runs.tsv", "HPO-B": "hpob.json",
        "space": "space.json", "SQLite": "runs.db", "journal": "runs.log", "model": "model.npz", "state": "state.json",
        "W&B": "project.json", "W&B, lines": "lines.jsonl", "W&B, table": "table.csv", "cv_results_": "search.csv",
    }  # fmt: skip
    paths = {kind: folder / name for kind, name in names.items()}
    fill(f"sqlite:///{paths['SQLite']}", n=3, trials=8)
    log = optuna.storages.journal.JournalFileBackend(str(paths["journal"]))
    fill(optuna.storages.JournalStorage(log), n=3, trials=8)
    history = hs.History.from_optuna(paths["SQLite"])
    history.save(paths["history"])
    history.save(paths["CSV"])
    paths["TSV"].write_text(paths["CSV"].read_text().replace(",", "\t"))
    hs.Start(SPACE, SPACE.sample(5, seed=0)).save(paths["start"])
    paths["space"].write_text(json.dumps(SPACE.to_json()))
    rng = random.Random(0)
    sets = {name: {"X": [[rng.random(), rng.random()] for _ in range(6)], "y": [[rng.random()]] * 6} for name in "ab"}
    paths["HPO-B"].write_text(json.dumps({"4796": sets}))
    _make_model(paths["model"])
    _make_state(paths["state"])
    _make_tables(paths)
    return {**paths, **{tool: unpacked(tool, folder / tool) for tool in TOOLS}}


def _make_model(path: Path) -> None:
    from headstart.datasets.siamese import Recipe, Training, train

    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=(20, 2)) for name in "abcd"}
    target = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    train(data, target, Recipe("points", (2,), "mean", points=5, size=4), Training(steps=2), progress=False).save(path)


def _make_state(path: Path) -> None:
    optimizer = hs.Optimizer(SPACE, seed=0)
    for i in range(4):
        optimizer.tell(optimizer.ask(), float(i))
    optimizer.ask()
    path.write_text(json.dumps(optimizer.state()))


def _make_tables(paths: dict[str, Path]) -> None:
    """Exports of Weights & Biases, and the results of a search in scikit-learn."""
    import pandas as pd
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    configs = [{"lr": 0.1 / (i + 1), "net": {"depth": 2 + i % 3}, "opt": "adam" if i % 2 else "sgd"} for i in range(6)]
    runs = [
        {"name": f"run-{i}", "state": "finished", "config": c, "summary": {"loss": 1 / (i + 1), "_runtime": 2.5 * i}}
        for i, c in enumerate(configs)
    ]
    paths["W&B"].write_text(json.dumps(runs))
    paths["W&B, lines"].write_text("\n".join(map(json.dumps, runs)))
    pd.DataFrame(runs).to_csv(paths["W&B, table"])
    search = GridSearchCV(SVC(), {"kernel": ["rbf", "linear"], "C": [0.5, 10.0]}, cv=2).fit(*load_iris(return_X_y=True))
    pd.DataFrame(search.cv_results_).to_csv(paths["cv_results_"])


def _restore(path: Path) -> None:
    try:
        state = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise FormatError("not JSON") from None  # the reader of the file is the user's own
    hs.Optimizer(SPACE, seed=0).restore(state).ask()


TOOLS: dict[str, Callable[[Path], Any]] = {  # what real tools left on the disk, in folders
    "mlflow": lambda folder: hs.History.from_mlflow(folder / "mlruns", value="val/loss"),
    "mlflow_database": lambda folder: hs.History.from_mlflow(folder / "mlflow.db", value="val/loss"),
    "ray": lambda folder: hs.History.from_ray(folder, value="loss"),
    "smac": hs.History.from_smac,
    "syne_tune": hs.History.from_syne_tune,
    "keras_tuner": hs.History.from_keras_tuner,
    "hyperopt": lambda folder: hs.History.from_hyperopt(next(folder.glob("*.csv"))),
    "ax": lambda folder: hs.History.from_ax(next(folder.glob("*.json"))),
    "flaml": lambda folder: hs.History.from_flaml(next(folder.glob("*.log"))),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "start": hs.Start.load,
    "history": hs.History.load,
    "CSV": hs.History.from_csv,
    "TSV": hs.History.from_csv,
    "HPO-B": read_hpob,
    "space": lambda path: read_history(str(path.with_name("good.csv")), hs.history.Reading(space=path)),
    "SQLite": hs.History.from_optuna,
    "journal": hs.History.from_optuna,
    "model": Model.load,
    "state": _restore,
    "W&B": lambda path: hs.History.from_wandb(path, value="loss"),
    "W&B, lines": lambda path: hs.History.from_wandb(path, value="loss"),
    "W&B, table": lambda path: hs.History.from_wandb(path, value="loss"),
    "cv_results_": hs.History.from_search_cv,
    **TOOLS,
}
COMMANDS = {
    "start": ["suggest"],
    "history": ["import"],
    "CSV": ["import"],
    "TSV": ["import"],
    "HPO-B": ["import"],
    "SQLite": ["import"],
    "journal": ["import"],
    "W&B": ["import", "--value", "loss"],
    "W&B, lines": ["import", "--value", "loss"],
    "W&B, table": ["import", "--value", "loss"],
    "cv_results_": ["import"],
    "ray": ["import", "--value", "loss"],
    "smac": ["import"],
    "syne_tune": ["import"],
    "keras_tuner": ["import"],
}


# -- damage ------------------------------------------------------------------------------------------------------


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        i = rng.randrange(len(data) + 1)
        j = min(len(data), i + rng.choice([1, 2, 4, 16, 200]))
        piece = data[i:j]
        data = data[:i] + rng.choice(
            [
                b"",
                piece + piece,
                bytes(rng.randrange(256) for _ in piece),
                bytes([(piece[0] ^ (1 << rng.randrange(8))) if piece else 0]) + piece[1:],
                b"\xff" * len(piece),
                b"\0" * len(piece),
            ]
        ) + data[j:]  # fmt: skip
        if not data:
            return data
    return data[: rng.randrange(len(data))] if rng.random() < 0.1 else data


def change_json(value: Any, rng: random.Random) -> Any:
    """Replace, drop or repeat one value somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: change_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        i = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:i] + value[i:] + value[i:]
        return [*value[:i], change_json(value[i], rng), *value[i + 1 :]]
    return rng.choice(JUNK)


def changed_json(text: str, rng: random.Random) -> str:
    try:
        return json.dumps(change_json(json.loads(text), rng))
    except ValueError:  # one object a line
        return change_lines(text, rng)


def change_lines(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    for _ in range(rng.choice([1, 1, 3])):
        i = rng.randrange(len(lines))
        if rng.random() < 0.2:
            lines[i : i + 1] = rng.choice([[], [lines[i]] * 2, [""], [rng.choice(lines)]])
        else:
            with contextlib.suppress(ValueError):  # it was changed before
                lines[i] = json.dumps(change_json(json.loads(lines[i]) if lines[i].startswith("{") else {}, rng))
        if not lines:
            break
    return "\n".join(lines) + "\n"


def change_rows(path: Path, rng: random.Random) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for _ in range(rng.choice([1, 1, 2, 5])):
        table = rng.choice(tables)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] or ["x"]  # renamed before
        value = rng.choice(JUNK)
        value = json.dumps(value) if isinstance(value, (list, dict)) else value
        value = float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
        value = rng.choice([value, b"\xff\xfe", value])
        draw = rng.random()
        with contextlib.suppress(sqlite3.Error):
            rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
            row = rows[int(draw * len(rows))] if rows else 0
            actions = [f"UPDATE {table} SET {rng.choice(columns)} = ? WHERE rowid = {row}"] * 8
            actions += [f"DELETE FROM {table} WHERE rowid = {row}", f"ALTER TABLE {table} RENAME TO other"]
            action = rng.choice(actions)
            connection.execute(action, [value] if "?" in action else [])
    connection.close()


def damage(kind: str, good: Path, bad: Path, rng: random.Random) -> None:
    if good.is_dir():  # one of its files
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(good, bad)
        part = rng.choice(sorted(path for path in good.rglob("*") if path.is_file()))
        kinds = {".db": "SQLite", ".csv": "CSV"}
        damage(kinds.get(part.suffix, ""), part, bad / part.relative_to(good), rng)
        return
    shutil.copy(good, bad)
    inside = rng.random() < 0.6
    if inside and kind == "SQLite":
        change_rows(bad, rng)
    elif inside and (kind == "journal" or good.suffix == ".jsonl"):
        bad.write_text(change_lines(good.read_text(), rng))
    elif inside and good.suffix == ".json":
        bad.write_text(changed_json(good.read_text(), rng))
    elif inside and good.suffix in (".csv", ".tsv"):
        between = "\t" if good.suffix == ".tsv" else ","
        cells = good.read_text().split(between)
        cells[rng.randrange(len(cells))] = str(rng.choice(JUNK))
        bad.write_text(between.join(cells))
    elif inside and kind == "history":
        change_header(bad, rng)
    elif inside and kind == "model":
        header, arrays = read_arrays(good, "a model")
        if rng.random() < 0.5:
            header = change_json(header, rng)
        else:
            arrays[rng.choice(list(arrays))] = np.full(rng.choice([0, 3, (2, 2)]), rng.choice([0, 1e300, np.nan]))
        write_arrays(bad, header if isinstance(header, dict) else {}, arrays)
    else:
        bad.write_bytes(change_bytes(good.read_bytes(), rng))


def change_header(path: Path, rng: random.Random) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"headstart"])
    table = table.replace_schema_metadata({b"headstart": json.dumps(change_json(header, rng)).encode()})
    pq.write_table(table, path)


# -- reading -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """At most SECONDS and about MEMORY more than now."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done after {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def outcome(read: Callable[[], Any]) -> str:
    """How reading ended: fine, refused, or something that must not happen."""
    try:
        with bounded(), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            read()
    except HeadstartError:
        return "refused"
    except TimeoutError:
        return "hang"
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        return "refused"
    except BaseException as error:
        return f"raw {type(error).__name__}: {str(error)[:80]}"
    ours = [str(w.message) for w in found if "headstart" in (w.filename or "")]
    return f"warning {ours[0][:60]}" if ours else "read"


def run_command(arguments: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = command_line(arguments)
    text = out.getvalue() + err.getvalue()
    if code not in (0, 1, 2) or "Traceback" in text:
        raise RuntimeError(f"exit code {code}")
    if any(ord(c) < 32 and c not in "\n\t" for c in text):
        raise RuntimeError("control characters on the terminal")


def campaign(kind: str, good: Path, each: int, seed: int) -> Counter[str]:
    rng, found = random.Random(f"{kind} {seed}"), Counter[str]()
    bad = good.with_name(f"bad{good.suffix}")
    for i in range(each):
        damage(kind, good, bad, rng)
        found[outcome(lambda: READERS[kind](bad))] += 1
        if kind in ("SQLite", "journal"):
            found[outcome(lambda: hs.History.from_optuna(bad, skip_damaged=True))] += 1
        if kind in COMMANDS and i % 10 == 0:
            arguments = [*COMMANDS[kind], str(bad)]
            arguments += ["-o", str(bad.with_name("out.parquet"))] if arguments[0] == "import" else []
            found[outcome(lambda arguments=arguments: run_command(arguments))] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=560, help="damaged files of each kind")
    parser.add_argument("--kinds", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("headstart").setLevel(logging.ERROR)
    wrong = 0
    print("| files | damaged | readings | refused | read | raw exceptions | hangs | warnings | seconds |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as folder:
        good = make_files(Path(folder))
        shutil.copy(good["CSV"], Path(folder) / "good.csv")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        for kind in args.kinds:
            begin = time.monotonic()
            found = campaign(kind, good[kind], args.each, args.seed)
            raw, warned = ({t: n for t, n in found.items() if t.startswith(w)} for w in ("raw", "warning"))
            counts = [args.each, sum(found.values()), found["refused"], found["read"], sum(raw.values()), found["hang"]]
            wrong += sum(raw.values()) + found["hang"] + sum(warned.values())
            counts += [sum(warned.values()), round(time.monotonic() - begin)]
            print(f"| {kind} | {' | '.join(map(str, counts))} |", flush=True)
            for text, n in sorted({**raw, **warned}.items()):
                print(f"  {n} × {text}", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
