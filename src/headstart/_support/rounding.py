"""The same choices on every machine: results of linear algebra are rounded before they are compared or descended.

BLAS libraries, and one library on different processors, add in different orders, so that their results differ by
rounding errors, about 1e-16 to 1e-9. Where two configurations are equally good, or where an optimiser takes many steps,
such errors would decide. So scores lose the digits in question before the best is chosen (the first of equals), an
optimiser sees rounded values and slopes, and the place where it stops is rounded, too.

All steps are powers of two, so that rounding itself is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headstart._support.types import Array, Rows

DIGITS = 28  # binary places of a score, or of a predicted loss: eight decimal ones
FUNCTION, SLOPE = 24, 16  # the same of what an optimiser sees: as fine as its steps need them
PLACES = 18  # the same of a coordinate in the unit cube: four millionths of a parameter's range
LOGARITHM = 12  # the same of the logarithm of a hyperparameter: 0.02 %, more than data can tell
CHOICE = 14  # the same of the values that an optimiser reached from several starting points, of which one is kept


def settled(values: Array, places: int = PLACES) -> Array:
    """Numbers of about 1 rounded to binary places, larger ones to as many digits; what is not finite stays."""
    exponent = np.maximum(np.frexp(values)[1], 0)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, places - exponent)), exponent - places))


def best_first(scores: Array) -> Rows:
    """Positions of the highest scores first. Those that are equally far below the highest stay in their order."""
    finite = scores[np.isfinite(scores)]
    top = float(finite.max()) if len(finite) else 0.0
    return np.argsort(settled(top - scores, DIGITS), kind="stable")


def descend(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: Sequence[tuple[float, float]] | Array,
    places: int = PLACES,
    **options: Any,
) -> tuple[float, Array]:
    """A local minimum within bounds by L-BFGS-B: its value and its place, rounded.

    objective: from a point to its value and gradient, both of about 1. options: those of SciPy.
    """
    from scipy.optimize import minimize

    def rounded(x: Array) -> tuple[float, Array]:
        value, slope = objective(x)
        return float(settled(np.asarray(value), FUNCTION)), settled(slope, SLOPE)

    found = minimize(rounded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    low, high = np.transpose(bounds)
    place = np.where(found.x == start, start, np.clip(settled(found.x, places), low, high))  # unless it did not move
    return float(settled(np.asarray(found.fun), CHOICE)), place
