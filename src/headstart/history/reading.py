"""The options for reading past runs, in one record that is built once and handed on whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headstart._support.direction import checked_direction
from headstart.errors import ArgumentError


@dataclass(frozen=True)
class Reading:
    """How to read past runs. Each source settles some of these options itself.

    task, value, cost, count: the columns of a table that hold the name of the task, the result, its cost, and the
    number of evaluations that the result is the mean of. ignore: columns that are neither one of these nor a parameter.
    space: a search space, or the path of a JSON file that holds one; None infers it from the runs. direction: None
    infers it from the name of the value's column; each Optuna study has its own. studies: names or patterns of Optuna
    studies. rename: new names of parameters, old name → new name. fill: values for parameters that some of the runs
    lack. skip_bad_rows: leave out the rows of a table that cannot be used, instead of an error that lists them.
    skip_damaged: leave out studies and trials of Optuna that cannot be read. step: the column of a table that holds the
    step of a learning curve.
    """

    task: str = "task"
    value: str = "value"
    cost: str | None = None
    ignore: Collection[str] = ()
    space: Any = None
    direction: str | None = None
    studies: Sequence[str] | None = None
    count: str | None = None
    rename: Mapping[str, str] | None = None
    fill: Mapping[str, Any] | None = None
    skip_bad_rows: bool = False
    skip_damaged: bool = False
    step: str | None = None

    def __post_init__(self) -> None:
        check_mappings(rename=self.rename, fill=self.fill)
        ignore = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        object.__setattr__(self, "ignore", ignore)
        if self.direction is not None:
            checked_direction(self.direction)

    @property
    def columns(self) -> dict[str, str]:
        """The named columns of a table by the argument that names them."""
        roles = ("task", "value", "cost", "count", "step")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}

    @property
    def given(self) -> list[str]:
        """The options that are not at their default."""
        values = {f: getattr(self, f.name) for f in fields(self)}
        return [f.name for f, value in values.items() if value is not f.default and value != f.default]


def check_mappings(**given: Any) -> None:
    """An error if one of the options by name is neither a dict nor None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentError(f"{name} must be a dict, but got {value!r}")
