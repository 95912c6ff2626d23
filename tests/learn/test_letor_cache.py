"""The cache of parsed LETOR text: right, or made anew."""

import os

import numpy as np
import pytest

from surefoot.learn import letor, letor_cache
from surefoot.learn.letor import read_letor
from tests.learn.letor_files import assert_same, scattered_text


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SUREFOOT_CACHE", str(folder))
    return folder


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "SMALLEST", 100)
    path = tmp_path / "train.txt"
    path.write_text(scattered_text())
    return path


@pytest.fixture
def parsed(monkeypatch):
    """The paths that were parsed, not taken from the cache."""
    seen = []
    plain = letor.read_bytes
    monkeypatch.setattr(letor, "read_bytes", lambda path: seen.append(path) or plain(path))
    return seen


@pytest.mark.parametrize("sparse", [False, True])
def test_the_second_time_nothing_is_parsed(source, parsed, monkeypatch, sparse):
    monkeypatch.setattr(letor, "SMALLEST_SPARSE", 0 if sparse else 1 << 60)
    monkeypatch.setattr(letor, "SPARSE_GAIN", 0)
    first, second = read_letor(source), read_letor(source)
    assert parsed == [source]
    assert_same(first, second)
    assert second.source == str(source)
    assert second.fingerprint == first.fingerprint
    chosen = [5, 2, 2]
    assert_same(first.select(chosen), second.select(chosen))
    np.testing.assert_array_equal(first.column(7), second.column(7))


def test_what_is_written_to_kept_arrays_stays_in_the_process(source):
    read_letor(source)
    changed = read_letor(source)
    changed.features[:] = 7
    assert not (read_letor(source).features == 7).any()


def test_a_changed_source_is_parsed_again(source, parsed, cache):
    read_letor(source)
    text = source.read_text()
    source.write_text(text.replace("1.5", "2.5"))
    os.utime(source, ns=(1, 1))
    assert 2.5 in read_letor(source).features
    source.write_text(text + "0 qid:new 1:1 #x\n")
    os.utime(source, ns=(1, 1))
    assert "new" in read_letor(source).queries
    assert len(parsed) == 3
    assert len(list((cache / "parsed").iterdir())) == 1


def damage_head(content):
    content[40] ^= 1


def cut_off(content):
    del content[-64:]


def empty(content):
    content.clear()


def other_version(content):
    content[: len(letor_cache.MAGIC)] = letor_cache.MAGIC.replace(b"3", b"0")


def bad_length(content):
    place = len(letor_cache.MAGIC)
    content[place : place + 8] = b"zzzzzzzz"


def flip_a_bit(content):
    content[len(content) * 2 // 3] ^= 16


def swap_words(content):
    """Two words change places, so that their sum stays the same."""
    first = len(content) - 4096
    other = next(at for at in range(first, len(content), 8) if content[at : at + 8] != content[first : first + 8])
    content[first : first + 8], content[other : other + 8] = content[other : other + 8], content[first : first + 8]


@pytest.mark.parametrize("damage", [damage_head, cut_off, empty, other_version, bad_length, flip_a_bit, swap_words])
def test_a_damaged_entry_is_replaced(source, parsed, cache, damage):
    expected = read_letor(source)
    (entry,) = (cache / "parsed").iterdir()
    content = bytearray(entry.read_bytes())
    damage(content)
    entry.write_bytes(content)
    assert_same(read_letor(source), expected)
    assert_same(read_letor(source), expected)
    assert len(parsed) == 2


def test_every_flipped_bit_is_found(source, parsed, cache):
    expected = read_letor(source)
    (entry,) = (cache / "parsed").iterdir()
    content = entry.read_bytes()
    bits = np.random.default_rng(0).choice(8 * len(content), 50, replace=False)
    for bit in bits.tolist():
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        entry.write_bytes(damaged)
        assert_same(read_letor(source), expected)
    # The padding behind the header is not read, so a bit there may flip; everything else is parsed again.
    assert len(parsed) >= len(bits)


def test_the_entry_used_longest_ago_makes_room(source, tmp_path, parsed, cache, monkeypatch):
    read_letor(source)
    (entry,) = (cache / "parsed").iterdir()
    monkeypatch.setattr(letor_cache, "LARGEST", 2 * entry.stat().st_size)
    others = [tmp_path / name for name in ("b.txt", "c.txt")]
    for step, other in enumerate(others):
        os.utime(entry, ns=(step, step))
        other.write_bytes(source.read_bytes())
        read_letor(other)
        read_letor(source)
    assert len(list((cache / "parsed").iterdir())) == 2
    assert parsed.count(source) == 2


def test_without_cache_nothing_is_kept_or_taken(source, parsed, cache):
    read_letor(source, cache=False)
    assert not cache.exists()
    read_letor(source)
    read_letor(source, cache=False)
    assert len(parsed) == 3


def test_small_files_are_not_kept(source, cache, monkeypatch):
    monkeypatch.setattr(letor, "SMALLEST", 1 << 20)
    read_letor(source)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_does_no_harm(source, cache, parsed):
    cache.write_text("a file where the folder should be")
    assert_same(read_letor(source), read_letor(source))
    assert len(parsed) == 2


def test_a_source_that_changes_while_it_is_read_is_not_kept(source, cache, monkeypatch):
    plain = letor.read_bytes

    def slow(path):
        content = plain(path)
        os.utime(path, ns=(5, 5))
        return content

    monkeypatch.setattr(letor, "read_bytes", slow)
    read_letor(source)
    assert not cache.exists()
