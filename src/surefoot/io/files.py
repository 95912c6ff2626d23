"""Reading files: plain, compressed (detected by the first bytes, not the name), or standard input; and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from io import BufferedReader, BytesIO
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any

from surefoot._lazy import optional
from surefoot.errors import InputError

if TYPE_CHECKING:
    from surefoot._typing import PathLike

STDIN = "-"
IRDS = "irds:"
"""The prefix of the name of a collection of ir_datasets, which may take the place of a file."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ZIP_ZSTD = 93
COMPRESSED = (".gz", ".bz2", ".xz", ".lz4", ".zst")
RUN_ENDINGS = (".run", ".txt", ".trec", ".res", ".score", ".eval", ".json", ".jsonl", ".csv", ".tsv", ".parquet")


def read_bytes(path: PathLike) -> bytes:
    """The content of a file, decompressed; ``-`` is standard input."""
    data = _raw(path)
    kind = _kind(data)
    if kind is None:
        return data
    try:
        return _unpack(kind, data)
    except _damage_errors() as error:
        raise _damaged(path, kind, error) from None


@contextmanager
def open_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file to read it in pieces, decompressed; lz4 and zstd are decompressed whole."""
    if str(path) == STDIN or not Path(path).is_file():
        yield BufferedReader(BytesIO(read_bytes(path)))
        return
    with Path(path).open("rb") as file:
        kind = _kind(file.peek(8))
        try:
            if kind is None:
                yield file
            elif kind in ("lz4", "zstd"):
                yield BufferedReader(BytesIO(read_bytes(path)))
            else:
                with import_module(_MODULES[kind]).open(file) as unpacked:
                    yield unpacked
        except _damage_errors() as error:
            if kind is None:
                raise
            raise _damaged(path, kind, error) from None


def name_of(path: PathLike, endings: tuple[str, ...] = RUN_ENDINGS) -> str:
    """The name of a system by its file: without a compression suffix, and then without a known suffix.

    >>> name_of("runs/indriCASP.run.gz"), name_of("PL2c1.0.gz"), name_of("old.csv"), name_of("-")
    ('indriCASP', 'PL2c1.0', 'old', 'stdin')
    """
    if str(path) == STDIN:
        return "stdin"
    name = _without(_without(PurePath(path).name, COMPRESSED), endings)
    return name.encode(errors="replace").decode()  # names of files are bytes, those of systems are text


def _without(name: str, endings: tuple[str, ...]) -> str:
    stem, dot, ending = name.rpartition(".")
    return stem if stem and dot + ending.lower() in endings else name


def _raw(path: PathLike) -> bytes:
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError(path, "standard input is closed; name a file, or pipe one in")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(path, "no such file") from None
    except IsADirectoryError:
        raise InputError(path, "is a folder; name the files in it") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise InputError(path, f"can't be read: {getattr(error, 'strerror', None) or error}") from None


def _kind(start: bytes) -> str | None:
    """The compression of data that begins with these bytes; None without compression."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def _damaged(path: PathLike, kind: str, error: BaseException) -> InputError:
    return InputError(path, f"truncated or damaged {kind} archive ({error}); fetch it again")


def _unpack(kind: str, data: bytes) -> bytes:
    """Decompress consecutive frames; the libraries' own functions miss a second or a truncated frame."""
    if kind == "gzip":
        with suppress(Exception):  # ISA-L is faster than zlib; where it is missing or fails, zlib decides
            unpacked: bytes = import_module("isal.igzip").decompress(data)
            return unpacked
    start, wrong = _decompressor(kind)
    parts = []
    while data:
        frame = start()
        try:
            parts.append(frame.decompress(data))
        except wrong as error:
            raise ValueError(error) from None
        if not frame.eof:
            raise EOFError("the last frame is cut off")
        data = (frame.unused_data or b"").lstrip(b"\0")  # padding
    return b"".join(parts)


def _decompressor(kind: str) -> tuple[Callable[[], Any], type[Exception]]:
    """A function that makes a decompressor of one frame, and the error that the decompressor raises."""
    if kind == "gzip":
        zlib = import_module("zlib")
        return partial(zlib.decompressobj, 31), zlib.error
    if kind == "zstd":
        newer = sys.version_info >= (3, 14)
        zstd = import_module("compression.zstd") if newer else optional("zstandard")
        return zstd.ZstdDecompressor if newer else zstd.ZstdDecompressor().decompressobj, zstd.ZstdError
    module, name = {"bzip2": ("bz2", "BZ2"), "xz": ("lzma", "LZMA"), "lz4": ("lz4.frame", "LZ4Frame")}[kind]
    return getattr(optional(module), f"{name}Decompressor"), RuntimeError


def unzip(path: PathLike, data: bytes, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The members of a zip archive that are wanted; Python's own reader has zstd, method 93, only from 3.14 on."""
    import struct
    import zipfile
    import zlib

    found = {}
    try:
        for member in (archive := zipfile.ZipFile(BytesIO(data))).infolist():
            if not wanted(member.filename):
                continue
            if member.compress_type == ZIP_ZSTD:
                start = member.header_offset + 30 + sum(struct.unpack_from("<HH", data, member.header_offset + 26))
                found[member.filename] = _unpack("zstd", data[start : start + member.compress_size])
            else:
                found[member.filename] = archive.read(member)
            if zlib.crc32(found[member.filename]) != member.CRC:
                raise ValueError(f"wrong checksum of {member.filename}")
    except _damage_errors() as error:
        raise _damaged(path, "zip", error) from None
    return found


_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}


def _damage_errors() -> tuple[type[Exception], ...]:
    """The errors that decompressors raise on damaged data."""
    import lzma
    import struct
    import zipfile
    import zlib

    known = (zlib.error, lzma.LZMAError, struct.error, zipfile.BadZipFile)
    return (EOFError, OSError, RuntimeError, ValueError, *known)


def files_matching(pattern: str) -> list[str]:
    """The file of that name, or those that match a pattern such as ``runs/*.run``."""
    anchor = Path(pattern).anchor
    try:
        if Path(pattern).exists():
            return [pattern]
        if any("**" in part and part != "**" for part in Path(pattern).parts):  # Python 3.13 reads this ** as *
            return []
        return sorted(str(file) for file in Path(anchor).glob(pattern.removeprefix(anchor)) if file.is_file())
    except (OSError, ValueError):  # such as a name that is too long
        return []


def line_number(text: bytes, offset: int) -> int:
    """The number of the line at an offset; the first is 1."""
    return text.count(b"\n", 0, offset) + 1


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; every error, including a repeated name or too deep nesting, is a ValueError.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode(json.detect_encoding(text)))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python keeps the last value of a repeated name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {name!r} is repeated")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
