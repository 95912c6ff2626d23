import os
import sys
from pathlib import Path

import pytest

from surefoot.io.cache import cache_folder, evict


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("SUREFOOT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".cache/surefoot"),
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/surefoot"),
        ("darwin", {}, "Library/Caches/surefoot"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/surefoot/surefoot/Cache"),
        ("win32", {}, "AppData/Local/surefoot/surefoot/Cache"),
        ("linux", {"SUREFOOT_CACHE": "/mine", "XDG_CACHE_HOME": "/caches"}, "/mine"),
    ],
)
def test_the_folder_of_each_platform(platform, variables, expected, home, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == home / expected


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", no_home)
    assert not cache_folder().parent.is_dir()


def test_only_the_oldest_entries_are_evicted(tmp_path):
    old, middle, newest = (tmp_path / (digit * 8) for digit in "abc")
    for age, file in enumerate((newest, middle, old)):
        file.write_bytes(b"x" * 10)
        os.utime(file, (100 - age, 100 - age))
    others = [tmp_path / "notes.txt", tmp_path / "report-1", tmp_path / "aaaa"]
    for other in others:
        other.write_bytes(b"x" * 10)
    outside = tmp_path / "outside"
    outside.write_bytes(b"x" * 10)
    (tmp_path / ("d" * 8)).symlink_to(outside)
    evict(newest, 25)
    assert newest.exists()
    assert middle.exists()
    assert not old.exists()
    assert all(path.exists() for path in (*others, outside, tmp_path / ("d" * 8)))
