"""Past runs by the real tools, for the tests of importers.

Each function runs a tool on the same small problem, in the tool's own way, and leaves its files in a folder. `python
tests/other_tools.py TOOL` writes them to tests/data/imports/TOOL.tar.xz, so that they can be read where the tool is not
installed. All tools but MLflow and scikit-learn are in the environment of `make test-exports`; MLflow needs an older
protobuf than the others there, so it has to be installed apart: pip install mlflow-skinny sqlalchemy alembic pandas.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

DATA = Path(__file__).resolve().parent / "data" / "imports"
TASKS = ("churn", "fraud")


def loss(config, task):
    """The result of a configuration, smallest at lr = 0.01."""
    bonus = math.log10(config["gamma"]) ** 2 / 10 if config["kernel"] == "rbf" else 0.5
    return (math.log10(config["lr"]) + 2) ** 2 + config["depth"] / 10 + bonus + TASKS.index(task)


def fails(config):
    """Whether a run with this configuration fails."""
    return config["depth"] == 5


def assert_right(history, tasks=TASKS):
    """Each value of an imported history is the loss of its configuration, and the failed trials are those that fail."""
    import headstart as hs  # not at the top, since MLflow's own environment lacks it

    assert history.tasks == list(tasks)
    for task in tasks:
        for config, value in zip(history.configs(task), history[task].losses, strict=True):
            config = {name.replace("/", ".").rpartition(".")[2]: choice for name, choice in config.items()}
            assert math.isnan(value) if fails(config) else math.isclose(value, loss(config, task), rel_tol=1e-9)
    hs.learn(history, n=2, seed=0)  # it is a history like any other


def drawn(task, n=10):
    """Random configurations, for tools that only record runs; the second and the third fail."""
    rng = random.Random(task)
    configs = []
    for i in range(n):
        config = {
            "lr": 10 ** rng.uniform(-4, 0),
            "depth": rng.choice([2, 3, 4, 6, 7]),
            "kernel": rng.choice(["rbf", "lin"]),
        }
        if i in (1, 2):
            config["depth"] = 5
        if config["kernel"] == "rbf":
            config["gamma"] = 10 ** rng.uniform(-3, 1)
        configs.append(config)
    return configs


def mlflow(folder, uri=None):
    """An mlruns folder; uri: another place, such as sqlite:///mlflow.db."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # newer versions discourage the file store
    import mlflow

    mlflow.set_tracking_uri(uri or str(folder / "mlruns"))
    client = mlflow.MlflowClient()
    for task in TASKS:
        experiment = client.create_experiment(task, artifact_location=f"s3://artifacts/{task}")
        search = client.create_run(experiment, run_name="search")
        for i, config in enumerate(drawn(task)):
            tags = {"data": f"{task}-{i % 2}", "mlflow.parentRunId": search.info.run_id}
            run = client.create_run(experiment, tags=tags, run_name=f"run {i}").info.run_id
            for name, value in {**config, "pruning": [None, 0.1, 0.2][i % 3], "library": "ours"}.items():
                client.log_param(run, name, value)
            for step in range(3):
                client.log_metric(run, "val/loss", loss(config, task) + 2 - step, step=step)
            if i % 2:
                client.log_metric(run, "auc", 0.5)
            client.set_terminated(run, "FAILED" if fails(config) else "FINISHED")
        client.log_metric(search.info.run_id, "val/loss", 0.0)
        client.log_param(search.info.run_id, "best_lr", 0.01)
        client.set_terminated(search.info.run_id)
        unfinished = client.create_run(experiment).info.run_id
        client.log_metric(unfinished, "val/loss", -1.0)
        deleted = client.create_run(experiment).info.run_id
        client.log_metric(deleted, "val/loss", -1.0)
        client.set_terminated(deleted)
        client.delete_run(deleted)
    return mlflow.search_runs(experiment_names=list(TASKS))


def mlflow_database(folder):
    """A tracking database, and the frame of `search_runs`."""
    import sqlite3

    frame = mlflow(folder, f"sqlite:///{folder / 'mlflow.db'}")
    frame.to_csv(folder / "search_runs.csv", index=False)
    with sqlite3.connect(folder / "mlflow.db") as database:  # smaller: only what every version has
        keep = {
            "experiments",
            "runs",
            "params",
            "latest_metrics",
            "metrics",
            "tags",
            "experiment_tags",
            "alembic_version",
        }
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if name not in keep and not name.startswith("sqlite_"):
                database.execute(f'DROP TABLE "{name}"')
        database.execute("UPDATE experiments SET artifact_location = '/runs' WHERE name = 'Default'")
    database.close()
    with sqlite3.connect(folder / "mlflow.db", isolation_level=None) as database:
        database.execute("VACUUM")
    database.close()


