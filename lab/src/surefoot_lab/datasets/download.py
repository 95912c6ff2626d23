"""Download of one file: resumable, and verified before it gets its final name."""

from __future__ import annotations

import gzip
import hashlib
import re
import time
import zlib
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request

from surefoot._names import one_line
from surefoot._version import __version__
from surefoot.errors import SurefootError
from surefoot.io.http import bounded_opener
from surefoot_lab.datasets.registry import Source

if TYPE_CHECKING:
    from surefoot._typing import Progress

SCHEMES = ("https://", "http://", "file://")
CHUNK = 1 << 18
LARGEST = 20 << 30
"""Bytes of a file whose size the registry does not know."""

TIMEOUT = 60
"""Seconds until a server that sends nothing is given up."""
LEAST_RATE, WINDOW = 1000, 60.0
"""The least rate of a download in bytes a second, on average over a window of seconds."""
LONGEST = 12 * 3600.0
"""Seconds for one file; the same command continues it."""


def download(source: Source, folder: Path, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download a source into a folder, from its address or a mirror's copy of the folder, and return the verified file.

    A file that exists and has the right hash is not downloaded again; a partial download is resumed. The file gets its
    final name when it is complete and has the hash of the registry.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    path = source.path if mirror else source.plain_path
    url = f"{mirror}/{path}" if mirror else source.url
    if not url.startswith(SCHEMES):
        raise SurefootError(f"{url}: not an address; SUREFOOT_MIRROR must begin with one of {', '.join(SCHEMES)}")
    # A mirror serves compressed files as they are stored, and the registry has the hash of the uncompressed text.
    comes_packed = path != source.plain_path
    target = folder / path
    part = Part(target.with_name(f"{target.name}.part"), None if comes_packed else source.size)
    fetcher = _Fetcher(part, path, progress)
    known = None if comes_packed else source.hash
    try:
        pooch.retrieve(url, known, fname=target.name, path=target.parent, downloader=fetcher)
    except ValueError:  # raised by pooch for another hash
        raise SurefootError(_refusal(url, source)) from None
    _validate(source, target, url, comes_packed)
    return target


def digest_of(path: Path, algorithm: str = "sha256", unpack: bool = False) -> str:
    """The hash of a file, or of its uncompressed content."""
    with gzip.open(path) if unpack else path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _validate(source: Source, target: Path, url: str, packed: bool) -> None:
    """Checks that pooch does not make: the hash of compressed text, and a web page instead of a file without a hash."""
    if packed and not _holds(target, source.hash):
        target.unlink()
        raise SurefootError(_refusal(url, source))
    if source.hash is None and not packed:
        with target.open("rb") as file:
            start = file.read(512).lstrip().lower()
        if not start or start.startswith((b"<!doctype html", b"<html")):
            target.unlink()
            what = "a web page" if start else "an empty file"
            raise SurefootError(f"{url}: the server sent {what} instead of {source.path}; nothing was kept")


def _holds(packed: Path, known: str | None) -> bool:
    algorithm, _, expected = (known or "sha256:").partition(":")
    try:
        found = digest_of(packed, algorithm, unpack=True)
    except (OSError, EOFError, zlib.error):
        return False
    return known is None or found == expected


def _refusal(url: str, source: Source) -> str:
    return (
        f"{url}: what came is not {source.path} as the registry knows it ({source.hash or 'gzip'}); "
        "it was refused and deleted; try again, or from another mirror"
    )


class Part:
    """A partial download, and the version (ETag or date) that the server gave it, in a file beside it."""

    def __init__(self, path: Path, expected_size: int | None) -> None:
        self.path = path
        self.expected_size = expected_size
        self._mark = path.with_name(f"{path.name}-version")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def conditions(self, url: str) -> dict[str, str]:
        """Headers that request the rest of the same version."""
        if not self.size or not self._mark.exists():
            return {}
        origin, _, version = self._mark.read_text().partition("\n")
        return {"Range": f"bytes={self.size}-", "If-Range": version} if origin == url and version else {}

    def open(self, url: str, version: str, start: int) -> IO[bytes]:
        """Open for appending from ``start``; from 0, earlier bytes are removed before the new version is recorded."""
        if not start:
            self.drop()
        self._mark.write_text(f"{url}\n{version}")
        return self.path.open("ab")

    def finish(self, target: Path) -> None:
        """Rename the complete file."""
        self.path.replace(target)
        self._mark.unlink(missing_ok=True)

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)


