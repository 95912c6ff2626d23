"""A parsed file of scores: a table, its layout, and the line of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.files import RUN_ENDINGS, name_of
from surefoot.io.layouts import CellError, Layout, Long, ScoreMatrix, Table, Wide, matrix_of, role_of

ENDINGS = (*RUN_ENDINGS, ".eval", ".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".out")


@dataclass(frozen=True)
class ScoreFile:
    """A parsed file. ``system`` is the name of its system if the table does not name any."""

    path: PathLike
    table: Table
    layout: Layout
    line_of: Callable[[int], int | None] | None = None
    system: str | None = None

    @property
    def name(self) -> str:
        return name_of(self.path, ENDINGS)

    @property
    def leaves_out_topics(self) -> bool:
        """Whether the file is the output of trec_eval, which lacks topics for which nothing was retrieved."""
        return self.table.columns == ("measure", "topic", "value") and isinstance(self.layout, Long)

    @property
    def nameless(self) -> bool:
        """Whether the table has a single measure without a name."""
        if isinstance(self.layout, Wide):
            return True
        return self.layout.measure is None and role_of(self.table.columns[self.layout.values[0]]) == "value"

    def matrix(self, measure: str | None) -> ScoreMatrix:
        """The scores of one measure."""
        with in_file(self.path, self.line_of):
            return matrix_of(self.table, self.layout, measure, self.system or self.name)


@contextmanager
def in_file(path: PathLike, line_of: Callable[[int], int | None] | None = None) -> Iterator[None]:
    """Add the file, and the line if it is known, to errors raised inside."""
    try:
        yield
    except InputError:
        raise
    except CellError as error:
        if line_of is None:
            raise InputError(path, str(error)) from None
        raise InputError(path, error.message, line_of(error.row)) from None
    except SurefootError as error:
        raise InputError(path, str(error)) from None
