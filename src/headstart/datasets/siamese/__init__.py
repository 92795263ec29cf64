"""Siamese networks: a distance between data sets, learned from the data sets themselves.

Kim, Kim, Choi: Learning to Transfer Initializations for Bayesian Hyperparameter Optimization (2017). Two wings with
the same weights turn two data sets into vectors whose Euclidean distance is to be the target distance between them.

| symbol   | name     | shape       | meaning                                                               |
| -------- | -------- | ----------- | --------------------------------------------------------------------- |
| D_i      | `sets`   |             | data sets: points, images (Tables 1 and 2 of the paper) or tables      |
| m_i      |          | (50,)       | meta-features of D_i: the output of a wing                             |
| d_target | `target` | (pairs,)    | what ‖m_i − m_j‖ is to be (`distances.py`)                             |
| β, τ     | `pairs`, `points` |    | pairs of data sets, and points of each of them, that one step sees     |

The paper reads the points of a data set one after another (biLSTM), though a data set has no order. Pooling by mean
or attention has none either. For tables there is a network that the paper has not: a shared embedding of the cells
(`embedding.py`), pooled over the columns of a row and then over rows, so that it takes any width and any classes.

torch is imported in `networks.py` and nowhere else. Model files hold raw arrays and JSON.
"""

from __future__ import annotations

from headstart.datasets.siamese.model import Model, train
from headstart.datasets.siamese.networks import POOLINGS, Recipe, Wing, new_wing, one_thread, torch
from headstart.datasets.siamese.training import Curve, Pairs, Training, fit, pair_losses

__all__ = [
    "POOLINGS",
    "Curve",
    "Model",
    "Pairs",
    "Recipe",
    "Training",
    "Wing",
    "fit",
    "new_wing",
    "one_thread",
    "pair_losses",
    "torch",
    "train",
]
