"""The search space of a model as a function of Optuna's trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import BaseTrial

from headstart import library
from headstart.adapters.optuna.distributions import to_distributions
from headstart.library.models import MODELS
from headstart.space import Config, Space, as_space
from headstart.space.scalars import choice_key


def space(of: Any) -> Callable[[BaseTrial], Config]:
    """A function of the trial that suggests a configuration and returns it as a dictionary.

    of: the name of a model or of a history of the library ("lightgbm-classification"), a Space, or anything that
        `as_space` takes. A parameter with a condition is suggested only if the condition is met.

    >>> suggest = hs.optuna.space("lightgbm-classification")  # doctest: +SKIP
    >>> def objective(trial):
    ...     model = LGBMClassifier(**suggest(trial))
    """
    if isinstance(of, str):
        return Suggest(MODELS[of].space if of in MODELS else library.load(of).space)
    return Suggest(as_space(of))


@dataclass(frozen=True)
class Suggest:
    """Suggests the parameters of a space, each after those that it depends on."""

    space: Space

    def __call__(self, trial: BaseTrial) -> Config:
        distributions, config = to_distributions(self.space), dict[str, Any]()
        for name in self.space.parents_first:
            if not self._active(name, config):
                continue
            distribution: Any = distributions[name]
            if isinstance(distribution, CategoricalDistribution):
                config[name] = trial.suggest_categorical(name, distribution.choices)
                continue
            suggest = trial.suggest_int if isinstance(distribution, IntDistribution) else trial.suggest_float
            config[name] = suggest(
                name, distribution.low, distribution.high, step=distribution.step, log=distribution.log
            )
        return {name: config[name] for name in self.space if name in config}

    def _active(self, name: str, config: Config) -> bool:
        return all(
            parent in config and choice_key(config[parent]) in map(choice_key, values)
            for parent, values in self.space[name].conditions.items()
        )
