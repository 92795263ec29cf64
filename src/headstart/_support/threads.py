"""One thread for linear algebra: on small matrices more threads gain nothing, and they cost much on busy cores.

Work on many tasks is spread over processes instead, through joblib.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (its library must be loaded to be found)
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator that runs the linear algebra of a function on one thread."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1):
            return function(*args, **kwargs)

    return limited
