"""The progress of long work: a bar on a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from surefoot._typing import Progress

LOG_INTERVAL = 20.0
"""Seconds between two lines of a periodic log."""

Log = Literal["periodic", "each", "none"]


@contextmanager
def progress(first: str, log: Log = "periodic", in_bytes: bool = False) -> Iterator[Progress]:
    """Show progress on standard error; yields a function of what is done, of how much, and a message.

    On a terminal it is a bar, which disappears at the end; ``first`` is its message until there is another, and
    ``in_bytes`` says that bytes are counted. Elsewhere messages are printed as lines: one in 20 seconds, each that is
    new, or none.
    """
    if not sys.stderr.isatty():
        yield Lines(log)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    counts = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else ()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *counts)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda done, total, message: bar.update(task, completed=done, total=total, description=message)


class Lines:
    """Progress as lines of a log."""

    def __init__(self, log: Log) -> None:
        self._log, self._last, self._seen = log, time.monotonic(), set[str]()

    def __call__(self, done: int, total: int | None, message: str) -> None:
        if not self._is_due(message):
            return
        self._last = time.monotonic()
        self._seen.add(message)
        print(message, file=sys.stderr, flush=True)

    def _is_due(self, message: str) -> bool:
        if self._log == "periodic":
            return time.monotonic() - self._last >= LOG_INTERVAL
        return self._log == "each" and message not in self._seen


def time_left(seconds: float) -> str:
    """Remaining seconds in a suitable unit.

    >>> time_left(42), time_left(200), time_left(9000)
    ('42 s left', '3 min left', '2.5 h left')
    """
    if seconds < 60:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 3600 else f"{seconds / 3600:.1f} h left"
