"""A cache of parsed ranking data: the arrays of each file, to be mapped into memory.

An entry is named after a hash of its source's path and holds the source's size and modification time, by which a
changed source is detected. It begins with a magic line and a header in JSON with the offset of each array and a
checksum of all of them. The least recently used entries make room for new ones.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.io.atomic import replacing
from surefoot.io.cache import cache_folder, evict
from surefoot.io.files import STDIN, parse_json
from surefoot.learn.data import RankingData

if TYPE_CHECKING:
    import polars

MAGIC = b"surefoot ranking data 3\n"
ALIGNED = 64
SMALLEST = 1 << 20
"""Smaller texts are parsed as fast as an entry is loaded."""

LARGEST = 16 << 30
"""Bytes of all entries together."""

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Entry:
    """The cache file of one source, and the size and modification time of the source."""

    file: Path
    source: str
    size: int
    changed: int

    @classmethod
    def of(cls, path: PathLike) -> Entry | None:
        """The entry of a file; None for standard input, pipes and files that do not exist."""
        source = os.path.realpath(path)
        try:
            state = Path(source).stat()
        except OSError:
            return None
        if str(path) == STDIN or not S_ISREG(state.st_mode):
            return None
        name = sha256(os.fsencode(source)).hexdigest()[:32]
        return cls(cache_folder() / "parsed" / name, source, state.st_size, state.st_mtime_ns)

    def load(self, source: str) -> RankingData | None:
        """The cached data, if the entry is complete and the source has not changed.

        The arrays are mapped copy-on-write: they are read on first use, and writing to them does not change the file.
        """
        try:
            with self.file.open("rb") as file:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            head, body = _head(content)
            if [head["size"], head["changed"]] != [self.size, self.changed] or head["crc"] != crc32(body):
                return None
            os.utime(self.file)
            arrays = {
                name: np.ndarray(shape, dtype, content, offset)
                for name, (dtype, shape, offset) in head["arrays"].items()
            }
            return _data(arrays, head["first_feature"], source)
        except (OSError, ValueError, KeyError, TypeError, SurefootError):
            return None

    def save(self, data: RankingData) -> None:
        """Cache data unless the source changed while it was read. A full or read-only disk is no error."""
        try:
            if Entry.of(self.source) != self:
                return
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.file) as draft:
                self._write(draft, _arrays(data), data.first_feature)
            evict(self.file, LARGEST)
        except OSError:
            return

    def _write(self, draft: Path, arrays: Arrays, first_feature: int) -> None:
        offsets, offset, checksum = {}, 0, 0
        for name, array in arrays.items():
            offsets[name] = array.dtype.str, array.shape, offset
            offset += _padded(array.nbytes)
            for piece in _pieces(array):
                checksum = crc32(piece, checksum)
        head = {
            "size": self.size, "changed": self.changed, "first_feature": first_feature,
            "bytes": offset, "arrays": offsets, "crc": checksum,
        }  # fmt: skip
        with draft.open("wb") as file:
            file.write(_framed(json.dumps(head).encode()))
            for array in arrays.values():
                for piece in _pieces(array):
                    file.write(piece)


def _pieces(array: npt.NDArray[Any]) -> list[memoryview | bytes]:
    """The bytes of an array: whole blocks without a copy, and the padded rest."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = flat.size - flat.size % ALIGNED
    rest = flat[whole:].tobytes()
    return [flat[:whole].data, rest.ljust(ALIGNED, b"\0") if rest else b""]


def _framed(head: bytes) -> bytes:
    start = MAGIC + b"%08x %08x " % (len(head), crc32(head)) + head
    return start + b" " * (_padded(len(start)) - len(start))


def _head(content: mmap.mmap) -> tuple[dict[str, Any], memoryview]:
    """The header of an entry, with the offsets of the arrays from the beginning of the file, and the arrays' bytes."""
    begin = len(MAGIC) + 18
    size, checksum = (int(word, 16) for word in content[len(MAGIC) : begin].split())
    text = content[begin : begin + size]
    if content[: len(MAGIC)] != MAGIC or crc32(text) != checksum:
        raise ValueError("not an entry of this kind, or a damaged one")
    head: dict[str, Any] = parse_json(text)
    body = _padded(begin + size)
    if len(content) != body + head["bytes"]:
        raise ValueError("cut off")
    head["arrays"] = {name: (dtype, shape, body + at) for name, (dtype, shape, at) in head["arrays"].items()}
    return head, memoryview(content)[body:]


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _arrays(data: RankingData) -> Arrays:
    arrays: dict[str, npt.NDArray[Any]] = {
        "labels": data.labels,
        "bounds": data.bounds,
        "queries": _joined("\n".join(data.queries)),
    }
    if data.documents is not None:
        arrays["documents"] = _joined(data.documents.str.join("\n").item())
    if isinstance(data.features, np.ndarray):
        return arrays | {"features": data.features}
    matrix = data.features
    shape = np.array(matrix.shape)
    return arrays | {"values": matrix.data, "columns": matrix.indices, "ends": matrix.indptr, "shape": shape}


def _joined(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _data(arrays: Arrays, first_feature: int, source: str) -> RankingData:
    features: Any
    if "features" in arrays:
        features = arrays["features"]
    else:
        from scipy import sparse

        rows, columns = arrays["shape"].tolist()
        features = sparse.csr_array((arrays["values"], arrays["columns"], arrays["ends"]), shape=(rows, columns))
    return RankingData(
        features,
        arrays["labels"],
        arrays["bounds"],
        tuple(arrays["queries"].tobytes().decode().split("\n")),
        series_of(arrays["documents"].tobytes().decode()) if "documents" in arrays else None,
        first_feature=first_feature,
        source=source,
    )


def series_of(lines: str) -> polars.Series:
    """The lines of a text as a series."""
    import polars

    return polars.Series([lines]).str.split("\n").explode()
