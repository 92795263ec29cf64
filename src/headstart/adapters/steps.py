"""The parts of a scikit-learn estimator, and the names of their parameters ("svc__C" in a pipeline)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from headstart._support.wording import closest
from headstart.errors import ArgumentError, SpaceError
from headstart.space import Space


def steps(estimator: Any) -> dict[str, Any]:
    """The estimator itself with the prefix "", and every nested estimator with its prefix "step__"."""
    nested = {f"{name}__": value for name, value in estimator.get_params().items() if _is_estimator(value)}
    return {"": estimator, **nested}


def _is_estimator(value: Any) -> bool:
    # scikit-learn itself recognises estimators by this method, since they need not inherit from BaseEstimator
    return hasattr(value, "get_params") and not isinstance(value, type)


def predictors(estimator: Any) -> dict[str, Any]:
    """The steps that may be the model to tune: neither transformers nor parts of one, such as of a SelectFromModel."""
    every = steps(estimator)
    idle = [prefix for prefix, step in every.items() if hasattr(step, "transform") and not hasattr(step, "predict")]
    return {prefix: step for prefix, step in every.items() if not prefix.startswith(tuple(idle))}


def listed(prefixes: Sequence[str]) -> str:
    return ", ".join(prefix.removesuffix("__") for prefix in prefixes)


def has(step: Any, name: str) -> bool:
    """Whether an estimator has a parameter. Its constructor may take more than `get_params` lists, by name or not."""
    if name in step.get_params():
        return True
    accepted = inspect.signature(type(step)).parameters
    return name in accepted or any(p.kind is p.VAR_KEYWORD for p in accepted.values())


def prefix_of(estimator: Any, space: Space) -> str:
    """The prefix with which the estimator has all of the space's parameters."""
    every = steps(estimator)
    found = [prefix for prefix, step in every.items() if set(space) <= set(step.get_params())]
    found = found or [prefix for prefix, step in every.items() if all(has(step, name) for name in space)]
    if not found:
        check_names(estimator, space)
    if len(found) > 1 and found[0] != "":
        raise ArgumentError(
            f"several steps have the history's parameters: {listed(found)}", "pass {space} with full names"
        )
    return found[0]


def check_names(estimator: Any, space: Space) -> None:
    """An error if the estimator lacks a parameter of the space."""
    known = estimator.get_params()
    for name in space:
        prefix, _, plain = name.rpartition("__")
        step = known.get(prefix) if prefix else estimator
        if name not in known and not (_is_estimator(step) and has(step, plain)):
            inside = [full for full in sorted(known) if full.endswith(f"__{name}")]  # of a step of the pipeline
            hint = f"; did you mean {' or '.join(map(repr, inside))}?" if inside else closest(name, sorted(known))
            raise SpaceError(f"{type(estimator).__name__} has no parameter {name!r}{hint}")
