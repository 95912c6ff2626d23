"""How far long work has come: a bar where someone may be looking, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET = 20.0
"""Seconds between two lines where nobody is looking at a terminal."""

Tell = Callable[[int, int, str], None]
"""Takes what is done, of how much, and how to say it."""


@contextmanager
def progress(first: str) -> Iterator[Tell]:
    """Show how far work has come; ``first`` is what it does until it can tell."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


class Lines:
    """A line of progress now and then, for logs."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, done: int, total: int, text: str) -> None:
        if time.monotonic() - self.last >= QUIET:
            self.last = time.monotonic()
            print(text, file=sys.stderr, flush=True)


def time_left(seconds: float) -> str:
    """Seconds for people.

    >>> time_left(42), time_left(200), time_left(9000)
    ('42 s left', '3 min left', '2.5 h left')
    """
    if seconds < 60:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 3600 else f"{seconds / 3600:.1f} h left"
