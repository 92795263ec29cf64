"""Gaussian processes: kernels, hyperparameters, the process of one run, and those of all past tasks.

May import: `space` and below. Hands on: `fit_kernel`, which finds hyperparameters; `GP`, a process on one design;
`TaskGPs`, a process for each task of a history under one kernel. All objects are immutable.

Wistuba, Schilling, Schmidt-Thieme: Learning Hyperparameter Optimization Initializations (2015), section III-C,
eq. 3–6; marginal likelihood after Rasmussen and Williams (2006), eq. 5.9.

| symbol | name                  | shape    | meaning                                                              |
| ------ | --------------------- | -------- | -------------------------------------------------------------------- |
| Λ      | `X`                   | (n, d)   | a design: the encoded configurations that were evaluated, of order 1 |
| f      | `Y`                   | (n, t)   | their losses, one column for each task that shares the design        |
| Λ*     | `Z`                   | (m, d)   | encoded configurations to predict                                    |
| r      |                       |          | distance in units of the lengthscales: r² = Σ_j ((x_j − z_j) / ℓ_j)² |
| κ      | `SquaredExponential`  |          | κ(x, z) = amplitude · exp(−½ r²)                                     |
|        | `Matern`              |          | κ(x, z) = amplitude · (1 + √5 r + 5 r²/3) exp(−√5 r)                 |
| η      | `E`                   |          | slope of a kernel: ∂κ(x, z)/∂x_j = η(x, z) (z_j − x_j) / ℓ_j²        |
| ℓ      | `kernel.lengthscales` | (d,)     | lengthscales                                                         |
| σ_y²   | `kernel.noise`        |          | noise variance                                                       |
| K_y    | `kernel.gram(X)`      | (n, n)   | κ(Λ, Λ) + σ_y² I = L Lᵀ                                              |
| α      | `alpha`               | (n, t)   | K_y⁻¹ (f − mean)                                                     |
| θ      | `theta`               | (d + 2,) | log of (amplitude, lengthscales, noise)                              |
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
