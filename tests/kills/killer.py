"""Kill commands with SIGKILL at random moments, or fill their disk, and run them again: the same bytes, no file more.

Half of the kills come at random times of the work, half just before a random file operation in the output folder, where
a write could be torn. A full disk is a limit on the size of files, which fails after a part was written; it must be one
line and exit code 2. Commands that change a file are run again only if the file still has its old bytes. The tests kill
a few; the manual's table is that of ``python -m tests.kills.killer 20``.
"""

import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile, ZipInfo

import numpy as np

from tests.kills.victim import victim
from tests.lab.datasets.web_site import Shelf, served

TRAIN = "train --train train.txt --baseline feature:1 --trees 60 --leaves 4 --docs-per-leaf 5 -o {output}"
VALID = "--valid valid.txt --resume"
RUNS = "old.run new.run --qrels qrels.txt"
GATE = f"gate {RUNS} --baseline old --candidate new"
PAIR = "--baseline old.run --candidate new.run"
PLOT = "--plot {output}/path.svg"
SWEEP = f"tradeoff{TRAIN[5:]} --valid valid.txt --test test.txt --n-resamples 50 --trees 15"
COMMANDS = {
    "train, LightGBM": f"{TRAIN} {VALID} --param bagging_fraction=0.5 --param bagging_freq=1",
    "train, XGBoost": f"{TRAIN} {VALID} --engine xgboost --param subsample=0.5",
    "train, bags and a guard": f"{TRAIN} --resume --bags 4 --early-stopping 20 --guard z",
    "predict": "predict model test.txt -o {output}/out.run --write-qrels {output}/out.qrels --force",
    "export": "export model -o {output}/model.json --force",
    "guard fit": f"guard fit {PAIR} --qrels qrels.txt --anyway -o {{output}}/guard.json {PLOT} --force",
    "guard apply": f"guard apply guard.json {PAIR} -o {{output}}/safe.run --force",
    "tradeoff": f"{SWEEP} --alpha 1,5",
    "tradeoff, search": f"{SWEEP} --search 3",
    "experiment": "experiment plan.toml -o {output}",
    "experiment, trade-off": "experiment sweep.toml -o {output}",
    "evaluate": f"evaluate {RUNS} --baseline old -o {{output}}/table.csv --force",
    "scores": f"scores {RUNS} -o {{output}}/scores.csv --force",
    "explore": f"explore {RUNS} --baseline old --candidate new -o {{output}}/topics.csv --force",
    "figure": f"figure plane {RUNS} --baseline old --n-resamples 50 -o {{output}}/plane.svg --force",
    "report": f"report {RUNS} --measure nDCG@10 -o {{output}}/report.html --force",
    "judge": f"judge {RUNS} --baseline old --candidate new -o {{output}}/list.csv --page {{output}}/page.html --force",
    "gate, JUnit and Markdown": f"{GATE} --junit {{output}}/gate.xml --markdown {{output}}/gate.md --force",
    "collect": "collect --url {address}/search?q={{{{query}}}} --queries queries.tsv --rate 0 -o {output}/engine.run",
    "data get": "data get thing",
    "demo": "demo -o {output}",
}
CHANGES = {
    "gate, ratchet": (
        "gate old.run --qrels qrels.txt --candidate old --ratchet {output}/accepted.json --accept",
        "gate new.run --qrels qrels.txt --candidate new --ratchet {output}/accepted.json --accept",
    ),
    "gate, accepted losses": tuple(
        f"{GATE} --acknowledge {topic} --why known --acknowledged {{output}}/losses.toml" for topic in (4, 8)
    ),
    "gate, sequential": (
        f"{GATE.replace('old.run new.run', 'first/old.run first/new.run')} --sequential {{output}}/state.json",
        f"{GATE} --sequential {{output}}/state.json",
    ),
    "judge, merge in place": tuple(
        f"judge --merge {page} --qrels {known} -o {{output}}/judged.qrels --force"
        for page, known in (("first.qrels", "qrels.txt"), ("second.qrels", "{output}/judged.qrels"))
    ),
}
"""Commands that change a file: the one that makes it, and the one that is killed."""
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
LIMIT = 600
"""Seconds until a command counts as hung: a fork copies locks, but not the threads that hold them."""


@dataclass(frozen=True)
class Bench:
    """A folder with small inputs, and a server on this machine with a collection and a search engine."""

    folder: Path
    registry: Path
    address: str

    def run(
        self, command: str, output: Path, nth: int = 0, delay: float | None = None, largest: int | None = None
    ) -> tuple[int, str, float]:
        """Run a command, killed before its n-th file operation or after a delay: exit code, messages, seconds."""
        words = command.format(output=output, address=self.address).split()
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
            if largest is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
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
        for number, page in enumerate(("first", "second")):
            judged = (f"{q} 0 new{number} {q % 2}\n" for q in range(40))
            (folder / f"{page}.qrels").write_text("".join(judged))
        (folder / "plan.toml").write_text(PLAN)
        (folder / "sweep.toml").write_text(f"{PLAN}tradeoff = true\n")
        (folder / "first").mkdir()
        for system in ("old", "new"):  # the first half of the queries
            lines = (folder / f"{system}.run").read_text().splitlines(keepends=True)
            (folder / "first" / f"{system}.run").write_text("".join(lines[:200]))
        (folder / "queries.tsv").write_text("".join(f"{q}\tword{q}\n" for q in range(20)))
        for q in range(20):
            hits = [{"_id": f"d{d}", "_score": 9.0 - d} for d in range(5)]
            site.files[f"/search?q={quote(f'word{q}')}"] = json.dumps({"hits": {"hits": hits}}).encode()
        site.pause = PAUSE
        Shelf(folder / "collections.toml", site).add("thing", _collection(rng))
        here = Bench(folder, folder / "collections.toml", site.address)
        for command in (TRAIN, COMMANDS["guard fit"].replace(PLOT, "")):
            code, said, _ = here.run(command.replace("{output}/", "").replace("{output}", "model"), folder / "made")
            assert code == 0, said
        yield here


