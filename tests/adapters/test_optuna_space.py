"""A search space as a function of Optuna's trial."""

from __future__ import annotations

import pickle

import pytest

import headstart as hs
from headstart.library.models import MODELS

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.parametrize("name", ["svm", *MODELS])
def test_every_suggestion_is_a_configuration_of_the_space(name):
    space = MODELS[name].space if name in MODELS else hs.library.load(name).space
    suggest = pickle.loads(pickle.dumps(hs.optuna.space(name)))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = []
    study.optimize(lambda trial: (seen.append(suggest(trial)), 0.0)[1], n_trials=20)
    assert all(map(space.contains, seen))
    assert [trial.params for trial in study.trials] == [dict(config) for config in seen]
    assert {key for config in seen for key in config} == set(space)
    assert all(list(config) == [key for key in space if key in config] for config in seen)


def test_conditions_of_ones_own_space():
    space = hs.Space(
        {
            "b": hs.Float(0, 1, step=0.25, when={"a": True}),  # before its parent
            "a": hs.Categorical([True, 1, "x"]),
            "c": hs.Int(1, 9, log=True, when={"a": [1, "x"]}),
        }
    )
    suggest = hs.optuna.space(space)
    for a, expected in ((True, {"b", "a"}), (1, {"a", "c"}), ("x", {"a", "c"})):
        trial = optuna.trial.FixedTrial({"a": a, "b": 0.5, "c": 3})
        assert set(suggest(trial)) == expected


def test_the_sampler_starts_from_a_shipped_history():
    suggest = hs.optuna.space("svm")
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler("svm", n_init=3, seed=0))
    study.optimize(lambda trial: suggest(trial)["C"], n_trials=3)
    assert [trial.user_attrs["headstart:start"] for trial in study.trials] == [0, 1, 2]


def test_an_unknown_name():
    with pytest.raises(ValueError, match="no history 'lightgbm' ships with headstart"):
        hs.optuna.space("lightgbm")


@pytest.mark.parametrize("order", [1, -1])
def test_choices_that_python_takes_for_equal_are_kept_apart(order: int) -> None:
    from optuna.distributions import CategoricalDistribution

    from headstart.adapters.optuna.distributions import fitted, parameter_of

    for choices in [(0, 1, 7), (False, True, 7), (0.0, 1.0, 7)][::order]:  # one process may tune several models
        distribution = CategoricalDistribution(choices)
        parameter = parameter_of(distribution)
        assert isinstance(parameter, hs.Categorical)
        assert [(type(choice), choice) for choice in parameter.choices] == [(type(c), c) for c in choices]
        assert [type(fitted(choice, distribution)) for choice in choices] == [type(choice) for choice in choices]
