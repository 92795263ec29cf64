"""Other transfer methods, small, for `suite.py`: each chooses rows of a table of results, one after another.

A method takes a `New` task and returns the rows that it tries, in order. All but CTS begin with the first rows of the
greedy portfolio.

| method  | from                                                                                                  |
| ------- | ----------------------------------------------------------------------------------------------------- |
| RGPE    | Feurer, Letham, Bakshy: Scalable meta-learning for Bayesian optimization (2018)                       |
| TST-R   | Wistuba, Schilling, Schmidt-Thieme: Two-stage transfer surrogate model (2016), ranking distance       |
| CTS     | Salinas, Shen, Perrone: A quantile-based approach for hyperparameter transfer learning (2020), copula |
|         | Thompson sampling: a network learns mean and spread of the normal scores of all past tasks            |
| GCP     | the same paper: a Gaussian process on the residuals of that network, expected improvement             |
| TPE, GP | Optuna's samplers; their proposals are moved to the nearest row that was not tried                    |
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata


@dataclass(frozen=True)
class New:
    """A task to search: rows of `table.new[task]` with their losses. first: rows of the portfolio."""

    table: Any
    task: str
    losses: np.ndarray
    first: Sequence[int]
    trials: int
    rng: np.random.Generator

    @property
    def X(self) -> np.ndarray:
        return np.asarray(self.table.encoded(self.table.new[self.task]))


SAMPLES = 100  # of the ranking loss in RGPE
BANDWIDTH = 0.1  # of TST-R; a guess
OWN = 0.75  # weight of the new task's own process in TST-R: the Epanechnikov kernel at distance 0
FOLDS = 5  # networks of CTS and GCP per table; the task to start is in no network's training data


def normal_scores(values: Any) -> np.ndarray:
    """Ranks as quantiles of the normal distribution; failed trials count as the worst."""
    values = np.where(np.isfinite(values), values, np.inf)
    return np.asarray(norm.ppf((rankdata(values) - 0.5) / len(values)))


def standardised(losses: np.ndarray) -> np.ndarray:
    known = np.where(np.isfinite(losses), losses, np.nanmax(losses[np.isfinite(losses)], initial=0.0))
    return (known - known.mean()) / (known.std() + 1e-9)


def expected_improvement(mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
    u = (best - mean) / np.maximum(std, 1e-9)
    return np.asarray((best - mean) * norm.cdf(u) + std * norm.pdf(u))


def best_untried(score: np.ndarray, tried: Sequence[int]) -> int:
    score = np.array(score, dtype=float)
    score[list(tried)] = -np.inf
    return int(np.argmax(score))


def process(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel(1.0) * Matern(np.ones(X.shape[1]), (0.05, 20), nu=2.5) + WhiteKernel(1e-2, (1e-6, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, random_state=0).fit(X, y)


class Past:
    """The past tasks of one table: a process for each, and networks for the copula methods; made once."""

    _kept: dict[str, Past] = {}  # noqa: RUF012

    def __init__(self, table: Any) -> None:
        self.table = table
        self.X = {name: table.encoded(table.past[name]) for name in table.train}
        self.y = {name: table.past[name].value.to_numpy(float) for name in table.train}

    @classmethod
    def of(cls, table: Any) -> Past:
        if table.name not in cls._kept:
            cls._kept[table.name] = cls(table)
        return cls._kept[table.name]

    def __hash__(self) -> int:
        return id(self)

    @cache  # noqa: B019
    def process(self, name: str) -> Any:
        return process(self.X[name], standardised(self.y[name]))

    def predictions(self, left_out: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every past task at the rows of X: (T, m) each."""
        pairs = [self.process(name).predict(X, return_std=True) for name in self.table.train if name != left_out]
        mean, std = zip(*pairs, strict=True)
        return np.array(mean), np.array(std)

    def network(self, left_out: str) -> tuple[Any, float]:
        place = self.table.train.index(left_out) if left_out in self.table.train else 0
        return self._network(place % FOLDS)

    @cache  # noqa: B019
    def _network(self, fold: int) -> tuple[Any, float]:
        """Mean of the normal scores, and the spread around it, from all tasks outside a fold."""
        from sklearn.neural_network import MLPRegressor

        names = [name for i, name in enumerate(self.table.train) if i % FOLDS != fold]
        X = np.concatenate([self.X[name] for name in names])
        z = np.concatenate([normal_scores(self.y[name]) for name in names])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = MLPRegressor(
                hidden_layer_sizes=(50, 50, 50), early_stopping=True, max_iter=100, random_state=fold
            ).fit(X, z)
        return net, float(np.std(z - net.predict(X)))


def rgpe(new: New) -> list[int]:
    X, losses = new.X, new.losses
    means, stds = Past.of(new.table).predictions(new.task, X)
    tried = list(new.first)
    while len(tried) < new.trials:
        y = standardised(losses[tried])
        own = process(X[tried], y)
        mean, std = own.predict(X, return_std=True)
        draws = means[:, tried, None] + stds[:, tried, None] * new.rng.normal(size=(len(means), len(tried), SAMPLES))
        wrong = _misranked(draws, y)  # (T, samples)
        singly = _left_out_draws(own.kernel_, X[tried], y, new.rng)
        wrong = np.vstack([wrong, _misranked_singly(singly, y)])
        winners = wrong.argmin(axis=0)
        w = np.bincount(winners, minlength=len(wrong)) / SAMPLES
        m = w[:-1] @ means + w[-1] * mean
        s = np.sqrt((w[:-1] ** 2) @ stds**2 + w[-1] ** 2 * std**2)
        tried.append(best_untried(expected_improvement(m, s, float(m[tried].min())), tried))
    return tried


