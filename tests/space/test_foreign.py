from __future__ import annotations

from typing import Any

import ConfigSpace as CS  # noqa: N817
import optuna
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from headstart.adapters.configspace import to_configspace
from headstart.adapters.optuna import to_distributions
from headstart.space import Categorical, Float, Int, Space, as_space
from program import python
from random_spaces import examples, spaces

some = examples(25)

NESTED = Space(
    {
        "model": Categorical(["svm", "net", "tree"]),
        "kernel": Categorical(["rbf", "poly", "linear"], when={"model": "svm"}),
        "gamma": Float(1e-4, 1e3, log=True, when={"model": "svm", "kernel": ["rbf", "poly"]}),
        "degree": Int(2, 10, when={"kernel": "poly"}),
        "layers": Int(1, 4, when={"model": "net"}),
        "units": Int(8, 1024, log=True, when={"layers": [2, 3, 4], "model": "net"}),
        "dropout": Float(0, 0.5, when={"units": [64, 128]}),
        "bootstrap": Categorical([True, False], when={"model": "tree"}),
        "weight": Categorical(["balanced", None]),
    }
)


def test_a_space_is_itself_and_a_dict_becomes_one() -> None:
    assert as_space(NESTED) is NESTED
    assert as_space({"a": Int(1, 2)}) == Space({"a": Int(1, 2)})


@pytest.mark.parametrize("wrong", [None, 3, {}, [Int(1, 2)], "space"])
def test_anything_else_is_rejected(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"a space is a headstart\.Space, a dict of its parameters"):
        as_space(wrong)


# -- ConfigSpace ---------------------------------------------------------------------------------------------


def test_conditions_go_to_configspace_and_come_back() -> None:
    theirs = to_configspace(NESTED, seed=3)
    assert dict(as_space(theirs)) == dict(NESTED)
    for config in theirs.sample_configuration(300):
        assert NESTED.contains(dict(config))
    for mine in NESTED.sample(300, seed=0):
        CS.Configuration(theirs, values=mine).check_valid_configuration()


@some
@given(spaces(), st.integers(0, 99))
def test_random_spaces_go_to_configspace_and_come_back(space: Space, seed: int) -> None:
    for parameter in space.values():
        if isinstance(parameter, Categorical):
            kinds = {type(choice) for choice in parameter.choices}
            assume(not (bool in kinds and kinds & {int, float}))  # True is 1 there
        else:
            assume(parameter.size < 1000 or parameter.step is None)  # they are listed
    theirs = to_configspace(space, seed=seed)
    back = as_space(theirs)
    for mine in space.sample(10, seed=seed):
        CS.Configuration(theirs, values=mine).check_valid_configuration()
        assert back.contains(mine)
    for config in theirs.sample_configuration(10):
        # ConfigSpace 1.2 draws some configurations that it refuses itself: children of parents at different depths.
        assert space.contains(dict(config)) == is_valid(config)


def is_valid(config: CS.Configuration) -> bool:
    try:
        config.check_valid_configuration()
    except (CS.exceptions.ActiveHyperparameterNotSetError, CS.exceptions.InactiveHyperparameterSetError):
        return False
    return True


def test_every_parameter_goes_to_configspace_and_comes_back() -> None:
    space = Space(
        {
            "x": Float(-1, 1),
            "lr": Float(1e-5, 1, log=True),
            "n": Int(1, 9),
            "units": Int(1, 512, log=True),
            "share": Float(0.1, 0.9, step=0.2),
            "even": Int(2, 10, step=2),
            "choice": Categorical(["a", None, 2, 0.5]),
            "flag": Categorical([True, False]),
            "only": Categorical(["this"]),
        }
    )
    assert dict(as_space(to_configspace(space))) == dict(space)


def test_choices_that_configspace_cannot_tell_apart_are_rejected() -> None:
    for choices in ([1, True], [True, 0], [False, 2.5, None]):
        with pytest.raises(ValueError, match="'a' mixes True or False with numbers"):
            to_configspace({"a": Categorical(choices)})


def test_conditions_written_in_configspace() -> None:
    theirs = CS.ConfigurationSpace()
    kind = CS.CategoricalHyperparameter("kind", ["a", "b", "c"])
    size = CS.OrdinalHyperparameter("size", ["small", "medium", "large"])
    depth = CS.UniformIntegerHyperparameter("depth", 1, 5)
    children = [CS.UniformFloatHyperparameter(f"x{i}", 0, 1) for i in range(6)]
    theirs.add(kind, size, depth, CS.Constant("version", 3), *children)
    theirs.add(
        CS.NotEqualsCondition(children[0], kind, "b"),
        CS.GreaterThanCondition(children[1], size, "small"),
        CS.LessThanCondition(children[2], depth, 3),
        CS.OrConjunction(CS.EqualsCondition(children[3], kind, "a"), CS.InCondition(children[3], kind, ["b"])),
        CS.AndConjunction(CS.NotEqualsCondition(children[4], kind, "a"), CS.InCondition(children[4], depth, [1, 2])),
        CS.AndConjunction(CS.GreaterThanCondition(children[5], depth, 1), CS.LessThanCondition(children[5], depth, 4)),
    )
    ours = as_space(theirs)
    assert {name: p.conditions for name, p in ours.items() if p.conditions} == {
        "x0": {"kind": ("a", "c")},
        "x1": {"size": ("medium", "large")},
        "x2": {"depth": (1, 2)},
        "x3": {"kind": ("a", "b")},
        "x4": {"kind": ("b", "c"), "depth": (1, 2)},
        "x5": {"depth": (2, 3)},
    }
    assert ours["version"] == Categorical([3])
    theirs.seed(0)
    for config in theirs.sample_configuration(200):
        assert ours.contains(dict(config))
    for mine in ours.sample(200, seed=0):
        CS.Configuration(theirs, values=mine).check_valid_configuration()


