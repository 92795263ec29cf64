"""Hundreds of Optuna studies in one SQLite file, read as a history.

python benchmarks/optuna_import.py [--studies 300] [--trials 100]
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

import optuna

import headstart as hs


def copy_study(path: Path, copies: int) -> None:
    """Copy a study with its trials many times: Optuna itself would take minutes to write them one by one."""
    tables = ("trial_values", "trial_params")
    with sqlite3.connect(path) as connection:
        (n,) = connection.execute("SELECT MAX(trial_id) FROM trials").fetchone()
        for i in range(1, copies):
            name = f"study-{i:04d}"
            connection.execute("INSERT INTO studies (study_id, study_name) VALUES (?, ?)", (i + 1, name))
            connection.execute(
                "INSERT INTO study_directions (direction, study_id, objective) VALUES ('MINIMIZE', ?, 0)", (i + 1,)
            )
            connection.execute(
                "INSERT INTO trials (trial_id, number, study_id, state, datetime_start, datetime_complete) SELECT "
                "trial_id + ?, number, ?, state, datetime_start, datetime_complete FROM trials WHERE study_id = 1",
                (i * n, i + 1),
            )
            for table in tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][1:]  # without its key
                chosen = ", ".join(f"trial_id + {i * n}" if name == "trial_id" else name for name in columns)
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} WHERE trial_id <= {n}"
                )
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        history = hs.library.load("svm")
        kinds = hs.optuna.to_distributions(history.space)
        study = optuna.create_study(storage=f"sqlite:///{path}", study_name="study-0000")
        task = history["wine"]
        for config, loss in list(zip(history.configs("wine"), task.losses, strict=True))[: args.trials]:
            named = {name: kinds[name] for name in config}
            study.add_trial(optuna.create_trial(params=config, distributions=named, value=float(loss)))
        copy_study(path, args.studies)
        wall, cpu = time.time(), time.process_time()
        read = hs.History.from_optuna(f"sqlite:///{path}")
        print(
            f"| | seconds | CPU seconds |\n| --- | --: | --: |\n| {len(read)} studies, {sum(map(len, read)):,} trials "
            f"| {time.time() - wall:.2f} | {time.process_time() - cpu:.2f} |"
        )
        wall, cpu = time.time(), time.process_time()
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        for frozen in storage.get_all_studies():
            storage.get_all_trials(frozen._study_id, deepcopy=False)
        print(
            f"| the same trials through Optuna's objects | {time.time() - wall:.2f} | {time.process_time() - cpu:.2f} |"
        )
        storage.engine.dispose()


if __name__ == "__main__":
    main()
