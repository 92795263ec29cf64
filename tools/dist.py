"""Builds the wheel and the source archive in dist/, and tries both without the source tree: python tools/dist.py

The wheel is installed in a new environment and used from an empty folder. The wheel that the source archive builds must
hold the same files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TRY = """
import headstart as hs
print("imported from", hs.__file__)
start = hs.learn("svm", n=2)
print(start.configs)
assert len(start.configs) == 2
"""


def environment(folder: Path) -> Path:
    """The interpreter of a new environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def install(python: Path, *what: str | Path) -> None:
    call(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "-c", ROOT / "constraints.txt", *what,
    )  # fmt: skip


def contents(wheel: Path) -> list[str]:
    return sorted(zipfile.ZipFile(wheel).namelist())


def main() -> None:
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("headstart-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        python = environment(scratch / "building")
        install(python, "hatchling>=1.27")
        call(python, "-m", "hatchling", "build", "-d", DIST)
        (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")

        call(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", scratch, archive)
        (again,) = scratch.glob("*.whl")
        if contents(again) != contents(wheel):
            sys.exit(f"{archive.name} builds another wheel than the source tree")

        python = environment(scratch / "using")
        install(python, wheel)
        empty = scratch / "empty"
        empty.mkdir()
        found = call(python, "-I", "-c", TRY, cwd=empty)
        if str(scratch) not in found:
            sys.exit(f"the installed package was not the one used:\n{found}")
        print(found, end="")
        print(call(python, "-I", "-m", "headstart", "--version", cwd=empty), end="")
        print(call(python, "-I", "-m", "headstart", "suggest", "svm", "-n", "2", cwd=empty), end="")
    for path in (wheel, archive):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
