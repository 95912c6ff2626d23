"""Kill commands with SIGKILL at random moments and run them again: the same bytes, and no file more.

Half of the kills come at random times of the work, half just before a random file operation in the output folder,
where a write could be torn. The tests kill a few; the manual's table is that of ``python -m tests.kills.killer 50``.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.kills.victim import victim
from tests.lab.datasets.web_site import Shelf, served

TRAIN = "train --train train.txt --baseline feature:1 --trees 60 --leaves 4 --docs-per-leaf 5 -o {output}"
VALID = "--valid valid.txt --resume"
COMMANDS = {
    "train, LightGBM": f"{TRAIN} {VALID} --param bagging_fraction=0.5 --param bagging_freq=1",
    "train, XGBoost": f"{TRAIN} {VALID} --engine xgboost --param subsample=0.5",
    "train, bags and a guard": f"{TRAIN} --resume --bags 4 --early-stopping 20 --guard z",
    "guard fit": "guard fit --baseline old.run --candidate new.run --qrels qrels.txt --anyway "
    "-o {output}/guard.json --force",
    "tradeoff": f"tradeoff{TRAIN[5:]} --valid valid.txt --test test.txt --alpha 1,5 --n-resamples 50 --trees 15",
    "experiment": "experiment plan.toml -o {output}",
    "report": "report old.run new.run --qrels qrels.txt --measure nDCG@10 -o {output}/report.html --force",
    "data get": "data get thing",
}
PLAN = """data = ["train.txt", "valid.txt"]
baseline = "feature:1"
alphas = [1, 5]
trees = [20]
leaves = [4]
docs_per_leaf = [5]
folds = 3
"""
FINISHED = "is finished; train without --resume"
"""Said by a training that was killed after its last write."""
PAUSE = 0.02
LIMIT = 120
"""Seconds until a command counts as hung: a fork copies locks, but not the threads that hold them."""


@dataclass(frozen=True)
class Bench:
    """A folder with small inputs, and a registry whose one collection a server on this machine has."""

    folder: Path
    registry: Path

    def run(self, command: str, output: Path, nth: int = 0, delay: float | None = None) -> tuple[int, str, float]:
        """Run a command, killed before its n-th file operation or after a delay: exit code, messages, seconds."""
        words = command.format(output=output).split()
        output.mkdir(exist_ok=True)
        receiver, sender = os.pipe()
        begin = time.monotonic()
        process = os.fork()  # a process of its own, without the time that imports take
        if not process:
            signal.alarm(LIMIT)  # ends the process, whatever it waits for
            os.chdir(self.folder)
            os.dup2(sender, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.environ["SUREFOOT_CACHE"] = str(output if words[0] == "data" else self.folder / "cache")
            os._exit(victim(str(output), nth, self.registry, words))
        os.close(sender)
        if delay is not None:
            time.sleep(delay)
            os.kill(process, signal.SIGKILL)
        with os.fdopen(receiver) as messages:
            said = messages.read()
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said, time.monotonic() - begin


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench in a temporary folder."""
    with tempfile.TemporaryDirectory() as name, served() as site:
        folder, rng = Path(name), np.random.default_rng(0)
        for file, queries in (("train", range(30)), ("valid", range(30, 45)), ("test", range(45, 60))):
            (folder / f"{file}.txt").write_text("".join(_letor(query, rng) for query in queries))
        scores = rng.normal(size=(3, 40, 10))
        for system, own in zip(("old", "new"), scores[:2] + scores[2], strict=True):
            lines = (f"{q} Q0 d{d} 0 {own[q, d]:.4f} {system}\n" for q in range(40) for d in range(10))
            (folder / f"{system}.run").write_text("".join(lines))
        grades = (f"{q} 0 d{d} {int(scores[2, q, d] > 0.5)}\n" for q in range(40) for d in range(10))
        (folder / "qrels.txt").write_text("".join(grades))
        (folder / "plan.toml").write_text(PLAN)
        site.pause = PAUSE
        Shelf(folder / "collections.toml", site).add("thing", {"a.bin": rng.bytes(2 << 20), "b/c.bin": rng.bytes(9)})
        yield Bench(folder, folder / "collections.toml")


def _letor(query: int, rng: np.random.Generator) -> str:
    rows = rng.normal(size=(8, 4)).round(3)
    lines = (f"{int(x[0] + x[1] > 1)} qid:{query} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)) for x in rows)
    return "".join(f"{line}\n" for line in lines)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill(bench: Bench, name: str, kills: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """For each kill when it came, and what the next run made of it: ``the same bytes``, or what is wrong."""
    command, rng = COMMANDS[name], random.Random(f"{name} {seed}")
    whole = bench.folder / "whole"
    for _ in range(2):  # the first run may have to compile: the second tells how long the work takes
        shutil.rmtree(whole, ignore_errors=True)
        code, said, seconds = bench.run(command, whole)
        assert code == 0, said
    expected, operations = contents(whole), int(said.split()[-1])
    done = 0
    while done < kills:
        output = bench.folder / "killed"
        nth, delay = (rng.randrange(1, operations + 1), None) if done % 2 else (0, rng.uniform(0, seconds))
        code, said, _ = bench.run(command, output, nth, delay)
        if code:  # else it ended before
            done += 1
            killed = code == -signal.SIGKILL
            outcome = _again(bench, command, output, expected) if killed else f"exit {code}: {said}"
            yield f"operation {nth}" if nth else f"after {delay:.2f} s", outcome
        shutil.rmtree(output)
    shutil.rmtree(whole)


def _again(bench: Bench, command: str, output: Path, expected: dict[str, bytes]) -> str:
    code, said, _ = bench.run(command, output)
    if code != 0 and FINISHED not in said:
        return f"exit {code}: {said}"
    found = contents(output)
    if more := found.keys() ^ expected.keys():
        return f"files differ: {sorted(more)}"
    changed = [path for path in expected if found[path] != expected[path]]
    return f"other bytes: {changed}" if changed else "the same bytes"


def main(kills: int, names: list[str]) -> int:
    wrong = 0
    print("| command | kills | the same bytes, no file more | anything else |\n| --- | ---: | ---: | ---: |")
    with bench() as here:
        for name in names or COMMANDS:
            outcomes = Counter[str]()
            for moment, outcome in kill(here, name, kills):
                outcomes[outcome] += 1
                if outcome != "the same bytes":
                    print(f"{name}, {moment}: {outcome}", file=sys.stderr)
            right = outcomes["the same bytes"]
            wrong += kills - right
            print(f"| {name} | {kills} | {right} | {kills - right} |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, sys.argv[2:]))