def test_spaces_that_cannot_be_expressed_are_rejected_with_the_reason() -> None:
    theirs = CS.ConfigurationSpace()
    a, b = CS.CategoricalHyperparameter("a", [1, 2]), CS.CategoricalHyperparameter("b", [1, 2])
    x = CS.UniformFloatHyperparameter("x", 0, 1)
    theirs.add(a, b, x)
    theirs.add(CS.OrConjunction(CS.EqualsCondition(x, a, 1), CS.EqualsCondition(x, b, 1)))
    with pytest.raises(ValueError, match="cannot express an or over several parents"):
        as_space(theirs)
    forbidding = CS.ConfigurationSpace()
    forbidding.add(a, b)
    forbidding.add(CS.ForbiddenAndConjunction(CS.ForbiddenEqualsClause(a, 1), CS.ForbiddenEqualsClause(b, 2)))
    with pytest.raises(ValueError, match="cannot express forbidden clauses"):
        as_space(forbidding)
    real = CS.ConfigurationSpace()
    y = CS.UniformFloatHyperparameter("y", 0, 1)
    real.add(x, y)
    real.add(CS.GreaterThanCondition(y, x, 0.5))
    with pytest.raises(ValueError, match="as a list of the parent's values"):
        as_space(real)


def test_numbers_in_an_ordinal() -> None:
    theirs = CS.ConfigurationSpace()
    theirs.add(
        CS.OrdinalHyperparameter("even", [2, 4, 6]),
        CS.OrdinalHyperparameter("size", [16, 32, 64]),
        CS.OrdinalHyperparameter("rate", [0.1, 0.2, 0.3]),
        CS.OrdinalHyperparameter("grade", ["low", "high"]),
    )
    assert dict(as_space(theirs)) == {
        "even": Int(2, 6, step=2),
        "size": Categorical([16, 32, 64]),
        "rate": Float(0.1, 0.3, step=0.1),
        "grade": Categorical(["low", "high"]),
    }


# -- Optuna --------------------------------------------------------------------------------------------------

DISTRIBUTIONS = {
    "x": FloatDistribution(-1.5, 2.5),
    "lr": FloatDistribution(1e-5, 1e-1, log=True),
    "share": FloatDistribution(0.1, 0.9, step=0.2),
    "n": IntDistribution(1, 9),
    "units": IntDistribution(1, 512, log=True),
    "odd": IntDistribution(1, 9, step=2),
    "c": CategoricalDistribution(["a", None, True, 3, 0.5]),
    "one": CategoricalDistribution(["only"]),
}


def test_optuna_distributions_become_a_space_and_come_back() -> None:
    space = as_space(DISTRIBUTIONS)
    assert dict(space) == {
        "x": Float(-1.5, 2.5),
        "lr": Float(1e-5, 1e-1, log=True),
        "share": Float(0.1, 0.9, step=0.2),
        "n": Int(1, 9),
        "units": Int(1, 512, log=True),
        "odd": Int(1, 9, step=2),
        "c": Categorical(["a", None, True, 3, 0.5]),
        "one": Categorical(["only"]),
    }
    assert to_distributions(space) == DISTRIBUTIONS


def test_single_valued_ranges_are_a_single_choice() -> None:
    space = as_space({"n": IntDistribution(3, 3), "x": FloatDistribution(0.5, 0.5), "y": IntDistribution(1, 5)})
    assert dict(space) == {"n": Categorical([3]), "x": Categorical([0.5]), "y": Int(1, 5)}
    assert space.sample(1, seed=0)[0]["n"] == 3
    again = to_distributions(space)
    assert again["n"] == CategoricalDistribution([3])
    assert again["n"].single()


def test_suggestions_of_optuna_are_valid_here_and_ours_there() -> None:
    space = as_space(DISTRIBUTIONS)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(50):
        assert space.contains(study.ask(DISTRIBUTIONS).params)
    for config in space.sample(50, seed=0):
        for name, distribution in to_distributions(space).items():
            assert distribution._contains(distribution.to_internal_repr(config[name]))
        trial = optuna.create_trial(params=config, distributions=DISTRIBUTIONS, value=0.0)
        assert trial.params == config


def test_conditions_are_flattened_for_optuna() -> None:
    assert list(to_distributions(NESTED)) == list(NESTED)
    assert to_distributions(NESTED)["degree"] == IntDistribution(2, 10)


def test_a_distribution_we_do_not_know_is_rejected() -> None:
    class OtherDistribution:
        __module__ = "optuna.distributions"

    with pytest.raises(ValueError, match="parameter 'a': cannot read a OtherDistribution"):
        as_space({"a": OtherDistribution()})


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("configspace", "ConfigSpace", "headstart[configspace]"), ("optuna", "optuna", "headstart[optuna]")],
)
def test_a_missing_package_names_the_extra(module: str, package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None\nimport headstart.adapters.{module}"
    done = python(code)
    assert done.returncode == 1
    assert f"pip install '{extra}'" in done.stderr.splitlines()[-1]


def test_reading_a_foreign_space_imports_nothing() -> None:
    code = "import sys, headstart.space.foreign; print({'optuna', 'ConfigSpace', 'pandas', 'scipy'} & set(sys.modules))"
    done = python(code)
    assert done.stdout.strip() == "set()"
