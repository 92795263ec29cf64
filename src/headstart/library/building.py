"""What the builders of all histories do alike: check the request, describe, train, save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from headstart.errors import ArgumentError

if TYPE_CHECKING:
    from headstart.history import History
    from headstart.space import Space

Names = Sequence[str]


def build(
    out: str | Path,
    names: Names,
    *,
    work: str | Path | None,
    space: Space,
    table: Callable[[Names, Path], list[dict[str, Any]]],
    features: Callable[[Names], pd.DataFrame],
    info: Callable[[Names], dict[str, Any]],
) -> History:
    """Save the history of the named data sets to ``out`` and return it.

    work: where finished pieces are kept, so that a rerun goes on where an earlier one stopped (default: a
        directory next to ``out``; delete it once the history is there). table: the rows of the data sets (columns
        dataset, error, seconds and the parameters), given their names and that directory.
    """
    from headstart.history import History

    out = Path(out)
    if not out.parent.is_dir():
        raise FileNotFoundError(f"cannot write {out}: the folder {out.parent} does not exist")
    if not names:
        raise ArgumentError("only must name at least one data set, but is empty")
    described = features(names)  # first, because it fails at once where a source is missing
    history = History.from_frame(
        pd.DataFrame(table(names, out.with_suffix(".pieces") if work is None else Path(work))),
        space,
        task="dataset",
        value="error",
        features=described,
        direction="minimize",
        cost="seconds",
        info=info(names),
    )
    history.save(out)
    return history


def versions(packages: Sequence[str]) -> dict[str, str | None]:
    """The installed version of each package, None where there is none."""
    return {package: _version(package) for package in packages}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
