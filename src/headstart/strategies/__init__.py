"""Strategies: which configurations a search tries first. One paper, one file.

May import: `surrogates`, `transfer` and below. Hands on: `Strategy`, which learns from the past tasks and returns a
`Run` that proposes one configuration after another, and the filler for when there is nothing better to propose.
"""

from headstart.strategies.auto import Auto
from headstart.strategies.base import Run, Strategy, Told
from headstart.strategies.best import NearestBest, RandomBest
from headstart.strategies.closeness import Closeness
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit
from headstart.strategies.metric import NearestByMetric
from headstart.strategies.predictive import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.random import Random

__all__ = [
    "ActivePredictiveBest",
    "AdaptiveLearnedInit",
    "AdaptivePredictiveBest",
    "Auto",
    "Closeness",
    "LearnedInit",
    "NearestBest",
    "NearestByMetric",
    "PredictiveBest",
    "Random",
    "RandomBest",
    "Run",
    "Strategy",
    "Told",
]
