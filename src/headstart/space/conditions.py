"""Conditions: when each parameter of a space is active, and how many configurations that leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np

from headstart._support.types import Array, Mask, Scalar
from headstart._support.wording import closest
from headstart.errors import SpaceError
from headstart.space.numeric import Float
from headstart.space.parameters import Categorical, Parameter

_LISTABLE = 1_000_000  # a grid has at most this many configurations


class Conditions:
    """The conditions of a space's parameters, resolved to columns and values of V."""

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self.parameters = parameters
        self.column = {name: j for j, name in enumerate(parameters)}
        self.order = self._parents_first()
        self._required = {name: self._resolved(name) for name in self.order}

    def _parents_first(self) -> list[str]:
        """The names, parents before children; unknown parents and cycles are errors."""
        for name, parameter in self.parameters.items():
            for parent in parameter.conditions:
                if parent not in self.parameters:
                    hint = closest(parent, list(self.parameters))
                    raise SpaceError(f"{name!r} depends on {parent!r}, which is not a parameter of this space{hint}")
        try:
            graph = {name: parameter.conditions for name, parameter in self.parameters.items()}
            return list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise SpaceError(f"conditions form a cycle: {' -> '.join(error.args[1])}") from None

    def _resolved(self, name: str) -> list[tuple[int, Array]]:
        """For each parent of a parameter, its column of V and the values there that make the parameter active."""
        return [
            (self.column[parent], np.array([self._value(parent, value, name) for value in values]))
            for parent, values in self.parameters[name].conditions.items()
        ]

    def _value(self, parent: str, value: Scalar, child: str) -> float:
        """A parent's native value as a number of V."""
        parameter = self.parameters[parent]
        if isinstance(parameter, Float):
            raise SpaceError(
                f"{child!r} depends on the real parameter {parent!r}; a parent must be an Int or a Categorical"
            )
        if isinstance(parameter, Categorical):
            index = parameter.index(value)
            if index is not None:
                return float(index)
        elif parameter.contains(value):
            return float(value or 0)
        raise SpaceError(
            f"{child!r} is active when {parent!r} is {value!r}, but {parent!r} only takes {parameter.describe()}"
        )

    def active(self, V: Array, name: str) -> Mask:
        """In which rows of V a parameter is active; the columns of its parents must be filled in."""
        mask = np.ones(len(V), dtype=bool)
        for column, values in self._required[name]:
            mask &= np.isin(V[:, column], values)  # an inactive parent is NaN and matches nothing
        return mask

    def mask_inactive(self, V: Array) -> Array:
        """Sets the values of inactive parameters to NaN, in place."""
        for name in self.order:
            if self._required[name]:
                V[~self.active(V, name), self.column[name]] = np.nan
        return V

    # -- counting ----------------------------------------------------------------------------------------

    def count(self) -> float:
        """The number of configurations; infinite if a real parameter can be active."""
        return math.prod(self._count(group) for group in self._groups())

    def grid(self) -> Array:
        """V of all configurations of a finite space."""
        size = self.count()
        if not size <= _LISTABLE:
            raise SpaceError(f"the space has {size:,.0f} configurations; at most {_LISTABLE:,} can be listed")
        return self._combined({name: self.parameters[name].options() for name in self.order})

    def _groups(self) -> list[set[str]]:
        """Parameters that conditions link, directly or through others; the groups are independent of each other."""
        groups: list[set[str]] = []
        for name, parameter in self.parameters.items():
            linked = {name, *parameter.conditions}
            touching = [group for group in groups if group & linked]
            groups = [group for group in groups if not group & linked] + [linked.union(*touching)]
        return groups

    def _count(self, group: set[str]) -> float:
        """The number of configurations of one group: a sum over the values of parents that conditions distinguish."""
        named: dict[str, Array] = {}  # parent → the values that conditions name, and ∞ for all others
        others: dict[str, float] = {}  # parent → the number of those others
        names = list(self.parameters)
        for name in (name for name in self.order if name in group):
            for column, values in self._required[name]:
                named[names[column]] = np.union1d(named.get(names[column], []), values)
        for parent, values in named.items():
            others[parent] = self.parameters[parent].size - len(values)
            if others[parent]:
                named[parent] = np.append(values, np.inf)
        if math.prod(map(len, named.values())) > _LISTABLE:
            return math.inf
        V = self._combined({name: named[name] for name in self.order if name in named})
        counts = np.ones(len(V))
        for name in group:
            if name in named:
                counts[V[:, self.column[name]] == np.inf] *= others[name]
            else:
                counts[self.active(V, name)] *= self.parameters[name].size
        return float(counts.sum())

    def _combined(self, options: Mapping[str, Array]) -> Array:
        """All valid combinations of some parameters' values, given parents first; NaN for the other parameters."""
        V = np.full((1, len(self.parameters)), np.nan)
        for name, values in options.items():
            active = self.active(V, name)
            grown = np.repeat(V[active], len(values), axis=0)
            grown[:, self.column[name]] = np.tile(values, int(active.sum()))
            V = np.concatenate([V[~active], grown])
        return V
