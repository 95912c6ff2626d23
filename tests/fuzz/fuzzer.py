"""Damaged and random files for every reader: each is read rightly or refused in one line, never anything else.

The tests run a few hundred files for each format; for more: ``python -m tests.fuzz.fuzzer 20000 [FORMAT ...]``.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from tests.fuzz.formats import FORMATS

PIECES = [
    "", " ", "\t", "\n", "\r\n", "\0", '"', "'", ",", ";", "#", "-", "nan", "inf", "1e999", "9" * 30, "q1", "Q0", "ä",
    "\x1b[2J", "{", "[" * 50, "}", "\ufeff", "qid:", "1:", ":", "0x1p3", "1_0", "=1+1", "topic", "all",
]  # fmt: skip


def mutated(good: bytes, seed: int) -> bytes:
    """A file with a few random edits."""
    rng = random.Random(seed)
    data = bytearray(good)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
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
        else:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def outcomes(name: str, inputs: int, folder: Path, seed: int = 0) -> Iterator[tuple[bytes, str]]:
    """Each mutated file with what happened to it: ``right``, ``refused`` or what went wrong."""
    form = FORMATS[name]
    good, path = form.good(), folder / form.file
    for number in range(inputs):
        data = mutated(good, seed * 1_000_003 + number)
        path.write_bytes(data)
        try:
            found = form.read(path)
        except SurefootError as error:
            yield data, "refused" if "\n" not in str(error) else f"several lines: {error}"
            continue
        except Exception as error:
            yield data, f"{type(error).__name__}: {error}"
            continue
        yield data, "right" if form.slow is None or is_right(found, form.slow, data) else f"wrong: {found}"


def is_right(found: Any, slow: Callable[[bytes], Any], data: bytes) -> bool:
    try:
        return bool(found == slow(data))
    except (ValueError, IndexError):
        return False


def main(inputs: int, names: list[str]) -> int:
    total: Counter[str] = Counter()
    print("| format | files | refused | right | anything else |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or FORMATS:
            found: Counter[str] = Counter()
            for data, outcome in outcomes(name, inputs, Path(folder)):
                kind = outcome if outcome in ("right", "refused") else "anything else"
                found[kind] += 1
                if kind == "anything else":
                    wrong = {"format": name, "outcome": outcome[:300], "data": data.decode("latin-1")}
                    print(json.dumps(wrong), file=sys.stderr)
            print(_row(name, found), flush=True)
            total.update(found)
    print(_row("**all**", total))
    return int(total["anything else"] > 0)


def _row(name: str, found: Counter[str]) -> str:
    return f"| {name} | {found.total():,} | {found['refused']:,} | {found['right']:,} | {found['anything else']:,} |"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:]))
