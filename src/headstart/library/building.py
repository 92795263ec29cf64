"""The steps that all builders share: check the request, compute features, train, save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from headstart._support.files import writable
from headstart.errors import ArgumentError
from headstart.library import pieces
from headstart.library.models import MODELS

if TYPE_CHECKING:
    from headstart.history import History
    from headstart.space import Space

Names = Sequence[str]
Row = dict[str, Any]

BUILDERS = {"svm": "svm", "adaboost": "adaboost", "resnet": "resnet", "metric": "learned_distance"}
"""The module behind each choice of `headstart build` that is not one of `MODELS`."""


def builder(name: str) -> Any:
    """The object whose `build` makes this history or, for "metric", the learned distance."""
    if name in MODELS:
        return import_module("headstart.library.tuned").builder(name)
    return import_module(f"headstart.library.{BUILDERS[name]}")


def one_piece(name: str) -> list[str]:
    """The keys of a data set whose rows are computed together."""
    return [name]


@dataclass(frozen=True)
class Builder:
    """How one history is made.

    names: all its data sets. compute: the rows of a key (columns dataset, error, seconds and the parameters), given
    `seed`. keys: the pieces into which a data set is split. order: sorts the data sets; early ones are done first.
    features: meta-features of the named data sets, given a seed. signature: the settings a piece depends on besides
    its key, given a seed. packages: their versions are recorded. sources: more to record about the named data sets,
    given a seed. metrics: the columns of `rows` that are results, with their directions; the first is the default.
    """

    names: Names
    space: Callable[[], Space]
    compute: Callable[..., list[Row]]
    order: Callable[[str], Any]
    features: Callable[[Names, int], pd.DataFrame]
    signature: Callable[[int], dict[str, Any]]
    packages: Names
    sources: Callable[[Names, int], dict[str, Any]]
    keys: Callable[[str], list[str]] = one_piece
    metrics: Mapping[str, str] = field(default_factory=lambda: {"error": "minimize"})

    def build(
        self,
        out: str | Path,
        *,
        seed: int = 0,
        jobs: int = -1,
        work: str | Path | None = None,
        only: Names | None = None,
        progress: bool = True,
    ) -> History:
        """Train everything, save the history to `out` and return it.

        work: where finished pieces are kept, so that a rerun continues an interrupted build (default: a folder next
        to `out`; delete it once the history is saved). only: these data sets instead of all.
        """
        from headstart.history.formats import parquet

        out, names = writable(out), list(self.names if only is None else only)
        if not names:
            raise ArgumentError("only must name at least one data set, but is empty")
        features = self.features(names, seed)  # first: it fails at once where a source is missing
        pieces_in = out.with_suffix(".pieces") if work is None else Path(work)
        frame = pd.DataFrame(self._rows(names, pieces_in, seed=seed, jobs=jobs, progress=progress))
        info = self._provenance(names, seed)
        histories = {metric: self._history(frame, metric, features, info) for metric in self.metrics}
        first = next(iter(histories.values()))
        if len(histories) == 1:
            first.save(out)
        else:
            runs = {metric: history.evaluations() for metric, history in histories.items()}
            parquet.write(next(iter(runs.values())), out, runs)
        return first

    def _history(self, frame: pd.DataFrame, metric: str, features: pd.DataFrame, info: Mapping[str, Any]) -> History:
        from headstart.history import History

        return History.from_frame(
            frame.drop(columns=[other for other in self.metrics if other != metric]),
            self.space(),
            task="dataset",
            value=metric,
            features=features,
            direction=self.metrics[metric],
            cost="seconds",
            info=info,
        )

    def _rows(self, names: Names, work: Path, *, seed: int, jobs: int, progress: bool) -> list[Row]:
        keys = [key for name in sorted(names, key=self.order) for key in self.keys(name)]
        compute = partial(self.compute, seed=seed)
        done = pieces.run(keys, compute, work, signature=self.signature(seed), jobs=jobs, progress=progress)
        return [row for name in names for key in self.keys(name) for row in done[key]]

    def _provenance(self, names: Names, seed: int) -> dict[str, Any]:
        """Everything needed to build the same history again."""
        return {**self.signature(seed), "packages": versions(self.packages), **self.sources(names, seed)}


def versions(packages: Names) -> dict[str, str | None]:
    """The installed version of each package, None where it is not installed."""
    return {package: _version(package) for package in packages}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
