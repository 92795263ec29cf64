"""Dictionaries as Python prints them, which is how pandas writes them to a CSV file.

The text is parsed, never run: everything but plain literals is rejected.
"""

from __future__ import annotations

import ast
import math
from typing import Any

_NAMES = {"nan": math.nan, "inf": math.inf, "NaN": math.nan, "Infinity": math.inf}
_NUMPY = ("float64", "float32", "int64", "int32", "bool", "bool_", "str_")  # as in np.float64(0.5)


def printed_dict(text: str) -> dict[str, Any] | None:
    """The dictionary that a text shows; None if it shows anything else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return {str(key): cell for key, cell in value.items()} if isinstance(value, dict) else None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, (str, bool, int, float)):
            return value
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element) for element in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(number := _value(operand), (int, float)):
            return -number
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name), args=[only], keywords=[]) if name in _NUMPY:
            return _value(only)
    raise ValueError(f"not a literal: {ast.dump(node)[:80]}")
