"""Damaged and random files for every reader: each is read rightly or refused in one line, never anything else.

The tests run a few hundred files for each reader; for more: ``python -m tests.fuzz.fuzzer 20000``.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError

RUN = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n\n# a comment\nq2 Q0 d1 1 -3e-2 tag\nq2\tQ0  d9 2 -4 tag\n"
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\nq2 0 d9 1\n"
LETOR = "2 qid:1 1:0.5 2:1e-3 #docid = a\n0 qid:1 1:0.25\n1 qid:x 2:7 3:NULL # b\n"
WIDE = 'topic,old,new\nq1,0.5,0.25\nq2,1,0\n"q 3",.5,1e-1\n'
LONG = "system\ttopic\tvalue\nold\tq1\t0.5\nnew\tq1\t0.25\nold\tq2\t1\nnew\tq2\t0\n"
TREC_EVAL = "map\tq1\t0.5\nmap\tq2\t0.25\nmap\tall\t0.375\n"
GATE = '[gate]\ncandidate = "new"\nbaseline = ["old"]\nalpha = 1.5\noff = ["tail"]\n'
PLAN = 'protocol = "sigir2014"\nalphas = [1, 5]\ntrees = 5\nfolds = 3\n'
SEGMENTS = "topic,language\nq1,de\nq2,en\n"
TEXTS = "q1\tfirst query\nq2\tsecond\n"

PIECES = [
    "", " ", "\t", "\n", "\r\n", "\0", '"', "'", ",", ";", "#", "-", "nan", "inf", "1e999", "9" * 30, "q1", "Q0", "ä",
    "\x1b[2J", "{", "[" * 50, "}", "\ufeff", "qid:", "1:", ":", "0x1p3", "1_0", "=1+1", "topic", "all",
]  # fmt: skip


def mutated(text: str, seed: int) -> bytes:
    """The text with a few random edits, as bytes."""
    rng = random.Random(seed)
    data = bytearray(text.encode())
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


def slow_lines(data: bytes) -> list[list[str]]:
    """The fields of each line that is not blank or a comment."""
    text = data.decode("utf-8").removeprefix("\ufeff")
    rows = [line.split(None) for line in text.split("\n")]
    return [row for row in rows if row and not row[0].startswith("#")]


def slow_run(data: bytes) -> dict[tuple[str, str], float]:
    return {(row[0], row[2]): float(row[4]) for row in slow_lines(data)}


def slow_qrels(data: bytes) -> dict[tuple[str, str], float]:
    return {(row[0], row[2]): float(row[3]) for row in slow_lines(data)}


def read_run(path: Path) -> dict[tuple[str, str], float]:
    import surefoot

    return {(topic, document): value for topic, document, value in surefoot.read_run(path).to_frame().rows()}


def read_qrels(path: Path) -> dict[tuple[str, str], float]:
    import surefoot

    return {(topic, document): float(value) for topic, document, value in surefoot.read_qrels(path).to_frame().rows()}


def read_letor(path: Path) -> Any:
    import surefoot

    data = surefoot.read_letor(path, cache=False)
    return data.labels.tolist(), sorted(data.queries), data.features.shape[0]


def slow_letor(data: bytes) -> Any:
    text = data.decode("utf-8", errors="replace")  # comments may be in any encoding
    rows = [line.split("#")[0].split() for line in text.removeprefix("\ufeff").split("\n")]
    rows = [row for row in rows if row]
    queries: dict[str, list[float]] = {}
    for row in rows:
        queries.setdefault(row[1].partition(":")[2], []).append(float(row[0]))
    return [label for labels in queries.values() for label in labels], sorted(queries), len(rows)


def read_scores(path: Path) -> Any:
    import surefoot

    return surefoot.read_scores(path).to_dict()


def read_gate(path: Path) -> Any:
    from surefoot.release_gate.config import read_config

    return read_config(path)


def read_plan(path: Path) -> Any:
    import surefoot

    return surefoot.read_plan(path)


def read_segments(path: Path) -> Any:
    import surefoot

    return surefoot.read_segments(path)


def read_texts(path: Path) -> Any:
    import surefoot

    return surefoot.read_queries(path)


def read_guard(path: Path) -> Any:
    from surefoot.guard.guard import Guard

    return Guard.load(path).rank([3.0, 2.0, 1.0], [0.1, 0.9, 0.5])


def guard_text() -> str:
    from surefoot.guard.guard import Guard

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "guard.json")
        Guard("z", 0.3).save(path)
        return path.read_text()


def read_accepted(path: Path) -> Any:
    import surefoot

    return surefoot.read_accepted(path)


def accepted_text() -> str:
    import surefoot

    scores = surefoot.Scores([[0.5, 0.25], [0.5, 0.5]], ["old", "new"], ["q1", "q2"], "nDCG@10")
    result = surefoot.gate(scores, "old", candidate="new")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "accepted.json")
        surefoot.write_accepted(path, surefoot.accept(scores, result))
        return path.read_text()


@cache
def model_files() -> dict[str, str]:
    """The files of a small model, and the checkpoint of its training."""
    from surefoot.learn import train
    from tests.learn.small_rankings import BASELINE, TRAINING, settings

    class StopError(Exception):
        pass

    def stop(at: Any) -> None:
        if at.iteration == 3:
            raise StopError

    chosen = settings(n_estimators=4, num_leaves=4)
    with tempfile.TemporaryDirectory() as folder:
        with suppress(StopError):
            train(TRAINING, BASELINE, chosen, output=folder, checkpoint_every=0, report=stop)
        train(TRAINING, BASELINE, chosen, output=Path(folder, "model"))
        return {path.name: path.read_text() for path in Path(folder).rglob("*.*")}


def read_card(path: Path) -> Any:
    """The card as it is, with the model beside it."""
    return _predict(path, path.read_bytes(), model_files()["model.txt"])


def read_model_text(path: Path) -> Any:
    """The model as it is, with a card that has its digest: damage is not found by that."""
    from surefoot.io.atomic import digest_of

    text = path.read_text("utf-8", errors="replace")
    card = json.loads(model_files()["card.json"])
    card["model"]["blake2b"] = digest_of(text)
    return _predict(path, json.dumps(card).encode(), text)


def _predict(path: Path, card: bytes, text: str) -> Any:
    from surefoot.learn import load_model
    from tests.learn.small_rankings import TRAINING

    folder = path.with_name("model")
    folder.mkdir(exist_ok=True)
    (folder / "card.json").write_bytes(card)
    (folder / "model.txt").write_text(text)
    return load_model(folder).predict(TRAINING).shape


def read_checkpoint(path: Path) -> Any:
    from surefoot.learn.checkpoint import Checkpoint

    request = json.loads(model_files()["checkpoint.json"].partition("\n")[2])["request"]
    return Checkpoint.begin(path, request, 1e9, resume=True).current


Reader = tuple[Callable[[], str], str, Callable[[Path], Any], Callable[[bytes], Any] | None]

READERS: dict[str, Reader] = {
    "run": (lambda: RUN, "a.run", read_run, slow_run),
    "qrels": (lambda: QRELS, "a.qrels", read_qrels, slow_qrels),
    "letor": (lambda: LETOR, "a.txt", read_letor, slow_letor),
    "wide table": (lambda: WIDE, "a.csv", read_scores, None),
    "long table": (lambda: LONG, "a.tsv", read_scores, None),
    "trec_eval": (lambda: TREC_EVAL, "a.eval", read_scores, None),
    "gate options": (lambda: GATE, "surefoot.toml", read_gate, None),
    "experiment plan": (lambda: PLAN, "plan.toml", read_plan, None),
    "segments": (lambda: SEGMENTS, "segments.csv", read_segments, None),
    "texts": (lambda: TEXTS, "queries.tsv", read_texts, None),
    "guard": (guard_text, "guard.json", read_guard, None),
    "ratchet": (accepted_text, "accepted.json", read_accepted, None),
    "model": (lambda: model_files()["model.txt"], "model.txt", read_model_text, None),
    "model card": (lambda: model_files()["card.json"], "card.json", read_card, None),
    "checkpoint": (lambda: model_files()["checkpoint.json"], "checkpoint.json", read_checkpoint, None),
}
"""For each reader a good file, its name, the reader, and a slow, obvious one where there is such."""


def outcomes(name: str, inputs: int, folder: Path, seed: int = 0) -> Iterator[tuple[bytes, str]]:
    """Each mutated file with what happened to it: ``right``, ``refused`` or what went wrong."""
    make, file_name, read, slow = READERS[name]
    text, path = make(), folder / file_name
    for number in range(inputs):
        data = mutated(text, seed * 1_000_003 + number)
        path.write_bytes(data)
        try:
            found = read(path)
        except SurefootError as error:
            yield data, "refused" if "\n" not in str(error) else f"several lines: {error}"
            continue
        except Exception as error:
            yield data, f"{type(error).__name__}: {error}"
            continue
        yield data, "right" if slow is None or is_right(found, slow, data) else f"wrong: {found}"


def is_right(found: Any, slow: Callable[[bytes], Any], data: bytes) -> bool:
    try:
        return bool(found == slow(data))
    except (ValueError, IndexError):
        return False


def main(inputs: int) -> int:
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in READERS:
            found = Counter()
            for data, outcome in outcomes(name, inputs, Path(folder)):
                kind = outcome if outcome in ("right", "refused") else "anything else"
                found[kind] += 1
                if kind == "anything else":
                    print(json.dumps({"reader": name, "outcome": outcome[:300], "data": data.decode("latin-1")}))
            print(f"{name:16} {inputs:8,} files: {dict(found)}")
            total.update(found)
    print(dict(total))
    return int(total["anything else"] > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
