"""Groups of queries, in words: conditions on features of the queries, never on their scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.io.document_lists import Run

FEWEST, LEAST_SHARE, LARGEST_SHARE = 5, 0.05, 0.4
"""The fewest queries of a group, and its least and largest fraction of all queries."""
QUANTILES = (0.1, 0.2, LARGEST_SHARE)
"""The fractions of the queries that a numeric feature cuts off at either end."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A group of queries: in words, and which of the topics meet it."""

    words: str
    members: BoolArray

    @property
    def is_usable(self) -> bool:
        """Whether the group is neither too small to test nor too large to explain anything."""
        size = int(self.members.sum())
        return max(FEWEST, LEAST_SHARE * self.members.size) <= size <= LARGEST_SHARE * self.members.size


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each topic, NaN where unknown; words for its low and its high end, with braces for the number."""

    low: str
    high: str
    values: FloatArray

    def conditions(self) -> Iterator[Condition]:
        """The lowest and the highest tenth, fifth and two fifths; ties make them smaller.

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
    """Insert the number into the words; "at most 0 of" becomes "none of".

    >>> _worded("where at most {} % of them are judged", 0.0)
    'where none of them are judged'
    """
    text = words.format(_number_text(end))
    return re.sub(r"\bat most 0 (?:% )?of\b", "none of", text) if end == 0 else text


def _number_text(end: float) -> str:
    """A number with three significant digits, or rounded to a whole number from 1,000 on.

    >>> _number_text(0.12345), _number_text(12_303.0)
    ('0.123', '12,303')
    """
    return f"{end:,.0f}" if abs(end) >= 999.5 else f"{end:.3g}"


def escape_braces(name: str) -> str:
    """Escape the braces of a name, since those in the words of a `Feature` stand for a number.

    >>> escape_braces("run{1}").format(5)
    'run{1}'
    """
    return name.replace("{", "{{").replace("}", "}}")


def conditions_of(features: Iterable[Condition | Feature]) -> list[Condition]:
    """The usable conditions; of several that the same topics meet, only the first."""
    every = [one for own in features for one in ([own] if isinstance(own, Condition) else own.conditions())]
    distinct = {one.members.tobytes(): one for one in reversed(every) if one.is_usable}
    return [one for one in every if distinct.get(one.members.tobytes()) is one]


def own_feature(name: str, values: Sequence[object]) -> Iterator[Condition | Feature]:
    """The conditions of a user's feature: numbers are cut at quantiles, labels are groups.

    >>> [one.words for one in own_feature("language", ["de", "en", "de", None])]
    ['language = de', 'language = en']
    """
    known = [value for value in values if value is not None]
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known):
        numbers: npt.NDArray[np.float64] = np.array([np.nan if v is None else v for v in values], np.float64)
        text = escape_braces(name)
        yield Feature(f"{text} at most {{}}", f"{text} {{}} or more", numbers)
        return
    labels = [None if value is None else str(value) for value in values]
    for label in dict.fromkeys(label for label in labels if label is not None):
        yield Condition(f"{name} = {label}", np.array([own == label for own in labels]))


TOP, DEPTH = 10, 100
"""The depth to which rankings are compared, and the depth of the range of scores."""
COMMON_WORDS = 30
"""How many of the most frequent words become conditions."""
QUESTION_WORDS = frozenset(
    "what how who whom whose when where which why is are was were do does did can could should will would".split()
)
NEGATIONS = frozenset("not no never without except nor none neither non".split())

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def text_features(texts: Sequence[str], documents: Iterable[str] | None = None) -> Iterator[Condition | Feature]:
    """Numbers, questions, negations, lengths, rare words (of the documents, if given) and common words.

    >>> found = text_features(["who won in 1998", "sky colour", "is it not blue?"])
    >>> [(one.words, one.members.tolist()) for one in found if isinstance(one, Condition)][:2]
    [('queries with a number', [True, False, False]), ('questions', [True, False, True])]
    """
    words = [_words(text) for text in texts]
    yield Condition("queries with a number", np.array([bool(re.search(r"\d", text)) for text in texts]))
    yield Condition("questions", np.array([_is_question(own, text) for own, text in zip(words, texts, strict=True)]))
    yield Condition(
        "queries with a negation",
        np.array([any(word in NEGATIONS or word.endswith("n't") for word in own) for own in words]),
    )
    length = np.array([float(len(own)) for own in words])
    yield Feature("queries of at most {} words", "queries of {} words or more", length)
    letters = np.array([np.mean([len(word) for word in own]) if own else np.nan for own in words])
    yield Feature(
        "queries whose words have at most {} letters on average", "queries of words of {} letters or more", letters
    )
    yield from _rare_words(words, documents)
    shared = Counter(word for own in words for word in set(own))
    for word, _ in shared.most_common(COMMON_WORDS):
        yield Condition(f"queries with the word {word!r}", np.array([word in own for own in words]))


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def _is_question(words: Sequence[str], text: str) -> bool:
    return text.rstrip().endswith("?") or (bool(words) and words[0] in QUESTION_WORDS)


def _rare_words(words: Sequence[Sequence[str]], documents: Iterable[str] | None) -> Iterator[Feature]:
    """In how many documents, or else queries, the rarest word of each query occurs."""
    among = "queries" if documents is None else "documents"
    wanted = {word for own in words for word in own}
    sources = words if documents is None else (_words(text) for text in documents)
    count = Counter(word for own in sources for word in wanted.intersection(own))
    rarest = np.array([min(count[word] for word in own) if own else np.nan for own in words], np.float64)
    yield Feature(
        f"queries with a word that occurs in at most {{}} {among}",
        f"queries whose words all occur in at least {{}} {among}",
        rarest,
    )


def ranking_features(system: Run, baseline: Run, topics: Sequence[str]) -> Iterator[Feature]:
    """How many of the first ten documents the rankings share, and how fast the scores of each fall."""
    tops = [[set(run.of_topic(topic, TOP)) for topic in topics] for run in (system, baseline)]
    shared = np.array([len(own & other) if own or other else np.nan for own, other in zip(*tops, strict=True)])
    within = f"of the first {TOP} documents"
    yield Feature(
        f"queries whose rankings share at most {{}} {within}", f"queries whose rankings share {{}} {within} or more",
        shared,
    )  # fmt: skip
    for run in (system, baseline):
        falls = f"{escape_braces(run.name)}'s scores fall within the first {TOP} by"
        yield Feature(
            f"queries where {falls} at most {{}} % of their range",
            f"queries where {falls} {{}} % of their range or more",
            np.array([100 * _fall(list(run.of_topic(topic, DEPTH).values())) for topic in topics]),
        )


def _fall(scores: Sequence[float]) -> float:
    """The share of the range of the first hundred scores that the first ten span; NaN if the range is 0."""
    if len(scores) <= TOP or not np.isfinite(scores).all() or scores[0] == scores[-1]:
        return float("nan")
    return (scores[0] - scores[TOP - 1]) / (scores[0] - scores[-1])


def judged_feature(name: str, judged: FloatArray) -> Feature:
    """How much of a system's ranking is judged."""
    part = f"of {escape_braces(name)}'s first documents are judged"
    return Feature(f"queries where at most {{}} % {part}", f"queries where {{}} % or more {part}", 100 * judged)
