"""The files around the package: citation, changelog, issue templates, and the sampler's folder for OptunaHub."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import headstart as hs
from program import ROOT, environment

yaml = pytest.importorskip("yaml")
REGISTRY = ROOT / "registry"
SAMPLER = REGISTRY / "package" / "samplers" / "headstart"


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = yaml.safe_load(text)
    assert cited["version"] == hs.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= cited.keys()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{cited['version']}] - {cited['date-released']}" in changelog


def test_the_changelog_lists_versions_from_the_newest() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == hs.__version__
    numbers = [tuple(map(int, heading.split("."))) for heading in headings[1:]]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    "path",
    sorted(set((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) - {ROOT / ".github/ISSUE_TEMPLATE/config.yml"}),
    ids=lambda path: path.stem,
)
def test_an_issue_template_is_a_form(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


# -- OptunaHub -------------------------------------------------------------------------------------------------


def test_the_registry_has_the_files_and_the_front_matter_it_asks_for() -> None:
    assert {"README.md", "__init__.py", "example.py", "LICENSE"} == {p.name for p in SAMPLER.iterdir() if p.is_file()}
    _, front, text = (SAMPLER / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(front)
    assert about.keys() == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in about["tags"]
    assert {str(version).partition(".")[0] for version in about["optuna_versions"]} == {"4", "5"}
    assert about["license"] == "MIT License"
    for heading in ("Abstract", "Class or Function Names", "Installation", "Example"):
        assert f"\n## {heading}\n" in text
    assert (SAMPLER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_readme_of_the_registry_has_the_sampler_s_arguments() -> None:
    pytest.importorskip("optuna")
    import inspect

    shown = re.search(r"`HeadstartSampler\(past, \*, (.*)\)`", (SAMPLER / "README.md").read_text(encoding="utf-8"))
    assert shown
    given = [argument.partition("=")[0] for argument in shown[1].split(", ")]
    assert given == [name for name in inspect.signature(hs.optuna.HeadstartSampler).parameters if name != "past"]


def test_the_sampler_is_loaded_as_optunahub_loads_it() -> None:
    pytest.importorskip("optuna")
    assert loaded("samplers/headstart", REGISTRY / "package").HeadstartSampler is hs.optuna.HeadstartSampler


def loaded(package: str, root: Path) -> ModuleType:
    """The module, by optunahub or, without it, by the same steps."""
    if importlib.util.find_spec("optunahub"):
        import optunahub

        return optunahub.load_local_module(package, registry_root=os.fspath(root))
    name = f"optunahub_registry.package.{package.replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(name, root / package / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_of_the_registry_runs(tmp_path: Path) -> None:
    pytest.importorskip("optunahub", reason="make test-exports installs it")
    (tmp_path / "package").symlink_to(REGISTRY / "package")
    example = tmp_path / "package" / "samplers" / "headstart" / "example.py"
    done = subprocess.run([sys.executable, example], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, best = map(float, done.stdout.split())
    assert best <= first < 0.5
