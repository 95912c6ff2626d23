"""The progress of work that goes through chunks of resamples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from surefoot._typing import Progress

Chunk = TypeVar("Chunk", bound=Sized)


def reported(chunks: Iterable[Chunk], total: int, progress: Progress | None, what: str) -> Iterator[Chunk]:
    """Yield the chunks unchanged; report after each how many of ``what`` are done.

    >>> for chunk in reported([[1, 2], [3]], 3, lambda done, total, message: print(message), "flips"):
    ...     pass
    flips: 2 of 3
    flips: 3 of 3
    """
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, total, f"{what}: {done:,} of {total:,}")
