"""How unlike two data sets are, by what hyperparameters did on them: the target of the learned distance.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017), section
"Meta-feature Learning with Siamese Architecture", Fig. 3 and 8. The supplement with its definition of the Earth
mover's distance is not published, so this is what is meant here:

| symbol | name     | shape  | meaning                                                                            |
| ------ | -------- | ------ | ---------------------------------------------------------------------------------- |
| λ      | `Z`      | (m, d) | configurations that all data sets have in common, encoded                           |
| f_D    | `F`      | (m, T) | their losses, scaled to [0, 1] on each data set: 0 its best                         |
| H_D    | `H`      | (m, T) | the histogram: (1 − f_D) / Σ_λ (1 − f_D), so that good configurations have the mass |
| c      | `ground` | (m, m) | the ground metric: Euclidean distance between encoded configurations                |

The paper's histograms hold accuracies; 1 − f_D is the accuracy, scaled by data set. Everything else in the package
minimises, and this is the only place where good is high. A histogram over a grid has one bin per configuration; in
ragged histories, the surrogates say what each data set would have made of the configurations of the others.
"""

from __future__ import annotations

import numpy as np

from headstart._support.types import Array
from headstart.errors import ArgumentError

KINDS = ("emd", "l1")


def surface_distances(F: Array, Z: Array, kind: str = "emd") -> Array:
    """d_target between any two data sets, (T, T), from their losses F at the configurations Z: "emd" or "l1"."""
    if kind not in KINDS:
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, but got {kind!r}")
    H = histograms(F)
    return l1(H) if kind == "l1" else emd(H, ground_metric(Z))


def histograms(F: Array) -> Array:
    """H from scaled losses F (m, T): every column is a distribution over the configurations.

    A data set on which everything is equally bad says nothing: all configurations have the same mass there.
    """
    good = 1.0 - np.clip(np.asarray(F, dtype=float), 0.0, 1.0)
    good = np.where(good.sum(axis=0) > 0, good, 1.0)
    return np.asarray(good / good.sum(axis=0))


def ground_metric(Z: Array) -> Array:
    """c: how far mass is moved from one configuration to another, ‖z_k − z_l‖₂."""
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
        raise ImportError(
            "the Earth mover's distance needs the package POT: pip install 'headstart[deep]'", name="ot"
        ) from error
    rows = np.ascontiguousarray(H.T)
    D = np.zeros((len(rows), len(rows)))
    for i, j in zip(*np.triu_indices(len(rows), 1), strict=True):
        D[i, j] = D[j, i] = max(float(ot.emd2(rows[i], rows[j], ground)), 0.0)
    return D
