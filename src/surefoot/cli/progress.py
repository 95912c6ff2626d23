"""Progress of long work: one changing line on a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from surefoot._names import one_line

if TYPE_CHECKING:
    from surefoot._typing import Progress

LOG_INTERVAL = 20.0
"""Seconds between two lines of a periodic log."""
REFRESH_INTERVAL = 0.1
"""Seconds between two updates of a terminal's line."""
WARM_UP = 1.0
"""The estimate of the time left ignores the first second: resumed work finds its first steps done."""

Log = Literal["periodic", "each", "none"]


@contextmanager
def progress(first: str, log: Log = "periodic") -> Iterator[Progress]:
    """Show progress on standard error; yields a function of the amount done, the total and a message.

    On a terminal it is one line, erased at the end; ``first`` is its first message. Elsewhere messages are printed as
    lines: one every 20 seconds, each new one, or none.
    """
    if not sys.stderr.isatty():
        yield Lines(log)
        return
    line = TerminalLine()
    line(0, None, first)
    try:
        yield line
    finally:
        line.erase()


class Lines:
    """Progress as lines of a log."""

    def __init__(self, log: Log) -> None:
        self._log, self._last, self._seen, self._left = log, time.monotonic(), set[str](), TimeLeft()

    def __call__(self, done: int, total: int | None, message: object) -> None:
        left = self._left(done, total)
        if self._log == "periodic" and time.monotonic() - self._last >= LOG_INTERVAL:
            self._last = time.monotonic()
            print(f"{message}{left}", file=sys.stderr, flush=True)
        elif self._log == "each" and str(message) not in self._seen:
            self._seen.add(str(message))
            print(message, file=sys.stderr, flush=True)


class TerminalLine:
    """Progress as a line of a terminal, with the share that is done."""

    def __init__(self) -> None:
        self._shown, self._left = 0.0, TimeLeft()

    def __call__(self, done: int, total: int | None, message: object) -> None:
        left = self._left(done, total)
        if time.monotonic() - self._shown >= REFRESH_INTERVAL:
            self._shown = time.monotonic()
            self._write(f"{f'{100 * min(done / total, 1):3.0f} %  ' if total else ''}{one_line(str(message))}{left}")

    def erase(self) -> None:
        """Leave the line empty."""
        self._write("")

    def _write(self, line: str) -> None:
        from shutil import get_terminal_size

        print(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)


class TimeLeft:
    """Estimates the time left from the rate so far."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._since, self._first = self._started, 0

    def __call__(self, done: int, total: int | None) -> str:
        """The estimate as the end of a message; empty while there is none."""
        now = time.monotonic()
        if now - self._started < WARM_UP:
            self._since, self._first = now, done
        if total is None or not self._first < done < total:
            return ""
        return f", {time_left((now - self._since) / (done - self._first) * (total - done))}"


def time_left(seconds: float) -> str:
    """Remaining seconds in a suitable unit.

    >>> time_left(42), time_left(200), time_left(9000)
    ('42 s left', '3 min left', '2.5 h left')
    """
    if seconds < 60:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 3600 else f"{seconds / 3600:.1f} h left"
