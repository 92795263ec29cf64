"""The commands on files, in good and in bad conditions."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.cli.understood import understood
from program import environment, headstart, one_line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of runs, a data set, and a start learned from the runs."""
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(-3, 0, 20)
    rows = [
        {"data set": f"d{t}", "rate": rate, "kind": kind, "error": abs(np.log10(rate) + 1.5) + (kind == "b"), "id": 1}
        for t in range(6)
        for i, rate in enumerate(x)
        for kind in "ab"[i % 2]
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    pd.DataFrame({"a": rng.random(30), "b": rng.random(30), "y": [0, 1] * 15}).to_csv(
        tmp_path / "data.csv", index=False
    )
    space = {"rate": hs.Float(1e-3, 1, log=True), "kind": hs.Categorical(["a", "b"])}
    hs.Start(hs.Space(space), [{"rate": 0.03, "kind": "a"}, {"rate": 0.1, "kind": "b"}]).save(tmp_path / "start.json")
    return tmp_path


CSV = ("--task", "data set", "--value", "error")


# -- anything can be a HISTORY ---------------------------------------------------------------------------------


def test_import_prints_notes_and_writes_a_history(folder: Path) -> None:
    done = headstart("import", "runs.csv", *CSV, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "read 120 evaluations of 20 configurations on 6 tasks from runs.csv" in done.stdout
    assert "rate: Float" in done.stdout
    assert "log" in done.stdout
    assert "wrote runs.parquet: 6 tasks, 120 evaluations" in done.stdout
    history = hs.History.load(folder / "runs.parquet")
    assert list(history.space) == ["rate", "kind"]
    told = json.loads(headstart("import", "runs.csv", *CSV, "-o", "again.parquet", "--json", cwd=folder).stdout)
    assert told["tasks"] == history.tasks
    assert hs.Space.from_json(told["space"]) == history.space


def test_every_command_accepts_a_csv_file(folder: Path) -> None:
    done = headstart("learn", "runs.csv", *CSV, "-n", "2", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["kind"] == "a"
    assert "the search space inferred from it" in done.stderr
    given = headstart("learn", "runs.csv", *CSV, "--space", "start.json", "-n", "2", "--json", cwd=folder)
    assert given.returncode == 0, given.stderr
    assert "inferred from it" not in given.stderr
    assert "the search space of start.json:\n  rate: Float [0.001, 1] log\n" in given.stderr


def test_what_was_understood_of_a_csv_file_is_said_before_anything_is_learned(folder: Path) -> None:
    rows = [
        f"{task};2026-01-{i + 1:02};{i};{10.0 ** -(i % 5)};{'failed' if i == 3 else i / 20};fixed"
        for task in ("churn", "fraud", "spam")
        for i in range(12 if task == "spam" else 10)
    ]
    (folder / "odd.csv").write_text("\n".join(["data;day;depth;rate;accuracy;note", *rows, ""]))
    wanted = [
        "read 32 evaluations of 12 configurations on 3 tasks from odd.csv; 3 trials without a value counted as failed",
        "skipped the column 'day' (dates); the column 'note' (the same in every row)",
        "the columns are separated by semicolons",
        "the results are 'accuracy' from 0 to 0.55; higher is better, as the name of the column says",
        "the tasks are churn, fraud, spam, with 10 to 12 trials each",
        "the search space inferred from it:",
        "  depth: Int {0, …, 11}",
        "  rate: Float [0.0001, 1] log",
    ]
    read = ("odd.csv", "--task", "data", "--value", "accuracy")
    for command in ("learn", "check"):
        done = headstart(command, *read, "-n", "1", "--json", cwd=folder)
        assert done.stderr.splitlines() == wanted, done.stderr
    assert headstart("import", *read, cwd=folder).stdout.splitlines()[:-1] == wanted
    refused = headstart("learn", *read, "--method", "lii", cwd=folder)
    assert refused.stderr.splitlines()[:-1] == wanted
    assert refused.returncode == 2


def test_a_long_search_space_is_folded() -> None:
    names = [f"p{i:02}" for i in range(20)]
    space = hs.Space({"kind": hs.Categorical([f"choice-{i}" for i in range(99)]), **{n: hs.Int(1, 3) for n in names}})
    frame = pd.DataFrame([{"task": "t", "value": 1.0, "kind": "choice-1", **dict.fromkeys(names, 2)}])
    history = hs.History.from_frame(frame, space, task="task", value="value")
    *_, tasks, header, kind, first, _, _, _, _, _, last, more = understood(history).splitlines()
    assert tasks == "the tasks are t, with 1 trial each"
    assert header == "the search space inferred from it:"
    assert kind.startswith("  kind: Categorical {'choice-0', 'choice-1',")
    assert kind.endswith(" …")
    assert len(kind) <= 110
    assert (first, last) == ("  p00: Int {1, …, 3}", "  p06: Int {1, …, 3}")
    assert more == "  and 13 more: p07, p08, p09, p10, p11 and 8 more"


def test_the_direction_of_the_import_is_kept(folder: Path) -> None:
    assert headstart("import", "runs.csv", *CSV, "--direction", "maximize", cwd=folder).returncode == 0
    same = headstart("learn", "runs.parquet", "-n", "1", "--direction", "maximize", "--json", cwd=folder)
    assert same.stdout == headstart("learn", "runs.parquet", "-n", "1", "--json", cwd=folder).stdout
    assert json.loads(same.stdout)[0]["kind"] == "b"  # the worse one
    other = headstart("learn", "runs.parquet", "-n", "1", "--direction", "minimize", cwd=folder)
    one_line(
        other,
        "runs.parquet maximises its values, so it cannot be read with direction 'minimize'; "
        "if that is wrong, give --direction when you import the runs",
    )


def test_endings_may_be_written_in_capitals(folder: Path) -> None:
    (folder / "runs.csv").rename(folder / "RUNS.CSV")
    done = headstart("import", "RUNS.CSV", *CSV, "-o", "R.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_authors_folder_is_a_history(shared: Path, tmp_path: Path) -> None:
    done = headstart("learn", str(shared / "data" / "svm"), "-n", "2", "--method", "rbi", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("import", "runs.csv"), "no column 'task'"),
        (("learn", "runs.csv"), "name the column that holds the task with --task"),
        (("learn", "start.json"), "start.json is a start file, not past runs; load it with headstart suggest or"),
        (("learn", "svm", "-o", "first"), "first must end in .json"),
        (("learn", "svm", "--method", "nbi"), "pass --features CSV --target COLUMN"),
        (
            ("learn", "svm", "--direction", "maximize"),
            "svm minimises its values, so it cannot be read with direction 'maximize'",
        ),
        (
            ("learn", "svm", "--task", "x"),
            "'task' applies only to tables and runs of other tools, not to svm; leave out --task",
        ),
        (("learn", "svm", "--space", "none.json"), "no file none.json"),
        (("learn", "svm", "--rename", "C"), "'C' is not of the form NAME=VALUE"),
        (("learn", "svm", "--rename", "c=cost"), "no parameter 'c'"),
        (
            ("learn", "svm", "--also", "adaboost", "--task", "x"),
            "'task' applies only to tables and runs of other tools, not to svm or adaboost",
        ),
        (("learn", "svm", "--also", "runs.csv", *CSV), "the past runs are of different models"),
        (
            ("learn", "runs.csv", *CSV, "--studies", "a*"),
            "'studies' applies only to Optuna storages and runs of other tools, not to runs.csv; leave out --stud",
        ),
        (("learn", "sqlite:///rums.db"), "there is no storage sqlite:///rums.db: the file rums.db does not exist"),
        (("learn", "runs.txt"), "cannot tell what runs.txt holds: it ends in none of .parquet, .csv, .tsv"),
        (("learn", "."), ". was taken for a folder of tables, but data.csv has no column 'task'"),
        (("learn", "holes.csv"), "skip the column with --ignore, or pass a space with --space that says when"),
        (("suggest", "start.json", "--method", "li"), "--method applies to a history, but start.json is a start"),
        (("suggest", "start.json", "--direction", "maximize"), "--direction applies to a history, but start.json is a"),
        (
            ("check", "sqlite:///runs.db", "study", "--methods", "li"),
            "--methods does not apply to the study study",
        ),
        (("check", "sqlite:///runs.db", "study", "-n", "3"), "-n does not apply to the study study"),
        (("suggest", "torn.json"), "torn.json is not a start or an HPO-B file"),
        (("learn", "torn.json"), "torn.json is not an HPO-B file"),
        (("reproduce", "claims", "--history", "svm"), "--history does not apply to claims"),
        (("reproduce", "similarities", "--history", "runs.csv", *CSV), "need meta-features"),
        (("reproduce", "siamese", "--repetitions", "3"), "--repetitions does not apply to siamese"),
        (
            ("reproduce", "initializations", "--history", "runs.csv"),
            "for runs of your own, name the columns with --task and --value",
        ),
        (("build", "metric", "--only", "wine", "irsi"), "there is no data set 'irsi' in svm; did you mean 'iris'"),
        (("build", "svm", "--out", "svm.csv"), "svm.csv must end in .parquet"),
        (("check", "svm", "--nonsense"), "there is no option --nonsense (see headstart check --help)"),
        (("import", "runs.csv", *CSV, "-o", "runs.txt"), "runs.txt must end in .parquet"),
        (("import", "nothing.csv", *CSV), "no file nothing.csv"),
        (("import", "runs.csv", *CSV, "--space", "data.csv"), "data.csv is not a space"),
        (("import", "runs.csv", *CSV, "--space", "empty.json"), "empty.json is not a space"),
        (("learn", "empty.json"), "empty.json"),
        (
            ("suggest", "start.json", "-n", "5"),
            "the start has only 2 configurations, but 5 are asked for",
        ),
        (
            ("suggest", "twice.json", "-n", "2"),
            "the start has only 1 configuration, but 2 are asked for",
        ),
        (("learn", "small.csv", "-n", "7"), "n=7, but the space has only 6 configurations; ask for at most 6 with -n"),
        (("suggest", "small.csv", "-n", "50"), "n=50, but the space has only 6 configurations; ask for at most 6 with"),
        (("check", "small.csv", "-n", "7"), "n=7, but the space has only 6 configurations; ask for at most 6 with -n"),
        (("report", "small.csv", "-n", "7"), "n=7, but the space has only 6 configurations; ask for at most 6 with -n"),
        (("suggest", "svm", "--target", "y"), "the file that --features names; give both"),
        (
            ("suggest", "svm", "--features", "data.csv"),
            "name the column to predict with --target (of: a, b, y)",
        ),
        (("suggest", "svm", "--features", "data.csv", "--target", "z"), "no column 'z'"),
        (("suggest", "svm", "--features", "none.csv", "--target", "z"), "no file none.csv"),
        (("export", "start.json", "--to", "hyperop"), "no export to 'hyperop'; did you mean 'hyperopt'"),
        (
            ("export", "runs.csv", "--to", "ray"),
            "is a history; learn a start first: headstart learn runs.csv -o runs.json",
        ),
        (("export", "svm", "--to", "ray"), "is a history; learn a start first: headstart learn svm -o svm.json"),
        (("export", "start.json", "--to", "ray", "-o", "no/such/file"), "no/such does not exist"),
        (("report", "runs.csv", *CSV, "-o", "no/such/page.html"), "no/such does not exist"),
    ],
)
def test_bad_input(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    (folder / "empty.json").write_text("{}")
    (folder / "runs.txt").write_text("a\n")
    (folder / "torn.json").write_text('{"a": ')
    (folder / "holes.csv").write_text("task,x,y,value\na,1,1,1\na,2,,2\nb,1,2,1\n")
    small = [f"{task},{x},{kind},{x / task}" for task in (1, 2, 3) for x in (1, 2, 3) for kind in "ab"]
    (folder / "small.csv").write_text("\n".join(["task,x,kind,value", *small, ""]))
    hs.Start(hs.Space({"x": hs.Int(1, 9)}), [{"x": 1}, {"x": 1}]).save(folder / "twice.json")
    before = sorted(folder.iterdir())
    done = headstart(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before


# -- suggest and export ------------------------------------------------------------------------------------------


def test_suggest_from_a_start_and_from_a_history(folder: Path) -> None:
    from_start = headstart("suggest", "start.json", "-n", "1", "--json", cwd=folder)
    assert json.loads(from_start.stdout) == [{"rate": 0.03, "kind": "a"}]
    with_data = headstart("suggest", "start.json", "--features", "data.csv", "--target", "y", cwd=folder)
    assert with_data.returncode == 0
    assert "data.csv has no effect" in with_data.stderr
    near = headstart(
        "suggest", "svm", "-n", "3", "--method", "nbi", "--features", "data.csv", "--target", "y", "--json", cwd=folder
    )
    frame = pd.read_csv(folder / "data.csv")
    features = hs.metafeatures(frame[["a", "b"]], frame["y"])
    wanted = hs.learn(hs.library.load("svm"), n=3, method="nbi", features=features)
    assert json.loads(near.stdout) == wanted.configs


def test_export_prints_or_writes(folder: Path) -> None:
    printed = headstart("export", "start.json", "--to", "hyperopt", cwd=folder)
    assert json.loads(printed.stdout) == [{"rate": 0.03, "kind": 0}, {"rate": 0.1, "kind": 1}]
    assert headstart("export", "start.json", "--to", "csv", "-o", "start.csv", cwd=folder).returncode == 0
    with open(folder / "start.csv", newline="") as file:
        assert list(csv.reader(file)) == [["rate", "kind"], ["0.03", "a"], ["0.1", "b"]]


# -- check and report --------------------------------------------------------------------------------------------


def test_check_shows_a_table_sparklines_and_the_verdict(folder: Path) -> None:
    done = headstart("check", "runs.csv", *CSV, "-n", "3", "--methods", "rbi", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "trials    rbi  random" in done.stdout
    assert any(set(line.split()[-1]) <= set("▁▂▃▄▅▆▇█") for line in done.stdout.splitlines() if line.split())
    assert "After 3 trials from 'rbi'" in done.stdout
    told = json.loads(headstart("check", "runs.csv", *CSV, "-n", "3", "--methods", "rbi", "--json", cwd=folder).stdout)
    assert told["summary"] in done.stdout
    assert told["outliers"] == []


def test_check_says_how_a_search_would_begin_and_what_decides(folder: Path) -> None:
    """The same configuration that a search with this history asks for first."""
    arguments = ("check", "runs.csv", *CSV, "-n", "2", "--methods", "auto")
    told = json.loads(headstart(*arguments, "--json", cwd=folder).stdout)
    assert told["begins"] in headstart(*arguments, cwd=folder).stdout
    history = hs.History.from_csv(folder / "runs.csv", task="data set", value="error")
    optimizer = hs.Optimizer(history.space, history=history, seed=0)
    assert told["begins"].endswith(optimizer.explain())
    assert f"kind={optimizer.ask()['kind']}" in told["begins"]


def test_report_writes_a_page(folder: Path) -> None:
    done = headstart("report", "runs.csv", *CSV, "-n", "3", "-o", "page.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "The page is in page.html" in done.stdout
    assert "runs.csv · headstart" in (folder / "page.html").read_text(encoding="utf-8")


# -- conditions --------------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: str, cwd: Path) -> str:
    """The output of the program on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "headstart", *arguments]
    env = {**environment(), "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env)
    os.close(theirs)
    out = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(ours)
    assert process.wait() == 0, out
    return out.decode()


def test_colour_on_a_terminal_and_none_in_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = on_a_terminal("suggest", "start.json", cwd=folder)
    assert "\x1b[" in shown
    assert "0.03" in shown
    assert "\x1b" not in headstart("suggest", "start.json", cwd=folder).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_a_terminal("suggest", "start.json", cwd=folder)


def test_a_terminal_shows_progress(folder: Path) -> None:
    shown = on_a_terminal("check", "runs.csv", *CSV, "-n", "2", "--methods", "rbi", cwd=folder)
    assert "leaving out tasks" in shown
    assert "6/6" in shown


def test_a_full_disk_leaves_nothing_behind(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    command = [sys.executable, "-m", "headstart", "suggest", "start.json"]
    with full.open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment())
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_write_that_fails_keeps_the_old_file(folder: Path) -> None:
    """A limit on file sizes stands for a disk that fills up during the write."""
    resource = pytest.importorskip("resource", reason="limits as on Unix")
    (folder / "points.json").write_text("old")
    before = sorted(folder.iterdir())
    command = [sys.executable, "-m", "headstart", "export", "start.json", "--to", "ray", "-o", "points.json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "points.json").read_text() == "old"
    assert sorted(folder.iterdir()) == before


def test_no_write_permission(folder: Path) -> None:
    if os.geteuid() == 0:  # root may write everywhere except in the kernel's own folders
        target = "/proc/points.json"
    else:
        (folder / "shut").mkdir(mode=0o500)
        target = "shut/points.json"
    one_line(headstart("export", "start.json", "--to", "ray", "-o", target, cwd=folder), "")


def test_completion(folder: Path) -> None:
    pytest.importorskip("shtab", reason="completion needs shtab")
    script = headstart("--completion", "bash", cwd=folder)
    assert script.returncode == 0
    assert "--methods" in script.stdout
    done = subprocess.run(["bash", "-n"], input=script.stdout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
