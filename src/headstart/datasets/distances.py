"""Distances between data sets by the losses of the same configurations on them: the targets of the learned distance.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), section
"Meta-feature Learning with Siamese Architecture", Fig. 3 and 8. The supplement that defines the earth mover's distance
is not published; this module uses the following definition:

| symbol | name     | shape  | meaning                                                                            |
| ------ | -------- | ------ | ---------------------------------------------------------------------------------- |
| λ      | `Z`      | (m, d) | encoded configurations, the same for all data sets                                  |
| f_D    | `F`      | (m, T) | their losses, scaled to [0, 1] on each data set (0: its best)                       |
| H_D    | `H`      | (m, T) | the histogram (1 − f_D) / Σ_λ (1 − f_D): good configurations have the mass          |
| c      | `ground` | (m, m) | the ground metric: Euclidean distance between encoded configurations                |

The paper's histograms hold accuracies; 1 − f_D is the accuracy, scaled per data set. This is the only place in the
package where high is good. A histogram has one bin per configuration. Where data sets were not evaluated on the same
configurations, F holds predictions of the task models (`headstart.transfer.models.task_distances`).
"""

from __future__ import annotations

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError, MissingPackageError

KINDS = ("emd", "l1")


def surface_distances(F: Array, Z: Array, kind: str = "emd") -> Array:
    """d_target between any two data sets, (T, T), from their losses F at the configurations Z. kind: "emd" or "l1"."""
    if kind not in KINDS:
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, but got {kind!r}")
    H = histograms(F)
    return l1(H) if kind == "l1" else emd(H, ground_metric(Z))


def histograms(F: Array) -> Array:
    """H from scaled losses F (m, T): every column is a distribution over the configurations.

    If all configurations have the worst loss on a data set, they get the same mass.
    """
    good = 1.0 - np.clip(np.asarray(F, dtype=float), 0.0, 1.0)
    good = np.where(good.sum(axis=0) > 0, good, 1.0)
    return np.asarray(good / good.sum(axis=0))


def ground_metric(Z: Array) -> Array:
    """c: the distance ‖z_k − z_l‖₂ over which mass moves from one configuration to another."""
    return np.asarray(np.sqrt(((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)))


def l1(H: Array) -> Array:
    """Σ_λ |H_i − H_j| between all columns of H: (T, T), from 0 to 2."""
    return np.asarray(np.abs(H[:, :, None] - H[:, None, :]).sum(axis=0))


def emd(H: Array, ground: Array) -> Array:
    """Earth mover's distance (Rubner et al. 2000) between all columns of H: (T, T).

    The least work Σ_kl flow_kl · c_kl that turns one distribution into the other.
    """
    try:
        import ot
    except ImportError as error:
        problem, remedy = "the earth mover's distance needs POT", "pip install 'headstart[deep]'"
        raise MissingPackageError(problem, remedy, name="ot") from error
    rows = np.ascontiguousarray(H.T)
    D = np.zeros((len(rows), len(rows)))
    for i, j in zip(*np.triu_indices(len(rows), 1), strict=True):
        D[i, j] = D[j, i] = max(float(ot.emd2(rows[i], rows[j], ground)), 0.0)
    return D
