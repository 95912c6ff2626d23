"""Ids that were made to collide are read in linear time, as nobody knows the key of the hash tables.

The hash without a key, `fingerprint_of` of `tokens.h`, is written out here, and undone.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surefoot.effectiveness import score_runs
from surefoot.guard.runs import RunPair
from surefoot.io.document_lists import Qrels
from surefoot.io.trec import read_qrels, read_run

MIX = np.uint64(0x9E3779B97F4A7C15)
INVERSE = np.uint64(pow(int(MIX), -1, 1 << 64))
HALF = np.uint64(32)
PICKLE = """
import pickle, sys
from surefoot.io.trec import read_qrels, read_run
sys.stdout.buffer.write(pickle.dumps((read_run("a.run"), read_qrels("qrels"))))
"""


def mixed(words, code):
    product = (code ^ words) * MIX
    return product ^ (product >> HALF)


def words_of(ids: list[str], start: int) -> np.ndarray:
    return np.array([int.from_bytes(one.encode()[start : start + 8], "little") for one in ids], np.uint64)


def colliding(count: int) -> list[str]:
    """Ids of 16 printable characters, all with one hash: the second half undoes what the first did."""
    random, found = np.random.default_rng(0), ["0123456789abcdef"]
    size = np.array([16], np.uint64) * MIX
    code = mixed(words_of(found, 8), mixed(words_of(found, 0), size))
    before_last = (code ^ (code >> HALF)) * INVERSE  # x ^ (x >> 32) undoes itself, and so does an odd factor
    while len(found) < count:
        first = random.integers(33, 127, (1 << 18, 8), dtype=np.uint8).view(np.uint64)[:, 0]
        second = before_last ^ mixed(first, size)
        both = np.stack([first, second], axis=1).view(np.uint8)
        printable = ((both > 32) & (both < 127)).all(axis=1)
        found += [row.tobytes().decode() for row in both[printable]]
    return found[:count]


def write(path: Path, ids: list[str], last: str = "x") -> Path:
    """A run, or judgments, of one topic, the first document best."""
    rows = (f"q1 0 {one} {len(ids) - rank}" if last == "" else f"q1 Q0 {one} 0 {len(ids) - rank} {last}"
            for rank, one in enumerate(ids))  # fmt: skip
    path.write_text("\n".join(rows) + "\n")
    return path


def probes(qrels: Qrels) -> np.ndarray:
    """How many slots are looked at before each document of the first topic is found: its distance from its first."""
    (first, size), rows = qrels.tables[0].tolist(), qrels.slots
    slot_of = {int(row): slot for slot, row in enumerate(rows[first : first + size]) if row >= 0}
    home = qrels.codes & np.uint64(size - 1)
    assert len(slot_of) == len(qrels)
    return np.array([1 + (slot_of[row] - int(home[row])) % size for row in range(len(qrels))])


def test_ids_of_one_fingerprint_are_told_apart_in_linear_time(tmp_path):
    ids = colliding(3000)
    run, judged = write(tmp_path / "a.run", ids), tmp_path / "qrels"
    judged.write_text("".join(f"q1 0 {one} {int(rank in (1, 7))}\n" for rank, one in enumerate(ids)))
    found, qrels = read_run(run), read_qrels(judged)
    assert np.unique(found.fingerprints).size == 1
    assert np.unique(found.codes).size == len(ids)
    assert found.documents == ids
    assert score_runs(run, qrels, "RR")["a"].tolist() == [0.5]
    assert probes(qrels).mean() < 3
    topics = tmp_path / "topics.run"
    topics.write_text("".join(f"{one} Q0 d1 0 1 x\n" for one in ids))
    assert read_run(topics).topics == tuple(ids)


def test_ids_that_collide_by_their_low_bits_are_read_in_linear_time(tmp_path):
    ids = [f"{number << 40:016x}" for number in range(5000)]
    assert probes(read_qrels(write(tmp_path / "qrels", ids, ""))).mean() < 3


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_pickles_of_a_process_with_another_key_are_hashed_again(seed, tmp_path):
    ids = [f"d{number}" for number in range(50)]
    write(tmp_path / "a.run", ids), write(tmp_path / "qrels", ids[::7], "")
    code = [sys.executable, "-c", PICKLE]
    sent = subprocess.run(code, cwd=tmp_path, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
    run, qrels = pickle.loads(sent.stdout)
    here = read_run(tmp_path / "a.run"), read_qrels(tmp_path / "qrels")
    for sent_list, own in zip((run, qrels), here, strict=True):
        assert sent_list.codes.tolist() == own.codes.tolist()
        assert sent_list.fingerprints.tolist() == own.fingerprints.tolist()
    assert score_runs({"a": run}, qrels, "nDCG@10")["a"].tolist() == score_runs({"a": here[0]}, here[1])["a"].tolist()


def test_a_guard_joins_documents_of_one_hash_by_their_ids(tmp_path):
    ids = colliding(3)
    old, new = write(tmp_path / "old.run", ids[:2]), write(tmp_path / "new.run", [ids[2], ids[0]])
    joined = RunPair.of(old, new)
    assert joined.pair.candidate.scores.tolist() == [2, 1, -np.inf]
    assert joined.pair.baseline.scores.tolist() == [-np.inf, 2, 1]
    labels = joined.labels(read_qrels(write(tmp_path / "qrels", [ids[1]], "")))
    assert labels.tolist() == [0, 0, 1]