class _Fetcher:
    """A downloader for pooch that resumes partial downloads; pooch's own does not keep them."""

    def __init__(self, part: Part, name: str, progress: Progress | None) -> None:
        self._part, self._name = part, name
        self._progress: Progress = progress or (lambda *_: None)

    def __call__(self, url: str, output_file: Any, pooch: Any) -> None:
        self._complete(url)
        self._part.finish(Path(output_file))

    def _complete(self, url: str) -> None:
        headers = self._part.conditions(url)
        try:
            answer = bounded_opener(_SameScheme).open(_request(url, headers), timeout=TIMEOUT)
        except HTTPError as error:
            error.close()
            if error.code == 416 and headers:
                if error.headers.get("Content-Range") == f"bytes */{self._part.size}":
                    return
                self._part.drop()
                self._complete(url)
                return
            said = f"the server said {error.code} {one_line(str(error.reason))}"
            raise SurefootError(f"{url}: {said}; {_other_ways(error.code)}") from None
        except (URLError, HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise SurefootError(f"{url}: no answer ({reason}); is the network there? Try again later") from None
        with answer:
            self._receive(url, answer)

    def _receive(self, url: str, answer: Any) -> None:
        start = _start_of(answer)
        if start not in (0, self._part.size):
            self._part.drop()
            raise SurefootError(f"{url}: the server sent another part than it was asked for; run it again")
        length = answer.headers.get("Content-Length") or ""
        total = start + int(length) if length.isdecimal() else None
        self._refuse_other_sizes(url, total)
        here = start
        with self._part.open(url, _version_of(answer), start) as file:
            for chunk in self._chunks(url, answer, total):
                here += len(chunk)
                self._refuse_endless(url, here)
                file.write(chunk)
                file.flush()  # a killed download keeps every byte that came
                self._progress(here, total, f"{self._name}, {here / 1e6:,.1f} MB")
        if total is not None and here < total:
            raise SurefootError(_broken_off(url, here, total, "the connection was closed"))
        self._refuse_other_sizes(url, here)

    def _chunks(self, url: str, answer: Any, total: int | None) -> Iterator[bytes]:
        begin = last = time.monotonic()
        came = 0
        while True:
            try:
                chunk = answer.read1(CHUNK)  # what has come, so that a slow server can't hold it until a chunk is full
            except (HTTPException, OSError) as error:
                raise SurefootError(_broken_off(url, self._part.size, total, str(error))) from None
            if not chunk:
                return
            yield chunk
            now, came = time.monotonic(), came + len(chunk)
            if now - begin > LONGEST:
                raise SurefootError(_broken_off(url, self._part.size, total, f"{LONGEST / 3600:g} hours have passed"))
            if now - last > WINDOW:
                if came < LEAST_RATE * (now - last):
                    slow = f"the server sends less than {LEAST_RATE:,} bytes a second"
                    raise SurefootError(_broken_off(url, self._part.size, total, slow))
                last, came = now, 0

    def _refuse_endless(self, url: str, here: int) -> None:
        """A server that does not say how much it sends must not fill the disk."""
        most = self._part.expected_size or LARGEST
        if here > most:
            self._part.drop()
            raise SurefootError(f"{url}: the server sends more than the {most:,} bytes expected; nothing was kept")

    def _refuse_other_sizes(self, url: str, size: int | None) -> None:
        expected = self._part.expected_size
        if expected is not None and size is not None and size != expected:
            self._part.drop()
            raise SurefootError(
                f"{url}: the server has {size:,} bytes where the registry knows {expected:,}, so it is another file; "
                "nothing was kept"
            )


class _SameScheme(HTTPRedirectHandler):
    """Follows redirects within the scheme, or from http to https; never to files or to an unprotected connection."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        begin, end = (address.partition("://")[0].lower() for address in (req.full_url, newurl))
        if end != begin and (begin, end) != ("http", "https"):
            raise SurefootError(f"{req.full_url}: the server redirects to {end}://, which is refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _request(url: str, headers: dict[str, str]) -> Request:
    return Request(url, headers={"User-Agent": f"surefoot/{__version__}", "Accept-Encoding": "identity", **headers})


def _start_of(answer: Any) -> int:
    """The offset of a response: 0 unless the server sends a part of the file."""
    found = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
    return int(found[1]) if answer.status == 206 and found else 0


def _version_of(answer: Any) -> str:
    """The identifier of this version of the file; weak ETags do not guarantee equal bytes."""
    tag: str = answer.headers.get("ETag") or ""
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified") or ""


def _broken_off(url: str, here: int, total: int | None, reason: str) -> str:
    whole = f" of {total:,}" if total else ""
    return f"{url}: broke off after {here:,}{whole} bytes ({reason}); run it again to continue"


def _other_ways(code: int) -> str:
    if code in (401, 403, 404, 410):
        return "it may have moved: `surefoot data list NAME` gives its owner's page, SUREFOOT_MIRROR sets another place"
    return "try again later"
