"""The names under which strategies and surrogates are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headstart.arguments import closest
from headstart.past import Past
from headstart.strategies.auto import Auto
from headstart.strategies.base import Strategy
from headstart.strategies.best import NearestBest, RandomBest
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit
from headstart.strategies.metric import NearestByMetric
from headstart.strategies.predictive import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.surrogates.base import Surrogate
from headstart.surrogates.forest import Forest
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.mklgp import MKLGP
from headstart.surrogates.prior import Experts, NearestPrior, TransferredPrior
from headstart.surrogates.scot import SCoT

STRATEGIES: dict[str, Callable[[], Strategy]] = {
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
SURROGATES: dict[str, Callable[[], Surrogate]] = {
    "gp": Gaussian,
    "rf": Forest,
    "scot": SCoT,
    "mklgp": MKLGP,
    "prior": TransferredPrior,
    "auto": Experts,
}


def resolve_strategy(init: Any, past: Past | None) -> Strategy | None:
    """The strategy meant by a name or object; None: no past, or none wanted, so configurations at random."""
    if not isinstance(init, str):
        if not hasattr(init, "begin"):
            raise ValueError(f"init must be a name or a strategy with a method begin, but got {init!r}")
        return init  # type: ignore[no-any-return]
    if init == "random" or (init == "auto" and past is None):
        return None
    if init not in STRATEGIES:
        names = sorted([*STRATEGIES, "random"])
        raise ValueError(f"there is no strategy {init!r}{closest(init, names)} (there are: {', '.join(names)})")
    if past is None:
        raise ValueError(f"init={init!r} learns from past runs; pass a history, or init='random'")
    return STRATEGIES[init]()


def strategy_name(init: Any) -> str:
    """For the record: the name itself, or the object's description."""
    return init if isinstance(init, str) else repr(init)


def needs_past(surrogate: Any) -> bool:
    """Whether a surrogate, by name or itself, is nothing without past runs."""
    return isinstance(resolve_surrogate(surrogate), (SCoT, MKLGP, TransferredPrior))


def resolve_surrogate(surrogate: Any, strategy: Strategy | None = None) -> Surrogate:
    """The surrogate meant by a name or object, in a run that starts with this strategy.

    "prior" goes on with the data sets that the start came from, if those are the nearest by a learned distance.
    """
    if not isinstance(surrogate, str):
        if not hasattr(surrogate, "begin"):
            raise ValueError(f"surrogate must be a name or an object with a method begin, but got {surrogate!r}")
        return surrogate  # type: ignore[no-any-return]
    if surrogate not in SURROGATES:
        names = sorted(SURROGATES)
        raise ValueError(
            f"there is no surrogate {surrogate!r}{closest(surrogate, names)} (there are: {', '.join(names)})"
        )
    if surrogate == "prior" and isinstance(strategy, NearestByMetric):
        return NearestPrior(strategy.k)
    return SURROGATES[surrogate]()
