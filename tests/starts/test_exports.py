"""Starts for other optimisers: the points themselves, and the real packages running them.

The packages take gigabytes, so they have a separate environment: `make test-exports`.
"""

from __future__ import annotations

import csv
import json
import math
import sys

import numpy as np
import pytest

import headstart as hs
from headstart.starts.exports import TARGETS, filled

SPACE = hs.Space(
    {
        "kernel": hs.Categorical(["rbf", "poly", "linear"]),
        "C": hs.Float(2**-5, 2**6, log=True),
        "gamma": hs.Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
        "degree": hs.Int(2, 10, when={"kernel": "poly"}),
        "trees": hs.Int(1, 1000, log=True),
        "share": hs.Float(0.1, 0.9, step=0.2),
        "cache": hs.Int(3, 11, step=4),
    }
)
CONFIGS = [
    {"kernel": "poly", "C": 0.5, "degree": 7, "trees": 30, "share": 0.3, "cache": 7},
    {"kernel": "rbf", "C": 8.0, "gamma": 0.01, "trees": 1, "share": 0.9, "cache": 3},
    {"kernel": "linear", "C": 2**6, "trees": 1000, "share": 0.1, "cache": 11},
]
START = hs.Start(SPACE, CONFIGS)


def objective(config):
    """Uses the active parameters only, and fails if one of them is missing."""
    extra = {"rbf": {"gamma"}, "poly": {"degree"}, "linear": set()}[config["kernel"]]
    assert extra <= set(config)
    assert isinstance(config["trees"], (int, np.integer))
    return math.log(config["C"]) ** 2 + config["share"] + sum(float(config[name]) for name in extra) / 100


def active(config):
    return {name: config[name] for name in SPACE.from_values(SPACE.to_values([only_active(config)]))[0]}


def only_active(config):
    unused = {"rbf": {"degree"}, "poly": {"gamma"}, "linear": {"gamma", "degree"}}[config["kernel"]]
    return {name: value for name, value in config.items() if name in SPACE and name not in unused}


def assert_tried_first(seen, start=START):
    """The other tool evaluated the start first, in its order and with its values."""
    assert len(seen) >= len(start)
    for got, wanted in zip(seen, start, strict=False):
        got = only_active(got)
        assert got.keys() == wanted.keys()
        for name, value in wanted.items():
            assert got[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-9))


# -- points, which need no package -------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["json", "csv", "optuna", "ray", "smac", "ax"])
def test_inactive_parameters_are_absent(to):
    assert START.points(to) == CONFIGS


def test_hyperopt_takes_indices():
    assert START.points("hyperopt")[0] == {"kernel": 1, "C": 0.5, "degree": 7, "trees": 30, "share": 1, "cache": 1}
    assert [point["kernel"] for point in START.points("hyperopt")] == [1, 0, 2]


@pytest.mark.parametrize("to", ["flaml", "syne-tune"])
def test_flat_spaces_have_a_value_for_everything(to):
    for point, config in zip(START.points(to), CONFIGS, strict=True):
        assert list(point) == list(SPACE)
        assert config.items() <= point.items()
    assert START.points(to)[0]["gamma"] == pytest.approx(math.sqrt(1e-4 * 1e3))  # the middle of a log scale
    assert filled(SPACE, CONFIGS[1])["degree"] == 6


def test_numbers_have_the_type_of_their_parameter():
    assert CONFIGS[2]["C"] == 64
    assert all(isinstance(point["C"], float) for to in TARGETS for point in START.points(to))


def test_points_are_copies():
    START.points()[0]["C"] = 99.0
    assert START.configs[0]["C"] == 0.5


def test_files(tmp_path):
    START.export(tmp_path / "start.json", to="hyperopt")
    assert json.loads((tmp_path / "start.json").read_text()) == START.points("hyperopt")
    START.export(tmp_path / "start.csv", to="csv")
    with open(tmp_path / "start.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["gamma"] == ""
    assert [{k: v for k, v in row.items() if v != ""}.keys() for row in rows] == [c.keys() for c in CONFIGS]
    typed = [
        {k: type(c[k])(float(row[k])) if k != "kernel" else row[k] for k in c}
        for row, c in zip(rows, CONFIGS, strict=True)
    ]
    assert typed == CONFIGS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["start.csv", "start.json"]


def test_an_unknown_target_names_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"no export to 'hyperop'.*'hyperopt'.*syne-tune"):
        START.export(tmp_path / "x", to="hyperop")
    assert not list(tmp_path.iterdir())
    assert "json" in TARGETS


# -- the real packages -----------------------------------------------------------------------------------------


def package(name):
    return pytest.importorskip(
        name, reason=f"{name} is not installed; make test-exports installs it", exc_type=ImportError
    )


@pytest.mark.filterwarnings("ignore")
def test_smac_runs_the_start_instead_of_its_own_design(tmp_path):
    smac = package("smac")
    from headstart.adapters.configspace import to_configspace
    from headstart.adapters.smac import initial_design

    seen = []

    def target(config, seed=0):
        seen.append(dict(config))
        return objective(config)

    scenario = smac.Scenario(to_configspace(SPACE, seed=0), n_trials=5, output_directory=tmp_path, deterministic=True)
    facade = smac.HyperparameterOptimizationFacade(
        scenario, target, initial_design=initial_design(START, scenario), overwrite=True, logging_level=40
    )
    facade.optimize()
    assert len(seen) == 5
    assert_tried_first(seen)


