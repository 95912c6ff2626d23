"""A test collection (documents, queries and relevance grades), and NFCorpus as one."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot._typing import PathLike
from surefoot.errors import InputError


@dataclass(frozen=True)
class Collection:
    """Documents by id, queries by topic, and for each topic the grades of the relevant documents.

    In a ``named`` collection the id of a document is its name, whose words can be searched like its text.
    """

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    named: bool = True


def nfcorpus(folder: PathLike) -> tuple[Collection, Collection]:
    """The training and the development queries of NFCorpus (titles only), over the same documents.

    Boteva, Gholipour, Sokolov and Riezler, "A full-text learning to rank dataset for medical information retrieval"
    (ECIR 2016). A grade of 3 is a link from the query's page to the abstract, 2 a link by way of another page, 1
    marginal relevance. The documents are those of docs-1.gz and docs-2.gz, and have no names; some training grades
    are of documents in neither file, which no system can find.
    """
    home = Path(folder)
    documents = {name: text for part in ("docs-1.gz", "docs-2.gz") for name, text in _rows(home / part, 2)}
    return _part(home, "train", documents), _part(home, "dev", documents)


def _part(home: Path, part: str, documents: dict[str, str]) -> Collection:
    queries = dict(_rows(home / f"{part}.titles.queries.gz", 2))
    path = home / f"{part}.3-2-1.qrel.gz"
    qrels: dict[str, dict[str, int]] = {}
    for line, (topic, _, document, grade) in enumerate(_rows(path, 4), start=1):
        if not grade.isdecimal():
            raise InputError(path, f"expected a grade of 0 or more, found {grade!r}", line)
        qrels.setdefault(topic, {})[document] = int(grade)
    return Collection(documents, queries, qrels, named=False)


def _rows(path: Path, width: int) -> Iterator[list[str]]:
    """The lines of a compressed table, each of ``width`` cells between tabs."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line, text in enumerate(file, start=1):
                row = text.rstrip("\r\n").split("\t")
                if len(row) != width:
                    raise InputError(path, f"expected {width} cells between tabs, found {len(row)}", line)
                yield row
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(
            path,
            f"can't read this part of NFCorpus ({getattr(error, 'strerror', None) or error}); fetch the file again",
        ) from None
