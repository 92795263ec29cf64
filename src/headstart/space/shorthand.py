"""Short forms of a parameter: a pair for a range, a list of choices, a distribution of SciPy.

| given                                  | parameter                                           |
| -------------------------------------- | --------------------------------------------------- |
| `(1, 20)`, two whole numbers           | `Int(1, 20)`                                        |
| `(0.0, 1.0)`, two numbers              | `Float(0.0, 1.0)`                                   |
| `(1e-4, 1.0, "log")`                   | the same on a logarithmic scale                     |
| `[16, 32, 64]`, or any other tuple     | `Categorical([16, 32, 64])`                         |
| SciPy's uniform, loguniform, randint   | `Float` or `Int`; SciPy itself is not imported here |
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headstart.errors import SpaceError
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.scalars import as_number, as_scalar

LOG = ("log", "log-uniform")  # the second is scikit-optimize's word


def as_parameter(name: str, entry: Any) -> Parameter:
    """The parameter that an entry of a space stands for; name: for error messages."""
    if isinstance(entry, (Float, Int, Categorical)):
        return entry
    try:
        found = _range(entry) or _choices(entry) or _distribution(name, entry)
    except SpaceError as error:
        text = error.problem if repr(name) in error.problem else f"parameter {name!r}: {error.problem}"
        raise SpaceError(text, error.remedy.text) from error
    if found is None:
        raise SpaceError(
            f"{name!r} must be a Float, Int or Categorical, but got {entry!r}",
            "a pair such as (0.0, 1.0) is a range, too, and a list is one of choices",
        )
    return found


def _range(entry: Any) -> Float | Int | None:
    if not isinstance(entry, tuple) or not 2 <= len(entry) <= 3:
        return None
    low, high = (as_scalar(bound) for bound in entry[:2])
    if math.isnan(as_number(low)) or math.isnan(as_number(high)) or (len(entry) == 3 and entry[2] not in LOG):
        return None
    kind = Int if isinstance(low, int) and isinstance(high, int) else Float
    return kind(low, high, log=len(entry) == 3)


def _choices(entry: Any) -> Categorical | None:
    if isinstance(entry, np.ndarray):
        return Categorical(entry.tolist())
    return Categorical(list(entry)) if isinstance(entry, (list, tuple, range)) else None


def _distribution(name: str, entry: Any) -> Float | Int | None:
    """One of SciPy's frozen distributions, which have no public class to test for."""
    if not (hasattr(entry, "dist") and hasattr(entry, "support")):
        return None
    kind = entry.dist.name
    low, high = entry.support()
    if kind == "randint":
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Float(float(low), float(high), log=kind != "uniform")
    raise SpaceError(f"{name!r} is a {kind} distribution", "use uniform, loguniform or randint")
