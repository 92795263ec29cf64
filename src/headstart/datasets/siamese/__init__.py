"""Siamese networks: a distance between data sets, learned from the data sets themselves.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017). Two wings with
the same weights turn two data sets into vectors, trained so that their Euclidean distance is the target distance.

| symbol   | name     | shape       | meaning                                                               |
| -------- | -------- | ----------- | --------------------------------------------------------------------- |
| D_i      | `sets`   |             | data sets: points, images (Tables 1 and 2 of the paper) or tables      |
| m_i      | `M[i]`   | (50,)       | meta-features of D_i, its embedding: the output of a wing              |
| d_target | `target` | (pairs,)    | target of ‖m_i − m_j‖ (`distances.py`)                                 |
| β, τ     | `pairs`, `points` |    | pairs of data sets per training step, and points drawn from each data set |

The paper reads the points of a data set in sequence (biLSTM), although a data set has no order. Pooling by mean or
attention does not depend on the order. The network for tables is not in the paper: a shared embedding of the cells
(`inputs.py`), pooled over the columns of a row and then over the rows, so that it takes any number of columns and
classes.

Only `networks.py` imports torch. Model files hold raw arrays and JSON.
"""

from __future__ import annotations

from headstart.datasets.siamese.inputs import Points, Table
from headstart.datasets.siamese.model import Model, train
from headstart.datasets.siamese.networks import POOLINGS, Recipe, Wing, new_wing, one_thread, torch
from headstart.datasets.siamese.training import Curve, Pairs, Training, fit, pair_losses

__all__ = [
    "POOLINGS",
    "Curve",
    "Model",
    "Pairs",
    "Points",
    "Recipe",
    "Table",
    "Training",
    "Wing",
    "fit",
    "new_wing",
    "one_thread",
    "pair_losses",
    "torch",
    "train",
]
