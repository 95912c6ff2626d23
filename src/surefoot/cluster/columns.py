"""Which columns of a table are what, and the rows of one worker as data to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose, listed
from surefoot.learn.baseline import BELOW_ALL, Baselines
from surefoot.learn.data import ROLES, RankingData
from surefoot.scores import FloatArray

FEATURE, SCORES, VALUES = "feature", "scores", "values"


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one worker: whole queries, in order, with their baselines."""

    data: RankingData
    baselines: Baselines


@dataclass(frozen=True)
class Columns:
    """The columns of queries, labels, features and baselines.

    A baseline is ``feature:NAME`` (a feature that ranks), ``scores:NAME`` (a column with a score for each document, no
    feature) or ``values:NAME`` (a column with the metric that the baseline reached on the document's query).

    >>> Columns.among(["qid", "label", "bm25", "links", "old"], baseline=["feature:bm25", "scores:old"]).features
    ('bm25', 'links')
    """

    query: str
    label: str
    features: tuple[str, ...]
    baselines: tuple[tuple[str, str], ...]

    @classmethod
    def among(
        cls,
        names: Sequence[str],
        query: str = "qid",
        label: str = "label",
        features: Sequence[str] | None = None,
        baseline: str | Sequence[str] | None = None,
    ) -> Columns:
        """The columns of a table with these names; all that is nothing else, nor a document's id, is a feature."""
        if not all(isinstance(name, str) for name in names):
            raise SurefootError(f"the table's columns must be named by texts; they are {listed(names)}")
        given = [baseline] if isinstance(baseline, str) else list(baseline or ())
        baselines = tuple(_kind(one) for one in given)
        taken = {query, label, *(column for kind, column in baselines if kind != FEATURE)}
        rest = [name for name in names if name not in taken and name.lower() not in ROLES["document"]]
        chosen = tuple(rest if features is None else features)
        known = set(names)
        lacking = [name for name in (query, label, *chosen, *(name for _, name in baselines)) if name not in known]
        if lacking:
            raise SurefootError(f"the table has no column {lacking[0]!r}; it has {listed(names)}")
        if not chosen:
            raise SurefootError(f"the table has no column of features beside {listed(names)}")
        return cls(query, label, chosen, baselines)

    @property
    def needed(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([self.query, self.label, *self.features, *(name for _, name in self.baselines)]))

    def shard(self, frame: Any, source: str = "data") -> Shard:
        """The rows of a pandas frame as data: queries sorted, each query's rows in the frame's order."""
        queries = query_ids(frame[self.query], source)
        order = np.argsort(queries, kind="stable")
        data = RankingData.of(
            _numbers(frame, self.features, np.float32, source)[order],
            _numbers(frame, [self.label], np.float32, source)[order, 0],
            queries[order],
            feature_names=self.features,
            source=source,
        )
        found = [(*_baseline(kind, _numbers(frame, [name], np.float64, source)[order, 0], name, data),)
                 for kind, name in self.baselines]  # fmt: skip
        names = tuple(f"{kind}:{name}" if kind == FEATURE else name for kind, name in self.baselines)
        return Shard(data, Baselines(names, tuple(rows for rows, _ in found), tuple(known for _, known in found)))


def query_ids(column: Any, source: str = "data") -> npt.NDArray[Any]:
    """The ids of a pandas column, which numpy can sort; one that is missing is an error."""
    if bool(column.isna().any()):
        raise SurefootError(f"{source}: column {column.name!r} of queries has missing values")
    from pandas.api.types import infer_dtype  # type: ignore[import-untyped]

    ids = np.asarray(column.to_numpy())
    if ids.size and infer_dtype(ids) not in ("string", "integer", "floating"):
        raise SurefootError(f"{source}: column {column.name!r} of queries must hold numbers or texts, not both")
    return ids


def _kind(baseline: str) -> tuple[str, str]:
    kind, _, name = baseline.partition(":")
    if not name:
        raise SurefootError(f"a baseline on a cluster is feature:NAME, scores:NAME or values:NAME; got {baseline!r}")
    return choose(kind, (FEATURE, SCORES, VALUES), "a baseline on a cluster"), name


def _numbers(frame: Any, names: Sequence[str], kind: type, source: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(frame[list(names)].to_numpy(dtype=kind, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise SurefootError(f"{source}: columns {listed(names)} must be numbers ({error})") from None


def _baseline(
    kind: str, column: FloatArray, name: str, data: RankingData
) -> tuple[FloatArray | None, FloatArray | None]:
    """A baseline's scores of the documents, or the metric that it reached on the queries."""
    if kind == FEATURE:
        return np.where(np.isnan(column), BELOW_ALL, column), None
    if not np.isfinite(column).all():
        raise SurefootError(f"{data.source}: column {name!r} of a baseline must have finite numbers")
    if kind == SCORES:
        return column, None
    reached = column[data.bounds[:-1]]
    differ = np.flatnonzero(column != reached[data.query_of_row])
    if differ.size:
        query = data.queries[data.query_of_row[differ[0]]]
        raise SurefootError(f"{data.source}: column {name!r} must have one value per query; query {query} has several")
    return None, reached
