"""Numbers as spreadsheets write them: decimal commas, and marks between thousands, turned into plain ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

_GROUP = "[' \\u00a0\\u202f]"  # marks between thousands: an apostrophe and three kinds of spaces
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COMMA = re.compile(rf"[-+]?(\d+|\d{{1,3}}((\.|{_GROUP})\d{{3}})+)(,\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(rf"[-+]?\d{{1,3}}((,|{_GROUP})\d{{3}})+(\.\d+)?")
# Not three digits behind the mark, or a zero before it: the mark cannot stand between thousands.
_SURELY_COMMA = re.compile(r"[-+]?(0,\d+|\d+,(\d{1,2}|\d{4,}))([eE][-+]?\d+)?")
_SURELY_POINT = re.compile(r"[-+]?(0?\.\d+|\d+\.(\d{1,2}|\d{4,}))([eE][-+]?\d+)?")


def has_decimal_commas(columns: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether a file writes 0,5 for one half. A file that separates columns by commas does not."""
    cells = [cell.strip() for column in columns for cell in column if "," in cell or "." in cell]
    if separator == "," or not any(_SURELY_COMMA.fullmatch(cell) for cell in cells):
        return False
    return not any(_SURELY_POINT.fullmatch(cell) for cell in cells)


def without_decimal_commas(cells: Sequence[str]) -> list[str]:
    """The cells with numbers such as 1.234,5 written as 1234.5."""
    return [re.sub(rf"\.|{_GROUP}", "", c).replace(",", ".") if _COMMA.fullmatch(c.strip()) else c for c in cells]


def without_thousands(cells: Sequence[str]) -> list[str]:
    """The cells with numbers such as 1,000 written as 1000, if the column holds plain numbers, too, and nothing else.

    A column of texts such as "128,256" stays as it is.
    """
    known = [cell.strip() for cell in cells if cell.strip()]
    plain = [_PLAIN.fullmatch(cell) is not None for cell in known]
    if not any(plain) or all(plain):
        return list(cells)
    if not all(ok or _THOUSANDS.fullmatch(cell) for ok, cell in zip(plain, known, strict=True)):
        return list(cells)
    return [cell if _PLAIN.fullmatch(cell.strip()) else re.sub(rf",|{_GROUP}", "", cell) for cell in cells]
