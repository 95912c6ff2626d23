"""Tables of pandas, polars and pyarrow, each read by its own methods; and Parquet files, read by polars."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._lazy import LazyModule
from surefoot._process import quiet_failures, uses_threads
from surefoot._typing import FloatArray, IntArray, PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.containers import Table, as_text
from surefoot.io.files import parse_json
from surefoot.io.ids import Texts
from surefoot.io.roles import role_of

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")


def is_frame(thing: object) -> bool:
    """Whether `table_of` takes it."""
    return _library(thing) in _TABLES and hasattr(type(thing), "columns")


def table_of(frame: Any) -> Table:
    """A frame of pandas or polars, or a table of pyarrow, as a `Table`."""
    if not is_frame(frame):
        raise SurefootError(f"expected a frame of pandas, polars or pyarrow, got {type(frame).__name__}")
    return _TABLES[_library(frame)](frame)


def _library(thing: object) -> str:
    return type(thing).__module__.partition(".")[0]


class _Frame(Table):
    """A frame whose columns are objects of its library."""

    def __init__(self, names: Iterable[Any], height: int) -> None:
        super().__init__(map(_label, names), ())
        self.height = height

    def _cell_list(self, column: int) -> list[Any]:
        raise NotImplementedError

    def _texts(self, column: int) -> Texts:
        return self._named(self._cell_list(column), column)

    def _numbers(self, columns: Sequence[int], rows: IntArray | None) -> FloatArray:
        return np.column_stack([self._parsed(self._cell_list(column), column, rows) for column in columns])


class PolarsTable(_Frame):
    """A frame of polars."""

    def __init__(self, frame: Any) -> None:
        uses_threads()
        self.frame: polars.DataFrame = frame.collect() if hasattr(frame, "collect") else frame
        super().__init__(self.frame.columns, self.frame.height)

    def _cell_list(self, column: int) -> list[Any]:
        return self.frame.to_series(column).to_list()

    def _texts(self, column: int) -> Texts:
        series = self.frame.to_series(column)
        if series.dtype == polars.Object or series.dtype == polars.Binary or series.dtype.is_float():
            return super()._texts(column)
        try:
            text = series.cast(polars.String)
        except polars.exceptions.PolarsError:
            return super()._texts(column)
        lengths = text.str.len_bytes().cast(polars.Int64).fill_null(0)
        joined: bytes = text.str.join("").cast(polars.Binary).item()
        return Texts.joined(joined, lengths.to_numpy())

    def _numbers(self, columns: Sequence[int], rows: IntArray | None) -> FloatArray:
        chosen = self.frame[:, list(columns)]
        numeric = (polars.Boolean, polars.Null)
        if not all(dtype.is_numeric() or dtype in numeric for dtype in set(chosen.dtypes)):
            return super()._numbers(columns, rows)
        return (chosen if rows is None else chosen[rows]).cast(polars.Float64).to_numpy()


class ArrowTable(_Frame):
    """A table of pyarrow."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        super().__init__(frame.schema.names, frame.num_rows)

    def _cell_list(self, column: int) -> list[Any]:
        cells: list[Any] = self.frame.column(column).to_pylist()
        return cells

    def _texts(self, column: int) -> Texts:
        return arrow_texts(self.frame.column(column)) or super()._texts(column)


class PandasTable(_Frame):
    """A frame of pandas; index levels that name topics or systems become columns."""

    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise SurefootError("the frame has columns in several levels; flatten them first")
        self.frame = _index_into_columns(frame)
        super().__init__(list(self.frame.columns), len(self.frame))

    def _cell_list(self, column: int) -> list[Any]:
        cells: list[Any] = self.frame.iloc[:, column].tolist()
        return cells

    def _texts(self, column: int) -> Texts:
        array = self.frame.iloc[:, column].array
        as_arrow = getattr(array.dtype, "storage", None) == "pyarrow"
        return (arrow_texts(array.__arrow_array__()) if as_arrow else None) or super()._texts(column)

    def _numbers(self, columns: Sequence[int], rows: IntArray | None) -> FloatArray:
        chosen = self.frame.iloc[slice(None) if rows is None else rows, list(columns)]
        if all(dtype.kind in "fiub" for dtype in set(chosen.dtypes)):
            values: FloatArray = chosen.to_numpy(dtype=np.float64, na_value=np.nan)
            return values
        return super()._numbers(columns, rows)


_TABLES: dict[str, type[PolarsTable] | type[ArrowTable] | type[PandasTable]] = {
    "polars": PolarsTable,
    "pyarrow": ArrowTable,
    "pandas": PandasTable,
}


def arrow_texts(column: Any) -> Texts | None:
    """The texts of a pyarrow column; None if it holds anything else."""
    if str(column.type) not in ("string", "large_string"):
        return None
    whole = column.cast("large_string")
    whole = whole.combine_chunks() if hasattr(whole, "combine_chunks") else whole
    _, offsets, data = whole.buffers()
    if data is None or whole.null_count:
        return Texts.of(text or "" for text in whole.to_pylist())
    bounds = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return Texts(data.to_pybytes(), bounds[:-1].copy(), np.diff(bounds).astype(np.int32))


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
    """A Parquet file; the index that pandas writes last, or only as metadata, comes first."""
    uses_threads()
    with reading(path):
        frame = polars.read_parquet(io.BytesIO(data))
        metadata = polars.read_parquet_metadata(io.BytesIO(data))
    try:
        frame = _with_range_index(frame, metadata.get("pandas", "{}"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise _damaged(path, "its index of pandas can't be read") from None
    if frame.width and role_of(frame.columns[0]) is None and role_of(frame.columns[-1]) is not None:
        frame = frame.select(frame.columns[-1:] + frame.columns[:-1])
    return PolarsTable(frame)


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
