"""Bytes of any file: each compression, several members, damage, standard input."""

import bz2
import gzip
import io
import lzma
import os
import sys

import lz4.frame
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
