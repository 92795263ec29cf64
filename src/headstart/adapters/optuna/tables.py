"""Optuna's default sampler on a table of results, to compare with."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from headstart.adapters.optuna.distributions import fitted, to_distributions
from headstart.search.replay import Table
from headstart.space import Config, Space


def tpe(table: Table, trials: int, *, seed: int) -> list[int]:
    """The rows that TPE tries: each proposal is moved to the nearest row that is left."""
    kinds = to_distributions(table.space)
    study = _study(seed)
    tried: list[int] = []
    while len(tried) < min(trials, len(table)):
        trial = study.ask()
        place = table.nearest(_proposed(trial, table.space, kinds), tried)
        study.tell(trial, state=TrialState.FAIL)  # the row that is tried instead is added below
        config = table.configs[place]
        params = {name: fitted(value, kinds[name]) for name, value in config.items()}
        own = {name: kinds[name] for name in config}
        value = float(table.losses[place])
        study.add_trial(optuna.trial.create_trial(params=params, distributions=own, value=value))
        tried.append(place)
    return tried


def _study(seed: int) -> optuna.Study:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # or every study announces itself
    try:
        return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    finally:
        optuna.logging.set_verbosity(verbosity)


def _proposed(trial: optuna.Trial, space: Space, kinds: dict[str, BaseDistribution]) -> Config:
    """The parameters that are active, suggested one after the other, as an objective with `if` does."""
    config: Config = {}
    for name in space.parents_first:
        conditions = space[name].conditions
        if all(config.get(parent) in values for parent, values in conditions.items()):
            config[name] = _suggest(trial, name, kinds[name])
    return config


def _suggest(trial: optuna.Trial, name: str, kind: BaseDistribution) -> Any:
    if isinstance(kind, CategoricalDistribution):
        return trial.suggest_categorical(name, kind.choices)
    if isinstance(kind, IntDistribution):
        return trial.suggest_int(name, kind.low, kind.high, log=kind.log, step=kind.step)
    assert isinstance(kind, FloatDistribution)
    return trial.suggest_float(name, kind.low, kind.high, log=kind.log, step=kind.step)
