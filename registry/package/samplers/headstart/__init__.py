"""HeadstartSampler of the package headstart, for `optunahub.load_module("samplers/headstart")`."""

from headstart.adapters.optuna import HeadstartSampler

__all__ = ["HeadstartSampler"]
