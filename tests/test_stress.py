"""Short versions of the campaigns in benchmarks/stress_*.py, with a fixed seed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from program import ROOT, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the campaigns limit memory and look up processes")


def table(script: str, *arguments: str) -> dict[str, dict[str, str]]:
    """The rows of the table that a campaign prints, by their first cell."""
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=900)
    assert done.returncode == 0, done.stderr
    header, _, *rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    found = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    print(done.stderr)  # pytest shows it if the test fails
    return found


def test_damaged_files_are_refused_or_read() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    found = table("stress_files.py", "--each", "20")
    own = ["start", "history", "CSV", "TSV", "HPO-B", "space", "SQLite", "journal", "model", "state"]
    own += ["W&B", "W&B, lines", "W&B, table", "cv_results_"]
    tools = ["mlflow", "mlflow_database", "ray", "smac", "syne_tune", "keras_tuner", "hyperopt", "ax", "flaml"]
    assert list(found) == [*own, *tools]
    for kind, row in found.items():
        assert [row[name] for name in ("raw exceptions", "hangs", "warnings")] == ["0", "0", "0"], row
        if kind in own:  # of the tools' folders, only one file is damaged
            assert int(row["refused"]) > 4
    assert sum(int(row["read"]) for row in found.values()) > 0


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_workers_killed_at_random_moments_lose_nothing(kind: str) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    (row,) = table("stress_kills.py", "--kills", "8", "--storages", kind).values()
    assert [row[name] for name in ("kills", "lost", "starts tried twice", "never")] == ["8", "0", "0", "0"]
    assert int(row["finished trials"]) >= 12
