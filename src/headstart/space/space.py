"""Search spaces: which parameters to tune, and how a configuration becomes a row of numbers.

A configuration is a dictionary in the user's own units. Internally it takes two other forms:

| symbol | name     | shape  | meaning                                                                       |
| ------ | -------- | ------ | ----------------------------------------------------------------------------- |
| V      | values   | (n, p) | one column per parameter: the number itself, or the index of the choice;      |
|        |          |        | NaN where the parameter is inactive. Exact: nothing is lost.                  |
| Z      | encoding | (n, d) | numeric parameters scaled to [0, 1] (on their log scale), one-hot categories, |
|        |          |        | 0 where a parameter is inactive, as in the papers. The input of the models.   |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.display import card
from headstart._support.types import Array, Mask
from headstart._support.wording import counted
from headstart.errors import ArgumentError, SpaceError
from headstart.space.conditions import Conditions
from headstart.space.parameters import Categorical, Parameter, parameter_from_json
from headstart.space.parsing import as_columns, cell_of, parse_column, row_label
from headstart.space.shorthand import as_parameter

if TYPE_CHECKING:
    import pandas as pd

Config: TypeAlias = dict[str, Any]


class Space(Mapping[str, Parameter]):
    """The parameters of a search by name, with their conditions.

    >>> from headstart import Categorical, Float, Space
    >>> space = Space({
    ...     "kernel": Categorical(["rbf", "linear"]),
    ...     "C": Float(2**-5, 2**6, log=True),
    ...     "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
    ... })
    >>> space.encode([{"kernel": "linear", "C": 2**6}])
    array([[0., 1., 1., 0.]])
    >>> space.decode([[0.9, 0.2, 0.0, 1.0]])
    [{'kernel': 'rbf', 'C': 0.03125, 'gamma': 1000.0}]
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """parameters: by name; a pair such as (0.0, 1.0) is a range, too, and a list is one of choices."""
        if not isinstance(parameters, Mapping) or not parameters:
            raise SpaceError(f"a space needs at least one named parameter, but got {parameters!r}")
        for name in parameters:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be text, but got {name!r}")
        self._parameters = {name: as_parameter(name, entry) for name, entry in parameters.items()}
        self._conditions = Conditions(self._parameters)
        starts = np.cumsum([0, *(p.width for p in self._parameters.values())])
        self._columns = {name: slice(starts[j], starts[j + 1]) for j, name in enumerate(self._parameters)}

    # -- mapping -----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same parameters in the same order; True is not 1."""
        return isinstance(other, Space) and json.dumps(self.to_json()) == json.dumps(other.to_json())

    def __hash__(self) -> int:
        return hash(tuple(self._parameters))

    def __repr__(self) -> str:
        lines = (f"  {name}: {self.describe(name)}" for name in self)
        return "Space(\n" + "\n".join(lines) + "\n)"

    def to_frame(self) -> pd.DataFrame:
        """One row per parameter: its kind, bounds, log scale, step, choices and condition."""
        import pandas as pd

        columns = ("type", "low", "high", "log", "step", "choices", "when")
        rows = [[entry.get(column) for column in columns] for entry in self.to_json().values()]
        return pd.DataFrame(rows, index=pd.Index(self.names, name="parameter"), columns=list(columns), dtype=object)

    def _repr_html_(self) -> str:
        rows = [
            [name, type(p).__name__, p.describe(), self._condition_text(name) if p.conditions else ""]
            for name, p in self.items()
        ]
        size = f", {self.size:,.0f} configurations" if np.isfinite(self.size) else ""
        return card(f"Space of {counted(len(self), 'parameter')}{size}", ["parameter", "kind", "values", ""], rows)

    def describe(self, name: str) -> str:
        """A parameter in words: its kind, its range or choices, and when it is active."""
        parameter = self[name]
        tail = f" {self._condition_text(name)}" if parameter.conditions else ""
        return f"{type(parameter).__name__} {parameter.describe()}{tail}"

    def _lacking(self, name: str) -> str:
        return f"is missing, but it is active {self._condition_text(name)}" if self[name].conditions else "is missing"

    def _condition_text(self, name: str) -> str:
        conditions = (
            f"{parent}={values[0]!r}" if len(values) == 1 else f"{parent} in {list(values)}"
            for parent, values in self[name].conditions.items()
        )
        return "when " + " and ".join(conditions)

    @property
    def names(self) -> list[str]:
        return list(self._parameters)

    @property
    def width(self) -> int:
        """The number of columns of the encoding."""
        return sum(p.width for p in self._parameters.values())

    def columns(self, name: str) -> slice:
        """A parameter's columns of the encoding."""
        return self._columns[name]

    @property
    def parents_first(self) -> list[str]:
        """The names, each after those it depends on."""
        return list(self._conditions.order)

    def active(self, V: Array, name: str) -> Mask:
        """In which rows of V a parameter is active; the columns of its parents must be filled in."""
        return self._conditions.active(V, name)

    def renamed(self, names: Mapping[str, str]) -> Space:
        """The same space with other names of parameters: old name → new name. The others keep theirs."""
        new = [names.get(name, name) for name in self]
        if twice := [name for name in new if new.count(name) > 1]:
            raise ArgumentError(f"after renaming, two parameters would be called {twice[0]!r}")

        def moved(parameter: Parameter) -> Parameter:
            when = {names.get(parent, parent): values for parent, values in parameter.conditions.items()}
            return replace(parameter, when=when or None)

        return Space({name: moved(parameter) for name, parameter in zip(new, self.values(), strict=True)})

    # -- configurations ↔ values ---------------------------------------------------------------------

    def to_values(self, configs: Any) -> Array:
        """Configurations → V. `configs` is a list of dictionaries, a data frame, or a mapping of columns.

        Every value is checked. An error names the first value that does not fit and counts the others.
        """
        V, surplus = self.parse(configs)
        for name, rows in surplus.items():
            where = row_label("configuration", int(np.flatnonzero(rows)[0]), len(V))
            raise SpaceError(
                f"{where}: {name!r} has a value, but it is only active {self._condition_text(name)}",
                "leave it out",
            )
        return V

    def parse(self, configs: Any, *, row_name: str = "configuration", first: int = 0) -> tuple[Array, dict[str, Mask]]:
        """As `to_values`, but values of inactive parameters are ignored; masks by name say which rows have them.

        row_name, first: how an error names a row, and the number of the first row.
        """
        columns, n = as_columns(configs, self.names)
        V = np.full((n, len(self)), np.nan)
        surplus: dict[str, Mask] = {}
        problems: list[tuple[int, str, int]] = []  # first bad row, its problem, number of bad rows
        for name in self.parents_first:
            parameter, column = self[name], columns[name]
            v, missing, outside = parse_column(parameter, column)
            active = self.active(V, name)
            if isinstance(parameter, Categorical) and (none := parameter.index(None)) is not None:
                v[active & missing] = none
                missing &= ~active
            for bad in (active & missing, active & outside):
                if bad.any():
                    row = int(np.flatnonzero(bad)[0])
                    text = self._lacking(name) if missing[row] else _misfit(parameter, cell_of(column, row))
                    problems.append((row, f"{name!r} {text}", int(bad.sum())))
            if (given := ~active & ~missing).any():
                surplus[name] = given
            V[active, self._conditions.column[name]] = v[active]
        if problems:
            row, text, _ = min(problems)
            more = sum(count for *_, count in problems) - 1
            tail = f" (and {more:,} more values that do not fit)" if more else ""
            raise SpaceError(f"{row_label(row_name, first + row, n)}: {text}{tail}")
        return V, surplus

    def checked(self, V: Array, *, row_name: str = "configuration") -> Array:
        """V itself, if every row is a valid configuration; an error names the first row that is not."""
        for j, (name, parameter) in enumerate(self.items()):
            v, active, given = V[:, j], self.active(V, name), ~np.isnan(V[:, j])
            bad = active != given
            if isinstance(parameter, Categorical):
                bad |= given & ~np.isin(v, np.arange(parameter.width))
            else:
                bad |= given & parameter.admit(v)[1]
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise SpaceError(f"{row_name} {row}: {name!r} does not fit {self.describe(name)}")
        return V

    def from_values(self, V: Array) -> list[Config]:
        """V → dictionaries in native units and types, without inactive parameters."""
        names, parameters = self.names, list(self.values())
        return [
            {names[j]: parameters[j].native(v) for j, v in enumerate(row) if v == v}  # not NaN
            for row in V.tolist()
        ]

    def contains(self, config: Mapping[str, Any]) -> bool:
        """Whether a dictionary is a valid configuration of this space."""
        try:
            self.to_values([config])
        except SpaceError:
            return False
        return True

    # -- values ↔ encoding -----------------------------------------------------------------------------

    def encode(self, configs: Any) -> Array:
        """Configurations → Z."""
        return self.encode_values(self.to_values(configs))

    def decode(self, Z: npt.ArrayLike) -> list[Config]:
        """Z → valid configurations: numbers are clipped and rounded, and the largest entry of a one-hot block wins."""
        return self.from_values(self.decode_values(Z))

    def encode_values(self, V: Array) -> Array:
        Z = np.zeros((len(V), self.width))
        for j, (name, parameter) in enumerate(self._parameters.items()):
            rows = np.flatnonzero(~np.isnan(V[:, j]))
            at = self._columns[name]
            if isinstance(parameter, Categorical):
                Z[rows, at.start + V[rows, j].astype(np.intp)] = 1.0
            else:
                Z[rows, at.start] = parameter.to_unit(V[rows, j])
        return Z

    def decode_values(self, Z: npt.ArrayLike) -> Array:
        Z = np.asarray(Z, dtype=float)
        if Z.ndim != 2 or Z.shape[1] != self.width:
            raise SpaceError(f"an encoding of this space has {self.width} columns, but got an array of shape {Z.shape}")
        if not np.isfinite(Z).all():
            raise SpaceError("an encoding must be finite, but got NaN or infinity")
        V = np.empty((len(Z), len(self)))
        for j, (name, parameter) in enumerate(self._parameters.items()):
            block = Z[:, self._columns[name]]
            V[:, j] = block.argmax(axis=1) if isinstance(parameter, Categorical) else parameter.from_unit(block[:, 0])
        return self._conditions.mask_inactive(V)

    # -- sampling ----------------------------------------------------------------------------------------

    def sample(self, n: int, *, seed: int | np.random.Generator | None = None, method: str = "uniform") -> list[Config]:
        """n random configurations. method: "uniform" (independent draws) or "sobol" (a scrambled Sobol sequence)."""
        return self.from_values(self.sample_values(n, rng=np.random.default_rng(seed), method=method))

    def sample_values(self, n: int, *, rng: np.random.Generator, method: str = "uniform") -> Array:
        if n < 0:
            raise ArgumentError(f"n must be at least 0, but got {n}")
        if method == "uniform":
            U = rng.random((n, len(self)))
        elif method == "sobol":
            from scipy.stats import qmc

            power = max(int(n) - 1, 0).bit_length()  # only 2^power points of the sequence are balanced
            U = qmc.Sobol(len(self), rng=rng).random_base2(power)[:n]
        else:
            raise ArgumentError(f"method must be 'uniform' or 'sobol', but got {method!r}")
        return self.from_cube(U)

    def from_cube(self, U: Array) -> Array:
        """Points of the unit cube, one coordinate per parameter → V; choices and integers get equal shares."""
        V = np.column_stack([p.draw(U[:, j]) for j, p in enumerate(self._parameters.values())])
        return self._conditions.mask_inactive(V)

    # -- counting ----------------------------------------------------------------------------------------

    @property
    def size(self) -> float:
        """The number of configurations; infinite if a real parameter can be active."""
        return self._conditions.count()

    def grid(self) -> Array:
        """V of all configurations of a finite space."""
        return self._conditions.grid()

    # -- neighbours --------------------------------------------------------------------------------------

    def nearest(self, config: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> int:
        """The index of the candidate closest to a configuration (Euclidean in the encoding); the first of a tie."""
        Z = self.encode(candidates)
        if not len(Z):
            raise ArgumentError("candidates must hold at least one configuration, but got none")
        squared = ((Z - self.encode([config])) ** 2).sum(axis=1)
        return int((squared <= squared.min() * (1 + 1e-12)).argmax())  # equal up to rounding

    # -- JSON --------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary for `json.dump`."""
        return {name: parameter.to_json() for name, parameter in self._parameters.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Space:
        """The inverse of `to_json`; every entry is checked."""
        if not isinstance(data, Mapping):
            raise SpaceError(f"a space in JSON is an object of parameters, but got {type(data).__name__}")
        return cls({name: parameter_from_json(name, entry) for name, entry in data.items()})


def _misfit(parameter: Parameter, value: Any) -> str:
    if isinstance(value, str) and not isinstance(parameter, Categorical):
        return f"is the text {value!r}, where a number belongs"
    return f"is {value!r}, which is not in {parameter.describe()}"
