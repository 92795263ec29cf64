"""The package as a newcomer meets it: the cost of importing, public names, folders, shipped histories, wheel."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import headstart as hs
from program import ROOT, python

HEAVY = {"pandas", "scipy", "sklearn", "pyarrow", "joblib"} | {
    "optuna",
    "ConfigSpace",
    "torch",
    "matplotlib",
    "plotly",
}


PACKAGE = ROOT / "src" / "headstart"
FOLDERS = sorted(init.parent for init in PACKAGE.glob("*/__init__.py"))


def printed(code: str, cwd: Path = ROOT) -> str:
    """The output of a fresh interpreter."""
    done = python(code, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import headstart",
        "import headstart as hs; dir(hs)",
        "import headstart.cli.main",
        "import headstart as hs; hs.Space",
    ],
)
def test_import_loads_nothing_heavier_than_numpy(code: str) -> None:
    loaded = json.loads(printed(f"{code}; import json, sys; print(json.dumps(list(sys.modules)))"))
    assert not {name.partition(".")[0] for name in loaded} & HEAVY


def test_every_public_name_resolves_and_is_listed() -> None:
    code = "from headstart import *; print(Space.__name__, library.__name__); import headstart as hs; "
    code += "print(set(hs.__all__) <= set(dir(hs)), [getattr(hs, n) for n in dir(hs)])"
    first, second = printed(code).split("\n", 1)
    assert first == "Space headstart.library"
    assert second.startswith("True ")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'headstart' has no attribute 'Histroy'"):
        hs.Histroy  # noqa: B018
    assert not hasattr(hs, "nothing")


def test_modules_do_not_hide_the_functions_of_the_package() -> None:
    folders = [f"headstart.{folder.name}" for folder in FOLDERS]
    every = f"import importlib, headstart as hs; [importlib.import_module(name) for name in {folders}]; "
    code = every + "print([n for n in hs._HOMES if type(getattr(hs, n)).__name__ == 'module'])"
    assert printed(code) == "[]\n"
    after = (
        "import headstart.datasets.features as module, headstart as hs; print(hs.metafeatures is module.metafeatures)"
    )
    assert printed(after) == "True\n"


def test_the_installed_version_is_the_one_in_the_source() -> None:
    try:
        installed = version("headstart")
    except PackageNotFoundError:
        pytest.skip("headstart is not installed here, only on the path")
    assert installed == hs.__version__


def test_the_errors_are_value_errors() -> None:
    names = [name for name in hs.errors.__all__ if name.endswith("Error")]
    assert {"HeadstartError", "ArgumentError", "SpaceError", "HistoryError", "FormatError"} <= set(names)
    assert all(issubclass(getattr(hs.errors, name), hs.errors.HeadstartError) for name in names)
    assert issubclass(hs.errors.HeadstartError, ValueError)


# -- folders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_says_what_lives_in_it(folder: Path) -> None:
    first, *rest = docstring(folder).split("\n\n")
    (about,) = [paragraph for paragraph in rest if "May import:" in paragraph]
    assert "Hands on:" in about
    assert len([*first.splitlines(), *about.splitlines()]) <= 5


def test_every_folder_has_a_docstring() -> None:
    assert all(docstring(init.parent) for init in PACKAGE.rglob("__init__.py"))


def docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""


# -- histories that ship with the package ----------------------------------------------------------------------


def test_the_shipped_svm_history_is_complete() -> None:
    history = hs.library.load("svm")
    assert "svm" in hs.library.names()
    assert len(history) >= 40
    assert all(len(task) == 288 for task in history)
    assert all(len(task.features or {}) == 22 for task in history)
    assert all(0 <= task.losses.min() <= task.losses.max() <= 1 for task in history)
    assert history.space.names == ["kernel", "C", "gamma", "degree"]


def test_the_shipped_histories_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in (ROOT / "src/headstart/library").glob("*.parquet")}
    assert sizes
    assert all(size < 1_000_000 for size in sizes.values()), sizes
    assert sum(sizes.values()) < 8_000_000, sizes


def test_an_unknown_history_is_rejected_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"no history 'svn' ships with headstart; did you mean 'svm'\?"):
        hs.library.load("svn")
    with pytest.raises(ValueError, match=r"no history '../svm' ships with headstart; did you mean 'svm'\?"):
        hs.library.load("../svm")
    with pytest.raises(ValueError, match=r"no history 'xyz' ships with headstart \(choose from: .*'svm'"):
        hs.library.load("xyz")


# -- the wheel --------------------------------------------------------------------------------------------------


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "hatchling" in done.stderr and "No matching distribution" in done.stderr:
        pytest.skip("the build backend cannot be fetched, so the wheel is not tested")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    ours = [name for name in names if not re.match(r"headstart-[^/]+\.dist-info/", name)]
    there = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sorted(ours) == sorted(f"headstart/{path.relative_to(PACKAGE).as_posix()}" for path in there)
    assert {Path(name).suffix for name in ours} == {".py", ".parquet", ".json", ".html", ".css", ".js", ".typed"}
    about = {name.rpartition("/")[2] for name in set(names) - set(ours)}
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}
