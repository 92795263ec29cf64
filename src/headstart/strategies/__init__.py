"""Strategies: which configurations to try first. One paper, one file."""

from headstart.strategies.auto import Auto
from headstart.strategies.base import Run, Strategy, Told
from headstart.strategies.best import NearestBest, RandomBest
from headstart.strategies.learned import AdaptiveLearnedInit, LearnedInit
from headstart.strategies.metric import NearestByMetric
from headstart.strategies.predictive import ActivePredictiveBest, AdaptivePredictiveBest, PredictiveBest
from headstart.strategies.random import Random

__all__ = [
    "ActivePredictiveBest",
    "AdaptiveLearnedInit",
    "AdaptivePredictiveBest",
    "Auto",
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
