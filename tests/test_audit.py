"""The audit of dependencies counts what was really looked up: no answer must not look like a clean one."""

from __future__ import annotations

import json
import runpy
import subprocess

import pytest

from program import ROOT

AUDIT = runpy.run_path(str(ROOT / "tools" / "audit.py"))


def answer(name: str, *bugs: str) -> dict:
    return {"name": name, "version": "1.0", "vulns": [{"id": bug, "fix_versions": ["1.1"]} for bug in bugs]}


def test_what_is_known_is_listed_and_counted() -> None:
    assert AUDIT["summary"]([answer("a")], 3) == ("1 of 3 pinned packages were looked up; no known vulnerability", 0)
    text, code = AUDIT["summary"]([answer("a"), answer("b", "CVE-1")], 2)
    assert code == 1
    assert text.splitlines() == [
        "b 1.0: CVE-1, fixed in 1.1",
        "2 of 2 pinned packages were looked up; 1 known vulnerabilities",
    ]


@pytest.mark.parametrize(
    "printed",
    ["", json.dumps({"dependencies": [{"name": "a", "skip_reason": "Dependency not found on PyPI"}]})],
    ids=["failed", "skipped"],
)
def test_a_service_out_of_reach_is_no_clean_answer(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, printed, ""))
    assert AUDIT["asked"]("pypi") == []
    text, code = AUDIT["summary"]([], 3)
    assert code == 2
    assert "nothing was audited" in text
