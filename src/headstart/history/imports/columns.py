"""The parameters of runs as columns. Other tools record them loosely: as text, as lists, or with None among numbers.

| cells                            | become                                                                 |
| -------------------------------- | ---------------------------------------------------------------------- |
| numbers                          | numbers                                                                |
| text that is all numbers         | numbers, if the source records everything as text                      |
| True and False                   | choices                                                                |
| text                             | choices                                                                |
| numbers, None, text … mixed      | choices of these values, which the notes say                           |
| lists, dictionaries, objects     | choices, written as text                                               |
| nothing, because it was inactive | an empty cell                                                          |
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headstart.space import Categorical, Parameter, Space, infer_space
from headstart.space.scalars import as_scalar

if TYPE_CHECKING:
    import pandas as pd

_TRUTHS = {"True": True, "False": False, "true": True, "false": False}
_NONES = ("None", "null", "none")


class _Absent:
    """The cell of a parameter that a run does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True)
class Column:
    """The cells of a parameter, a note if they were repaired, and the texts that stand for mixed values."""

    cells: Sequence[Any]
    note: str = ""
    mixed: Mapping[str, Any] | None = None

    def series(self, *, labels: bool = False) -> pd.Series[Any]:
        """The column of a frame; an inactive parameter is empty. labels: with the texts for mixed values."""
        import pandas as pd

        cells = [math.nan if cell is ABSENT else cell for cell in self.cells]
        if self.mixed and not labels:
            cells = [self.mixed[cell] if isinstance(cell, str) else cell for cell in cells]
        plain = all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in cells)
        return pd.Series(cells, dtype=float if plain else object)


def columns_of(
    configs: Sequence[Mapping[str, Any]],
    ignored: Collection[str | None],
    space: Space | None,
    *,
    text: bool,
    fill: Mapping[str, Any],
) -> dict[str, Column]:
    """A column per parameter. space: the search space, if it is known; its parameters say how to read the cells.

    fill: values for empty cells; those of conditional parameters of the space stay empty.
    """
    names = [name for name in dict.fromkeys(key for config in configs for key in config) if name not in ignored]
    cells = {name: [_cell(config.get(name, ABSENT), text) for config in configs] for name in names}
    for name in fill.keys() & cells.keys():
        if space is None or name not in space or not space[name].conditions:
            cells[name] = [fill[name] if cell is ABSENT else cell for cell in cells[name]]
    if space is not None:
        return {name: Column([_fitted(space.get(name), cell) for cell in cells[name]]) for name in names}
    return {name: _inferred(name, column, text) for name, column in cells.items()}


def _cell(value: Any, text: bool) -> Any:
    """A cell as a scalar; anything else as text."""
    value = as_scalar(value)
    if value is ABSENT or (text and (value is None or value == "")):
        return ABSENT
    if isinstance(value, float) and math.isnan(value):
        return ABSENT
    if isinstance(value, int) and as_float(value) is None:
        return math.inf  # beyond any float; refused as not finite
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError):
        return " ".join(str(value).split())


def _inferred(name: str, cells: Sequence[Any], text: bool) -> Column:
    texts = {cell for cell in cells if isinstance(cell, str)}
    numeric = {cell for cell in texts if text and not isinstance(_parsed(cell), str)}
    if numeric == texts:
        cells = [_parsed(cell) if isinstance(cell, str) else cell for cell in cells]
    known = [cell for cell in cells if cell is not ABSENT]
    kinds = sorted({_kind(cell) for cell in known})
    if kinds == ["None"]:
        return Column([ABSENT] * len(cells))
    if kinds == ["text"] and any(as_float(cell) is not None for cell in numeric):
        kinds = ["numbers", "text"]
    note = f"{name!r} mixes {' and '.join(kinds)}, so its values are read as choices" if len(kinds) > 1 else ""
    if not note or all(isinstance(cell, str) for cell in known):
        return Column(cells, note)
    labels: dict[str, Any] = {}
    for cell in known:
        labels.setdefault(_label(cell), cell)
    return Column([cell if cell is ABSENT else _label(cell) for cell in cells], note, labels)


def _kind(cell: Any) -> str:
    if cell is None:
        return "None"
    return "truth values" if isinstance(cell, bool) else "text" if isinstance(cell, str) else "numbers"


def _label(cell: Any) -> str:
    return repr(float(cell)) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else str(cell)


def _parsed(cell: str) -> Any:
    """The number, truth value or None that a text stands for; any other text itself."""
    if cell in _TRUTHS:
        return _TRUTHS[cell]
    if cell in _NONES:
        return None
    number = as_float(cell)
    if number is None:
        return cell
    return int(number) if number.is_integer() and cell.strip("+-").isdigit() else number


def as_float(cell: Any) -> float | None:
    """The number that a text stands for; None if it stands for none."""
    if "_" in str(cell) or not str(cell).isascii():  # Python reads 64_32 as a number, but here it is text
        return None
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def _fitted(parameter: Parameter | None, cell: Any) -> Any:
    """A cell in the form of its parameter: the choice or the number that it stands for, or itself."""
    if parameter is None or cell is ABSENT:
        return cell
    if isinstance(parameter, Categorical):
        if parameter.contains(cell):
            return cell
        same = [choice for choice in parameter.choices if str(cell) in (str(choice), json.dumps(choice))]
        if same:
            return same[0]
    if isinstance(cell, str):
        number = as_float(cell)
        return cell if number is None else number
    return cell


def inferred_space(columns: Mapping[str, Column]) -> Space:
    """The space of the columns. Where a column mixes kinds of values, its choices are these values."""
    import pandas as pd

    space = infer_space(pd.DataFrame({name: column.series(labels=True) for name, column in columns.items()}))
    mixed = {name: column.mixed for name, column in columns.items() if column.mixed and name in space}

    def restored(name: str, parameter: Parameter) -> Parameter:
        when = {
            parent: [mixed[parent][str(value)] if parent in mixed else value for value in values]
            for parent, values in parameter.conditions.items()
        }
        if isinstance(parameter, Categorical) and name in mixed:
            return Categorical([mixed[name][str(label)] for label in parameter.choices], when=when or None)
        return replace(parameter, when=when or None)

    return Space({name: restored(name, parameter) for name, parameter in space.items()})
