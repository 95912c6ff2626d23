import sys
from pathlib import Path

import pytest
from surefoot_lab.datasets.store import cache_folder


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
