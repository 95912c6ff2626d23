"""A web server on this machine with all the faults of the real ones, and a registry that points at it."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from surefoot_lab.datasets import registry as registry_module


@dataclass
class Exchange:
    """What was asked and what was sent."""

    path: str
    range: str | None
    status: int
    sent: int


@dataclass
class Site:
    """The files of the server, and how it serves them."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    log: list[Exchange] = field(default_factory=list)
    cut_after: int | None = None
    """Close the connection after so many bytes of a body."""
    hang_after: int | None = None
    """Send no more after so many bytes, until `wake` is set."""
    wake: threading.Event = field(default_factory=threading.Event)
    has_ranges: bool = True
    shifts_ranges: bool = False
    """Send another part of the file than the one asked for."""
    has_length: bool = True
    tag: str = '"v1"'
    redirect: str = ""
    """Where to send every request instead."""
    pause: float = 0.0
    """Seconds between two pieces of a body."""
    piece: int = 1 << 16
    length: str = ""
    """What to say of the length of every body, in place of the truth."""
    endless: bool = False
    """Send the body again and again."""
    slow_head: bool = False
    """Send headers for ever, a byte at a time."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, exchange: Exchange) -> None:
        with self.lock:
            self.log.append(exchange)


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        if self.site.slow_head:
            with suppress(OSError):  # the client has gone
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Long: ")
                while not self.site.wake.wait(0.02):
                    self.wfile.write(b"x")
            return
        if self.site.redirect:
            self.send_response(302)
            self.send_header("Location", self.site.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self.site.files.get(self.path)
        if content is None:
            self.site.note(Exchange(self.path, None, 404, 0))
            self.send_error(404)
            return
        start = self._start(len(content))
        if start is not None and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.site.note(Exchange(self.path, self.headers["Range"], 416, 0))
            return
        self._send(content, start)

    def _start(self, size: int) -> int | None:
        asked = self.headers["Range"]
        if not asked or not self.site.has_ranges or self.headers["If-Range"] not in (None, self.site.tag):
            return None
        return int(asked.removeprefix("bytes=").removesuffix("-")) - self.site.shifts_ranges

    def _send(self, content: bytes, start: int | None) -> None:
        body = content[start or 0 :]
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.site.has_length:
            self.send_header("Content-Length", self.site.length or str(len(body)))
        if self.site.tag:
            self.send_header("ETag", self.site.tag)
        self.end_headers()
        if self.site.cut_after is not None:
            body = body[: self.site.cut_after]
        self.site.note(Exchange(self.path, self.headers["Range"], 200 if start is None else 206, len(body)))
        pause = len(body) if self.site.hang_after is None else self.site.hang_after
        try:
            while self.site.endless:
                self.wfile.write(body)
            for begin in range(0, pause, self.site.piece):
                self.wfile.write(body[begin : min(begin + self.site.piece, pause)])
                self.wfile.flush()
                time.sleep(self.site.pause)
            if pause < len(body):
                self.site.wake.wait(60)
                self.wfile.write(body[pause:])
        except OSError:
            pass  # the client was killed
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served() -> Iterator[Site]:
    """A site that a server on this machine serves until the block ends."""
    site = Site()
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        site.wake.set()
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Shelf:
    """A registry made by a test."""

    path: Path
    site: Site

    def add(self, name: str, files: dict[str, bytes], known: bool = True, extra: str = "", renamed: str = "") -> None:
        """A collection whose sources the site serves under /NAME/FILE, without the ending that `renamed` takes off."""
        lines = [
            "[[collection]]",
            f'name = "{name}"',
            *(f'{key} = "a {key}"' for key in ("title", "page", "licence", "becomes", "note")),
            extra,
        ]
        for path, content in files.items():
            asked = f"/{name}/{path.removesuffix(renamed)}"
            self.site.files[asked] = content
            lines += ["[[collection.source]]", f'path = "{path}"', f'url = "{self.site.address}{asked}"']
            if known:
                lines.append(f'hash = "sha256:{hashlib.sha256(content).hexdigest()}"')
        with self.path.open("a") as file:
            file.write("\n".join(lines) + "\n")
        registry_module.read_registry.cache_clear()