def ray(folder):
    """A folder with two experiments."""
    import ray
    from ray import tune

    def train(config, task=None):
        flat = {**config, "depth": config["net"]["depth"]}
        for i in (2, 1, 0):
            if i == 1 and fails(flat):
                raise ValueError("this configuration fails")
            tune.report({"loss": loss(flat, task) + i, "score": 1.0})

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        for task in TASKS:
            tune.Tuner(
                tune.with_parameters(train, task=task),
                param_space={
                    "lr": tune.loguniform(1e-4, 1.0),
                    "net": {"depth": tune.randint(4, 7)},
                    "kernel": tune.choice(["lin", "poly"]),
                    "epochs": 3,
                },
                tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=6, max_concurrent_trials=1),
                run_config=tune.RunConfig(name=task, storage_path=str(folder), verbose=0),
            ).fit()
    finally:
        ray.shutdown()
    for log in folder.rglob("events.out.*"):
        log.unlink()


def smac(folder):
    """smac3_output with two scenarios."""
    import smac
    from ConfigSpace import (
        Categorical,
        ConfigurationSpace,
        Constant,
        EqualsCondition,
        Float,
        Integer,
        OrdinalHyperparameter,
    )

    for task in TASKS:
        space = ConfigurationSpace(seed=0)
        kernel, gamma = Categorical("kernel", ["rbf", "lin"]), Float("gamma", (1e-3, 10.0), log=True)
        space.add(Float("lr", (1e-4, 1.0), log=True), Integer("depth", (4, 6)), kernel, gamma)
        space.add(OrdinalHyperparameter("batch", [16, 32, 64]), Constant("epochs", 3))
        space.add(EqualsCondition(gamma, kernel, "rbf"))

        def target(config, seed=0, task=task):
            if fails(config):
                raise ValueError("this configuration fails")
            return loss(config, task)

        scenario = smac.Scenario(space, name=task, n_trials=12, output_directory=folder, deterministic=True, seed=3)
        smac.RandomFacade(scenario, target, overwrite=True, logging_level=50).optimize()


def syne_tune(folder):
    """A folder with two experiments of the local backend."""
    os.environ["SYNETUNE_FOLDER"] = str(folder)
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend import LocalBackend
    from syne_tune.config_space import choice, loguniform, randint
    from syne_tune.optimizer.baselines import RandomSearch

    script = folder / "train.py"
    script.write_text(f"""\
import argparse, sys
sys.path.insert(0, {str(Path(__file__).resolve().parent)!r})
from other_tools import fails, loss
from syne_tune import Reporter
parser = argparse.ArgumentParser()
for name, kind in (("lr", float), ("depth", int), ("kernel", str), ("epochs", int), ("task", str)):
    parser.add_argument(f"--{{name}}", type=kind)
config = vars(parser.parse_known_args()[0])
if fails(config):
    raise SystemExit(1)
for epoch in range(config["epochs"]):
    Reporter()(loss=loss(config, config["task"]) + config["epochs"] - 1 - epoch, epoch=epoch + 1)
""")
    for task in TASKS:
        space = {"lr": loguniform(1e-4, 1.0), "depth": randint(4, 7), "kernel": choice(["lin", "poly"]), "epochs": 2}
        Tuner(
            trial_backend=LocalBackend(entry_point=str(script)),
            scheduler=RandomSearch(
                {**space, "task": task},
                metrics=["loss"],
                do_minimize=True,
                random_seed=1,
                points_to_evaluate=[{"lr": 0.1, "depth": 4, "kernel": "lin"}, {"lr": 0.1, "depth": 5, "kernel": "lin"}],
            ),
            stop_criterion=StoppingCriterion(max_num_trials_finished=5),
            n_workers=1,
            tuner_name=task,
            sleep_time=0.1,
            max_failures=9,
            metadata={"dataset": task},
            save_tuner=False,
            suffix_tuner_name=False,
        ).run()
    script.unlink()
    for log in [*folder.rglob("std.*"), *folder.rglob("*.log")]:
        log.unlink()


def keras_tuner(folder):
    """A folder with two projects."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras_tuner as kt

    class Tuner(kt.RandomSearch):
        def run_trial(self, trial, *args, **kwargs):
            hp = trial.hyperparameters
            config = {"lr": hp.Float("lr", 1e-4, 1.0, sampling="log"), "depth": hp.Int("depth", 3, 7, step=2)}
            config["kernel"] = hp.Choice("kernel", ["rbf", "lin"])
            with hp.conditional_scope("kernel", ["rbf"]):
                config["gamma"] = hp.Float("gamma", 1e-3, 10.0, sampling="log")
            hp.Boolean("shuffle")
            hp.Fixed("epochs", 3)
            if fails(config):
                raise kt.errors.FailedTrialError("this configuration fails")
            return {"val_loss": loss(config, self.project_name), "size": float(config["depth"])}

    for task in TASKS:
        objective = kt.Objective("val_loss", "min")
        Tuner(objective=objective, max_trials=8, directory=folder, project_name=task, seed=1).search(verbose=0)


def keras_tuner_curves(folder):
    """A project whose trials report three steps, and one of Hyperband with up to nine epochs."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras_tuner as kt

    def config_of(hp):
        return {"lr": hp.Float("lr", 1e-4, 1.0, sampling="log"), "depth": hp.Int("depth", 2, 4), "kernel": "lin"}

    class Steps(kt.RandomSearch):
        def run_trial(self, trial, *args, **kwargs):
            config = config_of(trial.hyperparameters)
            for step in (0, 1, 2):
                for noise in (-0.5, 0.5):  # two executions
                    metrics = {"val_loss": loss(config, "churn") + 2 - step + noise, "size": 1.0}
                    self.oracle.update_trial(trial.trial_id, metrics, step=step)

    class Halving(kt.Hyperband):
        def run_trial(self, trial, *args, **kwargs):
            hp = trial.hyperparameters
            return {"val_loss": loss(config_of(hp), "fraud") + 9 - hp.values["tuner/epochs"]}

    objective = kt.Objective("val_loss", "min")
    Steps(objective=objective, max_trials=5, directory=folder, project_name="churn", seed=1).search(verbose=0)
    space = kt.HyperParameters()  # Hyperband draws its first trial, so it has to know the space before
    config_of(space)
    more = {"max_epochs": 9, "hyperparameters": space, "seed": 1}
    Halving(objective=objective, directory=folder, project_name="fraud", **more).search(verbose=0)


