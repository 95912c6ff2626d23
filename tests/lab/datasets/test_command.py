"""surefoot data, as users type it, and as their machines treat it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from surefoot.cli import inputs, main

CONTENT = random.Random(7).randbytes(1_000_000)
HALF = (1 << 19) + 100
"""The server sends a last piece that is smaller than the buffer of a file."""

COMMAND = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have turned it off for us
from surefoot.cli import main
from surefoot_lab.datasets import registry
registry.REGISTRY = Path(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


def test_list_is_a_line_for_each(shelf: Any, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.add("one", {"a.txt": b"text\n"}, extra="size = 1234567")
    shelf.add("another", {"a.txt": b"text\n"})
    assert main(["data", "get", "another"]) == 0
    capsys.readouterr()
    assert main(["data", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name        size  here  title",
        "one         1 MB  no    a title",
        "another  unknown  yes   a title",
    ]


def test_list_tells_all_of_those_named(shelf: Any, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.add("one", {"a.txt": b"text\n"})
    shelf.add("another", {})
    assert main(["data", "list", "one"]) == 0
    out = capsys.readouterr().out
    assert "licence  a licence" in out
    assert "folder   not here" in out
    assert "another" not in out


def test_list_as_json_has_everything(shelf: Any, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.add("one", {"a.txt": b"text\n"}, known=False)
    assert main(["data", "list", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["name"], row["licence"], row["folder"]) == ("one", "a licence", None)
    (source,) = row["sources"]
    assert source["url"].endswith("/one/a.txt")
    assert source["hash"] is None


def test_the_real_registry_can_be_listed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    assert "trec-web-2012" in capsys.readouterr().out


def test_get_prints_the_folders_and_nothing_else_on_stdout(
    shelf: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.add("one", {"a.txt": b"text\n"})
    shelf.add("another", {"b.txt": b"text\n"}, known=False)
    assert main(["data", "get", "one", "another"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(store / "one"), str(store / "another")]
    assert "licence: a licence (a page)" in err
    assert "no published hash to compare with: b.txt sha256:b9e68e1b" in err
    assert main(["data", "get", "one"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{store / 'one'}\n"
    assert err == f"one is already in {store / 'one'}\n"


def test_get_uses_the_users_own_folder(
    shelf: Any,
    site: Any,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shelf.add("one", {"a.txt": b"text\n"})
    (tmp_path / "own/one").mkdir(parents=True)
    (tmp_path / "own/one/a.txt").write_text("mine\n")
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path / "own"))
    assert main(["data", "get", "one"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'own/one'}\n"
    assert err == f"one is already in {tmp_path / 'own/one'}\n"
    assert not site.log


def test_get_draws_a_bar_where_someone_looks(
    shelf: Any, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.add("one", {"a.bin": CONTENT})
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(inputs, "REFRESH_INTERVAL", 0.0)
    assert main(["data", "get", "one"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{store / 'one'}\n"
    assert "a.bin" in err


def test_a_folder_of_collections_is_a_mirror(
    data: Path, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUREFOOT_MIRROR", data.as_uri())
    assert main(["data", "get", "trec-web-2012"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{store / 'trec-web-2012'}\n"
    assert "note: DFalah121A and DFalah121D have the same means" in err
    here, there = store / "trec-web-2012", data / "trec-web-2012"
    for path in there.iterdir():
        if path.is_file():
            assert (here / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_wrong_name_is_told_before_anything_is_downloaded(
    shelf: Any, site: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.add("one", {"a.txt": b"text\n"})
    assert main(["data", "get", "one", "tow"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "surefoot data: no collection 'tow'; there are one\n")
    assert not site.log


def test_what_must_be_asked_for_says_where(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "yahoo-ltrc"]) == 2
    assert "ask at https://webscope.sandbox.yahoo.com" in capsys.readouterr().err


def test_a_killed_get_is_continued(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.hang_after = HALF
    words = [sys.executable, "-c", COMMAND, str(shelf.path), "data", "get", "thing"]
    part = store / ".surefoot-downloads/thing/a.bin.part"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(lambda: part.exists() and part.stat().st_size == HALF)
        finally:
            os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not (store / "thing").exists()
    assert part.stat().st_size == HALF
    site.hang_after = None
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"{store / 'thing'}\n"
    assert (store / "thing/a.bin").read_bytes() == CONTENT
    assert [(seen.range, seen.status) for seen in site.log] == [(None, 200), (f"bytes={HALF}-", 206)]
    assert site.log[-1].sent == len(CONTENT) - HALF
    assert not list((store / ".surefoot-downloads").iterdir())


def test_control_c_exits_130_and_keeps_the_part(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.hang_after = HALF
    words = [sys.executable, "-c", COMMAND, str(shelf.path), "data", "get", "thing"]
    part = store / ".surefoot-downloads/thing/a.bin.part"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(lambda: part.exists() and part.stat().st_size == HALF)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("surefoot data: stopped\n")
    assert part.stat().st_size == HALF


def _wait_for(happened: Any) -> None:
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
