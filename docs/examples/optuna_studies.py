"""Optuna studies

Four finished studies, then one that starts from them. `account` says what the
start was worth.
"""

import math

import optuna

import headstart as hs

optuna.logging.set_verbosity(optuna.logging.WARNING)


def make_objective(best):
    """Stands for training on one data set; the best rate differs a little."""

    def objective(trial):
        rate = trial.suggest_float("learning_rate", 1e-4, 1.0, log=True)
        depth = trial.suggest_int("max_depth", 1, 12)
        return (math.log10(rate) - best) ** 2 + 0.02 * (depth - 6) ** 2

    return objective


months = {"july": -1.0, "august": -1.2, "september": -1.4, "october": -1.1}
for name, best in months.items():
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(
        storage="sqlite:///boosting.db", study_name=name, sampler=sampler
    )
    study.optimize(make_objective(best), n_trials=20)

sampler = hs.optuna.HeadstartSampler("sqlite:///boosting.db", n_init=4)
study = optuna.create_study(
    storage="sqlite:///boosting.db", study_name="november", sampler=sampler
)
study.optimize(make_objective(-1.3), n_trials=8)

for trial in study.trials:
    print(
        trial.number, f"{trial.value:.4f}", trial.user_attrs["headstart:origin"]
    )
print(study.trials[0].user_attrs["headstart:why"])
print(hs.optuna.account(study).verdict)
figure = hs.History.from_optuna("sqlite:///boosting.db").plot()
