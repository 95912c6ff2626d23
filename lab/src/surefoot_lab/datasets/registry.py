"""The registry of public collections: ``collections.toml`` as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError, did_you_mean
from surefoot.io.small_files import read_toml

REGISTRY = Path(__file__).with_name("collections.toml")


@dataclass(frozen=True)
class Source:
    """One file to download.

    ``path`` is relative to the collection's folder and to a mirror; ``hash`` is ``algorithm:value``, or None if none
    is published.
    """

    path: str
    url: str
    size: int | None = None
    hash: str | None = None

    @property
    def is_packed_here(self) -> bool:
        """Whether it is downloaded as plain text and stored compressed; size and hash are those of the text."""
        return self.path.endswith(".gz") and not self.url.endswith(".gz")

    @property
    def plain_path(self) -> str:
        """The path of the file as downloaded."""
        return self.path.removesuffix(".gz") if self.is_packed_here else self.path


@dataclass(frozen=True)
class Collection:
    """A public collection: its sources, and the files made from them.

    ``shows`` are files that a finished folder must have; ``maker`` names the code that converts the sources; ``ask`` is
    true where the owner distributes it on request, against an agreement.
    """

    name: str
    title: str
    page: str
    licence: str
    becomes: str
    note: str
    sources: tuple[Source, ...]
    shows: tuple[str, ...] = ()
    size: int | None = None
    maker: str | None = None
    ask: bool = False

    def is_in(self, folder: Path) -> bool:
        """Whether a folder holds this collection."""
        return folder.is_dir() and all((folder / path).exists() for path in self.shows) and any(folder.iterdir())


def collections() -> tuple[Collection, ...]:
    """All public collections of the registry.

    Returns
    -------
    tuple of Collection
        The collections, in the order of the registry.

    Examples
    --------
    >>> [known.name for known in collections()][:3]
    ['trec-web-2012', 'trec-covid-r1', 'trec-covid-r2']

    """
    return read_registry(REGISTRY)


def collection(name: str) -> Collection:
    """The collection of that name.

    >>> collection("trec-web-2012").becomes[:9]
    'err20.csv'
    """
    known = {each.name: each for each in collections()}
    if name not in known:
        raise SurefootError(f"no collection {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return known[name]


@cache
def read_registry(path: Path) -> tuple[Collection, ...]:
    """The collections of a registry file."""
    return tuple(map(_collection, read_toml(path).content["collection"]))


def _collection(entry: Mapping[str, Any]) -> Collection:
    sources = tuple(Source(**each) for each in entry.get("source", ()))
    sources += tuple(member for group in entry.get("group", ()) for member in _members(group))
    plain = {key: value for key, value in entry.items() if key not in ("source", "group", "shows", "size")}
    sizes = [source.size for source in sources]
    total = sum(size for size in sizes if size is not None) if sizes and None not in sizes else None
    return Collection(sources=sources, shows=tuple(entry.get("shows", ())), size=entry.get("size", total), **plain)


def _members(group: Mapping[str, Any]) -> Iterator[Source]:
    """The sources of a group, whose paths and addresses differ only in the name."""
    hashes: Mapping[str, str | None] = group.get("hashes") or dict.fromkeys(group["names"].split())
    for name, known in hashes.items():
        yield Source(group["path"].format(name=name), group["url"].format(name=name), hash=known)
