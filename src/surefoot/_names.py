"""Names of systems, topics and documents: checked, ordered, and escaped for terminals, Markdown, CSV, JSON and XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from surefoot.errors import SurefootError, did_you_mean, listed

MISSING_TEXTS = frozenset({"", "None", "nan", "NaN", "NaT", "<NA>"})
"""How missing values print as text."""
DIGITS = re.compile("([0-9]+)")
Key = tuple[str | tuple[int, str], ...]
REPLACEMENT = "\ufffd"
NO_SEGMENT = "(none)"
"""The segment of topics that have none."""
COMMAND = re.compile(r"^(\s*)(?=::)|(?<=##)(?=\w*\[)")
"""Where CI servers read commands: GitHub :: at the beginning of a line and ##[ anywhere; Azure Pipelines and TeamCity
##NAME[. A zero-width space is inserted there."""


def as_texts(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    """Names as texts; None, NaN and the empty text are refused.

    >>> as_texts("topic", [151, "q2"])
    ('151', 'q2')
    """
    given = tuple(names)
    texts = tuple(map(str, given))
    if not MISSING_TEXTS.isdisjoint(texts):
        for name, text in zip(given, texts, strict=True):
            if not text or (text in MISSING_TEXTS and not isinstance(name, str)):
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


def refuse_duplicates(kind: str, names: Sequence[str], where: str = "") -> None:
    """Raise if a name occurs twice.

    >>> refuse_duplicates("topic", ["q1", "q2"])
    """
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise SurefootError(f"{kind} {twice[0]!r}{where} occurs more than once; names must differ")


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; a single name may be a string.

    >>> as_names("bm25"), as_names(["bm25", "dense"])
    (('bm25',), ('bm25', 'dense'))
    """
    return (names,) if isinstance(names, str) else tuple(names)


def positions(kind: str, names: Sequence[str], wanted: Iterable[str]) -> list[int]:
    """The indices of names in a list.

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


def group_topics(topics: Sequence[str], segments: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The topics of each segment, segments in the order in which they appear; topics without one are ``(none)``.

    >>> group_topics(["q1", "q2", "q3"], {"q1": "head", "q3": "head", "q9": "tail"})
    {'head': ('q1', 'q3'), '(none)': ('q2',)}
    """
    if not hasattr(segments, "items"):
        raise SurefootError(f"segments must map topics to their segments; got {type(segments).__name__}")
    names = {str(topic): str(segment) for topic, segment in segments.items()}
    if not any(topic in names for topic in topics):
        raise SurefootError(f"no topic has a segment: topics are {listed(topics, 3)}; segments name {listed(names, 3)}")
    groups: dict[str, list[str]] = {}
    for topic in topics:
        groups.setdefault(names.get(topic, NO_SEGMENT), []).append(topic)
    return {segment: tuple(members) for segment, members in groups.items()}


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names in natural order: digits compare as numbers, so that q2 goes before q10.

    >>> natural_order(["q10", "q2", "q1b", "q1", "q01"])
    ('q01', 'q1', 'q1b', 'q2', 'q10')
    """
    given = tuple(names)
    prefix = given[0].rstrip("0123456789") if given else ""
    numbers = [name.removeprefix(prefix) for name in given if name.startswith(prefix)]
    everything = "".join(numbers)
    if everything.isascii() and everything.isdigit() and "" not in numbers and len(numbers) == len(given):
        return tuple(sorted(given, key=lambda name: (*_number(name.removeprefix(prefix)), name)))  # faster
    return tuple(sorted(given, key=_key))


def _key(name: str) -> tuple[Key, str]:
    """The texts and the numbers of a name in turn."""
    parts: list[str | tuple[int, str]] = list(DIGITS.split(name))
    parts[1::2] = map(_number, parts[1::2])  # type: ignore[arg-type]
    return tuple(parts), name


def _number(digits: str) -> tuple[int, str]:
    """A sort key for a number: the count of digits, then the digits. int() refuses thousands of digits."""
    digits = digits.lstrip("0")
    return len(digits), digits


def one_line(text: str) -> str:
    r"""The text in one line, without control characters or commands, as a name must not control a terminal or GitHub.

    >>> one_line("a\x1b[31m b\n c"), one_line("::error::x")
    ('a�[31m b c', '\u200b::error::x')
    """
    line = " ".join("".join(mark if mark.isprintable() or mark.isspace() else REPLACEMENT for mark in text).split())
    return escape_commands(line)


def escape_commands(line: str) -> str:
    r"""Escape what GitHub would read as a command in a line.

    >>> escape_commands("  ::error::x"), escape_commands("a ##[error]x")
    ('  \u200b::error::x', 'a ##\u200b[error]x')
    """
    return COMMAND.sub("\\1\u200b", line)


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most this width, commands escaped; a number and its per cent sign stay together.

    >>> wrapped("levels of 5 % or 10 %", 12), wrapped("one two", 6, rest="  ")
    (['levels of', '5 % or 10 %'], ['one', '  two'])
    """
    import textwrap

    joined = re.sub(r"(?<=\d) (?=%)", "\xa0", text)
    lines = textwrap.wrap(joined, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [escape_commands(line.replace("\xa0%", " %")) for line in lines]


def visible(text: str) -> str:
    r"""The text with control characters replaced, except tabs and line feeds; also those that turn text around.

    >>> visible("a\x1b[31m\nb\x9b")
    'a�[31m\nb�'
    """
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", REPLACEMENT, text)


def markdown(text: str) -> str:
    r"""A text that Markdown and HTML show as it is, in one line; GitHub reads no mention, issue or link in it.

    >>> markdown("a|b <b>*c*</b> @team #12")
    'a&#124;b &#60;b&#62;&#42;c&#42;&#60;/b&#62; @&#8203;team #&#8203;12'
    """
    safe = re.sub(r"[&<>|*`\[\]\\~$!]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", one_line(text))
    safe = re.sub(r"((?<!\w)@|(?<!&)#)(?=\w)|@(?=[\w-]+\.\w)|\bGH-(?=\d)", r"\g<0>&#8203;", safe)
    return re.sub(r"\bwww\.", lambda found: f"{found[0][:3]}&#46;", safe, flags=re.IGNORECASE).replace("://", "&#58;//")


def spreadsheet(text: str) -> str:
    """Escape a text that spreadsheets would read as a formula by an apostrophe.

    >>> spreadsheet("=1+1"), spreadsheet("-0.25"), spreadsheet("bm25")
    ("'=1+1", '-0.25', 'bm25')
    """
    is_safe = not text.startswith(("=", "+", "-", "@", "\t", "\r"))
    return text if is_safe or re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", text) else f"'{text}"


def xml(text: str) -> str:
    """The text with characters replaced that XML can't hold: control characters and lone surrogates."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", REPLACEMENT, text)


def json_text(whole: object) -> str:
    r"""Plain values as JSON; CI servers would read ``##[`` and ``##vso[`` as commands, so that they are escaped.

    >>> json_text({"topic": "##[error]x"})
    '{\n  "topic": "#\\u0023[error]x"\n}\n'
    """
    import json

    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    return re.sub(r"##(?=\w*\[)", r"#\\u0023", text) + "\n"


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Rows as CSV; GitHub would read a line that begins with ``::`` as a command, so its cells are quoted.

    >>> csv_text([["topic", "p"], ["::error::x", 1]])
    'topic,p\n"::error::x","1"\n'
    """
    import csv
    import io

    out = io.StringIO()
    plain, quoted = (csv.writer(out, lineterminator="\n", quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    for row in rows:
        (quoted if str(row[0]).lstrip().startswith("::") else plain).writerow(row)
    return out.getvalue()
