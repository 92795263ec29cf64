"""What the arguments of a search mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart.errors import ArgumentError
from headstart.space import Space
from headstart.starts.start import Start, as_start
from headstart.strategies.candidates import Candidates
from headstart.strategies.names import resolve_strategy
from headstart.strategies.random import Random
from headstart.surrogates.names import resolve_surrogate


def seed_of(seed: int | None) -> int:
    """The seed itself; a fresh one if there is none."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    return whole("seed", seed, 0, or_none=True)


def sorted_past(history: Any, init: Any) -> tuple[Any, Any]:
    """The history and the initial strategy, where the history may be a `Start`."""
    start = as_start(history)
    if start is None:
        return history, as_start(init) or init
    if init != "auto":
        raise ArgumentError("history is a Start, which leaves nothing for init to choose", "leave out {init}")
    return None, start


def without_past(init: Any, surrogate: Any) -> tuple[Any, Any]:
    """The initial strategy and the surrogate, replaced if they learn from past runs."""
    if not isinstance(init, Start):
        resolve_strategy(init)  # fails if there is no such strategy
    kept = init if isinstance(init, (Start, Random)) else "random"
    return kept, "auto" if resolve_surrogate(surrogate).needs_history else surrogate


def candidates_of(space: Space, candidates: Sequence[Mapping[str, Any]]) -> Candidates:
    if not len(candidates):
        raise ArgumentError("candidates is empty", "leave it out to search the whole space")
    return Candidates(space, space.to_values(candidates))
