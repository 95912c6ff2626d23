"""HTTP requests with a timeout for the whole head of a response, not for each read from the socket."""

from __future__ import annotations

from contextlib import suppress
from http.client import HTTPConnection
from socket import SHUT_RDWR
from threading import Event, Timer
from typing import Any
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener


class _BoundedHead:
    """Abort a request whose connection and headers are not complete within its timeout.

    A socket's own timeout starts again with every byte, so a server could send headers forever.
    """

    def do_open(self, http_class: Any, req: Request, **options: Any) -> Any:
        connections: list[HTTPConnection] = []
        is_late = Event()

        def connect(*arguments: Any, **own: Any) -> HTTPConnection:
            connections.append(http_class(*arguments, **own))
            return connections[-1]

        def abort() -> None:
            is_late.set()
            for sock in (connection.sock for connection in connections):
                with suppress(OSError, AttributeError):  # already closed, or not connected yet
                    sock.shutdown(SHUT_RDWR)

        assert req.timeout is not None
        timer = Timer(req.timeout, abort)
        timer.daemon = True
        timer.start()
        try:
            return super().do_open(connect, req, **options)  # type: ignore[misc]
        finally:
            timer.cancel()
            if is_late.is_set():
                raise TimeoutError("timed out")


class _Http(_BoundedHead, HTTPHandler):
    pass


class _Https(_BoundedHead, HTTPSHandler):
    pass


def bounded_opener(redirects: type[HTTPRedirectHandler]) -> OpenerDirector:
    """An opener for http and https with this policy of redirects; pass a timeout to its ``open``."""
    return build_opener(_Http, _Https, redirects)
