"""Surrogates: what a configuration that was not tried would give. One idea, one file."""

from headstart.surrogates.base import Acquisition, Model, Posterior, Surrogate
from headstart.surrogates.experts import Experts
from headstart.surrogates.forest import Forest
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.mklgp import MKLGP
from headstart.surrogates.prior import TransferredPrior
from headstart.surrogates.scot import SCoT

__all__ = [
    "MKLGP",
    "Acquisition",
    "Experts",
    "Forest",
    "Gaussian",
    "Model",
    "Posterior",
    "SCoT",
    "Surrogate",
    "TransferredPrior",
]
