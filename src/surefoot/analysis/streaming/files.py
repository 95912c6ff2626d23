"""Parquet files of scores in batches of whole topics: matrices of systems × topics, for any layout of the files.

Files are read in slices, so that memory does not grow with them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from surefoot._lazy import LazyModule, optional
from surefoot._process import enter_threaded_library
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.containers import in_file
from surefoot.io.files import files_matching
from surefoot.io.frames import reading
from surefoot.io.roles import SUMMARIES, Layout, Long, Wide, find_measure, recognise, role_of
from surefoot.scores import LARGEST, VIRTUAL, FloatArray, Missing

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

CELLS = 1 << 22
"""The number of values read at once."""

HIDDEN = (".", "_")
"""Prefixes of file names to skip: Spark and others write such files beside the data."""


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file of scores; its header has the layout."""

    path: str

    @cached_property
    def schema(self) -> dict[str, polars.DataType]:
        """The columns and their types; the index that pandas writes last comes first."""
        with _reading(self.path):
            schema = dict(self._scan().collect_schema())
        names = list(schema)
        if names and role_of(names[0]) is None and role_of(names[-1]) is not None:
            names = names[-1:] + names[:-1]
        return {name: schema[name] for name in names}

    @cached_property
    def layout(self) -> Layout:
        """Wide (one row for each topic) or long (one row for each score)."""
        with in_file(self.path):
            layout = recognise(list(self.schema))
        if isinstance(layout, Wide) and layout.rows != "topic":
            raise InputError(self.path, "a row is a system; for streaming it must be a topic, or a single score")
        return layout

    def columns(self, *indices: int | None) -> list[str]:
        """The names of columns; those that the file lacks are None."""
        return [list(self.schema)[index] for index in indices if index is not None]

    @property
    def topic(self) -> str:
        """The column of topics."""
        return self.columns(0 if isinstance(self.layout, Wide) else self.layout.topic)[0]

    def frames(self, columns: Sequence[str]) -> Iterator[polars.DataFrame]:
        """Some columns, slice by slice."""
        step = max(1, CELLS // len(columns))
        with _reading(self.path):
            table = self._scan()
            height = int(table.select(polars.len()).collect().item())
        for start in range(0, height, step):
            with _reading(self.path):
                frame = table.select(columns).slice(start, step).collect()
            yield frame

    def _scan(self) -> polars.LazyFrame:
        enter_threaded_library()
        return polars.scan_parquet(self.path, hive_partitioning=False, glob=False)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn errors of polars and of the file system into one line that names the file."""
    try:
        with reading(path):
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
    is_folder = Path(path).is_dir()
    if "://" in path:
        found = _files_at(path)
    elif is_folder:
        found = sorted(str(file) for file in Path(path).rglob("*.parquet") if not file.name.startswith(HIDDEN))
    else:
        found = files_matching(path)
    if not found:
        raise InputError(path, "is a folder without a Parquet file (*.parquet)" if is_folder else "no such file")
    return found


def _files_at(address: str) -> list[str]:
    """The Parquet files at an address such as s3://bucket/scores: a folder, a pattern or a file."""
    try:
        system, path = optional("fsspec.core").url_to_fs(address)
        files = system.find(path) if system.isdir(path) else system.glob(path)
    except (ImportError, OSError, ValueError) as error:
        raise InputError(address, f"can't be read: {str(error).splitlines()[0]}") from None
    inside = [file for file in files if file.endswith(".parquet") and not PurePath(file).name.startswith(HIDDEN)]
    return sorted(map(system.unstrip_protocol, inside))


@dataclass(frozen=True)
class Header:
    """The layouts of the files, and the systems of each measure (None for a measure without a name)."""

    layouts: frozenset[str]
    systems: dict[str | None, tuple[str, ...]]
    unread: tuple[str, ...]

    @classmethod
    def of(cls, path: str) -> Header:
        """The names in a file."""
        file = ParquetFile(path)
        if isinstance(file.layout, Wide):
            return cls(frozenset({"wide"}), {None: tuple(file.schema)[1:]}, ())
        unread = (*file.layout.ignored, *file.columns(file.layout.trial))
        return cls(frozenset({"long"}), _long_names(file, file.layout), unread)

    def __add__(self, other: Header) -> Header:
        systems = {
            measure: tuple(dict.fromkeys(self.systems.get(measure, ()) + other.systems.get(measure, ())))
            for measure in self.systems | other.systems
        }
        return Header(self.layouts | other.layouts, systems, tuple(dict.fromkeys(self.unread + other.unread)))

    def dataset(self, measure: str | None, missing: Missing) -> Dataset:
        """The dataset of one measure; refuses files that do not belong together."""
        if len(self.layouts) > 1:
            raise SurefootError(
                "some files are wide (one row for each topic), others long (one row for each score); write all alike"
            )
        named = [name for name in self.systems if name is not None]
        if named and None in self.systems:
            raise SurefootError(f"some files name their measure ({listed(named)}), others do not; write all alike")
        own = named[find_measure(measure, named)] if named else None
        systems = self.systems.get(own, ())
        doubtful = [name for name in systems if name in VIRTUAL or name.lower() in SUMMARIES]
        if doubtful:
            raise SurefootError(f"system {doubtful[0]!r} is called like a summary of others; rename it or leave it out")
        if not systems:
            raise SurefootError("the files hold no score")
        return Dataset(systems, own, missing, "wide" in self.layouts)


def _long_names(file: ParquetFile, layout: Long) -> dict[str | None, tuple[str, ...]]:
    if layout.system is None:
        raise InputError(file.path, "there is no column of systems; name one 'system', 'run' or 'name'")
    columns = file.columns(layout.system, layout.measure)
    pairs: dict[tuple[str, ...], None] = {}
    for frame in file.frames(columns):
        distinct = frame.unique(maintain_order=True).cast(polars.String)
        if distinct.null_count().sum_horizontal().item():
            raise InputError(file.path, f"a row without its {' or '.join(columns)}")
        pairs |= dict.fromkeys(distinct.rows())
    values = file.columns(*layout.values)
    if layout.measure is None:
        measures = [None] if role_of(values[0]) == "value" else values
        return {measure: tuple(system for (system,) in pairs) for measure in measures}
    found: dict[str | None, tuple[str, ...]] = {}
    for system, measure in pairs:
        found[measure] = (*found.get(measure, ()), system)
    return found


@dataclass(frozen=True)
class Batch:
    """Topics of one file with all their scores; NaN where one is missing."""

    path: str
    labels: polars.Series
    values: FloatArray

    def topics(self) -> polars.Series:
        """The labels as text, if each names a topic."""
        if self.labels.dtype.is_float():
            problem = f"column {self.labels.name!r}: expected topics as text or whole numbers, found fractions"
            raise InputError(self.path, problem)
        topics = self.labels.cast(polars.String).str.strip_chars()
        if topics.null_count() or (topics == "").any():
            raise InputError(self.path, "a row without its topic")
        summary = topics.str.to_lowercase().is_in(SUMMARIES)
        if summary.any():
            name = topics.filter(summary)[0]
            raise InputError(self.path, f"topic {name!r} is called like a summary of others; rename it or leave it out")
        return topics


@dataclass(frozen=True)
class Dataset:
    """Files of scores: their systems, the measure to read (None if unnamed), and what to do with missing scores."""

    systems: tuple[str, ...]
    measure: str | None
    missing: Missing
    wide: bool

    def batches(self, path: str) -> Iterator[Batch]:
        """The topics of a file, a bounded number at a time; an empty batch comes first."""
        file = ParquetFile(path)
        batches = self._wide(file) if isinstance(file.layout, Wide) else self._long(file, file.layout)
        nothing = Batch("", polars.Series(dtype=polars.String), np.empty((len(self.systems), 0)))
        return (_validate(batch, self.systems) for batch in itertools.chain([nothing], batches))

    def _wide(self, file: ParquetFile) -> Iterator[Batch]:
        present = [system for system in self.systems if system in file.schema]
        _refuse_text(file, present)
        absent = [polars.lit(None, polars.Float64).alias(name) for name in self.systems if name not in file.schema]
        for frame in file.frames([file.topic, *present]):
            values = _numbers(frame.with_columns(absent).select(self.systems)).T
            yield Batch(file.path, frame[file.topic], values)

    def _long(self, file: ParquetFile, layout: Long) -> Iterator[Batch]:
        system, value, *measure = file.columns(layout.system, layout.values[0], layout.measure)
        if self.measure is not None and not measure:
            value = self.measure
        if value not in file.schema:
            return
        _refuse_text(file, [value])
        frames = file.frames([file.topic, system, value, *measure])
        if measure:
            frames = (frame.filter(polars.col(measure).cast(polars.String) == self.measure) for frame in frames)
        for frame in _whole_topics(frames, file.topic):
            yield self._matrix(file, frame.rename({file.topic: "topic", system: "system", value: "value"}))

    def _matrix(self, file: ParquetFile, frame: polars.DataFrame) -> Batch:
        """The rows of whole topics as a matrix."""
        runs = frame.select(polars.col("topic").rle_id()).to_series().to_numpy().astype(np.int64)
        labels = polars.Enum(self.systems)
        rows = frame["system"].cast(polars.String).cast(labels).to_physical().to_numpy().astype(np.int64)
        begins = np.flatnonzero(np.diff(runs, prepend=-1))
        cells = rows * len(begins) + runs
        values, filled = (np.full(len(self.systems) * len(begins), fill) for fill in (np.nan, False))
        filled[cells] = True
        if np.count_nonzero(filled) < len(cells):
            order = np.argsort(cells, kind="stable")
            double = int(order[1:][np.diff(cells[order]) == 0].min())
            label, topic = frame["system"][double], frame["topic"][double]
            problem = f"a second score of system {str(label)!r} on topic {str(topic)!r}"
            raise InputError(file.path, f"{problem}; repeats can't be streamed, average them first")
        values[cells] = _numbers(frame.select("value"))[:, 0]
        return Batch(file.path, frame["topic"][begins], values.reshape(len(self.systems), len(begins)))


def _whole_topics(frames: Iterator[polars.DataFrame], topic: str) -> Iterator[polars.DataFrame]:
    """The same rows, split between topics: the last topic of a slice may continue in the next."""
    rest: polars.DataFrame | None = None
    for frame in frames:
        if not frame.height:
            continue
        together = frame if rest is None else polars.concat([rest, frame], rechunk=True)
        before = together[topic].ne_missing(together[topic][-1])
        cut = together.height - int(before.reverse().arg_max() or 0) if before.any() else 0
        if cut:
            yield together[:cut]
        rest = together[cut:]
    if rest is not None:
        yield rest


def _numbers(frame: polars.DataFrame) -> FloatArray:
    return frame.cast(polars.Float64).to_numpy()


def _refuse_text(file: ParquetFile, columns: Sequence[str]) -> None:
    for column in columns:
        if not file.schema[column].is_numeric():
            raise InputError(file.path, f"column {column!r}: expected numbers, found {file.schema[column]}")


def _validate(batch: Batch, systems: Sequence[str]) -> Batch:
    """Refuse scores that are not finite."""
    wrong: npt.NDArray[np.bool_] = np.abs(batch.values) > LARGEST
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(
            batch.path,
            f"the score of system {systems[row]!r} on topic {str(batch.labels[column])!r} is "
            f"{batch.values[row, column]:g}; scores must be finite numbers, at most {LARGEST:g}",
        )
    return batch
