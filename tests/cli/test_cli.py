"""The command line: its answers, and the program in a process of its own as users run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.cli import main as cli
from program import ROOT, environment, headstart, one_line, process, python

COMMANDS = ("learn", "suggest", "list", "check", "report", "import", "export", "build", "reproduce", "demo")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bild",), "there is no command 'bild'; did you mean 'build'? (choose from: learn, suggest, "),
        (("--versoin",), "there is no option --versoin; did you mean --version? (see headstart --help)"),
        (("learn", "svm", "--methd", "li"), "there is no option --methd; did you mean --method? (see headstart learn"),
        (("learn", "svm", "iris"), "1 argument too many: iris (see headstart learn --help)"),
        (("learn", "runs.csv", "--direction", "max"), "--direction: there is no 'max'; did you mean 'maximize'"),
        (("build",), "NAME"),
        (("build", "swm"), "there is no 'swm'; did you mean 'svm'"),
        (("build", "svm", "--jobs", "many"), "--jobs: 'many' is not a whole number"),
        (("build", "svm", "--jobs", "0"), "--jobs: must not be 0; -1 is one process per core"),
        (("build", "svm", "--seed", "-1"), "--seed: must be at least 0, but got -1"),
        (("build", "svm", "--only", "vine"), "no data set 'vine'; did you mean 'wine'"),
        (("build", "svm", "--only", "wine", "--out", "no/such/folder.parquet"), "no/such does not exist"),
        (("build", "svm", "--frobnicate"), "--frobnicate"),
        (("learn", "swm"), "no history 'swm'"),
        (("learn", "nothing.parquet"), "no file nothing.parquet"),
        (("learn", "svm", "-n", "0"), "-n: must be at least 1, but got 0"),
        (("learn", "svm", "--method", "lii"), "no strategy 'lii'; did you mean 'li'"),
        (("learn", "svm", "--method", "nbi"), "needs the new task's meta-features"),
        (("check", "svm", "--methods", "best"), "no strategy 'best'"),
        (("reproduce",), "paper"),
        (("reproduce", "initialisations"), "there is no 'initialisations'; did you mean 'initializations'"),
        (("reproduce", "initializations", "--history", "swm"), "no history 'swm'"),
        (("reproduce", "similarities", "--history", "folder.png"), "folder.png is empty"),
        (("reproduce", "initializations", "--repetitions", "0"), "--repetitions: must be at least 1, but got 0"),
        (("reproduce", "claims"), "name the folders that headstart reproduce wrote with --results"),
        (("reproduce", "claims", "--results", "nowhere"), "nowhere/about.json"),
        (("demo", "--tasks", "0"), "--tasks: must be at least 1, but got 0"),
        (("demo", "--trials", "0"), "--trials: must be at least 1, but got 0"),
        (("demo", "--trials", "1.5"), "--trials: '1.5' is not a whole number"),
        (("demo", "--jobs", "0"), "--jobs: must not be 0; -1 is one process per core"),
        (("demo", "--out", "picture.doc"), "must end in .png, .pdf, .svg"),
        (("demo", "--out", "no/such/folder.png"), "the folder no/such does not exist"),
        (("demo", "--out", "folder.png"), "cannot write folder.png"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "folder.png").mkdir()
    one_line(headstart(*arguments, cwd=tmp_path), words)


def test_without_a_command_the_help_is_printed_and_the_exit_code_is_2(tmp_path: Path) -> None:
    """On standard error, so that a script with an empty variable does not take the help for an answer."""
    done, asked = headstart(cwd=tmp_path), headstart("--help", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", asked.stdout)


def test_every_command_has_help_with_an_example(tmp_path: Path) -> None:
    top = headstart("--help", cwd=tmp_path)
    assert top.returncode == 0
    assert len(cli.COMMANDS) == len(COMMANDS)
    for name in COMMANDS:
        assert f"\n    {name} " in top.stdout
        done = headstart(name, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert f"example:\n  headstart {name} " in done.stdout
        for example in done.stdout.split("example:\n")[1].splitlines():
            assert cli.parser().parse_args(example.split()[1:]).run  # the example parses


def test_version(tmp_path: Path) -> None:
    done = headstart("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"headstart {cli.__version__}\n", "")


def test_the_module_is_the_program(tmp_path: Path) -> None:
    """`python -m headstart` answers as `headstart` does in these tests."""
    hs.Start(hs.Space({"x": hs.Float(0, 1)}), [{"x": 0.5}]).save(tmp_path / "start.json")
    done = process("suggest", "start.json", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, [{"x": 0.5}], "")
    for arguments in (("suggest", "start.json"), ("suggest", "start.json", "-n", "5"), ("bild",), ("check", "--help")):
        here, there = headstart(*arguments, cwd=tmp_path), process(*arguments, cwd=tmp_path)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert python("import headstart.__main__", cwd=tmp_path).returncode == 0  # importing it runs nothing


def test_the_installed_program_is_this_one(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("headstart")
    if not program.exists():
        pytest.skip("headstart is not installed here, only on the path")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == f"headstart {cli.__version__}\n"


def test_build_as_json_says_what_it_wrote(tmp_path: Path) -> None:
    done = headstart("build", "svm", "--only", "iris", "--out", "small.parquet", "--jobs", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"path": "small.parquet", "tasks": ["iris"], "evaluations": 288}


def test_reproduce_as_json_lists_the_files(tmp_path: Path) -> None:
    results = ROOT / "benchmarks" / "papers" / "initializations-svm-authors"
    done = headstart("reproduce", "claims", "--results", str(results), "--out", "claims.md", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert (answer["paper"], answer["path"], answer["files"]) == ("claims", "claims.md", written)
    assert "claims/initializations-svm-authors/figure1.svg" in written


def test_build_writes_a_history(tmp_path: Path) -> None:
    done = headstart("build", "svm", "--only", "iris", "wine", "--jobs", "1", "--out", "small.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote small.parquet: 2 tasks, 576 evaluations\n"
    assert "2/2" in done.stderr


def test_a_missing_package_names_the_extra_before_any_work(tmp_path: Path) -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from headstart.cli.main import main; sys.exit(main(['demo']))"
    one_line(python(code, cwd=tmp_path), "pip install 'headstart[report]'")


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")
def test_interrupted_is_one_line_and_exit_code_130(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from headstart.cli.main import main\nprint('ready', flush=True)\nexit(main())",
        "demo",
    ]
    with subprocess.Popen(
        [*command, "--jobs", "1", "--trials", "200", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):  # it is working
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "headstart: interrupted"
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as on Unix")
def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "headstart", "suggest", "svm", "-n", "1", "--json"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment())
    os.close(theirs)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == 141


def test_learn_prints_a_start_and_writes_it(tmp_path: Path) -> None:
    done = headstart("learn", "svm", "-n", "3", "--method", "li", "-o", "start.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    start = hs.Start.load(tmp_path / "start.json")
    assert str(start) == done.stdout.rstrip("\n")
    again = headstart("learn", "svm", "-n", "3", "--method", "li", "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == start.configs


def test_the_exit_code_of_check_is_the_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    space = hs.Space({"x": hs.Float(0, 1)})
    x = rng.random(20)
    for name, losses, code in (("yes", np.tile((x - 0.3) ** 2, 8), 0), ("no", rng.random(160), 1)):
        frame = pd.DataFrame({"task": np.repeat(list("abcdefgh"), 20), "x": np.tile(x, 8), "value": losses})
        hs.History.from_frame(frame, space).save(tmp_path / f"{name}.parquet")
        done = headstart("check", f"{name}.parquet", "-n", "3", "--methods", "li", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert ("Start without it" in done.stdout) == bool(code)
    done = headstart("check", "yes.parquet", "-n", "3", "--methods", "li", "--tasks", "all", cwd=tmp_path)
    assert done.stderr.startswith("leaving out 8 tasks in turn, about 0:00:"), "a log has the estimate, too"
