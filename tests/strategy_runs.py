"""Strategies at the beginning of a run, and runs played on a new task."""

from __future__ import annotations

import numpy as np

from headstart.strategies import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.base import Told
from headstart.strategies.names import STRATEGIES
from headstart.transfer.models import TaskModels
from histories import embedded

FEATURES = {"centre": 0.4, "noise": 0.0, "size": 20.0, "metric 0a 0": 0.4}
QUICK = {
    "pbi": PredictiveBest(trees=5),
    "apbi": AdaptivePredictiveBest(trees=5),
    "aapbi": ActivePredictiveBest(trees=5),
}


def strategy(name):
    """The strategy of that name, with few trees."""
    return QUICK.get(name) or STRATEGIES[name]()


def begin(name, history, n=5, seed=0, allowed=None):
    """A run of a strategy, given by name or as an object."""
    history = embedded(history) if name == "metric" else history
    models = TaskModels(history, rng=np.random.default_rng([seed, 0]), allowed=allowed)
    chosen = strategy(name) if isinstance(name, str) else name
    return chosen.begin(models, n=n, features=FEATURES, rng=np.random.default_rng([seed, 1]))


def truth(history, v):
    """The loss on a new task near the middle of the past ones."""
    return float(((history.space.encode_values(v[None])[0] - 0.45) ** 2).sum())


def play(run, history, n):
    """The first n trials of a run on the new task."""
    told = Told.nothing(history.space)
    for _ in range(n):
        v = run.ask(told)
        told = told.and_(v, truth(history, v))
    return told
