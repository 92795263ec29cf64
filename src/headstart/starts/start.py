"""A learned start: the configurations to try first, as an object and as a file anyone may read.

The file holds the configurations, the space, and how they were learned; no runs and no meta-features.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headstart import __version__
from headstart._support.files import read_json, replacing, write_json
from headstart._support.log import log
from headstart._support.types import Array
from headstart._support.wording import text_table
from headstart.errors import ArgumentError
from headstart.space import Config, Reconciled, Space, as_space, reconcile
from headstart.starts.exports import exported, points

FORMAT = 1


@dataclass(frozen=True)
class Start:
    """Configurations to try first, best first.

    serves: for each, on how many past tasks it is the best of the start. expected: the mean scaled loss (0 the
    best, 1 the worst seen on a task) that the start is expected to have reached after it.
    """

    space: Space
    configs: list[Config]
    serves: list[int] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    method: str = "given"
    seed: int = 0
    tasks: int = 0
    version: str = __version__
    V: Array = field(init=False, repr=False, compare=False)  # the configurations as values

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
        """The start as a table of text, its header first."""
        rows = [("", *self.space, "serves", "expected")]
        for i, config in enumerate(self.configs):
            cells = [_short(config[name]) if name in config else "" for name in self.space]
            serves = str(self.serves[i]) if self.serves else ""
            expected = f"{self.expected[i]:.3f}" if self.expected else ""
            rows.append((str(i + 1), *cells, serves, expected))
        return rows

    def __str__(self) -> str:
        header, *rows = self.rows()
        return text_table(header, rows)

    def first(self, n: int) -> Start:
        """The first n configurations of this start."""
        return replace(self, configs=self.configs[:n], serves=self.serves[:n], expected=self.expected[:n])

    def reconciled(self, space: Any, rename: Mapping[str, str] | None = None) -> tuple[Start, Reconciled]:
        """This start in another space, and the report of what became of its parameters."""
        space = as_space(space)
        result = reconcile(self.space, space, self.configs, rename=rename)
        if not result.configs:
            raise ArgumentError(f"no configuration of the start can be carried over to the new space:\n{result}")
        serves = [self.serves[i] for i in result.rows] if self.serves else []
        expected = [self.expected[i] for i in result.rows] if self.expected else []
        start = Start(space, result.configs, serves, expected, self.method, self.seed, self.tasks, self.version)
        return start, result

    def fitted(self, space: Any) -> Start:
        """This start in another space; what had to change is logged."""
        space = as_space(space)
        if space == self.space:
            return self
        start, result = self.reconciled(space)
        if not result.unchanged:
            log.warning("the start has another space; brought over:\n%s", result)
        return start

    def points(self, to: str = "json") -> list[Config]:
        """The configurations as another optimiser takes them: "ray", "hyperopt", … (see `headstart.starts.exports`)."""
        return points(self, to)

    def exported(self, to: str = "json") -> str:
        """The text of `points`: JSON, or for "csv" a table."""
        return exported(self, to)

    def export(self, path: str | os.PathLike[str], to: str = "json") -> None:
        """Write that text to a file."""
        text = exported(self, to)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Readable JSON."""
        about = {name: getattr(self, name) for name in ("version", "method", "seed", "tasks")}
        lists = {"configs": self.configs, "serves": self.serves, "expected": self.expected}
        write_json(path, {"headstart": "start", "format": FORMAT, **about, "space": self.space.to_json(), **lists})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Start:
        """What `save` wrote; the version and every value are checked."""
        data = read_json(path, "a start file")
        if not isinstance(data, dict) or data.get("headstart") != "start":
            raise ArgumentError(f"{path} is not a start file of headstart")
        if data.get("format") != FORMAT:
            raise ArgumentError(f"{path} has format {data.get('format')!r}; this version of headstart reads {FORMAT}")
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
            raise ArgumentError(f"{path} is damaged: {error}") from error


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