def _collection(rng: np.random.Generator) -> dict[str, bytes]:
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        for name in ("d/e.txt", "f.txt"):
            file.writestr(ZipInfo(name), rng.bytes(9).hex())
    return {"a.bin": rng.bytes(2 << 20), "b/c.bin": rng.bytes(9), "packed.zip": archive.getvalue()}


def _letor(query: int, rng: np.random.Generator) -> str:
    rows = rng.normal(size=(8, 4)).round(3)
    lines = (f"{int(x[0] + x[1] > 1)} qid:{query} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)) for x in rows)
    return "".join(f"{line}\n" for line in lines)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Moment:
    """When a command ends: before its n-th file operation, after a delay, or at the first file beyond a size."""

    nth: int = 0
    delay: float | None = None
    largest: int | None = None

    def __str__(self) -> str:
        if self.largest is not None:
            return f"disk full after {self.largest} bytes"
        return f"operation {self.nth}" if self.nth else f"after {self.delay:.2f} s"


def attack(bench: Bench, name: str, kills: int, seed: int = 0) -> Iterator[tuple[Moment, str]]:
    """For each kill and each full disk when it came, and what the next run made of it: ``SAME``, or what is wrong."""
    first, command = CHANGES[name] if name in CHANGES else (None, COMMANDS[name])
    rng = random.Random(f"{name} {seed}")
    begin, whole, output = (bench.folder / part for part in ("begin", "whole", "attacked"))
    begin.mkdir()
    if first is not None:
        said = bench.run(first, begin)[1]
        assert contents(begin), said
    for _ in range(2):  # the first run warms up: the second says how long the work takes
        shutil.rmtree(whole, ignore_errors=True)
        shutil.copytree(begin, whole)
        usual, said, seconds = bench.run(command, whole)
        assert usual == 0 or first is not None or name.startswith("gate"), said
        assert contents(whole), said
    expected, operations = contents(whole), int(said.split()[-1])
    largest = max(map(len, expected.values()))
    done = full = 0
    while done < kills or full < kills // 2:
        if done < kills:
            moment = Moment(rng.randrange(1, operations + 1)) if done % 2 else Moment(delay=rng.uniform(0, seconds))
        else:
            moment = Moment(largest=rng.randrange(largest))
        shutil.copytree(begin, output)
        code, said, _ = bench.run(command, output, moment.nth, moment.delay, moment.largest)
        if moment.largest is not None:
            full += 1
            yield moment, _refusal(code, said) or _again(bench, command, output, contents(begin), expected, usual)
        elif code != usual:  # else it ended before
            done += 1
            wrong = "" if code == -signal.SIGKILL else f"exit {code}: {said}"
            yield moment, wrong or _again(bench, command, output, contents(begin), expected, usual)
        shutil.rmtree(output)
    shutil.rmtree(whole)
    shutil.rmtree(begin)


SAME = "the same bytes"


def _refusal(code: int, said: str) -> str:
    """What is wrong with the end of a command whose disk is full."""
    lines = [line for line in said.splitlines() if line.startswith("surefoot ")]
    return "" if code == 2 and len(lines) == 1 and "Traceback" not in said else f"exit {code}: {said}"


def _again(
    bench: Bench, command: str, output: Path, begin: dict[str, bytes], expected: dict[str, bytes], usual: int
) -> str:
    """Run a command again; one that changed its file already must only remove the lock that may be left."""
    if begin and expected.items() <= contents(output).items():
        if contents(output) != expected:
            bench.run(command, output)
        return _more(output, expected) or SAME
    if begin and not begin.items() <= contents(output).items():
        return "neither the old file nor the new one"
    code, said, _ = bench.run(command, output)
    if code != usual and FINISHED not in said:
        return f"exit {code}: {said}"
    found = contents(output)
    changed = [path for path in expected if found.get(path) != expected[path]]
    return _more(output, expected) or (f"other bytes: {changed}" if changed else SAME)


def _more(output: Path, expected: dict[str, bytes]) -> str:
    more = sorted(contents(output).keys() ^ expected.keys())
    return f"files differ: {more}" if more else ""


def main(kills: int, names: list[str]) -> int:
    wrong = 0
    print("| command | kills | full disks | the same bytes, no file more | anything else |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with bench() as here:
        for name in names or [*COMMANDS, *CHANGES]:
            ended, right = Counter[bool](), 0
            for moment, outcome in attack(here, name, kills):
                ended[moment.largest is None] += 1
                right += outcome == SAME
                if outcome != SAME:
                    print(f"{name}, {moment}: {outcome}", file=sys.stderr)
            bad = ended.total() - right
            wrong += bad
            print(f"| {name} | {ended[True]} | {ended[False]} | {right} | {bad} |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:]))
