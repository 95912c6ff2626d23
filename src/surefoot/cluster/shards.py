"""Shards of a table: its columns, whole queries partitioned among workers, and models applied to one worker's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose, listed
from surefoot.lambdas.metrics import is_empty
from surefoot.learn.baseline import BELOW_ALL, Baselines
from surefoot.learn.data import ROLES, RankingData
from surefoot.learn.models import NEEDS_QUERIES, Model
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray, Scores

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
    feature) or ``values:NAME`` (a column with the baseline's metric on the document's query).

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
        """The columns of a table with these names; all others but document ids are features."""
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
        """All columns, each once."""
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
    """The ids of a pandas column, which numpy can sort; a missing id is an error."""
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
    """A baseline's scores of the documents, or its metric on the queries."""
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


@dataclass(frozen=True, eq=False)
class Partitioning:
    """The borders of shards: ``borders[i]`` is the first query of shard i + 1. The totals serve as a check."""

    n_shards: int
    borders: npt.NDArray[Any]
    queries: int
    documents: int

    def shard_of(self, queries: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The shard of each query."""
        return np.asarray(np.searchsorted(self.borders, queries, side="right"))


def partition_queries(
    queries: Sequence[Any] | npt.NDArray[Any], sizes: npt.ArrayLike, n_shards: int
) -> Partitioning:  # fmt: skip
    """Partition queries, in any order and possibly repeated, with these numbers of documents.

    A query goes to the shard of its middle document. With fewer queries than shards some shards are empty.

    >>> partition_queries(["b", "a", "c", "a"], [3, 2, 1, 2], 2)
    Partitioning(n_shards=2, borders=array(['b'], dtype='<U1'), queries=3, documents=8)
    """
    if n_shards < 1:
        raise SurefootError(f"training needs 1 worker or more; got {n_shards}")
    names, codes = np.unique(np.asarray(queries), return_inverse=True)
    documents = np.bincount(codes, weights=np.asarray(sizes), minlength=names.size)
    ends = np.cumsum(documents)
    if not names.size:
        raise SurefootError("the table has no rows to learn from")
    shard = ((ends - documents / 2) * n_shards / ends[-1]).astype(np.int64)
    first = np.searchsorted(shard, np.arange(1, n_shards))
    return Partitioning(n_shards, names[first[first < names.size]], names.size, int(ends[-1]))


def features_of(model: Model) -> list[str]:
    """The columns of a model's features; features without names have their numbers as names."""
    data = model.card["data"]
    first = data["first_feature"] or 0
    return list(data["feature_names"] or [str(first + index) for index in range(data["features"])])


def validate_by_row(model: Model) -> Model:
    """The model, if it scores each document independently."""
    if model.guard is not None:
        raise SurefootError(f"{NEEDS_QUERIES}; take scores, or a model without a guard")
    return model


def predict_rows(model: Model, frame: Any) -> FloatArray:
    """The score of each row of a pandas frame; see `validate_by_row`."""
    missing = [name for name in features_of(model) if name not in frame.columns]
    if missing:
        raise SurefootError(f"the table lacks the model's features {listed(missing)}; name its columns like them")
    return model.predict(frame[features_of(model)].to_numpy(dtype=np.float32, na_value=np.nan))


def evaluate_shard(shard: Shard, model: Model, name: str) -> Scores | None:
    """The model beside its baselines on the queries of one shard; None if none of them counts."""
    settings, data = Settings(**model.card["settings"]), shard.data
    if not len(data) or (settings.empty == "drop" and is_empty(data.labels, data.bounds).all()):
        return None
    scores = model.by_index().predict(data, baseline=shard.baselines)
    return Validation.of(settings, data, shard.baselines).scores(name, scores)


def concat_scores(parts: Iterable[Scores | None]) -> Scores:
    """The scores of all shards, in their order."""
    known = [part for part in parts if part is not None]
    if not known:
        raise SurefootError("no query has a relevant document")
    values = np.hstack([part.values for part in known])
    topics = tuple(topic for part in known for topic in part.topics)
    return replace(known[0], values=values, topics=topics) if len(known) > 1 else known[0]
