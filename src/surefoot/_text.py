"""Escape user-supplied text for terminals, Markdown, spreadsheets and XML."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
COMMAND = re.compile(r"^(\s*)(?=::)|(?<=##)(?=\[)")
"""What GitHub takes for a command: :: at the beginning of a line, ##[ anywhere. A zero-width space goes there."""


def one_line(text: str) -> str:
    r"""The text in one line, without control characters or commands: a name must not steer a terminal or GitHub.

    >>> one_line("a\x1b[31m b\n c"), one_line("::error::x")
    ('a�[31m b c', '\u200b::error::x')
    """
    line = " ".join("".join(mark if mark.isprintable() or mark.isspace() else REPLACEMENT for mark in text).split())
    return inert(line)


def inert(line: str) -> str:
    r"""A line that GitHub takes for no command.

    >>> inert("  ::error::x"), inert("a ##[error]x")
    ('  \u200b::error::x', 'a ##\u200b[error]x')
    """
    return COMMAND.sub("\\1\u200b", line)


def visible(text: str) -> str:
    r"""The text in its lines, without other control characters.

    >>> visible("a\x1b[31m\nb\x9b")
    'a�[31m\nb�'
    """
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", REPLACEMENT, text)


def markdown(text: str) -> str:
    r"""A text that Markdown and HTML show as it is, in one line, and that GitHub takes for no mention, issue or link.

    >>> markdown("a|b <b>*c*</b> @team #12")
    'a&#124;b &#60;b&#62;&#42;c&#42;&#60;/b&#62; @&#8203;team #&#8203;12'
    """
    safe = re.sub(r"[&<>|*`\[\]\\~$!]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", one_line(text))
    safe = re.sub(r"((?<!\w)@|(?<!&)#)(?=\w)|@(?=[\w-]+\.\w)|\bGH-(?=\d)", r"\g<0>&#8203;", safe)
    return re.sub(r"\bwww\.", lambda found: f"{found[0][:3]}&#46;", safe, flags=re.IGNORECASE).replace("://", "&#58;//")


def spreadsheet(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before what would be one.

    >>> spreadsheet("=1+1"), spreadsheet("-0.25"), spreadsheet("bm25")
    ("'=1+1", '-0.25', 'bm25')
    """
    is_number = re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number else text


def xml(text: str) -> str:
    """The text without what XML can't hold: control characters and lone surrogates."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", REPLACEMENT, text)