def ax(folder):
    """A snapshot and a summary."""
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    client = Client(random_seed=0)
    client.configure_experiment(
        name="churn",
        parameters=[
            RangeParameterConfig(name="lr", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"),
            RangeParameterConfig(name="depth", bounds=(4, 7), parameter_type="int"),
            ChoiceParameterConfig(name="kernel", values=["lin", "poly"], parameter_type="str", is_ordered=False),
        ],
    )
    client.configure_optimization(objective="-loss")
    for config in [config for config in drawn("churn", 12) if config["kernel"] == "lin"]:
        index = client.attach_trial({**config, "depth": max(4, config["depth"])})
        config["depth"] = max(4, config["depth"])
        if fails(config):
            client.mark_trial_failed(index)
        else:
            client.complete_trial(index, raw_data={"loss": loss(config, "churn"), "size": float(config["depth"])})
    client.attach_trial({"lr": 0.5, "depth": 4, "kernel": "poly"})
    client.save_to_json_file(str(folder / "snapshot.json"))
    client.summarize().to_csv(folder / "summary.csv", index=False)


def flaml(folder):
    """The log of an AutoML run with two learners."""
    from flaml import AutoML
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    settings = {"estimator_list": ["rf", "extra_tree"], "max_iter": 8, "time_budget": 60, "n_jobs": 1, "seed": 0}
    log = str(folder / "iris.log")
    AutoML().fit(X, y, task="classification", log_file_name=log, log_type="all", verbose=0, **settings)


def hyperopt(folder):
    """The two lines that make a frame of the trials."""
    import numpy as np
    import pandas as pd
    from hyperopt import Trials, fmin, hp, space_eval, tpe

    branch = hp.choice("branch", [{"kernel": "rbf", "gamma": hp.loguniform("gamma", -6, 2)}, {"kernel": "lin"}])
    space = {"lr": hp.loguniform("lr", -9, 0), "depth": hp.choice("depth", [4, 5, 6]), "svm": branch}

    def target(nested):
        config = {"lr": nested["lr"], "depth": nested["depth"], **nested["svm"]}
        return {"status": "fail"} if fails(config) else {"status": "ok", "loss": loss(config, "churn")}

    trials = Trials()
    rng = np.random.default_rng(0)
    fmin(target, space, algo=tpe.suggest, max_evals=12, trials=trials, rstate=rng, show_progressbar=False)

    rows = [
        {**space_eval(space, {k: v[0] for k, v in t["misc"]["vals"].items() if v}), **t["result"]}
        for t in trials.trials
    ]
    frame = pd.json_normalize(rows)

    frame.to_csv(folder / "trials.csv", index=False)
    return frame, trials


def unpacked(name, folder):
    """The files that a tool once left, in a folder."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


def pack(name):
    """Run a tool and keep its files, with neutral paths and without pickled code."""
    DATA.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, tarfile.open(DATA / f"{name}.tar.xz", "w:xz") as archive:
        folder = Path(place)
        os.chdir(folder)  # some tools write there, too
        globals()[name](folder)
        for path in sorted(folder.rglob("*")):
            if path.is_dir():
                archive.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=nameless)
                continue
            if path.suffix != ".db" and not path.name.endswith(".zip"):
                scrub(path, folder)
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(entry, file)


def nameless(entry):
    """The entry of a folder, without its owner."""
    entry.uname = entry.gname = ""
    return entry


def scrub(path, folder):
    """Replace paths of this machine in a file, and empty the pickles in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        path.write_bytes(b"a pickle")
        return
    for place, name in ((str(folder), "/runs"), (str(DATA.parents[2]), "/project"), (sys.prefix, "/environment")):
        text = text.replace(place, name)
    path.write_text(re.sub(r"8005[0-9a-f]{20,}", "80054e2e", text), encoding="utf-8")


if __name__ == "__main__":
    pack(sys.argv[1])