@pytest.mark.filterwarnings("ignore")
def test_smac_start_from_another_space_is_checked_first(tmp_path):
    smac = package("smac")
    from ConfigSpace import ConfigurationSpace, Float

    from headstart.adapters.smac import initial_design

    space = ConfigurationSpace()
    space.add(Float("C", (0.1, 10.0), log=True))
    scenario = smac.Scenario(space, n_trials=3, output_directory=tmp_path)
    design = initial_design(START, scenario)
    assert [dict(config) for config in design.select_configurations()] == [{"C": 0.5}, {"C": 8.0}, {"C": 10.0}]


@pytest.mark.filterwarnings("ignore")
def test_hyperopt_runs_the_start():
    hyperopt = package("hyperopt")
    from headstart.adapters.hyperopt import flat, search_space

    seen = []

    def target(nested):
        seen.append(flat(nested))
        return objective(seen[-1])

    hyperopt.fmin(
        target,
        search_space(SPACE),
        algo=hyperopt.tpe.suggest,
        max_evals=6,
        points_to_evaluate=START.points("hyperopt"),
        rstate=np.random.default_rng(0),
        show_progressbar=False,
    )
    assert_tried_first(seen)
    for config in seen:  # hyperopt's own samples are configurations of our space, without inactive parameters
        assert config == only_active(config)
        assert SPACE.contains(config)


def test_hyperopt_rejects_conditions_that_it_cannot_express():
    package("hyperopt")
    from headstart.adapters.hyperopt import search_space

    choice = hs.Categorical(["x", "y"])
    with pytest.raises(ValueError, match="'c' depends on a, b"):
        search_space({"a": choice, "b": choice, "c": hs.Float(0, 1, when={"a": "x", "b": "x"})})
    with pytest.raises(ValueError, match="'c' depends on the number 'n'"):
        search_space({"n": hs.Int(1, 3), "c": hs.Float(0, 1, when={"n": 2})})


@pytest.mark.filterwarnings("ignore")
def test_flaml_runs_the_start():
    package("flaml")
    from flaml import tune

    from headstart.adapters.flaml import search_space

    seen = []

    def target(config):
        seen.append(dict(config))
        return {"loss": objective(config)}

    tune.run(
        target,
        config=search_space(SPACE),
        metric="loss",
        mode="min",
        num_samples=6,
        points_to_evaluate=START.points("flaml"),
        verbose=0,
    )
    assert_tried_first(seen)
    assert all(SPACE.contains(active(config)) for config in seen)


@pytest.mark.filterwarnings("ignore")
def test_syne_tune_suggests_the_start():
    package("syne_tune")
    from syne_tune.optimizer.baselines import RandomSearch

    from headstart.adapters.syne_tune import search_space

    scheduler = RandomSearch(
        search_space(SPACE),
        metrics=["loss"],
        random_seed=0,
        points_to_evaluate=START.points("syne-tune"),
    )
    suggested = [scheduler.suggest().config for _ in range(6)]
    assert_tried_first(suggested)
    assert all(SPACE.contains(active(config)) for config in suggested)


@pytest.mark.filterwarnings("ignore")
def test_ax_runs_the_start():
    package("ax")
    from ax.api.client import Client

    from headstart.adapters.ax import attach, parameters

    client = Client(random_seed=0)
    client.configure_experiment(parameters=parameters(SPACE))
    client.configure_optimization(objective="-loss")
    for index, config in attach(client, START).items():
        client.complete_trial(index, raw_data={"loss": objective(config)})
    assert list(client._experiment.trials) == [0, 1, 2]
    assert_tried_first([trial.arm.parameters for trial in client._experiment.trials.values()])
    for index, config in client.get_next_trials(max_trials=2).items():
        assert SPACE.contains(only_active(config))
        client.complete_trial(index, raw_data={"loss": objective(config)})


@pytest.mark.filterwarnings("ignore")
def test_ray_tune_runs_the_start(tmp_path):
    package("ray.tune")
    import ray
    from ray import tune
    from ray.tune.search.basic_variant import BasicVariantGenerator

    from headstart.adapters.ray import search_space

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Ray's workers cannot import a test
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        results = tune.Tuner(
            tune.with_resources(lambda config: {"loss": objective(config)}, {"cpu": 1}),
            param_space=search_space(SPACE),
            tune_config=tune.TuneConfig(
                metric="loss",
                mode="min",
                num_samples=5,
                max_concurrent_trials=1,
                search_alg=BasicVariantGenerator(points_to_evaluate=START.points("ray"), random_state=0),
            ),
            run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
        ).fit()
    finally:
        ray.shutdown()
    assert not results.errors
    assert_tried_first([result.config for result in results])
    assert all(SPACE.contains(active(result.config)) for result in results)
