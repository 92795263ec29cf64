"""SCoT, surrogate-based collaborative tuning: one Gaussian process on what rankings of all data sets agree on.

Bardenet, Brendel, Kégl, Sebag: Collaborative hyperparameter tuning (2013), in the variant of Yogatama and Mann
(2014) and Wistuba et al. (2015a, section V-A): losses of different data sets have different scales, orders have
not, so each data set's losses are replaced by the scores of a linear SVMRank, and one process with an SE-ARD
kernel over configurations and meta-features learns the scores of all data sets, the new one included.

The original trains one ranker with an RBF kernel on configurations and meta-features of all data sets together,
with pairs within data sets only. With the linear kernel of the later papers the meta-features cancel within
a pair, and a single ranker would rank every data set alike; hence one for each.

A linear score is best at an edge of the space, wherever the data set's best is, and SCoT's first proposals are there
twice as often as the best configurations. `ranking="plain"` takes the ranks of the losses as they are, which begins
far better (`benchmarks/scot_ranking.py`); what the papers describe remains the default.

| symbol | name     | shape  | meaning                                                            |
| ------ | -------- | ------ | ------------------------------------------------------------------ |
| λ      | `Z`      | (n, d) | encoded configurations of one data set                             |
| w_D    | `w`      | (d,)   | the ranker: score(λ) = wᵀ(λ − λ̄), lower is better                  |
| λ̄      | `centre` | (d,)   | the past's average configuration, so that scores share their zero  |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import rankdata

from headstart._support.log import log
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp import Bounds, Fit, Kernel, SquaredExponential, fit_kernel
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import standardise
from headstart.surrogates.joint import (
    Evaluations,
    JointModel,
    JointPrior,
    Labels,
    need_history,
    task_vectors,
    thin,
)
from headstart.transfer.models import TaskModels

RANKINGS = ("linear", "plain")
MOST_RANKED = 200  # evaluations of one data set whose pairs are ranked; of more, a random sample


@dataclass(frozen=True)
class SCoT:
    """scot: ranking per data set, then one Gaussian process over configurations and meta-features.

    ranking: "linear", the scores of a linear SVMRank, as published, or "plain", the ranks themselves.
    C: how much a misranked pair counts against a flat ranking. max_rows: past evaluations the process is trained
    on, all if there are no more, else a random sample. fit_rows: those its hyperparameters are fitted to.
    Without meta-features of the past or the new data set, configurations are all the process knows.
    """

    C: float = 10.0
    max_rows: int = 2500
    fit_rows: int = 300
    ranking: str = "linear"

    needs_history = True

    def __post_init__(self) -> None:
        if self.ranking not in RANKINGS:
            raise ArgumentError(f"ranking must be one of {', '.join(RANKINGS)}, but got {self.ranking!r}")
        if not 0 < self.C < np.inf:
            raise ArgumentError(f"C must be positive, but got {self.C}")
        for name in ("max_rows", "fit_rows"):
            if getattr(self, name) < 2:
                raise ArgumentError(f"{name} must be at least 2, but got {getattr(self, name)}")

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> JointModel:
        models = need_history(models, "scot")
        everything = Evaluations.of(models)
        seed = int(rng.integers(2**32))
        linear = partial(rank_labels, centre=everything.X.mean(axis=0), C=self.C, seed=seed)
        label = linear if self.ranking == "linear" else plain_labels
        designs = [models.history.design(name) for name in models.history.tasks]
        labels = np.concatenate([label(Z, f).values for Z, f in zip(designs, models.losses, strict=True)])
        M = task_vectors(models, features)
        if M is None:
            log.info("scot: no meta-features in common, so data sets are told apart by nothing but their trials")
            M = np.zeros((len(models) + 1, 0))
        few = thin(everything.tasks, self.fit_rows, rng=rng)
        kernel = fit_joint(everything.X[few], M[everything.tasks[few]], labels[few], rng=rng)
        configurations, covariance = split(kernel, space.width, M)
        kept = thin(everything.tasks, self.max_rows, rng=rng)
        rows = Evaluations(everything.X[kept], everything.tasks[kept])
        prior = JointPrior.fit(configurations, covariance, rows, labels[kept])
        model = JointModel(prior, label, len(kept), len(labels))
        log.info("scot: trained on %s", model.notes)
        return model


def fit_joint(X: Array, M: Array, labels: Array, *, rng: np.random.Generator) -> Kernel:
    """SE-ARD over configurations and meta-features together, by marginal likelihood (mean 0)."""
    most = max(2, len(X))
    bounds = Bounds(noise=(0.1, 1.0))  # scores are estimates: an exact fit to them would be one to chance
    how = Fit(restarts=1, mean=0.0, bounds=bounds, max_rows=most, max_total=8 * most)
    return fit_kernel([(np.hstack([X, M]), labels)], how, rng=rng)


def split(kernel: Kernel, d: int, M: Array) -> tuple[Kernel, Array]:
    """The joint kernel as its factor of configurations, and its covariance of data sets (T + 1, T + 1)."""
    configurations = SquaredExponential(kernel.amplitude, kernel.lengthscales[:d], kernel.noise)
    if not M.shape[1]:
        return configurations, np.full((len(M), len(M)), kernel.amplitude)
    return configurations, SquaredExponential(kernel.amplitude, kernel.lengthscales[d:], kernel.noise)(M, M)


def rank_labels(Z: Array, losses: Array, *, centre: Array, C: float, seed: int) -> Labels:
    """Scores of one data set; the way back to losses matches their means and standard deviations."""
    scores = (Z - centre) @ rank_weights(Z, losses, C=C, seed=seed)
    _, mean, scale = standardise(losses)
    _, score_mean, score_scale = standardise(scores)
    return Labels(scores, mean - scale / score_scale * score_mean, scale / score_scale)


def plain_labels(Z: Array, losses: Array) -> Labels:
    """Standardised ranks, ties sharing theirs; the way back is that to the losses' mean and standard deviation."""
    _, mean, scale = standardise(losses)
    return Labels(standardise(rankdata(losses))[0], mean, scale)


def rank_weights(Z: Array, losses: Array, *, C: float, seed: int) -> Array:
    """Linear SVMRank: the w (d,) with the least ½|w|² + C · mean of max(0, 1 − wᵀ(λ_j − λ_i))² over f_i < f_j.

    By Newton's method on the primal (Chapelle and Keerthi 2010), exact after a few steps. Of more than
    `MOST_RANKED` evaluations, the pairs of a random sample of that size are taken.
    """
    if len(losses) > MOST_RANKED:
        kept = np.random.default_rng([seed, len(losses)]).choice(len(losses), MOST_RANKED, replace=False)
        Z, losses = Z[kept], losses[kept]
    i, j = np.triu_indices(len(losses), 1)
    sign = np.sign(losses[j] - losses[i])
    D = ((Z[j] - Z[i]) * sign[:, None])[sign != 0]
    w = np.zeros(Z.shape[1])
    if not len(D):
        return w
    c = 2.0 * C / len(D)

    def objective(w: Array) -> float:
        return float(0.5 * w @ w + 0.5 * c * np.sum(np.maximum(1.0 - D @ w, 0.0) ** 2))

    for _ in range(50):
        slack = 1.0 - D @ w
        A = D[slack > 0]
        gradient = w - c * (slack[slack > 0] @ A)
        step = np.linalg.solve(np.eye(len(w)) + c * (A.T @ A), gradient)
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(w).max()):
            break
        value = objective(w)
        while objective(w - step) > value and np.abs(step).max() > 1e-12:  # as in any convex problem, rarely
            step /= 2
        w = w - step
    return w
