"""Surrogates by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.surrogates.base import Surrogate
from headstart.surrogates.forest import Forest
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.mixture import Mixture
from headstart.surrogates.mklgp import MKLGP
from headstart.surrogates.prior import TransferredPrior
from headstart.surrogates.scot import SCoT

SURROGATES: dict[str, Callable[[], Surrogate]] = {
    "gp": Gaussian,
    "rf": Forest,
    "scot": SCoT,
    "mklgp": MKLGP,
    "prior": TransferredPrior,
    "auto": Mixture,
}


def resolve_surrogate(surrogate: Any) -> Surrogate:
    """The surrogate of that name, or the object itself."""
    if not isinstance(surrogate, str):
        if not hasattr(surrogate, "begin"):
            raise ArgumentError(f"surrogate must be a name or an object with a method begin, but got {surrogate!r}")
        return surrogate  # type: ignore[no-any-return]
    if surrogate not in SURROGATES:
        names = sorted(SURROGATES)
        raise ArgumentError(
            f"there is no surrogate {surrogate!r}{closest(surrogate, names)} (choose from: {', '.join(names)})"
        )
    return SURROGATES[surrogate]()
