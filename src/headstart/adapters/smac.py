"""SMAC3: a start as the initial design, in place of SMAC's own. The space is `to_configspace(space)`.

scenario = Scenario(to_configspace(space), n_trials=50)
HyperparameterOptimizationFacade(scenario, objective, initial_design=initial_design(start, scenario))
"""

from __future__ import annotations

from typing import Any

try:
    from ConfigSpace import Configuration
    from smac import HyperparameterOptimizationFacade
except ImportError as error:
    raise ImportError("SMAC is not installed: pip install smac") from error

from headstart.starts.start import Start


def initial_design(start: Start, scenario: Any, facade: Any = HyperparameterOptimizationFacade) -> Any:
    """The start's configurations and no others.

    They are checked against the scenario's space first; what had to change is logged. facade: the class that
    the scenario is run with.
    """
    fitting = start.fitted(scenario.configspace)
    configs = [Configuration(scenario.configspace, values=point) for point in fitting.points("smac")]
    # SMAC adds `additional_configs` to a design of its own unless that one is empty.
    return facade.get_initial_design(scenario, n_configs=0, additional_configs=configs)
