"""The shapes of values in JSON and TOML files."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from surefoot._alignment import LARGEST


def fits(value: object, shape: Any) -> bool:
    """Whether a value of a JSON file has a shape.

    A shape is a type (float is any finite number), a function that checks, a tuple of alternatives, ``[shape]`` for a
    list, ``[shape, shape, ...]`` for a row, ``{str: shape}`` for a map, or ``{"name": shape, ...}`` for a record.

    >>> fits({"q1": 0.5}, {str: float}), fits([["q1", 7]], [[str, float]]), fits(True, (None, float))
    (True, True, False)
    """
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
    if isinstance(shape, type):
        return type(value) is shape
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if callable(shape):
        return bool(shape(value))
    if isinstance(shape, list):
        return isinstance(value, list) and len(shape) in (1, len(value)) and all(map(fits, value, cycle(shape)))
    if not isinstance(shape, dict) or not isinstance(value, dict):
        return bool(value == shape)
    shapes = dict.fromkeys(value, shape[str]) if str in shape else shape
    return value.keys() == shapes.keys() and all(fits(one, shapes[name]) for name, one in value.items())
