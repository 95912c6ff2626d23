"""A web server for each test, and a registry that points at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from surefoot_lab.datasets import registry as registry_module

from tests.lab.datasets.web_site import Shelf, Site, served


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as site:
        yield site


@pytest.fixture
def shelf(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    path = tmp_path / "collections.toml"
    monkeypatch.setattr(registry_module, "REGISTRY", path)
    return Shelf(path, site)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that fetched collections go to; the user's own settings don't count."""
    monkeypatch.delenv("SUREFOOT_DATA", raising=False)
    monkeypatch.delenv("SUREFOOT_MIRROR", raising=False)
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
