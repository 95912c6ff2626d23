"""The one order of topics, whatever the order in files: random draws and sums go by position."""

from __future__ import annotations

import re
from collections.abc import Iterable

DIGITS = re.compile("([0-9]+)")
Key = tuple[str | tuple[int, str], ...]


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names in natural order: digits count as the number that they write, so that q2 goes before q10.

    >>> natural_order(["q10", "q2", "q1b", "q1", "q01"])
    ('q01', 'q1', 'q1b', 'q2', 'q10')
    """
    return tuple(sorted(names, key=_key))


def _key(name: str) -> tuple[Key, str]:
    """Texts and numbers in turn; a number by its size and digits, as int() refuses one of thousands of digits."""
    parts: list[str | tuple[int, str]] = list(DIGITS.split(name))
    for index in range(1, len(parts), 2):
        digits = str(parts[index]).lstrip("0")
        parts[index] = len(digits), digits
    return tuple(parts), name
