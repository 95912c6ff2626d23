"""The demo as files: runs, judgments, queries, documents and data to learn from, in standard formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.io.atomic import write_bytes
from surefoot.io.trec_writer import qrels_lines
from surefoot.learn.data import RankingData
from surefoot.learn.letor import write_letor
from surefoot_lab.demo.task import collection
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.features import ranking_data
from surefoot_lab.retrieval.ranking import Ranking, rank

PARTS = {"train": 600, "valid": 200, "test": 200}
"""The LETOR files and how many queries each has."""

DEPTH = 30
SEED = 2012


@dataclass(frozen=True)
class DemoFiles:
    """The paths of the demo's files; ``runs`` by the name of the system."""

    directory: Path
    qrels: Path
    queries: Path
    documents: Path
    runs: Mapping[str, Path]
    letor: Mapping[str, Path]


def write(
    directory: PathLike, task: Collection | None = None, learned: Mapping[str, Ranking] | None = None
) -> DemoFiles:
    """Write a collection (the standard library's by default), the runs of all retrieval models, and learned runs.

    Beside them are LETOR files of some of the queries to train, validate and test rankers on; feature 1 is BM25.

    Files are written atomically. A file that is there with another content is left alone, and the error names it.
    """
    task = collection() if task is None else task
    rankings = {**rank(task), **(learned or {})}
    folder = Path(directory)
    files = DemoFiles(
        directory=folder,
        qrels=folder / "qrels.txt",
        queries=folder / "queries.tsv",
        documents=folder / "documents.tsv",
        runs={system: folder / "runs" / f"{system}.run" for system in rankings},
        letor={part: folder / "letor" / f"{part}.txt.gz" for part in PARTS},
    )
    _refuse_to_overwrite(files)
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        _write_lines(files.documents, _table_lines(task.documents))
        _write_lines(files.queries, _table_lines(task.queries))
        _write_lines(files.qrels, qrels_lines((topic, grades.items()) for topic, grades in task.qrels.items()))
        for system, ranking in rankings.items():
            _write_lines(files.runs[system], ranking.lines())
        (folder / "letor").mkdir(exist_ok=True)
        for part, data in _letor_parts(task):
            write_letor(data, files.letor[part])
    except OSError as error:
        raise SurefootError(
            f"can't write the demo to {folder}: {error.strerror or error}; name another folder"
        ) from None
    return files


def _refuse_to_overwrite(files: DemoFiles) -> None:
    """The documents are written first, so a folder with other files of a demo has them too."""
    taken = [path for path in (files.qrels, files.queries, *files.runs.values()) if path.exists()]
    if taken and not files.documents.exists():
        raise SurefootError(f"{taken[0]} is there already, and not from a demo; name another folder")


def _letor_parts(task: Collection) -> Iterator[tuple[str, RankingData]]:
    """The parts of a random choice of queries; smaller ones, in proportion, where there are few."""
    order = np.random.default_rng(SEED).permutation(sorted(task.queries))[: sum(PARTS.values())]
    data = ranking_data(task, order.tolist(), DEPTH)
    ends = np.cumsum(list(PARTS.values())) * len(data) // sum(PARTS.values())
    for part, begin, end in zip(PARTS, [0, *ends], ends, strict=False):
        if end > begin:
            yield part, data.select(np.arange(begin, end))


def _table_lines(texts: Mapping[str, str]) -> Iterable[str]:
    return (f"{name}\t{' '.join(text.split())}\n" for name, text in texts.items())


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    content = "".join(lines).encode("utf-8", errors="backslashreplace")
    if path.is_file() and path.read_bytes() != content:
        raise SurefootError(f"{path} has another content than the demo's: it was edited, or written by another "
                            "version; remove it, or name another folder")  # fmt: skip
    write_bytes(path, content)
