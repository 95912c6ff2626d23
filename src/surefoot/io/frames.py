"""Frames of pandas, polars and pyarrow as tables, each read by its own methods; and Parquet files, read by polars."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._lazy import LazyModule
from surefoot._process import enter_threaded_library, quiet_failures
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.containers import Table, as_text
from surefoot.io.files import parse_json
from surefoot.io.ids import Texts
from surefoot.io.roles import role_of

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")


PARQUET = b"PAR1"
SAMPLE = 1024
"""The number of rows that decide whether a column repeats its texts."""
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def is_frame(thing: object) -> bool:
    """Whether `table_of` accepts an object."""
    return library_of(thing) in _TABLES and hasattr(type(thing), "columns")


def library_of(thing: object) -> str:
    """The package that defines the type of an object."""
    return type(thing).__module__.partition(".")[0]


def table_of(frame: Any) -> Table:
    """A frame of pandas or polars, or a table of pyarrow, as a `Table`."""
    if not is_frame(frame):
        raise SurefootError(f"expected a frame of pandas, polars or pyarrow, got {type(frame).__name__}")
    names, cells = _TABLES[library_of(frame)](frame)
    return Table(map(_label, names), cells)


Parts = tuple[Iterable[Any], list[Any]]
"""The names of columns and their cells, as `Table` takes them."""


def _of_polars(frame: Any) -> Parts:
    enter_threaded_library()
    whole: polars.DataFrame = frame.collect() if hasattr(frame, "collect") else frame
    return whole.columns, [_polars_cells(series) for series in whole]


def _polars_cells(series: polars.Series) -> Any:
    if series.dtype.is_float() or (str(series.dtype) in _INTEGERS and not series.null_count()):
        return series.to_numpy()
    if series.dtype != polars.String and series.dtype != polars.Categorical:
        return series.to_list()
    text = series.cast(polars.String)
    if text.head(SAMPLE).rle().len() > SAMPLE // 4:
        return _polars_texts(text)
    runs = text.rle().struct.unnest()  # such as the queries of a ranking
    return _polars_texts(runs["value"])[np.repeat(np.arange(runs.height), runs["len"].to_numpy())]


def _polars_texts(text: polars.Series) -> Texts:
    lengths = text.str.len_bytes().cast(polars.Int64).fill_null(0)
    joined: bytes = text.str.join("").cast(polars.Binary).item()
    return Texts.joined(joined, lengths.to_numpy())


def _of_pyarrow(frame: Any) -> Parts:
    return frame.schema.names, [_arrow_texts(column) or column.to_pylist() for column in frame.columns]


def _arrow_texts(column: Any) -> Texts | None:
    """The texts of a pyarrow column; None if it has other types or missing values."""
    if str(column.type) not in ("string", "large_string") or column.null_count:
        return None
    whole = column.cast("large_string")
    whole = whole.combine_chunks() if hasattr(whole, "combine_chunks") else whole
    _, offsets, data = whole.buffers()
    if data is None:
        return None
    bounds = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return Texts(data.to_pybytes(), bounds[:-1].copy(), np.diff(bounds).astype(np.int32))


def _of_pandas(frame: Any) -> Parts:
    """A frame of pandas; index levels of topics or systems become columns."""
    if frame.columns.nlevels > 1:
        raise SurefootError("the frame has columns in several levels; flatten them first")
    whole = _index_into_columns(frame)
    return list(whole.columns), [_pandas_cells(series) for _, series in whole.items()]


def _pandas_cells(series: Any) -> Any:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        return series.to_numpy()
    if getattr(series.dtype, "storage", None) == "pyarrow":
        return _arrow_texts(series.array.__arrow_array__()) or series.tolist()
    return series.tolist()


_TABLES: dict[str, Callable[[Any], Parts]] = {"polars": _of_polars, "pyarrow": _of_pyarrow, "pandas": _of_pandas}


def _label(name: object) -> str:
    """The name of a column or of an index as text."""
    try:
        return as_text(name).strip()
    except TypeError:  # a tuple
        return str(name)


def _index_into_columns(frame: Any) -> Any:
    if frame.columns.name is not None and frame.index.name is None and frame.index.nlevels == 1:
        other = {"system": "topic", "topic": "system"}.get(role_of(_label(frame.columns.name)) or "")
        frame = frame.rename_axis(index=other) if other else frame
    labelled = [name for name in frame.index.names if name is not None and role_of(_label(name))]
    missing = [name for name in labelled if name not in frame.columns]
    return frame.reset_index(level=missing) if missing else frame


def read_parquet(path: PathLike, data: bytes) -> Table:
    """A Parquet file; the index of a pandas frame, which is the last column or metadata, becomes the first column."""
    enter_threaded_library()
    with reading(path):
        frame = polars.read_parquet(io.BytesIO(data))
        metadata = polars.read_parquet_metadata(io.BytesIO(data))
    try:
        frame = _with_range_index(frame, metadata.get("pandas", "{}"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise _damaged(path, "its index of pandas can't be read") from None
    if frame.width and role_of(frame.columns[0]) is None and role_of(frame.columns[-1]) is not None:
        frame = frame.select(frame.columns[-1:] + frame.columns[:-1])
    return table_of(frame)


def _with_range_index(frame: polars.DataFrame, pandas_metadata: str) -> polars.DataFrame:
    """Add an index of a pandas frame such as topics 1, 2, 3, which the metadata has as a range."""
    for index in parse_json(pandas_metadata).get("index_columns", []):
        if not isinstance(index, dict) or index["kind"] != "range" or index["name"] in frame.columns:
            continue
        if role_of(index["name"] or ""):
            numbers = range(index["start"], index["stop"], index["step"])
            if len(numbers) != frame.height:
                raise ValueError
            frame = frame.insert_column(0, polars.Series(index["name"], numbers))
    return frame


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Turn the errors of polars into one line, and suppress what it prints to standard error."""
    try:
        with quiet_failures():
            yield
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise _damaged(path, error) from None


def _damaged(path: PathLike, error: object) -> InputError:
    return InputError(path, f"damaged Parquet file ({str(error).splitlines()[0]}); fetch it again")
