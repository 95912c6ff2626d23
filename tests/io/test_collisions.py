"""Ids that were made to collide in the readers' hash tables are read in linear time, or refused.

The hash of `tokens.h` is written out here, and undone.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from surefoot.effectiveness import score_runs
from surefoot.errors import InputError
from surefoot.guard.runs import RunPair
from surefoot.io.trec import read_qrels, read_run
from surefoot.learn.letor import read_letor

MIX, REACH = np.uint64(0x9E3779B97F4A7C15), 1024
INVERSE = np.uint64(pow(int(MIX), -1, 1 << 64))
HALF = np.uint64(32)


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


def neighbours(count: int, slots: int) -> tuple[list[str], list[str]]:
    """Ids whose first slots in a table of this size are 0, 1, 2 and so on, and others that begin at slot 0."""
    ids = [f"a{number:07}" for number in range(50 * slots)]
    code = mixed(words_of(ids, 0), np.array([8], np.uint64) * MIX)
    slot = (code * MIX) >> np.uint64(64 - (slots.bit_length() - 1))
    _, first = np.unique(slot, return_index=True)
    others = np.setdiff1d(np.flatnonzero(slot == 0), first)
    return [ids[index] for index in first[:count]], [ids[index] for index in others]


def write(path: Path, ids: list[str], last: str = "x") -> Path:
    """A run, or judgments, of one topic, the first document best."""
    rows = (f"q1 0 {one} {len(ids) - rank}" if last == "" else f"q1 Q0 {one} 0 {len(ids) - rank} {last}"
            for rank, one in enumerate(ids))  # fmt: skip
    path.write_text("\n".join(rows) + "\n")
    return path


def refused(path: Path, what: str):
    return pytest.raises(InputError, match=rf"{re.escape(path.name)}: {what} have ids that collide in hash tables")


def test_some_ids_of_one_hash_are_told_apart(tmp_path):
    ids = colliding(300)
    found = read_run(write(tmp_path / "a.run", ids))
    assert np.unique(found.codes).size == 1
    assert found.documents == ids
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"q1 0 {one} {int(rank in (1, 7))}\n" for rank, one in enumerate(ids)))
    assert score_runs(tmp_path / "a.run", qrels, "RR")["a"].tolist() == [0.5]


def test_many_ids_of_one_hash_are_refused(tmp_path):
    ids = colliding(REACH + 2)
    with refused(run := write(tmp_path / "a.run", ids), "document '.{16}' and many others"):
        read_run(run)
    with refused(qrels := write(tmp_path / "qrels", ids, ""), "document '.{16}' and many others"):
        read_qrels(qrels)
    topics = tmp_path / "topics.run"
    topics.write_text("".join(f"{one} Q0 d1 0 1 x\n" for one in ids))
    with refused(topics, "its topics"):
        read_run(topics)
    letor = tmp_path / "letor.txt"
    letor.write_text("".join(f"1 qid:{one} 1:0.5\n" for one in colliding(2 * REACH) if "#" not in one))
    with refused(letor, "its queries"):
        read_letor(letor)


def test_what_begins_in_a_long_cluster_is_not_there(tmp_path):
    """Each document has its first slot; one that begins there too would have to pass all the others."""
    ids, others = neighbours(1500, 4096)
    run = write(tmp_path / "a.run", [*others[:3], ids[700]])
    assert score_runs(run, write(tmp_path / "qrels", ids, ""), "RR")["a"].tolist() == [0.25]
    with refused(qrels := write(tmp_path / "qrels", [*ids, others[0]], ""), "document .* and many others"):
        read_qrels(qrels)


def test_a_guard_joins_documents_of_one_hash_by_their_ids(tmp_path):
    ids = colliding(3)
    old, new = write(tmp_path / "old.run", ids[:2]), write(tmp_path / "new.run", [ids[2], ids[0]])
    joined = RunPair.of(old, new)
    assert joined.pair.candidate.scores.tolist() == [2, 1, -np.inf]
    assert joined.pair.baseline.scores.tolist() == [-np.inf, 2, 1]
    labels = joined.labels(read_qrels(write(tmp_path / "qrels", [ids[1]], "")))
    assert labels.tolist() == [0, 0, 1]


def test_hostile_ids_take_at_most_so_many_probes_each(tmp_path):
    """A document's distance from its first slot is how many slots were looked at before it was put into its own."""
    for ids in (colliding(REACH), neighbours(1500, 4096)[0]):
        qrels = read_qrels(write(tmp_path / "qrels", ids, ""))
        (first, size), rows = qrels.tables[0].tolist(), qrels.slots
        slot_of = {int(row): slot for slot, row in enumerate(rows[first : first + size]) if row >= 0}
        home = (qrels.codes * MIX) >> np.uint64(64 - (size.bit_length() - 1))
        probes = [1 + (slot_of[row] - int(home[row])) % size for row in range(len(ids))]
        assert len(slot_of) == len(ids)
        assert max(probes) <= REACH
    # All of one hash: the number of probes would grow with the square of the ids, if more than these were taken.
    with refused(qrels := write(tmp_path / "qrels", colliding(REACH + 1), ""), "document '.{16}' and many others"):
        read_qrels(qrels)
