"""Four finished studies, then one that starts from them."""

import math

import optuna
import optunahub

module = optunahub.load_local_module("samplers/headstart", registry_root="./package")  # or load_module, once published
STORAGE = "sqlite:///studies.db"


def make_objective(best):
    """Stands for training a model on one data set: the best learning rate differs a little between data sets."""

    def objective(trial):
        rate = trial.suggest_float("learning_rate", 1e-4, 1.0, log=True)
        depth = trial.suggest_int("max_depth", 1, 12)
        return (math.log10(rate) - best) ** 2 + 0.02 * (depth - 6) ** 2

    return objective


if __name__ == "__main__":
    for name, best in {"july": -1.0, "august": -1.2, "september": -1.4, "october": -1.1}.items():
        study = optuna.create_study(storage=STORAGE, study_name=name)
        study.optimize(make_objective(best), n_trials=20)

    sampler = module.HeadstartSampler(STORAGE)  # learns from every study of the storage that shares the parameters
    study = optuna.create_study(storage=STORAGE, study_name="november", sampler=sampler)
    study.optimize(make_objective(-1.3), n_trials=15)

    print(study.trials[0].value, study.best_value)  # the first trial is close to the best already
