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
    (row,) = table("stress_kills.py", "--kills", "8", "--others", "0", "--storages", kind).values()
    assert [row[name] for name in ("kills", "lost", "starts tried twice", "never")] == ["8", "0", "0", "0"]
    assert int(row["finished trials"]) >= 12


def test_eight_workers_try_nothing_twice() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    arguments = ("--trials", "48", "--storages", "sqlite", "--samplers", "HeadstartSampler", "--workers", "8")
    (row,) = table("stress_workers.py", *arguments).values()
    assert [row[name] for name in ("workers", "trials", "twice", "failed workers")] == ["8", "48", "0", "0"]


def test_hostile_numbers_give_finite_new_proposals_inside() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    arguments = ("--asks", "8", "--learns", "4", "--studies", "2", "--samplers", "HeadstartSampler")
    found = table("stress_numbers.py", *arguments)
    assert list(found) == ["asks", "learns", "HeadstartSampler"]
    for row in found.values():
        assert int(row["proposals"]) > 0
        wrong = ("not finite", "outside", "twice", "too few", "exceptions", "warnings")
        assert [row[name] for name in wrong] == ["0"] * len(wrong), row


def test_a_program_killed_while_it_writes_leaves_whole_files() -> None:
    found = table("stress_writes.py", "--kills", "6", "--commands", "0")
    assert len(found) == 10
    for row in found.values():
        assert [row[name] for name in ("kills", "damaged", "different", "left for good")] == ["6", "0", "0", "0"]


def test_files_that_claim_to_be_huge_are_refused_and_many_choices_take_little_memory() -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    rows = ("choices-gp", "claim-0", "claim-1", "claim-2", "claim-3", "claim-4", "claim-5")
    found = table("stress_scale.py", "--tasks", "20", "--rows", "2", "--slow", "20", "--only", *rows)
    assert len(found) == len(rows)
    assert [row["ends as it should"] for row in found.values()] == ["yes"] * len(rows)
