"""Parquet files of scores, each read in slices, so that memory does not grow with the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path

import polars

from surefoot._fork import uses_threads
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.files import files_matching
from surefoot.io.layouts import Layout, Wide, recognise, role_of
from surefoot.io.parquet_pages import reading, validate_pages
from surefoot.io.score_file import in_file

CELLS = 1 << 22
"""How many values are read at once."""


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file of scores; its header tells the layout."""

    path: str

    @cached_property
    def schema(self) -> dict[str, polars.DataType]:
        """The columns and their types; the index that pandas writes last comes first."""
        with _readable(self.path), reading(self.path):
            schema = dict(self._scan().collect_schema())
        names = list(schema)
        if names and role_of(names[0]) is None and role_of(names[-1]) is not None:
            names = names[-1:] + names[:-1]
        return {name: schema[name] for name in names}

    def validate(self) -> None:
        """Refuse a damaged file; it is read page by page, not into memory."""
        with _readable(self.path), Path(self.path).open("rb") as file:
            if not Path(self.path).stat().st_size:
                raise InputError(self.path, "is empty")
            validate_pages(self.path, memoryview(mmap(file.fileno(), 0, access=ACCESS_READ)))

    @cached_property
    def layout(self) -> Layout:
        """Wide (one row for each topic) or long (one row for each score)."""
        with in_file(self.path):
            layout = recognise(list(self.schema))
        if isinstance(layout, Wide) and layout.rows != "topic":
            raise InputError(self.path, "a row is a system; for streaming it must be a topic, or a single score")
        return layout

    def column(self, index: int) -> str:
        """The name of a column."""
        return list(self.schema)[index]

    @property
    def topic(self) -> str:
        """The column of topics."""
        return self.column(0 if isinstance(self.layout, Wide) else self.layout.topic)

    def frames(self, columns: Sequence[str]) -> Iterator[polars.DataFrame]:
        """Some columns, slice by slice."""
        step = max(1, CELLS // len(columns))
        with _readable(self.path), reading(self.path):
            table = self._scan()
            height = int(table.select(polars.len()).collect().item())
        for start in range(0, height, step):
            with _readable(self.path), reading(self.path):
                frame = table.select(columns).slice(start, step).collect()
            yield frame

    def _scan(self) -> polars.LazyFrame:
        uses_threads()
        return polars.scan_parquet(self.path, hive_partitioning=False, glob=False)


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turn errors of the file system into one line that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(path, f"can't be read: {str(error).splitlines()[0]}") from None


def find_files(paths: PathLike | Iterable[PathLike]) -> tuple[str, ...]:
    """The Parquet files that paths, folders and patterns such as ``scores/*.parquet`` name, each once."""
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in named for file in _files_of(os.fspath(path))]
    if not files:
        raise SurefootError("name at least one Parquet file of scores, or a folder of them")
    return tuple(dict.fromkeys(files))


def _files_of(path: str) -> list[str]:
    if Path(path).is_dir():
        inside = (file for file in Path(path).rglob("*.parquet") if not file.name.startswith((".", "_")))
        found = sorted(str(file) for file in inside)
        problem = "is a folder without a Parquet file (*.parquet)"
    else:
        found = files_matching(path)
        problem = "no such file"
    if not found:
        raise InputError(path, problem)
    return found
