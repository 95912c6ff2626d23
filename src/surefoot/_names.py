"""The names of systems, topics and documents, whatever they are given as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surefoot.errors import SurefootError, did_you_mean, listed

NAMELESS = frozenset({"", "None", "nan", "NaN", "NaT", "<NA>"})
"""How what is missing is written as a text."""


def as_texts(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    """Names as texts; None, NaN and the empty text are no names.

    >>> as_texts("topic", [151, "q2"])
    ('151', 'q2')
    """
    given = tuple(names)
    texts = tuple(map(str, given))
    if not NAMELESS.isdisjoint(texts):
        for name, text in zip(given, texts, strict=True):
            if not text or (text in NAMELESS and not isinstance(name, str)):
                raise SurefootError(f"{text or 'an empty text'} can't name a {kind}")
    return texts


def as_utf8(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    """Names as texts that can be written to a file.

    >>> as_utf8("document", [7, "d2"])
    ('7', 'd2')
    """
    texts = as_texts(kind, names)
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


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; a single one may come bare.

    >>> as_names("bm25"), as_names(["bm25", "dense"])
    (('bm25',), ('bm25', 'dense'))
    """
    return (names,) if isinstance(names, str) else tuple(names)


def positions(kind: str, names: Sequence[str], wanted: Iterable[str]) -> list[int]:
    """Where names are among others.

    >>> positions("topic", ["q1", "q2"], "q2")
    [1]
    """
    index = {name: number for number, name in enumerate(names)}
    chosen = as_names(wanted)
    absent = [name for name in chosen if name not in index]
    if absent:
        hint = did_you_mean(absent[0], names)
        raise SurefootError(f"no {kind} {listed(absent)}{hint}; there are {listed(names)}")
    return [index[name] for name in chosen]
