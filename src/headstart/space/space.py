"""Search spaces: what may be tuned, and how a configuration becomes a row of numbers.

A configuration is a dictionary in the user's own units. Inside it takes two other forms:

| symbol | name     | shape  | meaning                                                                       |
| ------ | -------- | ------ | ----------------------------------------------------------------------------- |
| V      | values   | (n, p) | one column per parameter: the number itself, or the index of the choice;      |
|        |          |        | NaN where the parameter is inactive. Exact: nothing is lost.                  |
| Z      | encoding | (n, d) | numeric parameters in [0, 1] (logarithmic where asked), one-hot categories,   |
|        |          |        | 0 where a parameter is inactive, as in the papers. What the models see.       |
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headstart._support.types import Array, Mask, Scalar
from headstart.errors import SpaceError
from headstart.space.parameters import Categorical, Float, Int, Parameter, parameter_from_json
from headstart.space.parsing import as_columns, cell_of, parse_column

__all__ = ["Categorical", "Config", "Float", "Int", "Space", "nearest_rows"]

Config: TypeAlias = dict[str, Any]

_LISTABLE = 1_000_000  # configurations a grid may have


class Space(Mapping[str, Parameter]):
    """The parameters of a search, by name, with the conditions under which each is active.

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

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            raise SpaceError(f"a space needs at least one named parameter, but got {parameters!r}")
        for name, parameter in parameters.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be text, but got {name!r}")
            if not isinstance(parameter, (Float, Int, Categorical)):
                raise SpaceError(f"{name!r} must be a Float, Int or Categorical, but got {parameter!r}")
        self._parameters: dict[str, Parameter] = dict(parameters)
        self._position = {name: j for j, name in enumerate(self._parameters)}
        self._order = self._parents_first()
        self._conditions = {name: self._condition(name) for name in self._order}
        starts = np.cumsum([0, *(p.width for p in self._parameters.values())])
        self._columns = {n: slice(starts[i], starts[i + 1]) for i, n in enumerate(self._parameters)}

    # -- mapping -----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __eq__(self, other: object) -> bool:
        """The same parameters in the same order; True is not 1."""
        return isinstance(other, Space) and json.dumps(self.to_json()) == json.dumps(other.to_json())

    def __hash__(self) -> int:
        return hash(tuple(self._parameters))

    def __repr__(self) -> str:
        lines = (f"  {name}: {self._describe(name)}" for name in self)
        return "Space(\n" + "\n".join(lines) + "\n)"

    def _describe(self, name: str) -> str:
        parameter = self[name]
        tail = f" {self._condition_text(name)}" if parameter.conditions else ""
        return f"{type(parameter).__name__} {parameter.describe()}{tail}"

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
        """Columns of the encoding."""
        return sum(p.width for p in self._parameters.values())

    def columns(self, name: str) -> slice:
        """Where a parameter stands in the encoding."""
        return self._columns[name]

    # -- conditions --------------------------------------------------------------------------------

    def _parents_first(self) -> list[str]:
        """Parents before children; refuses unknown parents and cycles."""
        for name, parameter in self.items():
            for parent in parameter.conditions:
                if parent not in self:
                    raise SpaceError(f"{name!r} depends on {parent!r}, which is not a parameter of this space")
        try:
            return list(TopologicalSorter({name: self[name].conditions for name in self}).static_order())
        except CycleError as error:
            raise SpaceError(f"conditions form a cycle: {' -> '.join(error.args[1])}") from None

    def _condition(self, name: str) -> list[tuple[int, Array]]:
        """For each parent: its column of V and the values of V under which the child is active."""
        condition = []
        for parent, values in self[name].conditions.items():
            parameter = self[parent]
            if isinstance(parameter, Float):
                raise SpaceError(
                    f"{name!r} depends on the real parameter {parent!r}; a parent is an Int or a Categorical"
                )
            condition.append((self._position[parent], np.array([self._value(parent, v, name) for v in values])))
        return condition

    def _value(self, parent: str, value: Scalar, child: str) -> float:
        parameter = self[parent]
        if isinstance(parameter, Categorical):
            index = parameter.index(value)
            if index is not None:
                return float(index)
        elif parameter.contains(value):
            return float(value or 0)
        raise SpaceError(
            f"{child!r} is active when {parent!r} is {value!r}, but that only takes {parameter.describe()}"
        )

    @property
    def parents_first(self) -> list[str]:
        """The names, each after those it depends on."""
        return list(self._order)

    def active(self, V: Array, name: str) -> Mask:
        """In which rows of V a parameter is active; its parents must be filled in."""
        mask = np.ones(len(V), dtype=bool)
        for column, values in self._conditions[name]:
            mask &= np.isin(V[:, column], values)  # an inactive parent is NaN and matches nothing
        return mask

    def _mask_inactive(self, V: Array) -> Array:
        for name in self._order:
            if self._conditions[name]:
                V[~self.active(V, name), self._position[name]] = np.nan
        return V

    # -- configurations ↔ values ---------------------------------------------------------------------

    def to_values(self, configs: Any) -> Array:
        """Configurations → V: a list of dictionaries, a data frame, or a mapping of columns.

        Every value is checked; the first one that does not fit is named, with the number of others.
        """
        V, surplus = self.parse(configs)
        for name, rows in surplus.items():
            raise SpaceError(
                f"configuration {np.flatnonzero(rows)[0]}: {name!r} has a value, but it is only active "
                f"{self._condition_text(name)}; leave it out"
            )
        return V

    def parse(self, configs: Any, *, row_name: str = "configuration", first: int = 0) -> tuple[Array, dict[str, Mask]]:
        """As `to_values`, but values given for inactive parameters are passed over and returned as masks.

        row_name, first: what an error calls a row, and the number of the first one.
        """
        columns, n = as_columns(configs, self.names)
        V = np.full((n, len(self)), np.nan)
        surplus: dict[str, Mask] = {}
        problems: list[tuple[int, str, int]] = []  # first row, what is wrong there, how many rows
        for name in self._order:
            parameter, column = self[name], columns[name]
            v, missing, outside = parse_column(parameter, column)
            active = self.active(V, name)
            if isinstance(parameter, Categorical) and (none := parameter.index(None)) is not None:
                v[active & missing] = none
                missing &= ~active
            for bad in (active & missing, active & outside):
                if bad.any():
                    row = int(np.flatnonzero(bad)[0])
                    text = "is missing" if missing[row] else _misfit(parameter, cell_of(column, row))
                    problems.append((row, f"{name!r} {text}", int(bad.sum())))
            if (given := ~active & ~missing).any():
                surplus[name] = given
            V[active, self._position[name]] = v[active]
        if problems:
            row, text, _ = min(problems)
            more = sum(count for *_, count in problems) - 1
            tail = f" (and {more:,} more values that do not fit)" if more else ""
            raise SpaceError(f"{row_name} {first + row}: {text}{tail}")
        return V, surplus

    def checked(self, V: Array, *, row_name: str = "configuration") -> Array:
        """V itself, if every row of it is a valid configuration; an error names the first that is not."""
        for j, (name, parameter) in enumerate(self.items()):
            v, active, given = V[:, j], self.active(V, name), ~np.isnan(V[:, j])
            bad = active != given
            if isinstance(parameter, Categorical):
                bad |= given & ~np.isin(v, np.arange(parameter.width))
            else:
                bad |= given & parameter.admit(v)[1]
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise SpaceError(f"{row_name} {row}: {name!r} does not fit {self._describe(name)}")
        return V

    def from_values(self, V: Array) -> list[Config]:
        """V → dictionaries in native units and types, inactive parameters left out."""
        names, parameters = self.names, list(self.values())
        return [
            {names[j]: parameters[j].native(v) for j, v in enumerate(row) if v == v}  # NaN is inactive
            for row in V.tolist()
        ]

    def contains(self, config: Mapping[str, Any]) -> bool:
        """Whether a dictionary is a valid configuration of this space."""
        try:
            self.to_values([config])
        except ValueError:
            return False
        return True

    # -- values ↔ encoding -----------------------------------------------------------------------------

    def encode(self, configs: Any) -> Array:
        """Configurations → Z."""
        return self.encode_values(self.to_values(configs))

    def decode(self, Z: npt.ArrayLike) -> list[Config]:
        """Any matrix of this width → valid configurations: clipped, rounded, the largest of each one-hot."""
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
        return self._mask_inactive(V)

    # -- sampling ----------------------------------------------------------------------------------------

    def sample(self, n: int, *, seed: int | np.random.Generator | None = None, method: str = "uniform") -> list[Config]:
        """n random configurations: independent and uniform, or a scrambled Sobol sequence."""
        return self.from_values(self.sample_values(n, rng=np.random.default_rng(seed), method=method))

    def sample_values(self, n: int, *, rng: np.random.Generator, method: str = "uniform") -> Array:
        if n < 0:
            raise SpaceError(f"cannot draw {n} configurations")
        if method == "uniform":
            U = rng.random((n, len(self)))
        elif method == "sobol":
            from scipy.stats import qmc

            power = max(int(n) - 1, 0).bit_length()  # the sequence is balanced over powers of two
            U = qmc.Sobol(len(self), rng=rng).random_base2(power)[:n]
        else:
            raise SpaceError(f"method must be 'uniform' or 'sobol', but got {method!r}")
        return self.from_cube(U)

    def from_cube(self, U: Array) -> Array:
        """One number in [0, 1] per parameter → V; choices and whole numbers get equal shares."""
        V = np.column_stack([p.draw(U[:, j]) for j, p in enumerate(self._parameters.values())])
        return self._mask_inactive(V)

    # -- counting ----------------------------------------------------------------------------------------

    @property
    def size(self) -> float:
        """How many configurations there are; infinite with a real parameter that can be active."""
        return math.prod(self._count(group) for group in self._groups())

    def _groups(self) -> list[set[str]]:
        """Parameters that conditions link, directly or through others; the groups are independent."""
        groups: list[set[str]] = []
        for name, parameter in self.items():
            linked = {name, *parameter.conditions}
            touching = [group for group in groups if group & linked]
            groups = [group for group in groups if not group & linked] + [linked.union(*touching)]
        return groups

    def _count(self, group: set[str]) -> float:
        """The configurations of one group: a sum over what the conditions can tell apart of its parents."""
        told: dict[str, Array] = {}  # parent → the values some condition names, ∞ standing for all others
        others: dict[str, float] = {}
        for name in (name for name in self._order if name in group):
            for column, values in self._conditions[name]:
                parent = self.names[column]
                told[parent] = np.union1d(told.get(parent, []), values)
        for parent, values in told.items():
            others[parent] = self[parent].size - len(values)
            if others[parent]:
                told[parent] = np.append(values, np.inf)
        if math.prod(map(len, told.values())) > _LISTABLE:
            return math.inf
        V = self._combined({name: told[name] for name in self._order if name in told})
        counts = np.ones(len(V))
        for name in group:
            if name in told:
                counts[V[:, self._position[name]] == np.inf] *= others[name]
            else:
                counts[self.active(V, name)] *= self[name].size
        return float(counts.sum())

    def _combined(self, options: Mapping[str, Array]) -> Array:
        """All valid joint values of some parameters, given parents first; NaN for the rest."""
        V = np.full((1, len(self)), np.nan)
        for name, values in options.items():
            active = self.active(V, name)
            grown = np.repeat(V[active], len(values), axis=0)
            grown[:, self._position[name]] = np.tile(values, int(active.sum()))
            V = np.concatenate([V[~active], grown])
        return V

    def grid(self) -> Array:
        """V of every configuration of a finite space."""
        if not self.size <= _LISTABLE:
            raise SpaceError(f"the space has {self.size:,.0f} configurations; at most {_LISTABLE:,} can be listed")
        return self._combined({name: self[name].options() for name in self._order})

    # -- neighbours --------------------------------------------------------------------------------------

    def nearest(self, config: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> int:
        """The index of the candidate closest to a configuration (Euclidean in the encoding)."""
        return int(nearest_rows(self.encode([config]), self.encode(candidates))[0])

    # -- JSON --------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary for `json.dump`."""
        return {name: parameter.to_json() for name, parameter in self._parameters.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Space:
        """The reverse of `to_json`; every entry is checked."""
        if not isinstance(data, Mapping):
            raise SpaceError(f"a space in JSON is an object of parameters, but got {type(data).__name__}")
        return cls({name: parameter_from_json(name, entry) for name, entry in data.items()})


def nearest_rows(Z: Array, candidates: Array) -> npt.NDArray[np.intp]:
    """For each row of Z, the index of the closest candidate row (the first of those equally close)."""
    from scipy.spatial.distance import cdist

    if not len(candidates):
        raise SpaceError("there are no candidates to choose from")
    block = max(1, 4_000_000 // len(candidates))  # rows at a time, so that the distances fit into memory
    found = [np.empty(0, dtype=np.intp)]
    for start in range(0, len(Z), block):
        squared = cdist(Z[start : start + block], candidates, "sqeuclidean")
        ties = squared <= squared.min(axis=1, keepdims=True) * (1 + 1e-12)  # equal up to rounding
        found.append(ties.argmax(axis=1))
    return np.concatenate(found)


def _misfit(parameter: Parameter, value: Any) -> str:
    if isinstance(value, str) and not isinstance(parameter, Categorical):
        return f"is the text {value!r}, where a number belongs"
    return f"is {value!r}, which is not in {parameter.describe()}"
