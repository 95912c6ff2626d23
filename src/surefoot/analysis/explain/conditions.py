"""Conditions that a query meets or not, in words. They are made of features alone, never of scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import SurefootError

FEWEST, LEAST, MOST = 5, 0.05, 0.4
"""A group has at least so many queries, at least this fraction of them, and at most that."""
QUANTILES = (0.1, 0.2, MOST)
"""How much a numeric feature cuts off at most, from either end."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A group of queries: in words, and which of the topics meet it."""

    words: str
    members: BoolArray

    @property
    def is_usable(self) -> bool:
        """Whether the group is neither too small to be tested nor the larger part."""
        size = int(self.members.sum())
        return max(FEWEST, LEAST * self.members.size) <= size <= MOST * self.members.size


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each topic, NaN where it is unknown; both ends in words, with braces where the number stands."""

    low: str
    high: str
    values: FloatArray

    def conditions(self) -> Iterator[Condition]:
        """The lowest and the highest tenth, fifth and two fifths, or as near below them as ties allow.

        >>> feature = Feature("at most {} words", "{} words or more", np.array([1.0, 2, 2, 3, 3, 3, 3, 4, 5, 9] * 2))
        >>> [(found.words, int(found.members.sum())) for found in feature.conditions() if found.is_usable]
        [('at most 2 words', 6), ('4 words or more', 6)]
        """
        known = self.values[np.isfinite(self.values)]
        for words, side in ((self.low, 1), (self.high, -1)):
            found, counts = np.unique(side * known, return_counts=True)
            last = np.searchsorted(np.cumsum(counts) / max(known.size, 1), QUANTILES, side="right") - 1
            for end in np.unique(found[last[last >= 0]]).tolist():
                with np.errstate(invalid="ignore"):
                    yield Condition(_worded(words, side * end), side * self.values <= end)


def _worded(words: str, end: float) -> str:
    """The number in its words; at most 0 is none.

    >>> _worded("where at most {} % of them are judged", 0.0)
    'where none of them are judged'
    """
    told = words.format(_told(end))
    return re.sub(r"\bat most 0 (?:% )?of\b", "none of", told) if end == 0 else told


def _told(end: float) -> str:
    """A number in three digits, from 1,000 on in all of those before the point.

    >>> _told(0.12345), _told(12_303.0)
    ('0.123', '12,303')
    """
    return f"{end:,.0f}" if abs(end) >= 999.5 else f"{end:.3g}"


def in_words(name: str) -> str:
    """A name for the words of a `Feature`, where braces stand for a number.

    >>> in_words("run{1}").format(5)
    'run{1}'
    """
    return name.replace("{", "{{").replace("}", "}}")


def conditions_of(features: Iterable[Condition | Feature]) -> list[Condition]:
    """The usable conditions; of several that the same topics meet the first."""
    every = [one for own in features for one in ([own] if isinstance(own, Condition) else own.conditions())]
    distinct = {one.members.tobytes(): one for one in reversed(every) if one.is_usable}
    return [one for one in every if distinct.get(one.members.tobytes()) is one]


def own_feature(name: str, values: Sequence[object]) -> Iterator[Condition | Feature]:
    """The conditions of a feature that the user brings: numbers are cut, labels are groups.

    >>> [one.words for one in own_feature("language", ["de", "en", "de", None])]
    ['language = de', 'language = en']
    """
    known = [value for value in values if value is not None]
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known):
        numbers: npt.NDArray[np.float64] = np.array([np.nan if v is None else v for v in values], np.float64)
        told = in_words(name)
        yield Feature(f"{told} at most {{}}", f"{told} {{}} or more", numbers)
        return
    labels = [None if value is None else str(value) for value in values]
    for label in dict.fromkeys(label for label in labels if label is not None):
        yield Condition(f"{name} = {label}", np.array([own == label for own in labels]))


def validate_usable(found: Sequence[Condition], topics: int) -> None:
    """Refuse if no condition divides the topics."""
    if not found:
        raise SurefootError(
            f"nothing tells the {topics} queries apart: give their texts (queries), or runs in place of a score table"
        )
