"""Tokenising: identifiers are split, words lowercased and stemmed, a few stop words removed."""

from __future__ import annotations

import re
from functools import cache

_STOP_WORDS = """
    a an and are as at be been but by can do does for from has have if in into is it its may no not of on or
    self so such than that the their then there these they this to was we when where which will with you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Capitals before a capitalised word, a word, capitals, or a number: HTTPServer2 is http, server, 2.
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def terms(text: str) -> list[str]:
    """The terms of a text, in order.

    >>> terms("Returns the HTTPServer's max_size, not an iterator over cached copies.")
    ['return', 'http', 'server', 'max', 'siz', 'iterator', 'over', 'cach', 'copy']
    """
    words = (piece.lower() for piece in _PIECES.findall(text))
    return [stem(word) for word in words if len(word) > 1 and word not in STOP_WORDS]


@cache
def stem(word: str) -> str:
    """A word without its plural, -ing or -ed, and without a final e or doubled letter.

    Harman's S stemmer ("How effective is suffixing?", JASIS 42(1), 1991) with two more suffixes. The stem need not be
    a word; it is enough that most forms of a word have the same stem.

    >>> [stem(word) for word in "queries classes files parsing parse parsed stopped status string".split()]
    ['query', 'class', 'fil', 'pars', 'pars', 'pars', 'stop', 'status', 'string']
    """
    word = _singular(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and re.search("[aeiouy]", base):
            return _bare(base)
    return _bare(word) if word.endswith("e") else word


def _singular(word: str) -> str:
    if len(word) < 4 or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1]


def _bare(word: str) -> str:
    word = word.removesuffix("e") if len(word) > 3 else word
    doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word
