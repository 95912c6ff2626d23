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
    given = tuple(names)
    prefix = given[0].rstrip("0123456789") if given else ""
    numbers = [name.removeprefix(prefix) for name in given if name.startswith(prefix)]
    everything = "".join(numbers)
    if everything.isascii() and everything.isdigit() and "" not in numbers and len(numbers) == len(given):
        return tuple(sorted(given, key=lambda name: (*_number(name.removeprefix(prefix)), name)))  # the same, faster
    return tuple(sorted(given, key=_key))


def _key(name: str) -> tuple[Key, str]:
    """Texts and numbers in turn."""
    parts: list[str | tuple[int, str]] = list(DIGITS.split(name))
    parts[1::2] = map(_number, parts[1::2])  # type: ignore[arg-type]
    return tuple(parts), name


def _number(digits: str) -> tuple[int, str]:
    """A number by its size and digits: int() refuses one of thousands of digits."""
    digits = digits.lstrip("0")
    return len(digits), digits
