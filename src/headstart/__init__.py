"""headstart: start every hyperparameter search from what the earlier ones learned.

    past runs ──► History ──► strategy ──► Start ──► new run ──► History

The folders follow this flow, and each imports only from those before it (`docs/architecture.md` has the picture):

    space  history  datasets  gp  transfer  surrogates  strategies  starts  search
    library  adapters  report  papers  cli

Every module uses the same symbols:

| symbol  | name           | shape     | meaning                                                                    |
| ------- | -------------- | --------- | -------------------------------------------------------------------------- |
| λ       | config         |           | a configuration: a dictionary in the user's own units                      |
| V, v    | values         | (n, p)    | configurations as numbers, one column per parameter; NaN where inactive    |
| Z, z    | encoding       | (n, d)    | configurations in the unit cube, categories one-hot: what models see       |
| X       | design         | (n, d)    | the encoded configurations that a model is fitted to                       |
| Y, y    | losses         | (n, t)    | the losses that a model is fitted to: scaled, warped or stretched          |
| f_D     | losses         | (n_D,)    | losses of task D, minimised; NaN is a failed trial                         |
| F       |                | (m, T)    | losses of m configurations on T tasks, observed or predicted               |
| M, m_D  | features       | (T, n)    | meta-features of the tasks                                                 |
| w, c(D) | weights        | (T,)      | how much each past task counts for the new one                             |
| μ, σ    | mean, std      | (m,)      | a surrogate's prediction                                                   |
| K, L    |                | (n, n)    | a kernel matrix and its Cholesky factor, K = L Lᵀ                          |
| κ, θ    | kernel, theta  |           | a kernel, and the logarithms of its hyperparameters                        |

Public names are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Space": "headstart.space",
    "Float": "headstart.space",
    "Int": "headstart.space",
    "Categorical": "headstart.space",
    "as_space": "headstart.space",
    "reconcile": "headstart.space",
    "History": "headstart.history",
    "Store": "headstart.history",
    "Task": "headstart.history",
    "metafeatures": "headstart.datasets.features",
    "embed": "headstart.datasets.embedding",
    "portfolio": "headstart.library.portfolios",
    "defaults": "headstart.adapters.defaults",
    "learn": "headstart.starts.learning",
    "Start": "headstart.starts.start",
    "evidence": "headstart.starts.validation",
    "Evidence": "headstart.starts.evidence",
    "Optimizer": "headstart.search.optimizer",
    "Trial": "headstart.search.trials",
    "minimize": "headstart.search.loop",
    "Result": "headstart.search.loop",
    "set_verbosity": "headstart._support.log",
    "get_verbosity": "headstart._support.log",
}
_MODULES = {
    "errors": "headstart.errors",
    "library": "headstart.library",
    "optuna": "headstart.adapters.optuna",
    "siamese": "headstart.datasets.siamese",
    "sklearn": "headstart.adapters.sklearn",
    "strategies": "headstart.strategies",
    "surrogates": "headstart.surrogates",
}

_OPTIONAL = {"optuna", "siamese"}  # need extras, so `from headstart import *` leaves them out
__all__ = sorted({*_HOMES, *_MODULES, "__version__"} - _OPTIONAL)

if TYPE_CHECKING:
    from headstart import errors as errors
    from headstart import library as library
    from headstart import strategies as strategies
    from headstart import surrogates as surrogates
    from headstart._support.log import get_verbosity as get_verbosity
    from headstart._support.log import set_verbosity as set_verbosity
    from headstart.adapters import optuna as optuna
    from headstart.adapters import sklearn as sklearn
    from headstart.adapters.defaults import defaults as defaults
    from headstart.datasets import siamese as siamese
    from headstart.datasets.embedding import embed as embed
    from headstart.datasets.features import metafeatures as metafeatures
    from headstart.history import History as History
    from headstart.history import Store as Store
    from headstart.history import Task as Task
    from headstart.library.portfolios import portfolio as portfolio
    from headstart.search.loop import Result as Result
    from headstart.search.loop import minimize as minimize
    from headstart.search.optimizer import Optimizer as Optimizer
    from headstart.search.trials import Trial as Trial
    from headstart.space import Categorical as Categorical
    from headstart.space import Float as Float
    from headstart.space import Int as Int
    from headstart.space import Space as Space
    from headstart.space import as_space as as_space
    from headstart.space import reconcile as reconcile
    from headstart.starts.evidence import Evidence as Evidence
    from headstart.starts.learning import learn as learn
    from headstart.starts.start import Start as Start
    from headstart.starts.validation import evidence as evidence


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headstart' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*__all__, *_OPTIONAL})
