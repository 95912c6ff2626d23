"""Error messages for runs and qrels: the kernels detect that a line is wrong, plain Python finds out why."""

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
class LineFormat:
    """The format of a file: the fields of a line, and which of them is the number."""

    kind: str
    fields: str
    number: str

    def __str__(self) -> str:
        return f"a {self.kind} has lines of {self.fields}"

    @property
    def count(self) -> int:
        """How many fields a line has."""
        return len(self.fields.split())


RUN = LineFormat("run", "topic Q0 document rank score tag", "score")
QRELS = LineFormat("qrels file", "topic iteration document grade", "grade")


def line_number(text: bytes, offset: int) -> int:
    """The number of the line at an offset; the first is 1."""
    return text.count(b"\n", 0, offset) + 1


def fields_at(text: bytes, offset: int) -> list[bytes]:
    """The fields of the line at an offset."""
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    return text[begin : end if end >= 0 else len(text)].removeprefix(BYTE_ORDER_MARK).split()


def validate_utf8(path: PathLike, text: bytes, line_format: LineFormat) -> None:
    """Raise at the first byte that is not UTF-8; the text is decoded in chunks, since it may be large."""
    decoder = getincrementaldecoder("utf-8")()
    for begin in range(0, len(text), CHUNK):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(text[begin : begin + CHUNK], final=begin + CHUNK >= len(text))
        except UnicodeDecodeError as error:
            offset = begin - kept + error.start
            raise InputError(
                path,
                f"expected UTF-8 text, found byte 0x{text[offset]:02x}; {line_format}",
                line_number(text, offset),
            ) from None


def malformed(path: PathLike, text: bytes, offset: int, line_format: LineFormat) -> InputError:
    """The error of a line that does not have the fields of the format."""
    fields, line = fields_at(text, offset), line_number(text, offset)
    control = next((byte for byte in b"".join(fields) if byte < 32), None)
    if control is not None:
        return InputError(
            path,
            f"expected text, found byte 0x{control:02x}; {line_format}",
            line,
        )
    other = next((o for o in (RUN, QRELS) if o is not line_format and o.count == len(fields)), None)
    hint = f"; is it a {other.kind}?" if other else ""
    return InputError(
        path, f"expected {line_format.count} fields ({line_format.fields}), found {len(fields)}{hint}", line
    )


def number_at(path: PathLike, text: bytes, offset: int, line_format: LineFormat) -> float:
    """The number in the line at an offset, which must be finite, and not too large if it is a grade."""
    field = fields_at(text, offset)[line_format.fields.split().index(line_format.number)]
    try:
        value = float(field) if b"_" not in field else math.nan
    except ValueError:
        value = math.nan
    limit = LARGEST_GRADE if line_format is QRELS else math.inf
    if math.isfinite(value) and abs(value) <= limit:
        return value
    expected = f"a number of at most {limit:g}" if math.isfinite(value) else "a finite number"
    found = field.decode(errors="replace")
    raise InputError(
        path, f"expected {expected} as the {line_format.number}, found {found!r}", line_number(text, offset)
    )


def repeated(path: PathLike, text: bytes, earlier: int, again: int, remedy: str = "") -> InputError:
    """The error of a document that occurs twice in a topic."""
    topic, _, document, *_ = (field.decode() for field in fields_at(text, again))
    return InputError(
        path,
        f"document {document!r} occurs again in topic {topic!r}, first in line {line_number(text, earlier)}; "
        f"keep one of the lines{remedy}",
        line_number(text, again),
    )
