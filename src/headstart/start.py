"""A learned start: the configurations to try first, as an object and as a file anyone may read.

The file holds the configurations, the space, and how they were learned; no runs and no meta-features.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headstart import __version__
from headstart.arguments import whole
from headstart.exports import exported, points
from headstart.files import read_json, replacing, write_json
from headstart.foreign import as_space
from headstart.history import Features, History, checked, checked_features, log
from headstart.names import resolve_strategy, strategy_name
from headstart.parameters import Array
from headstart.past import Past
from headstart.reconciliation import Reconciled, reconcile
from headstart.space import Config, Space
from headstart.strategies.base import Told, anywhere, fresh
from headstart.terminal import plain_table
from headstart.threads import one_thread

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

    def __post_init__(self) -> None:
        if not self.configs:
            raise ValueError("a start needs at least one configuration")
        native = self.space.from_values(self.space.to_values(self.configs))  # checked, and of plain types
        object.__setattr__(self, "configs", native)
        for name in ("serves", "expected"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.configs):
                raise ValueError(f"{name} must have one entry per configuration, or none at all")

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
        return plain_table(header, rows)

    def first(self, n: int) -> Start:
        """The first n configurations of this start."""
        return replace(self, configs=self.configs[:n], serves=self.serves[:n], expected=self.expected[:n])

    def reconciled(self, space: Any, rename: Mapping[str, str] | None = None) -> tuple[Start, Reconciled]:
        """This start in another space, and the report of what became of its parameters."""
        space = as_space(space)
        result = reconcile(self.space, space, self.configs, rename=rename)
        if not result.configs:
            raise ValueError(f"no configuration of the start can be carried over to the new space:\n{result}")
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
        """The configurations as another optimiser takes them: "ray", "hyperopt", … (see `headstart.exports`)."""
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
            raise ValueError(f"{path} is not a start file of headstart")
        if data.get("format") != FORMAT:
            raise ValueError(f"{path} has format {data.get('format')!r}; this version of headstart reads {FORMAT}")
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
            raise ValueError(f"{path} is damaged: {error}") from error


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@one_thread
def learn(
    history: History, n: int = 10, method: Any = "auto", features: Features | None = None, seed: int = 0
) -> Start:
    """The n configurations to try first on a new task.

    method: a strategy's name or object. features: the new task's meta-features, for the methods that use them.
    Adaptive methods give what they would propose if nothing were told in between.
    """
    history, features = checked(history), checked_features(features)
    n, seed = whole("n", n, 1), whole("seed", seed, 0)
    if n > history.space.size:
        raise ValueError(f"n={n}, but the space has only {history.space.size:,.0f} configurations")
    past_rng, rng = (np.random.default_rng([seed, i]) for i in range(2))
    past = Past(history, rng=past_rng)
    strategy = resolve_strategy(method, past)
    if strategy is None:
        V = _random(history.space, n, seed)
    else:
        run = strategy.begin(past, n=n, features=features, rng=rng)
        told = Told.nothing(history.space)
        for _ in range(n):
            told = told.and_(run.ask(told))
        V = told.V
    return _described(past, V, strategy_name(method), seed)


def _random(space: Space, n: int, seed: int) -> Array:
    told = Told.nothing(space)
    for _ in range(n):
        told = told.and_(fresh(anywhere(space, seed), told, space))
    return told.V


def _described(past: Past, V: Array, method: str, seed: int) -> Start:
    F = past.responses(V)
    best = F.argmin(axis=0)
    return Start(
        past.space,
        past.space.from_values(V),
        serves=np.bincount(best, minlength=len(V)).tolist(),
        expected=[round(max(0.0, float(x)), 6) for x in np.minimum.accumulate(F, axis=0).mean(axis=1)],
        method=method,
        seed=seed,
        tasks=len(past),
    )