def _misranked(draws: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How many pairs each sample orders wrongly: (T, k, samples) → (T, samples)."""
    above = y[:, None] > y[None, :]
    return np.asarray(((draws[:, :, None] > draws[:, None, :]) ^ above[None, :, :, None]).sum(axis=(1, 2)))


def _left_out_draws(kernel: Any, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Samples of each result from the process without it: (k, samples), in closed form."""
    P = np.linalg.inv(kernel(X))
    mean, std = y - (P @ y) / P.diagonal(), np.sqrt(1 / P.diagonal())
    return np.asarray(mean[:, None] + std[:, None] * rng.normal(size=(len(y), SAMPLES)))


def _misranked_singly(draws: np.ndarray, y: np.ndarray) -> np.ndarray:
    above = y[:, None] > y[None, :]
    return np.asarray(((draws[:, None, :] > y[None, :, None]) ^ above[:, :, None]).sum(axis=(0, 1)))


def tst_r(new: New) -> list[int]:
    X, losses = new.X, new.losses
    means, _ = Past.of(new.table).predictions(new.task, X)
    tried = list(new.first)
    while len(tried) < new.trials:
        y = standardised(losses[tried])
        mean, std = process(X[tried], y).predict(X, return_std=True)
        pairs = max(len(tried) * (len(tried) - 1), 1)
        distance = _misranked(means[:, tried, None], y)[:, 0] / pairs
        w = np.where(distance < BANDWIDTH, OWN * (1 - (distance / BANDWIDTH) ** 2), 0.0)
        m = (w @ means + OWN * mean) / (w.sum() + OWN)
        tried.append(best_untried(expected_improvement(m, std, float(m[tried].min())), tried))
    return tried


def cts(new: New) -> list[int]:
    net, spread = Past.of(new.table).network(new.task)
    mean = net.predict(new.X)
    tried: list[int] = []
    while len(tried) < new.trials:
        tried.append(best_untried(-(mean + spread * new.rng.normal(size=len(mean))), tried))
    return tried


def gcp(new: New) -> list[int]:
    X, losses = new.X, new.losses
    net, spread = Past.of(new.table).network(new.task)
    prior = net.predict(X)
    tried = list(new.first)
    while len(tried) < new.trials:
        z = normal_scores(losses[tried])
        mean, std = process(X[tried], (z - prior[tried]) / spread).predict(X, return_std=True)
        m, s = prior + spread * mean, spread * std
        tried.append(best_untried(expected_improvement(m, s, float(m[tried].min())), tried))
    return tried


def optuna_gp(new: New) -> list[int]:
    import optuna

    sampler = optuna.samplers.GPSampler(seed=int(new.rng.integers(2**31)), n_startup_trials=len(new.first))
    return _optuna(sampler, new)


def optuna_tpe(new: New) -> list[int]:
    import optuna

    sampler = optuna.samplers.TPESampler(seed=int(new.rng.integers(2**31)), n_startup_trials=len(new.first))
    return _optuna(sampler, new)


def _optuna(sampler: Any, new: New) -> list[int]:
    """Every parameter is suggested, active or not; the row that is tried is the nearest one left."""
    import optuna
    import pandas as pd

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = {p["name"]: _distribution(p) for p in new.table.spec}
    table, losses = new.table, new.losses
    rows, X = table.new[new.task], new.X
    middles = {name: _middle(kind) for name, kind in kinds.items()}
    worst = float(np.nanmax(losses[np.isfinite(losses)]))
    study = optuna.create_study(sampler=sampler)
    tried: list[int] = []

    def add(i: int) -> None:
        cells = {name: rows[name].iloc[i] for name in kinds}
        params = {n: middles[n] if pd.isna(c) else _native(kinds[n], c) for n, c in cells.items()}
        value = float(losses[i]) if np.isfinite(losses[i]) else worst
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=value))
        tried.append(i)

    for i in new.first:
        add(i)
    while len(tried) < new.trials:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = study.ask(kinds)
        wanted = table.encoded(pd.DataFrame([trial.params]))
        study.tell(trial, state=optuna.trial.TrialState.FAIL)  # its own row is added instead
        add(best_untried(-((X - wanted) ** 2).sum(axis=1), tried))
    return tried


def _distribution(p: dict[str, Any]) -> Any:
    import optuna.distributions as d

    if p["type"] == "categorical":
        return d.CategoricalDistribution(p["choices"])
    if p["type"] == "int":
        return d.IntDistribution(int(p["lower"]), int(p["upper"]), log=p["log"])
    return d.FloatDistribution(p["lower"], p["upper"], log=p["log"])


def _middle(kind: Any) -> Any:
    return kind.choices[0] if hasattr(kind, "choices") else kind.low


def _native(kind: Any, cell: Any) -> Any:
    if hasattr(kind, "choices"):
        return cell
    low, high = kind.low, kind.high
    return type(low)(min(max(cell, low), high))


PEERS = {
    "RGPE": rgpe,
    "TST-R": tst_r,
    "CTS": cts,
    "GCP": gcp,
    "Optuna GP": optuna_gp,
    "Optuna TPE": optuna_tpe,
}
