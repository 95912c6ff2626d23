"""Is a Parquet file as it was written? What polars trusts is validated here: sizes, counts, and checksums of pages.

Checksums are optional: Spark writes them, pyarrow on request (``write_page_checksum=True``), polars doesn't. In a file
without them a changed value is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap
from typing import TYPE_CHECKING, Any
from zlib import crc32

from surefoot._lazy import LazyModule
from surefoot._native import quiet_failures
from surefoot._typing import PathLike
from surefoot.errors import InputError

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

MAGIC = b"PAR1"
DEEPEST = 32
"""Structures and lists within others; a damaged file may seem to have any number."""

Bytes = bytes | memoryview | mmap
Fields = dict[int, Any]
"""A structure of Thrift's compact protocol: its values by the numbers of their fields."""


def validate_pages(path: PathLike, data: Bytes) -> None:
    """Refuse a Parquet file whose pages don't agree with their checksums, or with what the file says of them.

    Parameters
    ----------
    path
        The file's name, for the error.
    data
        Its bytes.
    """
    try:
        _validate(data)
    except _DamagedError as error:
        raise damaged(path, error) from None
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError):
        raise damaged(path, "its metadata can't be read") from None


def damaged(path: PathLike, error: object) -> InputError:
    """The error of a file that can't be read."""
    return InputError(path, f"damaged Parquet file ({str(error).splitlines()[0]}); fetch it again")


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Around a call by which polars reads a file: what it raises becomes one line, and what it prints is dropped."""
    try:
        with quiet_failures():
            yield
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise damaged(path, error) from None


class _DamagedError(Exception):
    """What is wrong with a file."""


def _validate(data: Bytes) -> None:
    if len(data) < 12 or bytes(data[-4:]) != MAGIC:
        raise _DamagedError("it does not end as one")
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if footer < 4:
        raise _DamagedError("it is shorter than its metadata")
    metadata, _ = _Reader(data, footer).structure()
    rows = 0
    for group in metadata[4]:
        rows += group[3]
        for chunk in group[1]:
            if chunk[3][5]:  # a column without values may have no pages, and lies anywhere
                _validate_chunk(data, footer, chunk[3])
    if rows != metadata[3]:
        raise _DamagedError(f"it has {rows:,} rows instead of {metadata[3]:,}")


def _validate_chunk(data: Bytes, footer: int, chunk: Fields) -> None:
    """Validate the pages of one column."""
    values = inflated = 0
    for header, size, page in _pages(data, footer, chunk):
        if 4 in header and crc32(page) != header[4] & 0xFFFFFFFF:
            raise _DamagedError("a page does not have its checksum")
        values += (header.get(5) or header.get(8) or {}).get(1, 0)
        inflated += size + header[2]
    if values != chunk[5]:
        raise _DamagedError(f"a column has {values:,} values instead of {chunk[5]:,}")
    if inflated > chunk[6]:  # what is allocated for a page is as large as its header says
        raise _DamagedError(f"a column has {inflated:,} bytes instead of {chunk[6]:,}")


def _pages(data: Bytes, footer: int, chunk: Fields) -> Iterator[tuple[Fields, int, bytes | memoryview]]:
    """The header of each page of a column, the bytes it takes, and the page itself."""
    start = min(chunk[9], chunk.get(11) or chunk[9])
    end = start + chunk[7]
    if not 4 <= start <= end <= footer:
        raise _DamagedError("a column lies outside of it")
    while start < end:
        header, begin = _Reader(data, start).structure()
        stop = begin + header[3]
        if not begin <= stop <= end or header[2] < 0:
            raise _DamagedError("a page is longer than its column")
        yield header, begin - start, data[begin:stop]
        start = stop


class _Reader:
    """Reads Thrift's compact protocol, in which Parquet keeps its metadata."""

    def __init__(self, data: Bytes, position: int) -> None:
        self.data, self.position = data, position

    def structure(self, depth: int = 0) -> tuple[Fields, int]:
        """A structure, and the position after it."""
        fields: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth)
        return fields, self.position

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise _DamagedError("its metadata can't be read")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            return self._list(depth + 1)
        if kind == 12:
            return self.structure(depth + 1)[0]
        raise _DamagedError("its metadata can't be read")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        if length == 15:
            length = self._unsigned()
        if length > len(self.data) - self.position:
            raise _DamagedError("its metadata can't be read")
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(length)]
        return [self._value(kind, depth) for _ in range(length)]

    def _byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def _bytes(self, length: int) -> bytes:
        self.position += length
        if self.position > len(self.data):
            raise _DamagedError("its metadata can't be read")
        return bytes(self.data[self.position - length : self.position])

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _DamagedError("its metadata can't be read")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
