"""Parquet tables, with the index that pandas writes as the last column or only as metadata."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from surefoot._fork import uses_threads
from surefoot._lazy import LazyModule
from surefoot._typing import PathLike
from surefoot.io.frames import PolarsTable
from surefoot.io.json_text import parse_json
from surefoot.io.layouts import recognise, role_of
from surefoot.io.parquet_pages import damaged, reading, validate_pages
from surefoot.io.score_file import ScoreFile, in_file

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")


def read_parquet(path: PathLike, data: bytes) -> ScoreFile:
    """Read a Parquet file."""
    uses_threads()
    validate_pages(path, data)
    with reading(path):
        frame = polars.read_parquet(io.BytesIO(data))
        metadata = polars.read_parquet_metadata(io.BytesIO(data))
    try:
        frame = _with_range_index(frame, metadata.get("pandas", "{}"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise damaged(path, "its index of pandas can't be read") from None
    if frame.width and role_of(frame.columns[0]) is None and role_of(frame.columns[-1]) is not None:
        frame = frame.select(frame.columns[-1:] + frame.columns[:-1])
    with in_file(path):
        return ScoreFile(path, PolarsTable(frame), recognise(frame.columns))


def _with_range_index(frame: polars.DataFrame, pandas_metadata: str) -> polars.DataFrame:
    """Topics 1, 2, 3... as the index of a pandas frame are written as a range and not as a column."""
    for index in parse_json(pandas_metadata).get("index_columns", []):
        if not isinstance(index, dict) or index["kind"] != "range" or index["name"] in frame.columns:
            continue
        if role_of(index["name"] or ""):
            numbers = range(index["start"], index["stop"], index["step"])
            if len(numbers) != frame.height:
                raise ValueError
            frame = frame.insert_column(0, polars.Series(index["name"], numbers))
    return frame
