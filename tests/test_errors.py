"""The tree of exceptions, the wording of remedies in Python and on the command line, and bugs that stay visible."""

from __future__ import annotations

import argparse
import ast
import pickle
import re
from collections.abc import Iterator

import pytest

import headstart as hs
from headstart import errors
from headstart.cli import main as cli
from headstart.cli import research
from headstart.errors import FormatError, HeadstartError, HistoryError, MissingPackageError
from program import ROOT

CLASSES = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}


# -- the tree --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_is_a_value_error_exported_and_drawn(name: str) -> None:
    assert issubclass(CLASSES[name], HeadstartError)
    assert issubclass(CLASSES[name], ValueError)
    assert name in errors.__all__
    assert getattr(hs.errors, name) is CLASSES[name]
    assert re.search(rf"^\W*{name}\b", errors.__doc__ or "", re.MULTILINE)


def test_the_drawing_is_the_tree() -> None:
    drawn = re.findall(r"^( {4}[│├└─ ]*)([A-Z]\w+Error)", errors.__doc__ or "", re.MULTILINE)
    assert {name for _, name in drawn} == set(CLASSES)
    above: dict[int, type] = {}
    for indent, name in drawn:
        above[len(indent)] = CLASSES[name]
        parents = [kind for depth, kind in above.items() if depth < len(indent)]
        assert CLASSES[name].__bases__[0] is (parents[-1] if parents else ValueError)


def test_a_missing_package_is_an_import_error_too() -> None:
    error = MissingPackageError.of("the report", "plotly", "report")
    assert isinstance(error, ImportError)
    assert error.name == "plotly"
    assert str(error) == "the report needs plotly; pip install 'headstart[report]'"


@pytest.mark.parametrize("kind", CLASSES.values())
def test_pickling_keeps_everything(kind: type[HeadstartError]) -> None:
    error = pickle.loads(pickle.dumps(kind("no column 'x' in {a, b}", "name it with {value}")))
    assert type(error) is kind
    assert (error.problem, error.remedy.text) == ("no column 'x' in {a, b}", "name it with {value}")
    assert str(error) == "no column 'x' in {a, b}; name it with value="


def test_pickling_keeps_the_name_of_the_package() -> None:
    error = pickle.loads(pickle.dumps(MissingPackageError.of("the report", "plotly", "report")))
    assert (error.name, str(error)) == ("plotly", "the report needs plotly; pip install 'headstart[report]'")


# -- wording ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remedy", "in_python", "on_the_command_line"),
    [
        ("", "it broke", "it broke"),
        ("mend it", "it broke; mend it", "it broke; mend it"),
        ("name it with {task}", "it broke; name it with task=", "it broke; name it with --task"),
        (
            "pass {features}",
            "it broke; pass features=hs.metafeatures(X, y)",
            "it broke; pass --features CSV --target COLUMN",
        ),
        ("pass {past}None, or {task}", "it broke; pass past=None, or task=", "it broke"),
        ("write {{x}} for {n}", "it broke; write {x} for n=", "it broke; write {x} for -n"),
    ],
)
def test_a_remedy_in_both_languages(remedy: str, in_python: str, on_the_command_line: str) -> None:
    error = HistoryError("it broke", remedy)
    assert str(error) == error.message() == in_python
    assert cli.worded(error, command("learn")) == on_the_command_line


def test_a_command_without_the_option_skips_the_remedy() -> None:
    error = HistoryError("it broke", "pass {features}")
    assert cli.worded(error, command("report")) == "it broke"


def test_a_start_in_place_of_a_history_is_explained_in_both_languages() -> None:
    error = FormatError("s.json is a start file", "load it with {load_start}")
    assert str(error) == "s.json is a start file; load it with hs.Start.load"
    assert cli.worded(error, command("learn")).endswith("load it with headstart suggest or headstart export")


def command(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    actions = cli.parser()._actions
    return next(a for a in actions if isinstance(a, argparse._SubParsersAction)).choices[name]


def test_no_library_module_speaks_of_options() -> None:
    flags = [
        f"{path.relative_to(ROOT)}:{line}: {text!r:.80}"
        for path in sorted((ROOT / "src" / "headstart").rglob("*.py"))
        if "cli" not in path.parts
        for line, text in strings(path.read_text(encoding="utf-8"))
        if re.search(r"(^|[\s(`'\"])--[a-z]", re.sub(r"pip install --[a-z-]+|optuna tell .*", "", text))
    ]
    assert flags == []


def strings(code: str) -> Iterator[tuple[int, str]]:
    """The strings of a module except its docstrings, with their lines."""
    nodes = list(ast.walk(ast.parse(code)))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value


# -- the command line ------------------------------------------------------------------------------------------


def run_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fails(args: argparse.Namespace) -> None:
        raise error

    monkeypatch.setattr(research, "run_build", fails)
    return cli.main(["build", "svm"])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HistoryError("two\nlines", "only {only}"), "headstart: two lines; only --only"),
        (
            MissingPackageError.of("this", "numba", "build"),
            "this needs numba; pip install 'headstart[build]'",
        ),
        (
            ModuleNotFoundError("No module named 'ray.tune'", name="ray.tune"),
            "ray.tune, which is not installed",
        ),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), "headstart: x.csv: No such file or directory"),
        (FileNotFoundError("there is no file x.csv"), "headstart: there is no file x.csv"),
        (MemoryError(), "headstart: out of memory"),
    ],
)
def test_expected_errors_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, line: str
) -> None:
    assert run_with(monkeypatch, error) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a bug"),
        KeyError("a bug"),
        TypeError("a bug"),
        RuntimeError("a bug"),
        ImportError("cannot import name 'x'", name="headstart.space.space"),
        ModuleNotFoundError("No module named 'headstart.spaces'", name="headstart.spaces"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_other_exception_is_a_bug_and_shows_as_one(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        run_with(monkeypatch, error)
    assert caught.value is error


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "headstart: interrupted\n"
