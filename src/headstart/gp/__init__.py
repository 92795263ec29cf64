"""Gaussian processes with a squared exponential kernel: one run's own, and those of all tasks of a history.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section
III-C, eq. 3–6; marginal likelihood and leave-one-out after Rasmussen and Williams (2006), eq. 5.9, 5.12.

| symbol | name            | shape     | what it is                                                          |
| ------ | --------------- | --------- | ------------------------------------------------------------------- |
| Λ      | `X`             | (n, d)    | a design: the encoded configurations that were evaluated            |
| f      | `Y`             | (n, t)    | their losses, a column for each task that shares the design         |
| Λ*     | `Z`             | (m, d)    | configurations to predict                                           |
| κ      | `kernel`        |           | κ(x, z) = amplitude · exp(−½ Σ_j ((x_j − z_j) / lengthscales_j)²)   |
| σ_y²   | `kernel.noise`  |           | noise variance                                                      |
| K_y    | `kernel.gram(X)`| (n, n)    | κ(Λ, Λ) + σ_y² I = L Lᵀ                                             |
| α      | `alpha`         | (n, t)    | K_y⁻¹ (f − mean)                                                    |
| θ      | `theta`         | (d + 2,)  | log of (amplitude, lengthscales, noise)                             |

Everything here is immutable, and expects configurations of order one, as `Space` encodes them.
"""

from __future__ import annotations

from headstart.gp.designs import SharedDesign, share_designs
from headstart.gp.hyperparameters import Bounds, Fit, Prior, fit_kernel, likely_mean, log_marginal_likelihood
from headstart.gp.kernels import Kernel, Matern, SquaredExponential
from headstart.gp.process import GP, LEAST_VARIANCE, Prediction
from headstart.gp.tasks import TaskGPs

__all__ = [
    "GP",
    "LEAST_VARIANCE",
    "Bounds",
    "Fit",
    "Kernel",
    "Matern",
    "Prediction",
    "Prior",
    "SharedDesign",
    "SquaredExponential",
    "TaskGPs",
    "fit_kernel",
    "likely_mean",
    "log_marginal_likelihood",
    "share_designs",
]
