"""The names of systems, topics and documents, whatever they are given as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surefoot.errors import SurefootError

NAMELESS = frozenset({"", "None", "nan", "NaN", "NaT", "<NA>"})
"""How what is missing is written as a text."""


def as_texts(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    """Names as texts; None and NaN are no names, nor is what can't be written to a file.

    >>> as_texts("topic", [151, "q2"])
    ('151', 'q2')
    """
    given = tuple(names)
    texts = tuple(map(str, given))
    if not NAMELESS.isdisjoint(texts):
        for name, text in zip(given, texts, strict=True):
            if not text or (text in NAMELESS and not isinstance(name, str)):
                raise SurefootError(f"{text or 'an empty text'} can't name a {kind}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise SurefootError(f"the name of a {kind} is not UTF-8 text ({error.reason})") from None
    return texts


def refuse_doubles(kind: str, names: Sequence[str], where: str = "") -> None:
    """Raise if a name occurs twice.

    >>> refuse_doubles("topic", ["q1", "q2"])
    """
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise SurefootError(f"{kind} {twice[0]!r}{where} occurs more than once; names must differ")
