"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.strategies.auto import Auto
from headstart.strategies.base import Strategy
from headstart.strategies.best import NearestBest, RandomBest
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit
from headstart.strategies.metric import NearestByMetric
from headstart.strategies.predictive import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.random import Random

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "random": Random,
    "rbi": RandomBest,
    "nbi": NearestBest,
    "pbi": PredictiveBest,
    "apbi": AdaptivePredictiveBest,
    "aapbi": ActivePredictiveBest,
    "li": LearnedInit,
    "ali": AdaptiveLearnedInit,
    "metric": NearestByMetric,
    "auto": Auto,
}


def resolve_strategy(init: Any, *, history: bool = True, seed: int | None = None) -> Strategy:
    """The strategy of that name, or the object itself.

    history: whether there are past runs. seed: of a random start.
    """
    if not isinstance(init, str):
        if not hasattr(init, "begin"):
            raise ArgumentError(f"init must be a name or a strategy with a method begin, but got {init!r}")
        return init  # type: ignore[no-any-return]
    if init == "random" or (init == "auto" and not history):
        return Random(seed)
    if init not in STRATEGIES:
        names = sorted(STRATEGIES)
        raise ArgumentError(
            f"there is no strategy {init!r}{closest(init, names, 0.6)} (choose from: {', '.join(names)})"
        )
    if not history:
        raise ArgumentError(
            f"init={init!r} learns from past runs", "pass a history with {history}, or use {init}'random'"
        )
    return STRATEGIES[init]()


def for_tasks(init: Any, tasks: Sequence[str]) -> Any:
    """A strategy, by name or as an object, for a history of these tasks, some of which will be left out."""
    return init.for_tasks(tasks) if isinstance(init, LearnedInit) else init


def strategy_name(init: Any) -> str:
    """The name itself, or the object's description."""
    return init if isinstance(init, str) else repr(init)
