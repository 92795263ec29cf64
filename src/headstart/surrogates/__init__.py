"""Surrogates: models that predict the loss of a configuration before it is tried. One method, one file.

May import: `transfer`, `gp` and below. Hands on: `Surrogate`, which learns from the past tasks and returns a `Model`;
fitted to a run's trials, the model becomes a `Posterior`, by which the search scores configurations.
"""

from headstart.surrogates.base import Acquisition, Model, Posterior, Surrogate
from headstart.surrogates.forest import Forest
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.mixture import Mixture
from headstart.surrogates.mklgp import MKLGP
from headstart.surrogates.prior import NearestPrior, TransferredPrior
from headstart.surrogates.prior_mean import PriorMean
from headstart.surrogates.scot import SCoT

__all__ = [
    "MKLGP",
    "Acquisition",
    "Forest",
    "Gaussian",
    "Mixture",
    "Model",
    "NearestPrior",
    "Posterior",
    "PriorMean",
    "SCoT",
    "Surrogate",
    "TransferredPrior",
]
