"""Infers a search space from a table of past runs, for users who never wrote theirs down.

| column                           | becomes                                                                       |
| -------------------------------- | ----------------------------------------------------------------------------- |
| text, or True and False          | a Categorical                                                                 |
| numbers                          | an Int or a Float, from the smallest to the largest value                     |
| numbers over several magnitudes  | the same on a log scale, if their logarithms are spread more evenly           |
| the same value in every row      | no parameter, since it was never varied                                       |
| cells empty in some rows         | a conditional parameter, if a column of choices explains which rows           |

A column that fits none of these is an error, with a remedy.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart._support.types import Array
from headstart.errors import SpaceError
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

MOST_CHOICES = 50
LARGEST_INT = 10**12
MAGNITUDES = 10.0  # a log scale is considered if the largest value is at least this many times the smallest

_NO_PARAMETER = "skip the column with {ignore} if it is not a parameter"


def infer_space(frame: pd.DataFrame, without: Collection[str] = ()) -> Space:
    """The search space of a table, one parameter per column that varies.

    without: columns that are not parameters (the task, the result, its cost).
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
            f"there is no parameter to search: besides {', '.join(map(repr, without)) or 'nothing'} the table has "
            f"{', '.join(map(repr, constant)) or 'no column'}{', with the same value in every row' if constant else ''}"
        )
    return Space({name: replace(p, when=_condition(name, columns, parameters)) for name, p in parameters.items()})


def _parameter(name: str, known: pd.Series[Any]) -> Parameter:
    """A column's parameter, from its non-empty cells."""
    values = list(dict.fromkeys(known.tolist()))
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_)) for v in values):
        return _numeric(name, np.unique(np.array(values, dtype=float)))
    if len(values) > MOST_CHOICES:
        raise SpaceError(
            f"the column {name!r} has {len(values)} different texts, too many for a list of choices",
            f"{_NO_PARAMETER}, or pass a space with {{space}}",
        )
    return Categorical(sorted(values, key=str))


def _numeric(name: str, numbers: Array) -> Parameter:
    """The parameter of a column with these distinct numbers, in ascending order."""
    if not np.isfinite(numbers).all():
        raise SpaceError(
            f"the column {name!r} holds a number that is not finite", "correct the table, or pass a space with {space}"
        )
    low, high, log = float(numbers[0]), float(numbers[-1]), is_log(numbers)
    if not all(number.is_integer() for number in numbers):
        return Float(low, high, log=log)
    if max(abs(low), abs(high)) > LARGEST_INT:
        raise SpaceError(
            f"the column {name!r} is not a range of whole numbers for a search: it goes from {low:.0f} to {high:.0f}",
            _NO_PARAMETER,
        )
    return Int(int(low), int(high), log=log)


def is_log(numbers: Array) -> bool:
    """Whether distinct numbers in ascending order are spread more evenly, that is less skewed, on a log scale."""
    if len(numbers) < 3 or numbers[0] <= 0 or numbers[-1] / MAGNITUDES < numbers[0]:
        return False
    return abs(_skewness(np.log(numbers))) < abs(_skewness(numbers))


def _skewness(x: Array) -> float:
    x = x / np.abs(x).max()  # so that nothing overflows; the skewness stays
    centred = x - x.mean()
    spread = math.sqrt(float((centred**2).mean()))
    return float((centred**3).mean()) / spread**3


def _condition(
    name: str, columns: dict[str, pd.Series[Any]], parameters: dict[str, Parameter]
) -> dict[str, list[Any]] | None:
    """When a parameter is active: None for always, else the values of the one column that explains its empty cells."""
    filled = columns[name].notna()
    if filled.all():
        return None
    for parent, parameter in parameters.items():
        if not isinstance(parameter, Categorical) or not columns[parent].notna().sum() > filled.sum():
            continue  # a column that is empty in the same rows explains nothing
        active, inactive = set(columns[parent][filled]), set(columns[parent][~filled].dropna())
        if not active & inactive and all(value in parameter.choices for value in active):
            return {parent: [choice for choice in parameter.choices if choice in active]}
    raise SpaceError(
        f"the column {name!r} is empty in {int((~filled).sum()):,} of {len(filled):,} rows, and no column of choices "
        "explains which",
        "fill the cells, skip the column with {ignore}, or pass a space with {space} that says when it is active",
    )
