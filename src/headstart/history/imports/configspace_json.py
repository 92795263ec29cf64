"""The JSON in which ConfigSpace writes a search space, read without ConfigSpace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart._support.files import read_json
from headstart.errors import SpaceError
from headstart.history.imports.runs import parsing
from headstart.space import Categorical, Float, Int, Parameter, Space
from headstart.space.foreign import from_ordinal

When = dict[str, list[Any]]


def read_space(path: Path) -> Space:
    """The space in a configspace.json; a SpaceError if ours cannot express it."""
    with parsing(path, "a space of ConfigSpace"):
        data = read_json(path, "a space of ConfigSpace")
        entries = {entry["name"]: entry for entry in data["hyperparameters"]}
        if data.get("forbiddens"):
            raise SpaceError("it has forbidden clauses")
        when = {condition["child"]: _condition(condition, entries) for condition in data.get("conditions", ())}
        parents = {parent for condition in when.values() for parent in condition}
        return Space({name: _parameter(entry, when.get(name), name in parents) for name, entry in entries.items()})


def _parameter(entry: Mapping[str, Any], when: When | None, is_parent: bool) -> Parameter:
    kind = entry["type"]
    if kind == "categorical":
        return Categorical(entry["choices"], when=when)
    if kind == "ordinal":
        return from_ordinal(entry["sequence"], when, is_parent)
    if kind in ("constant", "unparametrized"):
        return Categorical([entry["value"]], when=when)
    if entry.get("lower") is None or entry.get("upper") is None:
        raise SpaceError(f"{entry['name']!r} has no bounds")
    if kind.endswith("_int"):
        return Int(entry["lower"], entry["upper"], log=bool(entry["log"]), when=when)
    if kind.endswith("_float"):
        return Float(entry["lower"], entry["upper"], log=bool(entry["log"]), when=when)
    raise SpaceError(f"{entry['name']!r} is of the unknown type {kind!r}")


def _condition(condition: Mapping[str, Any], entries: Mapping[str, Any]) -> When:
    """For each parent, the values under which the child is active."""
    kind = condition["type"]
    if kind == "AND":
        when: When = {}
        for part in condition["conditions"]:
            for parent, values in _condition(part, entries).items():
                when[parent] = [value for value in when.get(parent, values) if value in values]
        return when
    if kind == "EQ":
        return {condition["parent"]: [condition["value"]]}
    if kind == "IN":
        return {condition["parent"]: list(condition["values"])}
    parent = entries[condition["parent"]]
    if kind == "NEQ" and parent["type"] == "categorical":
        return {parent["name"]: [choice for choice in parent["choices"] if choice != condition["value"]]}
    raise SpaceError(f"the condition {kind} of {condition['child']!r} is not a list of values")
