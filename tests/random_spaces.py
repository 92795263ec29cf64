"""Hypothesis strategies: random conditional spaces, several levels deep, and values for them."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headstart._support.types import Scalar
from headstart.space import Categorical, Float, Int, Parameter, Space
from headstart.space.scalars import choice_key

SCALARS: st.SearchStrategy[Scalar] = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, 2.25, "a", "b", "True", "1", ""])
)


def examples(n: int) -> settings:
    """Runs a test on n random cases, or on a multiple of that: THOROUGH=50 make test."""
    factor = int(os.environ.get("THOROUGH", "1"))
    return settings(max_examples=n * factor, deadline=None, suppress_health_check=list(HealthCheck))


def decimal(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers of at most 12 significant digits."""
    return st.floats(low, high).map(lambda x: float(f"{x:.12g}")).filter(lambda x: low <= x <= high)


@st.composite
def parameters(draw: st.DrawFn, when: dict[str, Any] | None, *, finite: bool = False) -> Parameter:
    kind = draw(st.sampled_from(["categorical", "int", *([] if finite else ["float"])]))
    if kind == "categorical":
        choices = draw(st.lists(SCALARS, min_size=1, max_size=4, unique_by=choice_key))
        return Categorical(choices, when=when)
    log = draw(st.booleans())
    if kind == "int":
        low = draw(st.integers(1, 50) if log else st.integers(-50, 50))
        high = low + draw(st.integers(1, 4 if finite else 10**6))
        step = None if log or draw(st.booleans()) else draw(st.integers(1, high - low))
        return Int(low, high, log=log, step=step, when=when)
    start = draw(decimal(1e-9, 1e6) if log else decimal(-1e6, 1e6))
    end = start * draw(decimal(1.5, 1e9)) if log else start + draw(decimal(1e-3, 1e6))
    if log or draw(st.booleans()):
        return Float(start, end, log=log, when=when)
    stride = float(f"{(end - start) / draw(st.integers(1, 20)):.6g}")
    return Float(start, end, step=stride if stride <= end - start else None, when=when)


@st.composite
def spaces(draw: st.DrawFn, *, finite: bool = False, most: int = 6) -> Space:
    """Each parameter may depend on one or two earlier ones, which may depend on others in turn."""
    made: dict[str, Parameter] = {}
    for i in range(draw(st.integers(1, most))):
        candidates = [name for name, p in made.items() if not isinstance(p, Float)]
        parents = draw(st.lists(st.sampled_from(candidates), max_size=2, unique=True)) if candidates else []
        when = {name: draw(values_of(made[name])) for name in parents}
        made[f"p{i}"] = draw(parameters(when or None, finite=finite))
    order = draw(st.permutations(list(made)))  # children may be listed before their parents
    return Space({name: made[name] for name in order})


def values_of(parameter: Parameter) -> st.SearchStrategy[list[Any]]:
    options = parameter.options()[:20]
    return st.lists(
        st.sampled_from([parameter.native(v) for v in options]),
        min_size=1,
        max_size=3,
        unique_by=choice_key,
    )


@st.composite
def configurations(draw: st.DrawFn, space: Space) -> dict[str, Any]:
    """A valid configuration whose reals have at most 12 significant digits."""
    config: dict[str, Any] = {}
    for name in space.parents_first:
        parameter = space[name]
        active = all(
            parent in config and any(type(config[parent]) is type(v) and config[parent] == v for v in values)
            for parent, values in parameter.conditions.items()
        )
        if not active:
            continue
        if isinstance(parameter, Float) and parameter.step is None:
            config[name] = draw(decimal(parameter.low, parameter.high))
        elif isinstance(parameter, Categorical):
            config[name] = draw(st.sampled_from(list(parameter.choices)))
        else:
            k = draw(st.integers(0, int(parameter.size) - 1))
            config[name] = parameter.native(parameter.low + k * (parameter.step or 1))
            if isinstance(parameter, Float):  # 0.3, not 0.1 + 2 · 0.1
                config[name] = parameter.native(parameter.options()[k])
    return {name: config[name] for name in space if name in config}
