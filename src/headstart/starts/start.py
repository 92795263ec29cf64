"""A start: the configurations to try first, as an object and as a readable file.

The file holds the configurations, the search space, and how they were learned. It holds no runs and no meta-features.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart import __version__
from headstart._support.display import Picture, Series, card, draw
from headstart._support.files import read_json, replacing, write_json
from headstart._support.log import log
from headstart._support.types import Array
from headstart._support.wording import counted, text_table
from headstart.errors import ArgumentError, FormatError, SpaceError
from headstart.history.sources import is_start
from headstart.space import Categorical, Config, Parameter, Reconciled, Space, as_space, reconcile
from headstart.space.rows import unrepeated
from headstart.starts.exports import exported, points

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
CLOSE = 0.03  # marks of a picture that are this near share a label, as a share of the range


@dataclass(frozen=True, repr=False)
class Start:
    """Configurations to try first, in this order.

    serves: for each configuration, the number of past tasks on which it is the best of the start.
    expected: for each configuration, the expected lowest loss so far on a new task (0 is its best, 1 its worst), if no
    result changes the order. Estimated on past tasks that are left out in turn; empty if there is no estimate.
    """

    space: Space
    configs: list[Config]
    serves: list[int] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    method: str = "given"
    seed: int = 0
    tasks: int = 0
    version: str = __version__
    V: Array = field(init=False, compare=False)  # the configurations as values

    def __post_init__(self) -> None:
        if not self.configs:
            raise ArgumentError("a start needs at least one configuration")
        V = self.space.to_values(self.configs)  # checked
        object.__setattr__(self, "V", V)
        object.__setattr__(self, "configs", self.space.from_values(V))  # of plain types
        for name in ("serves", "expected"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.configs):
                raise ArgumentError(f"{name} must have one entry per configuration, or none at all")

    def __len__(self) -> int:
        return len(self.configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self.configs)

    def rows(self) -> list[tuple[str, ...]]:
        """The start as rows of text, with a header; what is not known of a start has no column."""
        columns = {
            name: [_short(config[name]) if name in config else "" for config in self.configs] for name in self.space
        }
        if self.serves:
            columns["serves"] = [str(count) for count in self.serves]
        if self.expected:
            columns["expected"] = [f"{loss:.3f}" for loss in self.expected]
        numbers = [str(i + 1) for i in range(len(self))]
        return [("", *columns), *zip(numbers, *columns.values(), strict=True)]

    def __str__(self) -> str:
        header, *rows = self.rows()
        return text_table(header, rows)

    def __repr__(self) -> str:
        return f"Start({self._about()}, first {self.configs[0]})"

    def _about(self) -> str:
        learned = f" by {self.method!r} from {counted(self.tasks, 'task')}" if self.tasks else ""
        return f"{counted(len(self), 'configuration')} of {counted(len(self.space), 'parameter')}{learned}"

    def to_frame(self) -> pd.DataFrame:
        """One row per configuration, numbered from 1: its values (missing where inactive), `serves` and `expected`."""
        import pandas as pd

        columns = {name: [config.get(name) for config in self.configs] for name in self.space}
        more = {name: column for name, column in (("serves", self.serves), ("expected", self.expected)) if column}
        named = {name if name not in columns else f"{name}_": column for name, column in more.items()}
        return pd.DataFrame({**columns, **named}, index=pd.RangeIndex(1, len(self) + 1, name="configuration"))

    def _picture(self) -> Picture:
        """Where the configurations, by number, lie in the range of each parameter."""
        names = list(self.space)
        numbers: dict[tuple[float, float], list[int]] = {}  # by line and position
        for i, j in np.argwhere(~np.isnan(self.V)):
            place = float(j), _position(self.space[names[j]], float(self.V[i, j]))
            numbers.setdefault(place, []).append(int(i) + 1)
        places, labels = sorted(numbers), [list[int]() for _ in numbers]
        first = 0  # of the marks that share a label, because two labels would run together: 1 and 3 as 13
        for k, (line, x) in enumerate(places):
            if places[first][0] != line or x - places[first][1] > CLOSE:
                first = k
            labels[first] += numbers[places[k]]
        texts = [", ".join(map(str, sorted(label))) for label in labels]
        marks = Series("configurations", [x for _, x in places], [y for y, _ in places], marks=True, texts=texts)
        return Picture([marks], x="position in the range, from its lowest (0) to its highest (1)", names=names)

    def plot(self) -> Any:
        """Where the configurations lie in the search space: a figure of Plotly, or of matplotlib without it."""
        return draw(self._picture())

    def _repr_html_(self) -> str:
        frame = self.to_frame().astype(object)
        rows = [[i, *row] for i, row in zip(frame.index, frame.to_numpy().tolist(), strict=True)]
        return card(f"Start({self._about()})", ["", *map(str, frame.columns)], rows, self._picture())

    def first(self, n: int) -> Start:
        """The first n configurations of this start; an error if it has fewer different ones."""
        if n > (there := len(unrepeated(self.V))):
            raise ArgumentError(
                f"the start has only {counted(there, 'configuration')}, but {n:,} are asked for", "learn a longer start"
            )
        return replace(self, configs=self.configs[:n], serves=self.serves[:n], expected=self.expected[:n])

    def reconciled(self, space: Any, rename: Mapping[str, str] | None = None) -> tuple[Start, Reconciled]:
        """This start converted to another space, with a report on each parameter."""
        space = as_space(space)
        result = reconcile(self.space, space, self.configs, rename=rename)
        if not result.configs:
            raise SpaceError(f"no configuration of the start fits the new search space:\n{result}")
        serves = [self.serves[i] for i in result.rows] if self.serves else []
        expected = [self.expected[i] for i in result.rows] if self.expected else []
        start = Start(space, result.configs, serves, expected, self.method, self.seed, self.tasks, self.version)
        return start, result

    def fitted(self, space: Any) -> Start:
        """This start converted to another space; changes are logged."""
        space = as_space(space)
        if space == self.space:
            return self
        start, result = self.reconciled(space)
        if not result.unchanged:
            log.warning("the start has another search space; converted:\n%s", result)
        return start

    def points(self, to: str = "json") -> list[Config]:
        """The configurations in the format of another optimiser: "ray", "hyperopt" … (see `starts/exports.py`)."""
        return points(self, to)

    def exported(self, to: str = "json") -> str:
        """`points` as text: JSON, or a table for "csv"."""
        return exported(self, to)

    def export(self, path: str | os.PathLike[str], to: str = "json") -> None:
        """Write `exported` to a file."""
        text = exported(self, to)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the start as readable JSON."""
        about = {name: getattr(self, name) for name in ("version", "method", "seed", "tasks")}
        lists = {"configs": self.configs, "serves": self.serves, "expected": self.expected}
        write_json(path, {"headstart": "start", "format": FORMAT, **about, "space": self.space.to_json(), **lists})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Start:
        """Read a file that `save` wrote, checking every value."""
        data = read_json(path, "a start file")
        if not isinstance(data, dict) or data.get("headstart") != "start":
            raise FormatError(f"{path} is not a start file of headstart")
        if data.get("format") != FORMAT:
            raise FormatError(
                f"{path} has format {data.get('format')!r}; this version of headstart reads format {FORMAT}"
            )
        try:
            return cls(
                Space.from_json(data["space"]),
                [dict(config) for config in data["configs"]],
                [int(x) for x in data.get("serves", [])],
                [float(x) for x in data.get("expected", [])],
                str(data.get("method", "given")),
                int(data.get("seed", 0)),
                int(data.get("tasks", 0)),
                str(data.get("version", "")),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{path} is damaged: {error}") from error


def as_start(given: Any) -> Start | None:
    """The Start itself, or the one in a start file; None if it is something else."""
    if isinstance(given, (str, os.PathLike)) and Path(given).is_file() and is_start(os.fspath(given)):
        return Start.load(given)
    return given if isinstance(given, Start) else None


def _position(parameter: Parameter, v: float) -> float:
    """Where a value lies in the range of its parameter, from 0 to 1."""
    if isinstance(parameter, Categorical):
        return v / max(len(parameter.choices) - 1, 1)
    return float(parameter.to_unit(np.array([v]))[0])


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
