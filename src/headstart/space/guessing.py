"""A search space told from a table of past runs, for those who did not write theirs down.

| a column of                     | becomes                                                                         |
| ------------------------------- | ------------------------------------------------------------------------------- |
| texts, or True and False        | choices                                                                         |
| whole numbers, other numbers    | a range from the least to the greatest                                          |
| numbers spread over magnitudes  | a range on a log scale: their logarithms are spread more evenly than themselves |
| one value throughout            | nothing: it was never varied                                                    |
| empty cells in some rows        | conditional, if a column of choices says in which                               |

What cannot be told is refused with a word on what to do, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.types import Array
from headstart.errors import SpaceError
from headstart.space.parameters import Categorical, Float, Int, Parameter
from headstart.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

MOST_CHOICES = 50
MAGNITUDES = 10.0  # greatest over least from which a log scale is thought of


def infer_space(frame: pd.DataFrame, without: Collection[str] = ()) -> Space:
    """The space of a table's columns.

    without: the columns that are no parameters (the task, the result, its cost).
    """
    columns = {str(name): frame[name] for name in frame.columns if name not in without}
    parameters: dict[str, Parameter] = {}
    constant = []
    for name, column in columns.items():
        known = column.dropna()
        if known.nunique() < 2:
            constant.append(name)
        else:
            parameters[name] = _parameter(name, known)
    if not parameters:
        raise SpaceError(
            f"there is no parameter to search in: besides {', '.join(map(repr, without)) or 'nothing'} there is "
            f"{', '.join(map(repr, constant)) or 'no column'}{', with one value throughout' if constant else ''}"
        )
    whole = {name: replace(p, when=_condition(name, columns, parameters)) for name, p in parameters.items()}
    return Space(whole)


def _parameter(name: str, known: pd.Series[Any]) -> Parameter:
    values = list(dict.fromkeys(known.tolist()))
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_)) for v in values):
        if len(values) > MOST_CHOICES:
            raise SpaceError(
                f"the column {name!r} has {len(values)} different texts, too many to be choices; "
                "drop it if it is no parameter, or pass a space"
            )
        return Categorical(sorted(values, key=str))
    numbers = np.unique(np.array(values, dtype=float))
    if not np.isfinite(numbers).all():
        raise SpaceError(f"the column {name!r} has a number that is not finite; pass a space, or mend the table")
    low, high, log = float(numbers[0]), float(numbers[-1]), is_log(numbers)
    if all(number.is_integer() for number in numbers):
        try:
            return Int(int(low), int(high), log=log)
        except ValueError as error:
            raise SpaceError(
                f"the column {name!r} is no range of whole numbers ({error}); drop it if it is no parameter"
            ) from None
    return Float(low, high, log=log)


def is_log(numbers: Array) -> bool:
    """Whether distinct numbers are spread more evenly on a log scale: closer to symmetric about their mean."""
    if len(numbers) < 3 or numbers[0] <= 0 or numbers[-1] / numbers[0] < MAGNITUDES:
        return False
    return abs(_skewness(np.log(numbers))) < abs(_skewness(numbers))


def _skewness(x: Array) -> float:
    centred = x - x.mean()
    spread = math.sqrt(float((centred**2).mean()))
    return float((centred**3).mean()) / spread**3


def _condition(
    name: str, columns: dict[str, pd.Series[Any]], parameters: dict[str, Parameter]
) -> dict[str, list[Any]] | None:
    """When a parameter is active: None if always, else the choices of the one column that tells it apart."""
    there = columns[name].notna()
    if there.all():
        return None
    for parent, parameter in parameters.items():
        if not isinstance(parameter, Categorical) or not columns[parent].notna().sum() > there.sum():
            continue  # one that is empty in the same rows tells nothing
        active, inactive = set(columns[parent][there]), set(columns[parent][~there].dropna())
        if not active & inactive and all(value in parameter.choices for value in active):
            return {parent: [choice for choice in parameter.choices if choice in active]}
    raise SpaceError(
        f"the column {name!r} is empty in {int((~there).sum()):,} of {len(there):,} rows, and no column of choices "
        "tells when; fill the cells, drop the column, or pass a space that says when it is active"
    )
