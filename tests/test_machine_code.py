"""Machine code in the user's cache: it is that of the bitcode, and nothing depends on its being there."""

import os

import numpy as np
import pytest

from surefoot import _bitcode
from surefoot._bitcode import machine_code
from surefoot.io import trec_kernels as kernels


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    machine_code._folder.cache_clear()
    yield tmp_path / "cache" / "code"
    machine_code._folder.cache_clear()


def made(log, content=b"code"):
    def make():
        log.append(content)
        return content

    return make


def counted():
    """What a kernel that is translated or loaded here gives."""
    leaves = [np.frombuffer(b"a\nb\n", np.uint8)]
    return _bitcode.Codes(kernels.count_lines.function).find(_bitcode.types_of(leaves))(leaves)


def test_what_is_kept_is_made_once(folder):
    log = []
    assert [machine_code.kept(origin, made(log)) for origin in (b"a", b"a", b"b")] == [b"code"] * 3
    assert len(log) == 2
    assert len(list(folder.iterdir())) == 2


def test_a_damaged_file_is_made_anew(folder):
    machine_code.kept(b"a", made([]))
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for content in (*damaged, whole[:-1], whole[:5], b"", whole + b"\0"):
        file.write_bytes(content)
        log = []
        assert machine_code.kept(b"a", made(log)) == b"code"
        assert log
        assert file.read_bytes() == whole


def test_a_loaded_kernel_gives_the_same_bits(folder, monkeypatch):
    translated = counted()
    assert list(folder.iterdir())
    monkeypatch.setattr(_bitcode, "_emit", None)
    assert counted() == translated


has_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners and modes")


@has_owners
@pytest.mark.parametrize("place", ["code", "above it"])
def test_a_folder_that_others_may_write_to_is_not_used(folder, place):
    folder.mkdir(parents=True)
    (folder if place == "code" else folder.parent).chmod(0o777)
    log = []
    for _ in range(2):
        machine_code.kept(b"a", made(log))
    assert len(log) == 2
    assert not list(folder.iterdir())


@has_owners
def test_a_file_that_others_may_write_to_is_made_anew(folder):
    machine_code.kept(b"a", made([], b"code of theirs"))
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    for _ in range(2):
        assert machine_code.kept(b"a", made([])) == b"code"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_cache_that_cannot_be_written_to_is_read(folder, monkeypatch):
    machine_code.kept(b"a", made([]))
    monkeypatch.setattr(os, "utime", refuse)
    log = []
    assert machine_code.kept(b"a", made(log)) == b"code"
    assert not log


def refuse(*_):
    raise PermissionError


@has_owners
def test_without_a_home_and_a_name_nothing_is_kept(folder, monkeypatch):
    import pwd

    monkeypatch.delenv("SUREFOOT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", dict[int, object]().__getitem__)
    log = []
    for _ in range(2):
        assert machine_code.kept(b"a", made(log)) == b"code"
    assert len(log) == 2


def test_without_a_folder_kernels_are_translated(folder):
    folder.parent.write_text("a file where the folder would be")
    assert machine_code.kept(b"a", made([])) == b"code"
    assert counted() == (2, False)


def test_what_was_used_longest_ago_makes_room(folder, monkeypatch):
    monkeypatch.setattr(machine_code, "LARGEST", 200)
    for number, origin in enumerate((b"a", b"b")):
        machine_code.kept(origin, made([], bytes(50)))
        for file in folder.iterdir():
            os.utime(file, (number, number))
    machine_code.kept(b"a", made([], bytes(50)))  # used again, so b goes
    machine_code.kept(b"c", made([], bytes(50)))
    log = []
    for origin in (b"a", b"c", b"b"):
        machine_code.kept(origin, made(log, bytes(50)))
    assert len(log) == 1
