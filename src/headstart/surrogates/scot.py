"""SCoT, surrogate-based collaborative tuning: one Gaussian process learns the rankings of all data sets.

Bardenet, Brendel, Kégl, Sebag: Collaborative hyperparameter tuning (2013), in the variant of Yogatama and Mann (2014)
and Wistuba et al. (2015a, section V-A). Losses of different data sets differ in scale, but their rankings are
comparable. So the scores of a linear SVMRank replace each data set's losses, and one process with an SE-ARD kernel over
configurations and meta-features learns the scores of all data sets, including the new one.

The original trains a single ranker for all data sets, with an RBF kernel over configurations and meta-features and
pairs within data sets only: `ranking="rbf"` (`joint_ranking.py`). With the linear kernel of the later papers, the
meta-features cancel within a pair, and a single ranker would rank configurations the same on every data set. Hence one
ranker per data set. Both have a squared hinge instead of a plain one, and C is fixed, not tuned by leave-one-out.

A linear score is always best at an edge of the space, even if the data set's best configuration is not. SCoT's first
proposals lie there twice as often as the best configurations do. `ranking="plain"` learns the ranks of the losses
directly and begins far better (`benchmarks/scot_ranking.py`). The default follows the papers.

| symbol | name     | shape  | meaning                                                           |
| ------ | -------- | ------ | ----------------------------------------------------------------- |
| λ      | `Z`      | (n, d) | encoded configurations of one data set                            |
| w_D    | `w`      | (d,)   | the ranker: score(λ) = wᵀ(λ − λ̄), lower is better                 |
| λ̄      | `centre` | (d,)   | mean configuration of the history, where all rankers have score 0 |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import rankdata

from headstart._support.log import log
from headstart._support.rounding import DIGITS, settled
from headstart._support.types import Array
from headstart.errors import ArgumentError
from headstart.gp import Bounds, Fit, Kernel, SquaredExponential, fit_kernel
from headstart.history import Features
from headstart.space import Space
from headstart.surrogates.base import need_history, standardise
from headstart.surrogates.joint import JointModel, Labeller, Labels, PastEvaluations, check_rows, task_vectors
from headstart.surrogates.joint_ranking import JointRanker
from headstart.surrogates.ranking import pair_differences, rank_by_pairs, scored
from headstart.transfer.models import TaskModels

RANKINGS = ("linear", "rbf", "plain")
MOST_RANKED = 200  # evaluations of one data set whose pairs train the ranker; a guess that bounds the cost
NOISE = Bounds(noise=(0.1, 1.0))  # scores are estimates, and an exact fit would fit their errors; the range is a guess


@dataclass(frozen=True)
class SCoT:
    """scot: a ranking per data set, then one Gaussian process over configurations and meta-features.

    ranking: "linear", the scores of a linear SVMRank per data set, as in the later papers; "rbf", those of a single
    ranker with an RBF kernel, as in the original; or "plain", the ranks themselves.
    C: cost of a misranked pair, relative to the size of w. max_rows: how many past evaluations to train on; a random
    sample if there are more. fit_rows: the same for fitting the hyperparameters.
    If the new data set shares no meta-features with the history, the process sees configurations only.
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
        check_rows(self.max_rows, self.fit_rows)

    def begin(
        self, space: Space, models: TaskModels | None, *, features: Features | None, rng: np.random.Generator
    ) -> JointModel:
        models = need_history(models, "scot")
        seed = int(rng.integers(2**32))
        M = task_vectors(models, features)
        if M is None:
            log.info(
                "scot: the new task shares no meta-features with the history, so the process sees configurations only"
            )
            M = np.zeros((len(models) + 1, 0))
        label: Labeller = self._labeller(models, seed)
        evaluations = PastEvaluations.of(models, label)
        if self.ranking == "rbf":
            label = ranker = JointRanker.of(models, M, self.C, rng=np.random.default_rng(seed))
            evaluations = evaluations._replace(labels=ranker.past_labels(models, M))
        few = evaluations.sample(self.fit_rows, rng=rng)
        kernel, covariance = split(fit_joint(few.X, M[few.tasks], few.labels, rng=rng), space.width, M)
        model = JointModel.train(kernel, covariance, evaluations, label, max_rows=self.max_rows, rng=rng)
        log.info("scot: trained on %s", model.notes)
        return model

    def _labeller(self, models: TaskModels, seed: int) -> Labeller:
        if self.ranking == "plain":
            return plain_labels
        rows = np.concatenate([task.rows for task in models.history])
        return partial(rank_labels, centre=models.history.Z[rows].mean(axis=0), C=self.C, seed=seed)


def fit_joint(X: Array, M: Array, labels: Array, *, rng: np.random.Generator) -> Kernel:
    """SE-ARD over configurations and meta-features together, by marginal likelihood, with mean 0."""
    most = max(2, len(X))
    how = Fit(restarts=1, mean=0.0, bounds=NOISE, max_rows=most, max_total=8 * most)
    return fit_kernel([(np.hstack([X, M]), labels)], how, rng=rng)


def split(kernel: Kernel, d: int, M: Array) -> tuple[Kernel, Array]:
    """The joint kernel's factor for configurations, and its covariance between data sets, (T + 1, T + 1)."""
    configurations = SquaredExponential(kernel.amplitude, kernel.lengthscales[:d], kernel.noise)
    if not M.shape[1]:
        return configurations, np.full((len(M), len(M)), kernel.amplitude)
    return configurations, SquaredExponential(kernel.amplitude, kernel.lengthscales[d:], kernel.noise)(M, M)


def rank_labels(Z: Array, losses: Array, *, centre: Array, C: float, seed: int) -> Labels:
    """Scores of one data set; the way back matches the mean and standard deviation of its losses."""
    return scored((Z - centre) @ svm_rank(Z, losses, C=C, seed=seed), losses)


def plain_labels(Z: Array, losses: Array) -> Labels:
    """Standardised ranks, averaged over ties; the way back matches the mean and standard deviation of the losses."""
    _, mean, scale = standardise(losses)
    return Labels(standardise(rankdata(losses))[0], mean, scale)


def svm_rank(Z: Array, losses: Array, *, C: float, seed: int) -> Array:
    """Linear SVMRank: the w (d,) that minimises ½|w|² + C · mean of max(0, 1 − wᵀ(λ_j − λ_i))² over f_i < f_j.

    The pairs are those of all evaluations, or of a random sample of `MOST_RANKED`. w is a combination of their rows, so
    with more columns than rows it is found in the coordinates of an orthonormal basis Q of the rows: Z = A Qᵀ, w = Q u.
    """
    if len(losses) > MOST_RANKED:
        kept = np.random.default_rng([seed, len(losses)]).choice(len(losses), MOST_RANKED, replace=False)
        Z, losses = Z[kept], losses[kept]
    if Z.shape[1] <= len(Z):
        return rank_by_pairs(pair_differences(Z, losses), C)
    Q, R = np.linalg.qr(Z.T)
    return settled(Q @ rank_by_pairs(pair_differences(R.T, losses), C), DIGITS)
