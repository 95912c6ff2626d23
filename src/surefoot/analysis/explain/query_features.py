"""Features of queries: their text, and how far the two rankings agree and are sure of themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from surefoot._typing import FloatArray
from surefoot.analysis.explain.conditions import Condition, Feature, in_words
from surefoot.io.document_lists import Run

TOP, DEPTH = 10, 100
"""The depth at which rankings are compared, and the one over which the range of scores is taken."""
COMMON_WORDS = 30
"""How many of the words that most queries share are looked at."""
QUESTION_WORDS = frozenset(
    "what how who whom whose when where which why is are was were do does did can could should will would".split()
)
NEGATIONS = frozenset("not no never without except nor none neither non".split())

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def text_features(texts: Sequence[str], documents: Iterable[str] | None = None) -> Iterator[Condition | Feature]:
    """Numbers, questions, negations, length, rare and common words; rare among the documents, if there are any.

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
    """How many documents, or else queries, have the rarest word of each query."""
    among = "queries" if documents is None else "documents"
    wanted = {word for own in words for word in own}
    sources = words if documents is None else (_words(text) for text in documents)
    count = Counter(word for own in sources for word in wanted.intersection(own))
    rarest = np.array([min(count[word] for word in own) if own else np.nan for own in words], np.float64)
    yield Feature(
        f"queries with a word that at most {{}} {among} have",
        f"queries all of whose words at least {{}} {among} have",
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
        falls = f"{in_words(run.name)}'s scores fall within the first {TOP} by"
        yield Feature(
            f"queries where {falls} at most {{}} % of their range",
            f"queries where {falls} {{}} % of their range or more",
            np.array([100 * _fall(list(run.of_topic(topic, DEPTH).values())) for topic in topics]),
        )


def _fall(scores: Sequence[float]) -> float:
    """How much of the range of the first hundred scores lies within the first ten; NaN if there is no range."""
    if len(scores) <= TOP or not np.isfinite(scores).all() or scores[0] == scores[-1]:
        return float("nan")
    return (scores[0] - scores[TOP - 1]) / (scores[0] - scores[-1])


def judged_feature(name: str, judged: FloatArray) -> Feature:
    """How much of a system's ranking is judged."""
    part = f"of {in_words(name)}'s first documents are judged"
    return Feature(f"queries where at most {{}} % {part}", f"queries where {{}} % or more {part}", 100 * judged)
