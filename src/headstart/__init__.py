"""headstart: start every hyperparameter search from what the earlier ones learned.

    past runs ──► History ──► strategy ──► Start ──► new run ──► History

Public names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Space": "headstart.space",
    "Float": "headstart.parameters",
    "Int": "headstart.parameters",
    "Categorical": "headstart.parameters",
    "as_space": "headstart.foreign",
    "reconcile": "headstart.reconciliation",
    "History": "headstart.history",
    "Task": "headstart.history",
    "metafeatures": "headstart.features",
    "embed": "headstart.embedding",
    "learn": "headstart.start",
    "Start": "headstart.start",
    "evidence": "headstart.validation",
    "Evidence": "headstart.validation",
    "Optimizer": "headstart.optimizer",
    "Trial": "headstart.optimizer",
    "minimize": "headstart.minimize_loop",
    "Result": "headstart.minimize_loop",
}
_MODULES = {
    "library": "headstart.library",
    "optuna": "headstart.adapters.optuna",
    "siamese": "headstart.siamese",
    "sklearn": "headstart.adapters.sklearn",
    "strategies": "headstart.strategies",
    "surrogates": "headstart.surrogates",
}

_OPTIONAL = {"optuna", "siamese"}  # need extras, so that `from headstart import *` leaves them out
__all__ = sorted({*_HOMES, *_MODULES, "__version__"} - _OPTIONAL)

if TYPE_CHECKING:
    from headstart import library as library
    from headstart import siamese as siamese
    from headstart import strategies as strategies
    from headstart import surrogates as surrogates
    from headstart.adapters import optuna as optuna
    from headstart.adapters import sklearn as sklearn
    from headstart.embedding import embed as embed
    from headstart.features import metafeatures as metafeatures
    from headstart.foreign import as_space as as_space
    from headstart.history import History as History
    from headstart.history import Task as Task
    from headstart.minimize_loop import Result as Result
    from headstart.minimize_loop import minimize as minimize
    from headstart.optimizer import Optimizer as Optimizer
    from headstart.optimizer import Trial as Trial
    from headstart.parameters import Categorical as Categorical
    from headstart.parameters import Float as Float
    from headstart.parameters import Int as Int
    from headstart.reconciliation import reconcile as reconcile
    from headstart.space import Space as Space
    from headstart.start import Start as Start
    from headstart.start import learn as learn
    from headstart.validation import Evidence as Evidence
    from headstart.validation import evidence as evidence


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headstart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_OPTIONAL})
