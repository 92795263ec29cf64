"""Processes that work for this one end with it, even if it is killed and cannot tell them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, ParamSpec, TypeVar

PAUSE = 0.5  # seconds between two looks at the parent

P = ParamSpec("P")
R = TypeVar("R")


class Child(Generic[P, R]):
    """A function that is called in worker processes; a worker that our process started ends when it does.

    Workers of other machines or of a cluster have another parent, and are left alone.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.parent = os.getpid()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if os.getppid() == self.parent:
            _watch(self.parent)
        return self.function(*args, **kwargs)


def parallel(**how: Any) -> Any:
    """joblib's `Parallel`, whose worker processes end with this one even before their first call."""
    from joblib import Parallel
    from joblib.parallel import get_active_backend

    if type(get_active_backend()[0]).__name__ == "LokyBackend":  # others may not have an initializer
        how = {**how, "initializer": _watch, "initargs": (os.getpid(),)}
    return Parallel(**how)


@lru_cache(maxsize=1)
def _watch(parent: int) -> None:
    """Begin to watch, once in this process."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True, name="headstart-parent").start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)
