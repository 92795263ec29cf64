"""The package as a newcomer meets it: the cost of importing, public names, shipped histories, README."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, version

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


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    done = python(code)
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
    code = "import headstart as hs; print(set(hs.__all__) <= set(dir(hs)), [getattr(hs, n) for n in dir(hs)])"
    assert printed(code).startswith("True ")


def test_from_headstart_import_everything() -> None:
    assert printed("from headstart import *; print(Space.__name__, library.__name__)") == "Space headstart.library\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'headstart' has no attribute 'Histroy'"):
        hs.Histroy  # noqa: B018
    assert not hasattr(hs, "nothing")


def test_modules_do_not_hide_the_functions_of_the_package() -> None:
    every = "import pkgutil, importlib, headstart as hs; "
    every += "[importlib.import_module(m.name) for m in pkgutil.iter_modules(hs.__path__, 'headstart.')]; "
    code = every + "print([n for n in hs._HOMES if type(getattr(hs, n)).__name__ == 'module'])"
    assert printed(code) == "[]\n"
    after = "import headstart.datasets.features, headstart as hs; print(hs.metafeatures is headstart.datasets.features.metafeatures)"
    assert printed(after) == "True\n"


def test_the_installed_version_is_the_one_in_the_source() -> None:
    try:
        installed = version("headstart")
    except PackageNotFoundError:
        pytest.skip("headstart is not installed here, only on the path")
    assert installed == hs.__version__


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


def test_an_unknown_history_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"no history 'svn' ships with headstart; did you mean 'svm'\?"):
        hs.library.load("svn")
    with pytest.raises(ValueError, match=r"'../svm'.*there are: .*'svm'"):
        hs.library.load("../svm")


# -- README ----------------------------------------------------------------------------------------------------


def test_the_readme_examples_print_what_it_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == text.count("```python")
    for code, output in examples:
        assert printed(code) == output
