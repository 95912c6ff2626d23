"""Results of analyses: named columns, notes on assumptions, and a signature to compute them again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._lazy import optional
from surefoot._version import __version__
from surefoot.errors import UnknownNameError, counted, did_you_mean, listed

if TYPE_CHECKING:
    import polars

    from surefoot.scores import Scores

Column = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Highlights:
    """How tables show columns: the best values and the significant ones; in LaTeX also headings and superscripts.

    ``headings`` replaces names of columns. ``superscripts`` maps a column to the one printed as its superscript.
    ``groups`` maps a column to the heading that it shares with its neighbours. Columns that a result lacks are ignored.
    """

    best: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    significant: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    legend: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    superscripts: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Result:
    """Rows of values under named columns. Undefined values are NaN in a column and None in a row.

    >>> result = Result(signature("demo", alpha=[0, 5]), {"system": ["a"], "p": [math.nan]})
    >>> list(result), result.signature.rpartition("|")[0]
    ([{'system': 'a', 'p': None}], 'demo|alpha=0,5')
    >>> result
    Result(1 row × 2 columns of demo: system, p)
    """

    signature: str
    columns: Mapping[str, Column]
    notes: tuple[str, ...] = ()
    _: KW_ONLY
    emphasis: Highlights = field(default_factory=Highlights, repr=False)

    def __init_subclass__(cls) -> None:
        # Otherwise `dataclass` gives each kind of result a repr that dumps its arrays.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for column in self.columns.values():
            if isinstance(column, np.ndarray):
                column.flags.writeable = False

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column."""
        if name not in self.columns:
            hint = did_you_mean(name, self.columns)
            raise UnknownNameError(f"no column {name!r}{hint}; there are {listed(self.columns, most=40)}")
        return np.asarray(self.columns[name])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows."""
        return iter(self.rows())

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'row')} × {counted(len(self.columns), 'column')}"
        kind = self.signature.partition("|")[0]
        return f"{type(self).__name__}({size} of {kind}: {listed(self.columns, most=6)})"

    def rows(self) -> list[dict[str, Any]]:
        """The rows as plain Python values, fit for JSON: None stands for undefined and infinite values."""
        columns = map(plain, self.columns.values())
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_frame(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        frame: polars.DataFrame = optional("polars").DataFrame(dict(self.columns))
        return frame

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return optional("pandas").DataFrame({name: list(column) for name, column in self.columns.items()})

    def to_markdown(self, columns: Sequence[str] | None = None) -> str:
        """The rows as a Markdown table: all columns, or those named."""
        return self._rendered("md", columns=columns)

    def to_latex(
        self, columns: Sequence[str] | None = None, caption: str | None = None, label: str | None = None
    ) -> str:
        """The rows as a LaTeX table of the package booktabs: all columns, or those named.

        With a caption or a label it is a float; both are LaTeX. ``% _ # &`` in the words of the caption are escaped.
        """
        return self._rendered("latex", columns=columns, caption=caption, label=label)

    def _rendered(self, format: str, **options: Any) -> str:
        from surefoot.show.tables import render

        return render(self.readable(), format, **options)

    def _repr_html_(self) -> str:
        from surefoot.show.tables import html_table

        return html_table(self.readable())

    def headline(self) -> str:
        """The line that a notebook shows above the table; none by default."""
        return ""

    def extra(self) -> dict[str, Any]:
        """Values that belong to no row, for JSON."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain Python values, fit for JSON."""
        return {"signature": self.signature, **plain(self.extra()), "rows": self.rows(), "notes": list(self.notes)}

    def __str__(self) -> str:
        return self._rendered("table")

    def highlights(self) -> Highlights:
        """The emphasis of tables; subclasses derive it from their columns."""
        return self.emphasis

    def brief(self) -> Sequence[str]:
        """The columns that a terminal shows by default: all, unless a subclass selects some."""
        return list(self.columns)

    def only(self, names: Sequence[str]) -> Result:
        """Some of the columns, in the order named, with the emphasis and notes of the whole.

        >>> Result("demo", {"system": ["a"], "mean": [0.5], "p": [0.1]}).only(["p", "system"])
        Result(1 row × 2 columns of demo: p, system)
        """
        return Result(self.signature, {name: self[name] for name in names}, self.notes, emphasis=self.highlights())

    def readable(self) -> Result:
        """The result with rows ordered and formatted for reading; CSV and JSON keep those of the input."""
        return self


def signature(kind: str, scores: Scores | None = None, /, **fields: object) -> str:
    """The signature of a computation, such as one on scores; fields that are None are left out.

    >>> signature("urisk", measure="ERR@20", baseline="BM25", alpha=5.0, value=None).rpartition("=")[0]
    'urisk|measure=ERR@20|baseline=BM25|alpha=5|surefoot'
    """
    if scores is not None:
        fields = {"measure": scores.measure, **({"ties": scores.ties} if scores.ties else {}), **fields}
    given = [f"{name}={_text(value)}" for name, value in fields.items() if value is not None]
    return "|".join([kind, *given, f"surefoot={__version__}"])


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(_text(item) for item in value)
    return str(value)


def by_column(rows: Iterable[Mapping[str, Any] | Sequence[Any]], names: Sequence[str] = ()) -> dict[str, list[Any]]:
    """The columns of rows, which are mappings, or sequences with these names. A missing value is None.

    >>> by_column([{"system": "a", "p": 0.5}, {"system": "b"}]), by_column([("a", 0.5)], ["system", "p"])
    ({'system': ['a', 'b'], 'p': [0.5, None]}, {'system': ['a'], 'p': [0.5]})
    """
    found = [row if isinstance(row, Mapping) else dict(zip(names, row, strict=True)) for row in rows]
    return {name: [row.get(name) for row in found] for name in names or dict.fromkeys(chain.from_iterable(found))}


def plain(value: Any) -> Any:
    """A value for JSON: None for undefined and infinite numbers, lists and dictionaries for containers.

    >>> plain({"p": np.array([0.5, np.nan])})
    {'p': [0.5, None]}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
