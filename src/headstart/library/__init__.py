"""Histories that ship with the package, and the builders that made them.

| name       | tasks                              | what was tuned                                     | builder       |
| ---------- | ---------------------------------- | -------------------------------------------------- | ------------- |
| `adaboost` | real classification data sets      | AdaBoost: iterations, product terms                | `adaboost.py` |
| `resnet`   | image data sets, most of 5 classes | a residual network: batch size, learning rate      | `resnet.py`   |
| `svm`      | real classification data sets      | a support vector machine: kernel, C, gamma, degree | `svm.py`      |

>>> history = load("svm")
>>> history.best("wine")
"""

from __future__ import annotations

from importlib.resources import as_file, files

from headstart.arguments import closest
from headstart.history import History

_SUFFIX = ".parquet"


def names() -> list[str]:
    """The histories there are."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return sorted(entry.removesuffix(_SUFFIX) for entry in entries if entry.endswith(_SUFFIX))


def load(name: str) -> History:
    """A history that ships with the package."""
    there = names()
    if name not in there:
        known = ", ".join(map(repr, there)) or "none"
        raise ValueError(f"no history {name!r} ships with headstart{closest(name, there)} (there are: {known})")
    with as_file(files(__name__) / f"{name}{_SUFFIX}") as path:
        return History.load(path)
