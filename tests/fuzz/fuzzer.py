"""Damaged and random input for every reader: each is read rightly or refused in one line, never anything else.

The tests run some hundred inputs of each kind; for more: ``python -m tests.fuzz.fuzzer 20000 [KIND ...] [--seed 1]``.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from surefoot import _process
from surefoot.errors import SurefootError
from tests.fuzz.commands import OPTIONS
from tests.fuzz.edited import EDITED
from tests.fuzz.formats import FORMATS, Format
from tests.fuzz.objects import OBJECTS
from tests.fuzz.subject import Subject

PIECES = [
    "", " ", "\t", "\n", "\r\n", "\0", '"', "'", ",", ";", "#", "-", "nan", "inf", "1e999", "9" * 30, "9" * 5000, "q1",
    "Q0", "ä", "\x1b[2J", "{", "[" * 50, "[" * 20_000, "}", "\ufeff", "qid:", "1:", ":", "0x1p3", "1_0", "=1+1",
    "topic", "all",
]  # fmt: skip


def mutated(good: bytes, seed: int) -> bytes:
    """A file with a few random edits."""
    rng = random.Random(seed)
    data = bytearray(good)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0:
            data[at:at] = rng.choice(PIECES).encode()
        elif kind == 1:
            del data[at : at + rng.choice((1, 1, 2, 5, 20))]
        elif kind == 2 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 3 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            begin = rng.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + rng.randrange(40)]
        elif kind == 5:
            size, begin = rng.choice((1, 4, 8)), rng.randrange(len(data) + 1)
            first, second = sorted((at // size * size, begin // size * size))
            if first < second <= len(data) - size:
                data[first : first + size], data[second : second + size] = (
                    data[second : second + size],
                    data[first : first + size],
                )
        else:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def of_file(form: Format) -> Subject:
    """A format with good files that are mutated."""
    good = cache(form.good)

    def read(data: bytes, folder: Path) -> Any:
        path = folder / form.file
        path.write_bytes(data)
        return form.read(path)

    return Subject(lambda seed: mutated(good(), seed), read, form.slow)


SUBJECTS = {**{name: of_file(form) for name, form in FORMATS.items()}, **OBJECTS, **OPTIONS, **EDITED}


def outcomes(name: str, inputs: int, folder: Path, seed: int = 0) -> Iterator[tuple[Any, str]]:
    """Each input with what happened to it: ``right``, ``refused`` or what went wrong."""
    subject = SUBJECTS[name]
    for number in range(inputs):
        given = subject.make(seed * 1_000_003 + number)
        with printed() as lines:
            outcome = _outcome(subject, given, folder)
        yield given, f"printed: {lines}" if lines else outcome


def _outcome(subject: Subject, given: Any, folder: Path) -> str:
    try:
        found = subject.read(given, folder)
    except SurefootError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "right" if subject.slow is None or is_right(found, subject.slow, given) else f"wrong: {found}"


def is_right(found: Any, slow: Callable[[Any], Any], given: Any) -> bool:
    try:
        return bool(found == slow(given))
    except (ValueError, IndexError, TypeError, OverflowError):
        return False


@contextmanager
def printed() -> Iterator[list[str]]:
    """The lines that a command, native code included, prints to standard error; warnings are errors."""
    lines: list[str] = []
    own = os.dup(2)
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(), patch.object(_process, "in_command", True):
        warnings.simplefilter("error")
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(own, 2)
            os.close(own)
        file.seek(0)
        lines += file.read().decode(errors="replace").splitlines()


def main(inputs: int, names: list[str], seed: int) -> int:
    total: Counter[str] = Counter()
    print("| input | number | refused | right | anything else |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SUBJECTS:
            found: Counter[str] = Counter()
            for given, outcome in outcomes(name, inputs, Path(folder), seed):
                kind = outcome if outcome in ("right", "refused") else "anything else"
                found[kind] += 1
                if kind == "anything else":
                    print(json.dumps({"input": name, "outcome": outcome[:300], "given": shown(given)}), file=sys.stderr)
            print(_row(name, found), flush=True)
            total.update(found)
    print(_row("**all**", total))
    return int(total["anything else"] > 0)


def shown(given: Any) -> str:
    """The input as a text; the own ones of frames are cut."""
    return str(given.rows() if hasattr(given, "rows") else given.values if hasattr(given, "iloc") else given)


def _row(name: str, found: Counter[str]) -> str:
    return f"| {name} | {found.total():,} | {found['refused']:,} | {found['right']:,} | {found['anything else']:,} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("inputs", type=int, nargs="?", default=2000)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(main(given.inputs, given.kinds, given.seed))
