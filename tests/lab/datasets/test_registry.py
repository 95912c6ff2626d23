"""The registry itself: complete, well-formed, and true to the files that are here."""

import gzip
import hashlib
from pathlib import Path, PurePosixPath

import pytest
from surefoot_lab.datasets import collection, collections

from surefoot.errors import SurefootError

LENGTHS = {"sha256": 64, "md5": 32}


def test_names_are_words_and_differ() -> None:
    names = [each.name for each in collections()]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and "/" not in name for name in names)
    assert {"trec-web-2012", "trec-covid-r5", "mq2008", "mslr-web30k", "istella-s", "yahoo-ltrc"} <= set(names)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SurefootError, match=r"no collection 'gov2'; there are trec-web-2012, .*, yahoo-ltrc"):
        collection("gov2")


@pytest.mark.parametrize("each", collections(), ids=lambda each: each.name)
def test_each_says_all_that_a_user_asks(each: object) -> None:
    assert all(getattr(each, word) for word in ("title", "page", "licence", "becomes", "note"))
    assert bool(each.sources) != each.ask  # type: ignore[attr-defined]


def test_sources_have_addresses_and_hashes_in_form() -> None:
    for each in collections():
        paths = [source.path for source in each.sources]
        assert len(set(paths)) == len(paths)
        for source in each.sources:
            assert source.url.startswith(("https://", "http://"))
            assert not PurePosixPath(source.path).is_absolute()
            assert ".." not in PurePosixPath(source.path).parts
            if source.hash is not None:
                algorithm, _, value = source.hash.partition(":")
                assert len(value) == LENGTHS[algorithm]
                int(value, 16)
            if source.url.startswith("http://"):
                assert source.hash is not None, "what comes over an open line needs a hash"


def test_github_addresses_name_a_commit() -> None:
    for each in collections():
        for source in each.sources:
            if "githubusercontent.com" in source.url:
                commit = source.url.split("/")[5]
                assert len(commit) == 40
                int(commit, 16)


@pytest.mark.parametrize("name", ["trec-web-2012", "trec-covid-r1"])
def test_the_hashes_are_those_of_the_files_here(name: str, data: Path) -> None:
    for source in collection(name).sources:
        content = (data / name / source.path).read_bytes()
        text = gzip.decompress(content) if source.is_packed_here else content
        assert source.hash == f"sha256:{hashlib.sha256(text).hexdigest()}", source.path
        assert source.size in (None, len(text)), source.path


def test_the_raw_hashes_are_the_published_sums(data: Path) -> None:
    known = {source.path: source.hash for source in collection("trec-web-2012").sources}
    for line in (data / "trec-web-2012/raw/SHA256SUMS").read_text().splitlines():
        value, name = line.split()
        assert known[f"raw/{name}"] == f"sha256:{value}"


@pytest.mark.parametrize(
    ("name", "files"),
    [("trec-dl-2019", ["qrels.txt"]), ("dl-hard", ["doc.qrels.txt", "passage.qrels.txt"])],
)
def test_published_hashes_are_those_of_the_judgments_here(name: str, files: list[str], data: Path) -> None:
    sources = {source.path: source for source in collection(name).sources}
    for file in files:
        content = (data / name / file).read_bytes()
        assert sources[file].hash == f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
        assert sources[file].size == len(content)
