"""Bytes of any file: each compression, several members, damage, standard input."""

import bz2
import gzip
import io
import lzma
import os
import sys

import lz4.frame
import numpy as np
import pytest
import zstandard

from surefoot.errors import InputError
from surefoot.io.files import name_of, read_bytes

TEXT = b"q1 Q0 d1 1 2.5 tag\n" * 500
PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lz4.frame.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(params=PACK)
def kind(request):
    return request.param


def test_plain(tmp_path):
    (tmp_path / "a.run").write_bytes(TEXT)
    assert read_bytes(tmp_path / "a.run") == TEXT


@pytest.mark.parametrize("name", ["a\0b.run", "\ud800.run", "x" * 300])
def test_a_name_that_no_file_can_have(name):
    """As a configuration or an agent may give it."""
    with pytest.raises(InputError, match="can't be read: "):
        read_bytes(name)


def test_compression_is_told_by_the_first_bytes(tmp_path, kind):
    (tmp_path / "named-otherwise.txt").write_bytes(PACK[kind](TEXT))
    assert read_bytes(tmp_path / "named-otherwise.txt") == TEXT


def test_members_one_after_another(tmp_path, kind):
    (tmp_path / "two").write_bytes(PACK[kind](TEXT) + PACK[kind](b"more\n"))
    assert read_bytes(tmp_path / "two") == TEXT + b"more\n"


def test_truncated(tmp_path, kind):
    packed = PACK[kind](os.urandom(5000))
    (tmp_path / "cut").write_bytes(packed[:-20])
    with pytest.raises(InputError, match=f"truncated or damaged {kind} archive") as caught:
        read_bytes(tmp_path / "cut")
    assert str(caught.value).startswith(str(tmp_path / "cut"))


def test_standard_input(monkeypatch, kind):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACK[kind](TEXT))))
    assert read_bytes("-") == TEXT


@pytest.mark.parametrize(("name", "message"), [("absent", "no such file"), ("", "is a folder; name the files in it")])
def test_what_is_no_file(tmp_path, name, message):
    with pytest.raises(InputError) as caught:
        read_bytes(tmp_path / name)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/indriCASP.run.gz", "indriCASP"),
        ("PL2c1.0.gz", "PL2c1.0"),
        ("a.txt", "a"),
        ("a.trec.run", "a.trec"),
        ("A.RES.ZST", "A"),
        (".run", ".run"),
        ("-", "stdin"),
    ],
)
def test_name_of(path, name):
    assert name_of(path) == name


GZIP = {
    "empty": gzip.compress(b""),
    "short": gzip.compress(b"q1 Q0 d1 1 2.5 x\n"),
    "long": gzip.compress(b"".join(b"q%d Q0 d%d 1 %d x\n" % (n % 97, n, n * n) for n in range(20_000)), 6),
    "stored": gzip.compress(bytes(range(256)) * 300, 0),
    "two members": gzip.compress(b"one\n", 9) + gzip.compress(b"two\n", 1),
    "padded": gzip.compress(b"one\n") + b"\0" * 512,
}


@pytest.mark.parametrize("archive", GZIP.values(), ids=GZIP)
def test_isal_unpacks_what_zlib_does(archive, tmp_path):
    igzip = pytest.importorskip("isal.igzip", reason="isal is not installed")
    (tmp_path / "a.gz").write_bytes(archive)
    assert read_bytes(tmp_path / "a.gz") == gzip.decompress(archive) == igzip.decompress(archive)


def test_an_archive_is_damaged_alike_with_and_without_isal(tmp_path, monkeypatch):
    pytest.importorskip("isal", reason="isal is not installed")
    random, whole = np.random.default_rng(0), GZIP["long"]
    for number in range(60):
        damaged = bytearray(whole[: len(whole) - number % 3 * 7])
        damaged[random.integers(len(damaged))] ^= 1 << random.integers(8)
        (tmp_path / "a.gz").write_bytes(damaged)
        outcomes = []
        for isal in (None, "isal"):
            with monkeypatch.context() as patch:
                if isal is None:
                    patch.setitem(sys.modules, "isal", None)
                try:
                    outcomes.append(read_bytes(tmp_path / "a.gz"))
                except InputError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
