"""SMAC3: a start as the initial design, in place of SMAC's own. For the search space, use `to_configspace(space)`.

scenario = Scenario(to_configspace(space), n_trials=50)
HyperparameterOptimizationFacade(scenario, objective, initial_design=initial_design(start, scenario))
"""

from __future__ import annotations

from typing import Any

from headstart.errors import MissingPackageError
from headstart.starts.start import Start

try:
    from ConfigSpace import Configuration
    from smac import HyperparameterOptimizationFacade
except ImportError as error:
    raise MissingPackageError("the SMAC adapter needs SMAC", "pip install smac", name="smac") from error


def initial_design(start: Start, scenario: Any, facade: Any = HyperparameterOptimizationFacade) -> Any:
    """A design of the start's configurations and no others.

    The start is first converted to the scenario's space, and any changes are logged. facade: the class that runs the
    scenario.
    """
    fitting = start.fitted(scenario.configspace)
    configs = [Configuration(scenario.configspace, values=point) for point in fitting.points("smac")]
    # SMAC appends `additional_configs` to its own design unless that is empty.
    return facade.get_initial_design(scenario, n_configs=0, additional_configs=configs)
