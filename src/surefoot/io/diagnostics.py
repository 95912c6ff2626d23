"""What is wrong with a file of lines: found out in plain Python, once something is."""

from __future__ import annotations

import math
from codecs import getincrementaldecoder
from dataclasses import dataclass

from surefoot._typing import PathLike
from surefoot.errors import InputError
from surefoot.io.files import BYTE_ORDER_MARK

CHUNK = 1 << 20
LARGEST_GRADE = 1e9


@dataclass(frozen=True)
class Layout:
    """The fields of a line, separated by white space, and which of them is the number."""

    kind: str
    fields: str
    number: str

    @property
    def count(self) -> int:
        """How many fields a line has."""
        return len(self.fields.split())


RUN = Layout("run", "topic Q0 document rank score tag", "score")
QRELS = Layout("qrels file", "topic iteration document grade", "grade")


def line_number(text: bytes, offset: int) -> int:
    """The number of the line at an offset; the first is 1."""
    return text.count(b"\n", 0, offset) + 1


def fields_at(text: bytes, offset: int) -> list[bytes]:
    """The fields of the line at an offset, in which no field begins before byte 0 of the line."""
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    return text[begin : end if end >= 0 else len(text)].removeprefix(BYTE_ORDER_MARK).split()


def refuse_other_than_utf8(path: PathLike, text: bytes, layout: Layout) -> None:
    """Say where a text stops being UTF-8. It is looked at piece by piece, since it may be large."""
    decoder = getincrementaldecoder("utf-8")()
    for begin in range(0, len(text), CHUNK):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(text[begin : begin + CHUNK], final=begin + CHUNK >= len(text))
        except UnicodeDecodeError as error:
            offset = begin - kept + error.start
            raise InputError(
                path,
                f"expected UTF-8 text, found byte 0x{text[offset]:02x}; a {layout.kind} has lines of {layout.fields}",
                line_number(text, offset),
            ) from None


def malformed(path: PathLike, text: bytes, offset: int, layout: Layout) -> InputError:
    """Say why a line isn't one of the layout."""
    fields, line = fields_at(text, offset), line_number(text, offset)
    control = next((byte for byte in b"".join(fields) if byte < 32), None)
    if control is not None:
        return InputError(
            path,
            f"expected text, found byte 0x{control:02x}; a {layout.kind} has lines of {layout.fields}",
            line,
        )
    other = next((o for o in (RUN, QRELS) if o is not layout and o.count == len(fields)), None)
    hint = f"; is it a {other.kind}?" if other else ""
    return InputError(path, f"expected {layout.count} fields ({layout.fields}), found {len(fields)}{hint}", line)


def number_at(path: PathLike, text: bytes, offset: int, layout: Layout) -> float:
    """The number of the line at an offset, which must be finite, and whole if it is a grade."""
    word = fields_at(text, offset)[layout.fields.split().index(layout.number)]
    try:
        value = float(word) if b"_" not in word else math.nan
    except ValueError:
        value = math.nan
    if layout is QRELS and not (value.is_integer() and abs(value) <= LARGEST_GRADE):
        expected = "a whole number"
    elif not math.isfinite(value):
        expected = "a finite number"
    else:
        return value
    found = word.decode(errors="replace")
    raise InputError(path, f"expected {expected} as the {layout.number}, found {found!r}", line_number(text, offset))


def repeated(path: PathLike, text: bytes, earlier: int, again: int) -> InputError:
    """Say which document a topic has twice."""
    topic, _, document, *_ = (field.decode() for field in fields_at(text, again))
    return InputError(
        path,
        f"document {document!r} occurs again in topic {topic!r}, first in line {line_number(text, earlier)}; "
        "keep one of the lines",
        line_number(text, again),
    )
