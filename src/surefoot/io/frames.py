"""Scores from pandas and polars frames; pandas is not imported here."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._fork import uses_threads
from surefoot._lazy import LazyModule
from surefoot._names import NAMELESS
from surefoot._typing import FloatArray, IntArray
from surefoot.errors import SurefootError
from surefoot.io.layouts import CellError, Labels, Rows, Table, matrix_of, recognise, role_of
from surefoot.scores import Missing, Scores

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

STRINGS = ("str", "string")
"""Names of the dtypes of text in pandas."""
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")


def scores_of_frame(frame: Any, measure: str | None = None, missing: Missing = "error") -> Scores:
    """Scores of a pandas or polars frame: wide, or long (system, topic, value, and measure where there are several).

    A wide frame's first column, or its index in pandas, is named ``topic`` (or ``qid``, ...) or ``system`` (or
    ``run``, ``name``, ...) and so says what the rows are.

    >>> frame = polars.DataFrame({"qid": [1, 2], "bm25": [0.2, 0.4], "dense": [0.3, 0.1]})
    >>> scores_of_frame(frame, measure="nDCG@10")
    Scores(2 systems × 2 topics of nDCG@10)
    """
    table = table_of(frame)
    matrix = matrix_of(table, recognise(table.columns), measure)
    return Scores.align(matrix.rows(), measure or matrix.measure or "score", missing, matrix.notes)


def is_frame(thing: object) -> bool:
    """Whether `table_of` takes it."""
    library = type(thing).__module__.partition(".")[0]
    if library == "pyarrow":
        return hasattr(thing, "schema")
    if library == "pandas":
        return hasattr(thing, "columns")
    return "polars" in sys.modules and isinstance(thing, polars.DataFrame | polars.LazyFrame)


def table_of(frame: Any) -> Table:
    """The frame as a `Table`."""
    if not is_frame(frame):
        raise SurefootError(f"expected a pandas or polars frame, got {type(frame).__name__}")
    if type(frame).__module__.startswith("pandas"):
        return PandasTable(frame)
    if isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    return PolarsTable(frame if isinstance(frame, polars.DataFrame) else polars.DataFrame(frame))


class PolarsTable:
    """A polars frame as a `Table`; ``columns`` replaces the names of the frame."""

    def __init__(self, frame: polars.DataFrame, columns: Sequence[str] | None = None) -> None:
        uses_threads()
        self.frame = frame
        self.columns = tuple(_label(name) for name in frame.columns) if columns is None else tuple(columns)
        self.height = frame.height

    def labels(self, column: int) -> Labels:
        return _series_labels(self.frame.to_series(column), self.columns[column])

    def numbers(self, columns: Sequence[int], rows: Rows | None = None) -> FloatArray:
        chosen = self.frame[:, list(columns)]
        if rows is not None:
            chosen = chosen[rows]
        if not all(dtype.is_numeric() or dtype == polars.Boolean for dtype in set(chosen.dtypes)):
            chosen = polars.DataFrame(
                [
                    _parsed(series, self.columns[column], rows)
                    for series, column in zip(chosen.iter_columns(), columns, strict=True)
                ]
            )
        values = chosen.cast(polars.Float64).to_numpy()
        return _finite(values, [self.columns[column] for column in columns], rows)

    def texts(self, column: int) -> tuple[bytes, IntArray]:
        return _texts(self.frame.to_series(column), self.columns[column])


class PandasTable:
    """A pandas frame as a `Table`; index levels that name topics or systems become columns."""

    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise SurefootError("the frame has columns in several levels; flatten them first")
        self.frame = _index_into_columns(frame)
        self.columns = tuple(_label(name) for name in self.frame.columns)
        self.height = len(self.frame)

    def labels(self, column: int) -> Labels:
        own = self.frame.iloc[:, column]
        if str(own.dtype) in STRINGS:
            return _series_labels(_series(own), self.columns[column])
        try:
            codes, distinct = own.factorize()
        except TypeError:  # lists
            raise _no_names(self.columns[column]) from None
        return _labels(np.asarray(codes), distinct, self.columns[column])

    def numbers(self, columns: Sequence[int], rows: Rows | None = None) -> FloatArray:
        chosen = self.frame.iloc[slice(None) if rows is None else rows, list(columns)]
        if not all(dtype.kind in "fiub" for dtype in set(chosen.dtypes)):
            parsed = (
                _parsed(polars.Series(list(chosen.iloc[:, index]), dtype=polars.Object), self.columns[column], rows)
                for index, column in enumerate(columns)
            )
            values = np.column_stack([series.to_numpy() for series in parsed])
        else:
            values = chosen.to_numpy(dtype=np.float64, na_value=np.nan)
        return _finite(values, [self.columns[column] for column in columns], rows)

    def texts(self, column: int) -> tuple[bytes, IntArray]:
        return _texts(_series(self.frame.iloc[:, column]), self.columns[column])


def _as_text(series: polars.Series, column: str) -> polars.Series:
    """A column of names as texts."""
    try:
        if series.dtype == polars.Object:
            return polars.Series([_text(item) for item in series], dtype=polars.String)
        return series.cast(polars.String)
    except (polars.exceptions.PolarsError, UnicodeEncodeError):
        raise _no_names(column) from None


def _no_names(column: str) -> SurefootError:
    return SurefootError(f"column {column!r}: expected names, as texts or numbers")


def _series_labels(series: polars.Series, column: str) -> Labels:
    text = _as_text(series, column)
    # Most columns repeat a label many times in a row.
    repeats, first = text.rle().struct.unnest().get_columns()
    distinct = first.unique(maintain_order=True).drop_nulls()
    codes = first.cast(polars.Enum(distinct)).to_physical().cast(polars.Int64).fill_null(-1)
    names: Iterable[object] = distinct
    if series.dtype.is_float():
        names = distinct.cast(polars.Float64)
    return _labels(np.repeat(codes.to_numpy(), repeats.to_numpy()), names, column)


def _series(column: Any) -> polars.Series:
    """A pandas column as a polars one, without pyarrow where pandas does without."""
    if str(column.dtype) in STRINGS:
        try:
            return polars.Series(polars.from_pandas(column))
        except ImportError:
            return polars.Series(column.tolist(), dtype=polars.String)
    values = column.to_numpy()
    if values.dtype != object:
        return polars.Series(values)
    try:
        return polars.Series(values.tolist(), dtype=polars.String)
    except (TypeError, ValueError, OverflowError):  # other things than texts, or no UTF-8
        return polars.Series(values.tolist(), dtype=polars.Object)


def _texts(series: polars.Series, column: str) -> tuple[bytes, IntArray]:
    text = _as_text(series, column)
    lengths = text.str.len_bytes().cast(polars.Int64).fill_null(0)
    if text.len() and not lengths.min():
        raise CellError(int(lengths.arg_min() or 0), f"the {column} is empty")
    joined: bytes = text.str.join("").cast(polars.Binary).item()
    return joined, lengths.to_numpy()


def _index_into_columns(frame: Any) -> Any:
    if frame.columns.name is not None and frame.index.name is None and frame.index.nlevels == 1:
        other = {"system": "topic", "topic": "system"}.get(role_of(_label(frame.columns.name)) or "")
        frame = frame.rename_axis(index=other) if other else frame
    labelled = [name for name in frame.index.names if name is not None and role_of(_label(name))]
    missing = [name for name in labelled if name not in frame.columns]
    return frame.reset_index(level=missing) if missing else frame


def _label(name: object) -> str:
    """A label as text: topic 151.0, from a column with missing values, is topic 151; what is missing is empty."""
    if name is None or name != name:
        return ""
    if isinstance(name, bytes):
        return name.decode(errors="replace").strip()
    whole = isinstance(name, float | np.floating) and float(name).is_integer()
    return str(int(name)) if whole else str(name).strip()  # type: ignore[call-overload]


def _labels(codes: npt.NDArray[np.integer], names: Iterable[object], column: str) -> Labels:
    texts = [_label(name) for name in names]
    code_of: dict[Hashable, int] = {}
    merged = np.array([code_of.setdefault(text, len(code_of)) for text in texts], dtype=np.int64)
    empty = codes < 0
    if "" in code_of:
        empty |= merged[codes] == code_of[""]
    if empty.any():
        raise CellError(int(np.argmax(empty)), f"the {column} is empty")
    return Labels(codes if len(code_of) == len(texts) else merged[codes], tuple(str(text) for text in code_of))


def _text(item: object) -> str | None:
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    text = str(item)
    return None if text in NAMELESS and not isinstance(item, str) else text


def _parsed(series: polars.Series, column: str, rows: Rows | None) -> polars.Series:
    """A column as numbers, where it holds text."""
    if series.dtype.is_numeric() or series.dtype in (polars.Boolean, polars.Null):
        return series.cast(polars.Float64)
    text = _as_text(series, column).str.strip_chars()
    text = text.set(text.str.to_lowercase().is_in(MISSING_WORDS), None)
    numbers = text.cast(polars.Float64, strict=False)
    wrong = (numbers.is_null() & text.is_not_null()).arg_max()
    if wrong is not None and numbers[wrong] is None and text[wrong] is not None:
        row = wrong if rows is None else int(rows[wrong])
        raise CellError(row, f"column {column!r}: expected a number, found {text[wrong]!r}")
    return numbers


def _finite(values: FloatArray, columns: Sequence[str], rows: Rows | None) -> FloatArray:
    """The values, if none is infinite."""
    infinite = np.isinf(values)
    if infinite.any():
        index, column = np.argwhere(infinite)[0].tolist()
        row = index if rows is None else int(rows[index])
        raise CellError(row, f"column {columns[column]!r}: expected a finite number, found {values[index, column]}")
    return values
